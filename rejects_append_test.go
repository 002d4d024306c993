package hogapi_test

import (
	"bytes"
	"context"
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
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	content = append(content[:len(content)-len("}}\n")], `},"event":"c"`...) // a brace too few
	require.NoError(t, os.WriteFile(path, content, 0o600))
	run()
	after, err := os.ReadFile(path)
	require.NoError(t, err)
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
		after, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, content, string(after), name)
		assert.NoFileExists(t, path+".lock", name)
	}
}

// Each reject holds the bytes of its own line, although the reader's buffer has been filled with others long before it is settled.
func TestRejectsHoldTheirOwnLine(t *testing.T) {
	t.Parallel()
	const n = 12_000
	random := rand.New(rand.NewPCG(1, 2))
	var content strings.Builder
	var bad []string
	for i := range n {
		if i%3 > 0 {
			line := fmt.Sprintf(`{"bad line":%d,%q}`, i, strings.Repeat("x", random.IntN(200)))
			bad = append(bad, line)
			content.WriteString(line + "\n")
			continue
		}
		fmt.Fprintf(&content, `{"event":"e","distinct_id":"p","timestamp":"1998-01-01T00:00:00Z","properties":{"n":%d}}`+"\n", i)
	}
	path := writeFile(t, "e.jsonl", content.String())
	for name, source := range map[string]hogapi.Source{
		"a file":        hogapi.JSONLinesFile(path),
		"a mapped file": hogapi.MapSource(hogapi.JSONLinesFile(path), unchanged),
		"a gzip file":   hogapi.JSONLinesFile(writeFile(t, "e.jsonl", zipped(content.String()))),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := hogapitest.New(hogapitest.WithCompactLedger())
			server.Script(ops.Capture, hogapitest.Slow(300*time.Millisecond)) // all is read by then
			var got []string
			receipt, err := server.Client(t).Import(t.Context(), source, &hogapi.ImportOptions{
				ID: "raw", Rate: hogapi.Unpaced, MaxRejectShare: -1, Rejects: hogapi.RejectFunc(func(_ context.Context, r hogapi.Reject) error {
					got = append(got, string(r.Raw))
					return nil
				}),
			})
			require.NoError(t, err)
			assert.EqualValues(t, len(bad), receipt.Rejected)
			require.Equal(t, bad, got)
		})
	}
}

// A mapping that fails on a line leaves the line itself in the reject.
func TestRejectsOfAMappingHoldTheirOwnLine(t *testing.T) {
	t.Parallel()
	const n = 10_000
	var content strings.Builder
	var lines []string
	for i := range n {
		line := fmt.Sprintf(`{"event":"e","distinct_id":"p","timestamp":"1998-01-01T00:00:00Z","properties":{"n":%d,"x":%q}}`, i, strings.Repeat("x", i%100))
		lines = append(lines, line)
		content.WriteString(line + "\n")
	}
	for name, mapping := range map[string]func(hogapi.Event) ([]hogapi.Event, error){
		"fails":            func(hogapi.Event) ([]hogapi.Event, error) { return nil, errors.New("no") },
		"makes a bad name": func(ev hogapi.Event) ([]hogapi.Event, error) { ev.Name = ""; return []hogapi.Event{ev}, nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			source := hogapi.MapSource(hogapi.JSONLinesFile(writeFile(t, "e.jsonl", content.String())), mapping)
			_, err := hogapitest.New().Client(t).Import(t.Context(), source, &hogapi.ImportOptions{
				ID: "raw", Rate: hogapi.Unpaced, MaxRejectShare: -1, Rejects: hogapi.RejectFunc(func(_ context.Context, r hogapi.Reject) error {
					got = append(got, string(r.Raw))
					return nil
				}),
			})
			require.NoError(t, err)
			require.Equal(t, lines, got)
		})
	}
}
