package hogapi_test

import (
	"context"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

// numbered is a source of n events of a few persons, each at its own position.
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

func numberedEvent(i int) hogapi.Event {
	return hogapi.Event{
		Name: "order placed", DistinctID: fmt.Sprintf("person-%d", i%17),
		Timestamp:  time.Date(2024, 1, 1, 0, 0, i, 0, time.UTC),
		Properties: map[string]any{"n": i, "price": 12.5, "note": "a \"quoted\" text"},
		Position:   hogapi.Position{Offset: int64(i)},
	}
}

func TestImportSendsEverythingOnce(t *testing.T) {
	server := hogapitest.New()
	client := server.Client(t)
	receipt, err := client.Import(t.Context(), numbered(5000), hogapi.ImportOptions{ID: "smoke", Rate: hogapi.Unpaced})
	require.NoError(t, err)
	require.EqualValues(t, 5000, receipt.Acknowledged)
	require.EqualValues(t, 5000, receipt.Read)
	require.Zero(t, receipt.Pending)
	require.Equal(t, 5000, server.Ledger().Unique())
	t.Log(receipt)
}
