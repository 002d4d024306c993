package hogapi_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

// Several sources are one: from every position on the rest comes, and each event is the one that it is alone.
func TestConcat(t *testing.T) {
	t.Parallel()
	first, second := writeFile(t, "first.jsonl", linesOf(2023, 5)), writeFile(t, "second.csv", layouts["CSV"](rowsOf(20)))
	parts := []hogapi.Source{
		hogapi.JSONLinesFile(first), hogapi.MapSource(hogapi.FileSource(tableFormat, second), unchanged), hogapi.Concat(numbered(7)), hogapi.JSONLinesFile(writeFile(t, "third.jsonl", linesOf(2024, 5))),
	}
	source := hogapi.Concat(parts...)
	all, positions := described(t, source, hogapi.Position{})
	for i, p := range positions {
		if i+1 < len(positions) && positions[i+1] == p {
			continue
		}
		rest, _ := described(t, source, p)
		require.Equal(t, all[i+1:], append([]string{}, rest...), "after %s", p)
	}

	alone, together := hogapitest.New(), hogapitest.New()
	for _, part := range parts {
		imported(t, alone.Client(t), part, &hogapi.ImportOptions{ID: "x", Rate: hogapi.Unpaced, MaxRejectShare: -1, Rejects: ignoreRejects})
	}
	checkpoint := filepath.Join(t.TempDir(), "checkpoint")
	options := hogapi.ImportOptions{ID: "x", Rate: hogapi.Unpaced, MaxRejectShare: -1, Rejects: ignoreRejects, Checkpoint: hogapi.FileCheckpoint(checkpoint)}
	options.Delivery = hogapi.DeliveryOptions{Tuning: hogapi.Tuning{MaxInFlight: 4, MaxBatchEvents: 2}}
	stop, stops := errors.New("stop here"), 0
	for {
		ctx, cancel := context.WithCancelCause(t.Context())
		seen := 0
		stopping := hogapi.MapSource(source, func(ev hogapi.Event) ([]hogapi.Event, error) {
			if seen++; seen > 15 {
				cancel(stop)
			}
			return []hogapi.Event{ev}, nil
		})
		_, err := together.Client(t).Import(ctx, stopping, &options)
		cancel(nil)
		if err == nil {
			break
		}
		require.ErrorIs(t, err, stop)
		stops++
		require.Less(t, stops, 50)
	}
	require.Greater(t, stops, 2)
	assert.Equal(t, stored(t, alone), stored(t, together))

	// The file of the place is recognized, and no file that is read is written to.
	options.Rejects = hogapi.RejectFile(second)
	_, err := together.Client(t).Import(t.Context(), source, &options)
	assert.Equal(t, "ImportOptions.Rejects", requireInputError(t, err).Field)
	_, err = together.Client(t).Import(t.Context(), hogapi.Concat(parts[0], hogapi.JSONLinesFile(first)), &hogapi.ImportOptions{ID: "x"})
	require.ErrorContains(t, err, "different base names")
	_, err = together.Client(t).Import(t.Context(), hogapi.Concat(), &hogapi.ImportOptions{ID: "x"})
	requireInputError(t, err)
}

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
	all := maps.Clone(wrappings)
	all["as it is"] = func(s hogapi.Source) hogapi.Source { return s }
	all["Concat"] = func(s hogapi.Source) hogapi.Source { return hogapi.Concat(s) }
	all["gzip"] = all["as it is"]
	for name, wrap := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := hogapitest.New()
			path, checkpoint := filepath.Join(t.TempDir(), "events.jsonl"), filepath.Join(t.TempDir(), "ckpt")
			run := func(content string) error {
				if name == "gzip" {
					content = zipped(content)
				}
				require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
				source := wrap(hogapi.JSONLinesFile(path))
				assert.Contains(t, source.Name(), "events.jsonl")
				_, err := server.Client(t).Import(t.Context(), source, &hogapi.ImportOptions{ID: "wrapped", Checkpoint: hogapi.FileCheckpoint(checkpoint)})
				return err
			}
			require.NoError(t, run(linesOf(2023, 5)))
			assert.Equal(t, "checkpoint: begun with the source", requireInputError(t, run(linesOf(2024, 9))).Field)
			assert.Equal(t, 5, server.Ledger().Len(), "nothing was sent")
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
				require.ErrorContains(t, err, "a file that is not read")
				_, err = server.Client(t).Import(t.Context(), wrap(hogapi.JSONLinesFile(path)), &hogapi.ImportOptions{ID: "x", Checkpoint: hogapi.FileCheckpoint(same)})
				assert.Equal(t, "ImportOptions.Checkpoint", requireInputError(t, err).Field)
			}
			content := readFile(t, path)
			assert.Equal(t, linesOf(2023, 5)+"bad\n", string(content))
			assert.Zero(t, server.Ledger().Len())
		})
	}
}
