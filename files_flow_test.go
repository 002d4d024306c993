package hogapi_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

// A checkpoint does not go on in another file of the same name, whose lines would count as sent up to the place.
func TestImportOfAnotherFileOfTheSameName(t *testing.T) {
	lines := func(year, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `{"event":"e","distinct_id":"p","timestamp":"%d-05-01T12:00:%02dZ"}`+"\n", year, i)
		}
		return b.String()
	}
	for _, first := range []int{1, 2, 60} { // with a place in the first line, and behind what is compared
		for name, form := range map[string]func(string) string{
			"plain": func(text string) string { return text },
			"gzip":  zipped,
		} {
			t.Run(fmt.Sprint(first, name), func(t *testing.T) {
				server := hogapitest.New()
				options := func(checkpoint hogapi.Checkpointer) hogapi.ImportOptions {
					return hogapi.ImportOptions{ID: "months", Rate: hogapi.Unpaced, Checkpoint: checkpoint}
				}
				load := func(checkpoint hogapi.Checkpointer, content string) (hogapi.Receipt, error) {
					path := writeFile(t, "events.jsonl", form(content))
					return server.Client(t).Import(t.Context(), hogapi.JSONLinesFile(path), new(options(checkpoint)))
				}
				checkpoint := hogapi.FileCheckpoint(filepath.Join(t.TempDir(), "ckpt"))
				_, err := load(checkpoint, lines(2023, first))
				require.NoError(t, err)
				receipt, err := load(checkpoint, lines(2024, 60))
				var input *hogapi.InputError
				require.ErrorAs(t, err, &input)
				assert.Equal(t, "checkpoint: begun with the source", input.Field)
				assert.EqualValues(t, first, receipt.Read, "what the checkpoint holds")
				assert.Equal(t, first, server.Ledger().Len())

				grown, err := load(checkpoint, lines(2023, 60)) // elsewhere now, and longer
				require.NoError(t, err)
				assert.EqualValues(t, 60, grown.Acknowledged)
				assert.Equal(t, 60, server.Ledger().Unique())

				unfinished := hogapi.FileCheckpoint(filepath.Join(t.TempDir(), "unfinished"))
				_, err = load(unfinished, strings.TrimSuffix(lines(2022, first), "\n"))
				require.NoError(t, err)
				grown, err = load(unfinished, lines(2022, 60))
				require.NoError(t, err)
				assert.EqualValues(t, 60, grown.Acknowledged)
			})
		}
	}
}

// Files that are added after the others belong to the same import; the ones before need not exist any more. Files that
// come before, or between them, are those of another import.
func TestImportOfFilesThatBecomeMore(t *testing.T) {
	t.Parallel()
	line := func(day int) string {
		return fmt.Sprintf(`{"event":"e","distinct_id":"p","timestamp":"2024-05-%02dT12:00:00Z"}`+"\n", day)
	}
	plain := hogapi.Format{Name: "plain"}
	plain.Convert = func(record []byte) ([]hogapi.Event, error) {
		var v struct {
			Event     string
			ID        string `json:"distinct_id"`
			Timestamp time.Time
		}
		err := json.Unmarshal(record, &v)
		return []hogapi.Event{{Name: v.Event, DistinctID: v.ID, Timestamp: v.Timestamp}}, err
	}
	for name, files := range map[string]func(...string) hogapi.Source{
		"lines": hogapi.JSONLinesFile, "format": func(paths ...string) hogapi.Source { return hogapi.FileSource(plain, paths...) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			var paths []string
			for i := range 12 {
				path := filepath.Join(dir, fmt.Sprintf("%02d.jsonl", i))
				require.NoError(t, os.WriteFile(path, []byte(line(i+1)+line(i+1)), 0o600))
				paths = append(paths, path)
			}
			server := hogapitest.New()
			load := func(paths ...string) (hogapi.Receipt, error) {
				return server.Client(t).Import(t.Context(), files(paths...),
					&hogapi.ImportOptions{ID: "months", Rate: hogapi.Unpaced, Checkpoint: hogapi.FileCheckpoint(filepath.Join(dir, "ckpt"))})
			}
			for _, n := range []int{2, 3, 10, 11} { // of many files the name is short
				receipt, err := load(paths[1:n]...)
				require.NoError(t, err)
				assert.EqualValues(t, 2*(n-1), receipt.Acknowledged)
				assert.Equal(t, 2*(n-1), server.Ledger().Unique())
			}
			for _, others := range [][]string{paths[:11], paths[2:11], append(slices.Clone(paths[1:9]), paths[10], paths[9]), paths[1:10]} {
				_, err := load(others...)
				require.Error(t, err)
				assert.Equal(t, "checkpoint: begun with the source", requireInputError(t, err).Field)
			}
			for _, path := range paths[1:10] {
				require.NoError(t, os.Remove(path))
			}
			receipt, err := load(paths[1:]...)
			require.NoError(t, err)
			assert.EqualValues(t, 22, receipt.Acknowledged)
			assert.Equal(t, 22, server.Ledger().Len(), "and each was sent once")
		})
	}
}
