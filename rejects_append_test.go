package hogapi_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
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
	"github.com/hogapi/hogapi/internal/durable/simdisk"
	"github.com/hogapi/hogapi/ops"
)

// A line that somebody appends between two runs stays.
func TestRejectFileIsAppendedToBetweenRuns(t *testing.T) {
	t.Parallel()
	path, checkpoint := filepath.Join(t.TempDir(), "rejects.jsonl"), checkpointOnly(t)
	client := hogapitest.New().Client(t)
	broken := errors.New("the table is gone")
	run := func(n int) error {
		source := hogapi.SourceFunc("s", func(ctx context.Context, after hogapi.Position) iter.Seq2[hogapi.Event, error] {
			return func(yield func(hogapi.Event, error) bool) {
				for ev, err := range numbered(n).Events(ctx, after) {
					if ev.Position.Offset%5 == 0 {
						ev.Name = ""
					}
					if !yield(ev, err) {
						return
					}
				}
				if n < 20 {
					yield(hogapi.Event{}, broken)
				}
			}
		})
		_, err := client.Import(t.Context(), source, &hogapi.ImportOptions{ID: "x", MaxRejectShare: -1, Checkpoint: checkpoint, Rejects: hogapi.RejectFile(path)})
		return err
	}
	require.ErrorIs(t, run(10), broken)
	for _, note := range []string{`{"note":1}` + "\n", `{"note":2}`, "not JSON\n"} { // the second lacks its end
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		require.NoError(t, err)
		_, err = f.WriteString(note)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		require.ErrorIs(t, run(10), broken)
	}
	require.NoError(t, run(20))
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, note := range []string{"\n" + `{"note":1}` + "\n", "\n" + `{"note":2}` + "\n", "\nnot JSON\n"} {
		assert.Contains(t, string(content), note)
	}
	assert.Equal(t, 4, strings.Count(string(content), `"reason":"no_name"`))
}

// A line that somebody appends stays, also while an import writes to the file.
func TestRejectFileIsAppendedToByOthers(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rejects.jsonl")
	notes := 0
	source := altered(numbered(10), func(ev *hogapi.Event) {
		*ev = hogapi.BadEvent(ev.Position, []byte("bad"), errors.New("no JSON"))
	})
	handler := hogapi.RejectFile(path)
	_, err := hogapitest.New().Client(t).Import(t.Context(), altered(source, func(*hogapi.Event) {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		require.NoError(t, err)
		_, err = f.WriteString(`{"note":"of somebody"}` + "\n")
		require.NoError(t, err)
		require.NoError(t, f.Close())
		notes++
	}), &hogapi.ImportOptions{ID: "x", MaxRejectShare: -1, Rejects: handler, Delivery: hogapi.DeliveryOptions{MaxInFlight: 1}})
	require.NoError(t, err)
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, notes, strings.Count(string(content), `{"note":"of somebody"}`+"\n"))
	assert.Equal(t, 10, strings.Count(string(content), `"raw":"bad"`))
}

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

// A handler around a reject file fails with the file, at whichever operation: a reject that may be lost is not settled.
func TestWrappedRejectFileThatFails(t *testing.T) {
	t.Parallel()
	broken := errors.New("input/output error")
	source := eventsOf(numberedEvent(1), hogapi.BadEvent(hogapi.Position{}, []byte("bad"), errors.New("line 2")))
	operations := 0
	for n := 1; n < 20; n++ {
		disk := new(simdisk.Disk)
		disk.FailAt(n, broken)
		file := hogapi.RejectFileOn(disk, "rejects")
		checkpoint := &memoryCheckpoint{}
		receipt, err := hogapitest.New().Client(t).Import(t.Context(), source, &hogapi.ImportOptions{
			ID: "wrapped", Checkpoint: checkpoint, Rejects: hogapi.RejectFunc(func(ctx context.Context, r hogapi.Reject) error { return file.Reject(ctx, r) }),
		})
		if err == nil {
			break
		}
		operations++
		require.ErrorIs(t, err, broken, "operation %d", n)
		stop, isStop := errors.AsType[*hogapi.StopError](err)
		require.True(t, isStop)
		assert.Equal(t, hogapi.StopHandler, stop.Reason)
		assert.Zero(t, receipt.Rejected, "operation %d", n)
		assert.Zero(t, savedReceipt(t, checkpoint.State).Rejected, "operation %d", n)
	}
	assert.Equal(t, 4, operations, "creation, sync of the folder, write, sync")
}
