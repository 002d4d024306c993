package hogapi_test

import (
	"errors"
	"iter"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"context"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

// An import that did not reach the end of its source is not complete, though all that it sent is there.
// The checkpoint knows whether it did, and so does the receipt of a later run.
func TestAnUnfinishedImportIsNotComplete(t *testing.T) {
	t.Parallel()
	server, checkpoint := hogapitest.New(), &memoryCheckpoint{}
	client := server.Client(t)
	broken := hogapi.SourceFunc("numbered", func(ctx context.Context, after hogapi.Position) iter.Seq2[hogapi.Event, error] {
		return func(yield func(hogapi.Event, error) bool) {
			for ev, err := range numbered(50).Events(ctx, after) {
				if !yield(ev, err) {
					return
				}
			}
			yield(hogapi.Event{}, errors.New("the disk was taken out"))
		}
	})
	options := &hogapi.ImportOptions{ID: "hogapi-half", Checkpoint: checkpoint}
	receipt, err := client.Import(t.Context(), broken, options)
	require.Error(t, err)
	assert.False(t, receipt.Finished)
	v, err := client.Verify(t.Context(), receipt, nil)
	require.NoError(t, err)
	assert.False(t, v.Complete(), "%s", v)
	assert.Equal(t, hogapi.ArrivalUnfinished, v.State)
	assert.Contains(t, v.String(), "not finished")
	assert.NotContains(t, v.String(), "complete")

	receipt, err = client.Import(t.Context(), numbered(100), options)
	require.NoError(t, err)
	assert.True(t, receipt.Finished)
	v, err = client.Verify(t.Context(), receipt, nil)
	require.NoError(t, err)
	assert.True(t, v.Complete(), "%s", v)
}
