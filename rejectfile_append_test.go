package hogapi_test

import (
	"context"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
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
