package faults

import (
	"context"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

// numbered returns a source of n events of seventeen persons, each at its own position.
func numbered(n int) hogapi.Source {
	return hogapi.SourceFunc("numbered", func(_ context.Context, after hogapi.Position) iter.Seq2[hogapi.Event, error] {
		return func(yield func(hogapi.Event, error) bool) {
			for i := int(after.Offset) + 1; i <= n; i++ {
				if !yield(numberedEvent(i), nil) {
					return
				}
			}
		}
	})
}

// while ends a source after the first event for which more is false.
func while(source hogapi.Source, more func() bool) hogapi.Source {
	return hogapi.SourceFunc(source.Name(), func(ctx context.Context, after hogapi.Position) iter.Seq2[hogapi.Event, error] {
		return func(yield func(hogapi.Event, error) bool) {
			for ev, err := range source.Events(ctx, after) {
				if !yield(ev, err) || !more() {
					return
				}
			}
		}
	})
}

func numberedEvent(i int) hogapi.Event {
	return hogapi.Event{
		Name: "order placed", DistinctID: fmt.Sprintf("person-%d", i%17), UUID: numberedUUID(i), Position: hogapi.Position{Offset: int64(i)},
		Timestamp:  time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(i) * time.Second),
		Properties: map[string]any{"n": i, "price": 12.5, "note": "a \"quoted\" text", "path": fmt.Sprintf("/shop/%x/%x", i*7919, i*104729)},
	}
}

func numberedUUID(i int) uuid.UUID { return uuid.NewSHA1(uuid.NameSpaceOID, fmt.Append(nil, i)) }

// requireWhole requires that the service has exactly the n numbered events, with identical duplicates and in order per person, and that
// the receipt agrees.
func requireWhole(t *testing.T, server *hogapitest.Server, n int, receipt hogapi.Receipt) {
	t.Helper()
	ids := make([]uuid.UUID, n)
	for i := range ids {
		ids[i] = numberedUUID(i + 1)
	}
	ledger := server.Ledger()
	require.Empty(t, ledger.Missing(ids), "lost")
	require.Equal(t, n, ledger.Unique(), "events that nobody sent")
	require.Empty(t, ledger.Changed(), "duplicates that are not the same")
	require.Zero(t, ledger.Inversions(ids), "order per person by the last commit")
	require.EqualValues(t, n, receipt.Read)
	require.EqualValues(t, n, receipt.Acknowledged)
	require.Zero(t, receipt.Rejected)
	require.Zero(t, receipt.Pending)
}
