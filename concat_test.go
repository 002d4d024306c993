package hogapi_test

import (
	"context"
	"errors"
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
		_, err := alone.Client(t).Import(t.Context(), part, &hogapi.ImportOptions{ID: "x", Rate: hogapi.Unpaced, MaxRejectShare: -1, Rejects: ignoring})
		require.NoError(t, err)
	}
	checkpoint := filepath.Join(t.TempDir(), "checkpoint")
	options := hogapi.ImportOptions{ID: "x", Rate: hogapi.Unpaced, MaxRejectShare: -1, Rejects: ignoring, Checkpoint: hogapi.FileCheckpoint(checkpoint)}
	options.Delivery = hogapi.DeliveryOptions{MaxInFlight: 4, MaxBatchEvents: 2}
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

var ignoring = hogapi.RejectFunc(func(context.Context, hogapi.Reject) error { return nil })

// A source inside another one is resumed only in the file that it was in.
func TestConcatRecognizesFiles(t *testing.T) {
	t.Parallel()
	first, second := writeFile(t, "a.jsonl", linesOf(2023, 5)), writeFile(t, "b.jsonl", linesOf(2024, 5))
	source := hogapi.Concat(hogapi.JSONLinesFile(first), hogapi.JSONLinesFile(second))
	options := hogapi.ImportOptions{ID: "x", Rate: hogapi.Unpaced, Checkpoint: hogapi.FileCheckpoint(filepath.Join(t.TempDir(), "checkpoint"))}
	server := hogapitest.New()
	_, err := server.Client(t).Import(t.Context(), source, &options)
	require.NoError(t, err)
	_, err = server.Client(t).Import(t.Context(), source, &options)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(second, []byte(linesOf(2025, 5)), 0o600))
	_, err = server.Client(t).Import(t.Context(), source, &options)
	assert.Equal(t, "checkpoint: begun with the source", requireInputError(t, err).Field)
}
