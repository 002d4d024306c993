package hogapi_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

// watched is a source of a user that wraps another one, and says so.
type watched struct{ hogapi.Source }

func (w watched) Unwrap() hogapi.Source { return w.Source }

// wrappings are the ways to stand between a file and the import that keep the import's checks.
var wrappings = map[string]func(hogapi.Source) hogapi.Source{
	"Unwrap":    func(s hogapi.Source) hogapi.Source { return watched{s} },
	"MapSource": func(s hogapi.Source) hogapi.Source { return hogapi.MapSource(s, unchanged) },
	"several":   func(s hogapi.Source) hogapi.Source { return watched{hogapi.MapSource(watched{s}, unchanged)} },
}

func unchanged(ev hogapi.Event) ([]hogapi.Event, error) { return []hogapi.Event{ev}, nil }

// A wrapped file is still known: a checkpoint does not continue in another file of its name.
func TestWrappedFilesAreRecognized(t *testing.T) {
	t.Parallel()
	for name, wrap := range wrappings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := hogapitest.New()
			path, checkpoint := filepath.Join(t.TempDir(), "events.jsonl"), filepath.Join(t.TempDir(), "ckpt")
			run := func(content string) error {
				require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
				source := wrap(hogapi.JSONLinesFile(path))
				assert.Equal(t, "events.jsonl", source.Name())
				_, err := server.Client(t).Import(t.Context(), source, &hogapi.ImportOptions{ID: "wrapped", Checkpoint: hogapi.FileCheckpoint(checkpoint)})
				return err
			}
			require.NoError(t, run(linesOf(2023, 5)))
			input := requireInputError(t, run(linesOf(2024, 9)))
			assert.Equal(t, "checkpoint: begun with the source", input.Field)
			require.NoError(t, run(linesOf(2023, 9)))
			assert.Equal(t, 9, server.Ledger().Unique())
		})
	}
}

// A wrapped file is neither the import's reject file nor its checkpoint.
func TestWrappedFilesAreNotWrittenTo(t *testing.T) {
	t.Parallel()
	for name, wrap := range wrappings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := writeFile(t, "events.jsonl", linesOf(2023, 5)+"bad\n")
			link := filepath.Join(t.TempDir(), "link")
			require.NoError(t, os.Symlink(path, link))
			server := hogapitest.New()
			for _, same := range []string{path, link} {
				_, err := server.Client(t).Import(t.Context(), wrap(hogapi.JSONLinesFile(path)), &hogapi.ImportOptions{ID: "x", Rejects: hogapi.RejectFile(same)})
				assert.Equal(t, "ImportOptions.Rejects", requireInputError(t, err).Field)
				_, err = server.Client(t).Import(t.Context(), wrap(hogapi.JSONLinesFile(path)), &hogapi.ImportOptions{ID: "x", Checkpoint: hogapi.FileCheckpoint(same)})
				assert.Equal(t, "ImportOptions.Checkpoint", requireInputError(t, err).Field)
			}
			content, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, linesOf(2023, 5)+"bad\n", string(content))
			assert.Zero(t, server.Ledger().Len())
		})
	}
}
