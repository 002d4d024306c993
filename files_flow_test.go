package hogapi_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

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
