package hogapi_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

// A line that was corrected by hand, with a mistake and no newline, is there still when the import runs again.
func TestRejectFileKeepsAnUnfinishedLine(t *testing.T) {
	t.Parallel()
	path, checkpoint := filepath.Join(t.TempDir(), "rejects.jsonl"), checkpointOnly(t)
	source := eventsOf(hogapi.Event{DistinctID: "a"}, hogapi.Event{DistinctID: "b"}, hogapi.Event{DistinctID: "c"})
	run := func() {
		receipt, err := hogapitest.New().Client(t).Import(t.Context(), source,
			&hogapi.ImportOptions{ID: "x", MaxRejectShare: -1, Checkpoint: checkpoint, Rejects: hogapi.RejectFile(path)})
		require.NoError(t, err)
		assert.EqualValues(t, 3, receipt.Rejected)
	}
	run()
	content := readFile(t, path)
	content = append(content[:len(content)-len("}}\n")], `},"event":"c"`...) // a brace too few
	require.NoError(t, os.WriteFile(path, content, 0o600))
	run()
	after := readFile(t, path)
	assert.Equal(t, string(content)+"\n", string(after))

	// It is rejected as a source, unless a later line has all of it: a crash has torn it then.
	for more, want := range map[string][2]int64{"": {3, 0}, string(content[bytes.LastIndexByte(content, '\n')+1:]) + "}\n": {3, 1}} {
		require.NoError(t, os.WriteFile(path, append(after, more...), 0o600))
		receipt, err := hogapitest.New().Client(t).Import(t.Context(), hogapi.RejectedRecords(path, nil),
			&hogapi.ImportOptions{ID: "again", MaxRejectShare: -1, Rejects: hogapi.RejectFile(path + ".new")})
		require.NoError(t, err)
		assert.Equal(t, want, [2]int64{receipt.Rejected, receipt.Skips["torn by a crash"]}, more)
	}
}

func TestRejectFileRefusesAnotherFile(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"text": "my notes", "binary": "\x7fELF\x02\n\x00\x00\x00", "events": `{"event":"a","distinct_id":"b","timestamp":"2024-05-01T10:30:00Z"}` + "\n",
	} {
		path := filepath.Join(t.TempDir(), "file")
		require.NoError(t, os.WriteFile(path, []byte(content), 0o640))
		_, err := hogapitest.New().Client(t).Import(t.Context(), eventsOf(hogapi.Event{DistinctID: "a"}),
			&hogapi.ImportOptions{ID: "x", MaxRejectShare: -1, Rejects: hogapi.RejectFile(path)})
		require.ErrorAs(t, err, new(*hogapi.InputError), name)
		require.ErrorContains(t, err, "a reject file", name)
		after := readFile(t, path)
		assert.Equal(t, content, string(after), name)
		assert.NoFileExists(t, path+".lock", name)
	}
}

// Each reject holds the bytes of its own line, although the reader's buffer has been filled with others long before it is settled: of a
// line that is no event, and of one on which a mapping fails or makes a bad event.
func TestRejectsHoldTheirOwnLine(t *testing.T) {
	t.Parallel()
	const n = 12_000
	random := rand.New(rand.NewPCG(1, 2))
	var content strings.Builder
	var all, bad []string
	for i := range n {
		line := fmt.Sprintf(`{"event":"e","distinct_id":"p","timestamp":"1998-01-01T00:00:00Z","properties":{"n":%d}}`, i)
		if i%3 > 0 {
			line = fmt.Sprintf(`{"bad line":%d,%q}`, i, strings.Repeat("x", random.IntN(200)))
			bad = append(bad, line)
		}
		all = append(all, line)
		content.WriteString(line + "\n")
	}
	file := hogapi.JSONLinesFile(writeFile(t, "e.jsonl", content.String()))
	for name, tt := range map[string]struct {
		source hogapi.Source
		want   []string
	}{
		"a file":        {file, bad},
		"a mapped file": {hogapi.MapSource(file, unchanged), bad},
		"a gzip file":   {hogapi.JSONLinesFile(writeFile(t, "e.jsonl", zipped(content.String()))), bad},
		"a mapping that fails": {
			hogapi.MapSource(file, func(hogapi.Event) ([]hogapi.Event, error) { return nil, errors.New("no") }), all,
		},
		"a mapping that makes a bad name": {
			hogapi.MapSource(file, func(ev hogapi.Event) ([]hogapi.Event, error) { ev.Name = ""; return []hogapi.Event{ev}, nil }), all,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := hogapitest.New(hogapitest.WithCompactLedger())
			if len(tt.want) < n { // something is sent
				server.Script(ops.Capture, hogapitest.Slow(300*time.Millisecond)) // all is read by then
			}
			var rejects []hogapi.Reject
			receipt := imported(t, server.Client(t), tt.source, &hogapi.ImportOptions{ID: "raw", Rate: hogapi.Unpaced, MaxRejectShare: -1, Rejects: keepRejects(&rejects)})
			assert.EqualValues(t, len(tt.want), receipt.Rejected)
			var got []string
			for _, r := range rejects {
				got = append(got, string(r.Raw))
			}
			require.Equal(t, tt.want, got)
		})
	}
}
