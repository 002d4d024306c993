package hogapi_test

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

// contextual is a checkpoint of a user that obeys its context.
type contextual struct{ memoryCheckpoint }

func (c *contextual) Save(ctx context.Context, state []byte) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return c.memoryCheckpoint.Save(ctx, state)
}

// What was settled when the context ended is saved with one that has not ended.
func TestLastSaveOfACanceledImport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := hogapitest.New()
		server.Script(ops.Capture, hogapitest.Always(hogapitest.SlowAnswer(400*time.Millisecond)))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var sent atomic.Int64
		server.RejectEvents(func(json.RawMessage) int {
			if sent.Add(1) == 1 {
				time.AfterFunc(100*time.Millisecond, cancel) // before the first answer
			}
			return 0
		})
		checkpoint := &contextual{}
		receipt, err := server.Client(t).Import(ctx, numbered(5000), &hogapi.ImportOptions{ID: "canceled", Checkpoint: checkpoint, Delivery: hogapi.DeliveryOptions{Lanes: 1}})
		require.ErrorIs(t, err, context.Canceled)
		require.NotErrorIs(t, err, hogapi.ErrClosed)
		assert.NotContains(t, err.Error(), string(hogapi.StopCheckpoint))
		assert.Positive(t, receipt.Acknowledged)
		assert.Equal(t, receipt.Acknowledged, savedReceipt(t, checkpoint.State).Acknowledged)
	})
}
