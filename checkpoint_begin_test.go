package hogapi_test

import (
	"context"
	"errors"
	"iter"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

// A source that cannot be opened, such as a file whose name has a typo, leaves the checkpoint as it was: the next run may name another.
func TestSourceThatCannotBeOpenedSavesNothing(t *testing.T) {
	t.Parallel()
	right := writeFile(t, "events.jsonl", payments(0, 20))
	second := writeFile(t, "second.jsonl", payments(20, 30))
	for name, tt := range map[string]struct {
		source hogapi.Source
		says   string
	}{
		"a typo":               {hogapi.JSONLinesFile(right + "l"), "no such file"},
		"a typo in the second": {hogapi.JSONLinesFile(right, second+"l"), "no such file"},
		"no file at all":       {hogapi.JSONLinesFile(), "at least one file"},
		"a folder":             {hogapi.JSONLinesFile(t.TempDir()), "this is a folder"},
		"one name twice":       {hogapi.JSONLinesFile(right, writeFile(t, "events.jsonl", "")), "different base names"},
		"another format":       {hogapi.JSONLinesFile(writeFile(t, "events.zip", "PK\x03\x04")), "zip file"},
		"a damaged gzip file":  {hogapi.JSONLinesFile(writeFile(t, "events.gz", zipped("{}")[:20])), "damaged"},
		"the table is missing": {hogapi.SourceFunc("tabel", func(context.Context, hogapi.Position) iter.Seq2[hogapi.Event, error] {
			return func(yield func(hogapi.Event, error) bool) { yield(hogapi.Event{}, errors.New("no such table")) }
		}), "no such table"},
		"a mapping of a typo": {hogapi.MapSource(hogapi.JSONLinesFile(right+"l"), func(ev hogapi.Event) ([]hogapi.Event, error) {
			return []hogapi.Event{ev}, nil
		}), "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := hogapitest.New()
			client := server.Client(t)
			path := filepath.Join(t.TempDir(), "ckpt")
			options := hogapi.ImportOptions{ID: "typo", Checkpoint: hogapi.FileCheckpoint(path), Rejects: ignoreRejects, Rate: hogapi.Unpaced}
			receipt, err := client.Import(t.Context(), tt.source, &options)
			require.ErrorContains(t, err, tt.says)
			assert.Zero(t, receipt.Read)
			assert.NoFileExists(t, path)
			assert.Empty(t, server.Calls())

			receipt, err = client.Import(t.Context(), hogapi.JSONLinesFile(right, second), &options)
			require.NoError(t, err)
			assert.EqualValues(t, 30, receipt.Acknowledged)

			// Once something is settled, a typo changes nothing either.
			_, err = client.Import(t.Context(), tt.source, &options)
			require.Error(t, err)
			receipt, err = client.Import(t.Context(), hogapi.JSONLinesFile(right, second), &options)
			require.NoError(t, err)
			assert.EqualValues(t, 30, receipt.Acknowledged)
			assert.Equal(t, 30, server.Ledger().Len(), "nothing was sent again")
		})
	}
}
