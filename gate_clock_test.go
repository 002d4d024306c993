package hogapi_test

import (
	"context"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/reasons"
)

// A clock that was ahead, and is put right, leaves no door open: each event is judged by the clock of its moment.
func TestAClockThatWasAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ahead time.Duration
		clock := func() time.Time { return time.Now().Add(ahead) }
		young := func(i int) hogapi.Event {
			ev := numberedEvent(i)
			ev.Timestamp = time.Now().Add(-time.Hour)
			return ev
		}
		source := hogapi.SourceFunc("s", func(context.Context, hogapi.Position) iter.Seq2[hogapi.Event, error] {
			return func(yield func(hogapi.Event, error) bool) {
				for i, a := range []time.Duration{0, 365 * 24 * time.Hour, 0, -365 * 24 * time.Hour, 0} {
					ahead = a
					if !yield(young(i+1), nil) {
						return
					}
				}
			}
		})
		var refused []hogapi.Reason
		server := hogapitest.New()
		imported(t, server.Client(t, hogapi.WithClock(clock)), source, &hogapi.ImportOptions{
			ID: "clock", MaxRejectShare: -1, Rejects: hogapi.RejectFunc(func(_ context.Context, r hogapi.Reject) error {
				refused = append(refused, r.Err.Reason)
				return nil
			}),
		})
		assert.Equal(t, []hogapi.Reason{reasons.TooYoung, reasons.TooYoung, reasons.Future, reasons.TooYoung}, refused)
		assert.Equal(t, 1, server.Ledger().Unique(), "while it was ahead")

		ahead = 365 * 24 * time.Hour
		capture := newCapture(t, server.Client(t, hogapi.WithClock(clock)), hogapi.CaptureOptions{})
		for i := range 3 {
			require.NoError(t, capture.Enqueue(t.Context(), young(10+i)))
		}
		ahead = 0
		for i := range 3 {
			refusal := new(hogapi.EventError)
			require.ErrorAs(t, capture.Enqueue(t.Context(), young(20+i)), &refusal)
			assert.Equal(t, reasons.TooYoung, refusal.Reason)
		}
		closed(t, capture)
	})
}
