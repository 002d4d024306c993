package hogapi_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

// A mapping that makes three events of each record is stopped again and again, and resumed: each event is there once, with one uuid.
func TestMappingToSeveralEventsIsResumed(t *testing.T) {
	t.Parallel()
	const records = 400
	synctest.Test(t, func(t *testing.T) {
		server := hogapitest.New()
		client := server.Client(t)
		source := hogapi.MapSource(numbered(records), func(ev hogapi.Event) ([]hogapi.Event, error) {
			var all []hogapi.Event
			for _, name := range []string{"ordered", "paid", "sent"} {
				next := ev
				next.Name, next.UUID = name, uuid.Nil
				all = append(all, next)
			}
			return all, nil
		})
		options := hogapi.ImportOptions{
			ID: "orders", Checkpoint: &memoryCheckpoint{}, Rate: hogapi.Unpaced,
			Delivery: hogapi.DeliveryOptions{MaxInFlight: 50, MaxBatchEvents: 7},
		}
		stops := 0
		for {
			ctx, cancel := context.WithCancel(t.Context())
			seen := 0
			stopping := hogapi.MapSource(source, func(ev hogapi.Event) ([]hogapi.Event, error) {
				if seen++; seen > 300 && stops < 5 {
					cancel()
				}
				return []hogapi.Event{ev}, nil
			})
			receipt, err := client.Import(ctx, stopping, &options)
			cancel()
			requireBalanced(t, receipt)
			if err == nil {
				assert.EqualValues(t, 3*records, receipt.Acknowledged)
				break
			}
			require.Equal(t, hogapi.StopCanceled, stopOf(t, err).Reason)
			stops++
			require.Less(t, stops, 10)
		}
		require.GreaterOrEqual(t, stops, 3)
		assert.Equal(t, 3*records, server.Ledger().Unique())
		assert.Empty(t, server.Ledger().Changed())
		names := map[string]int{}
		for e := range server.Ledger().Events() {
			names[e.Event]++
		}
		for _, name := range []string{"ordered", "paid", "sent"} {
			assert.GreaterOrEqual(t, names[name], records, name)
		}
	})
}
