package flows_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

// Close with a context that has ended sends nothing more, not even events that waited to fill a batch.
func TestCloseWithAnEndedContextSendsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := hogapitest.New()
		capture := newCapture(t, server.Client(t), hogapi.CaptureOptions{Delivery: hogapi.DeliveryOptions{Tuning: hogapi.Tuning{Linger: time.Hour}}})
		enqueue(t, capture, 10)
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		receipt, err := capture.Close(lateContext{ctx})
		unsettled := as[*event.UnsettledError](t, err)
		require.ErrorIs(t, err, context.Canceled)
		assert.Equal(t, 10, unsettled.Count)
		assert.EqualValues(t, 10, receipt.Pending)
		assert.Empty(t, server.Calls(ops.Capture))
	})
}

// lateContext gives everybody else time to run before its end is waited for.
type lateContext struct{ context.Context }

func (c lateContext) Done() <-chan struct{} {
	time.Sleep(time.Second) // virtual
	return c.Context.Done()
}

// The official client loses the events that wait for a retry when it is closed. Close waits.
func TestCloseDuringARetryWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, client := fake(t)
		server.Script(ops.Capture, hogapitest.Repeat(2, hogapitest.Status(503)))
		capture := newCapture(t, client, hogapi.CaptureOptions{})
		enqueue(t, capture, 10)
		time.Sleep(300 * time.Millisecond) // virtual: the first tries have failed
		receipt := closed(t, capture)
		assert.EqualValues(t, 10, receipt.Acknowledged)
		requireWhole(t, server, 10)
	})
}

// A record is reported when all its events are settled, within the linger time, whether or not another one comes.
func TestOnSettledIsToldOfWholeRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := hogapitest.New()
		got := make(chan hogapi.Position, 10)
		capture := newCapture(t, server.Client(t), hogapi.CaptureOptions{ID: "x", Rate: hogapi.RateUnlimited, OnSettled: func(_ context.Context, p hogapi.Position) { got <- p }})
		for i, record := range [][]hogapi.Event{
			{placed(1, 1)}, {placed(2, 2), hogapi.Identify("ann", placed(1, 1).Timestamp, map[string]any{"a": 1}), placed(3, 2)}, {placed(4, 0)}, {placed(5, 3)},
		} {
			begin := time.Now()
			require.NoError(t, capture.Enqueue(t.Context(), record...))
			if record[0].Position.IsZero() {
				continue // it moves no place
			}
			assert.EqualValues(t, min(i+1, 3), (<-got).Offset)
			assert.LessOrEqual(t, time.Since(begin), 300*time.Millisecond)
		}
		receipt := closed(t, capture)
		assert.EqualValues(t, 6, receipt.Acknowledged)
		assert.Equal(t, 6, server.Ledger().Unique(), "Identify got a uuid of the record's place")
		assert.Empty(t, got)
	})
}

// The linger time counts from the oldest event of a request: events that keep coming do not hold it back. That of the next
// request counts from its own first event.
func TestLingerCountsFromTheOldestEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, client := fake(t)
		begin, options := time.Now(), hogapi.CaptureOptions{Delivery: hogapi.DeliveryOptions{Protocol: hogapi.ProtocolBatch, Tuning: hogapi.Tuning{Linger: time.Second}}}
		capture := newCapture(t, client, options)
		for i := range 6 {
			require.NoError(t, capture.Enqueue(t.Context(), numberedEvent(i+1)))
			time.Sleep(400 * time.Millisecond)
		}
		closed(t, capture)
		var sent []string
		for _, r := range server.Ledger().Requests() {
			sent = append(sent, fmt.Sprint(r.Events, " after ", r.At.Sub(begin)))
		}
		assert.Equal(t, []string{"3 after 1s", "3 after 2.2s"}, sent)
	})
}

// placed is an event at an offset; with 0 it has no position.
func placed(i int, offset int64) hogapi.Event {
	ev := numberedEvent(i)
	if ev.Position = (hogapi.Position{}); offset > 0 {
		ev.Position = hogapi.Position{Key: "q", Offset: offset}
	}
	return ev
}

// A record is taken as a whole or not at all.
func TestEnqueueTakesAllOrNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := hogapitest.New()
		capture := newCapture(t, server.Client(t), hogapi.CaptureOptions{ID: "x", Rate: hogapi.RateUnlimited, Delivery: hogapi.DeliveryOptions{Tuning: hogapi.Tuning{MaxInFlight: 3, Linger: time.Hour}}})
		bad := placed(2, 1)
		bad.Name = ""
		assert.Equal(t, event.ReasonNoName, as[*event.Error](t, capture.Enqueue(t.Context(), placed(1, 1), bad)).Reason)
		require.ErrorIs(t, capture.Enqueue(t.Context(), placed(1, 1), placed(2, 2)), hogapi.ErrInvalid, "two records")
		require.NoError(t, capture.TryEnqueue(placed(1, 1), placed(2, 1)))
		require.ErrorIs(t, capture.TryEnqueue(placed(3, 2), placed(4, 2)), hogapi.ErrFull)
		require.NoError(t, capture.TryEnqueue(placed(5, 3)))
		require.NoError(t, capture.Enqueue(t.Context()), "nothing")
		receipt := closed(t, capture)
		assert.EqualValues(t, 3, receipt.Acknowledged)
		assert.EqualValues(t, 1, receipt.Refused)
		requireBalanced(t, receipt)
	})
}

// If there is a reject handler, it gets the events that the gate rejects, as in an import.
func TestGateRefusalsGoToTheHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rejects []hogapi.Reject
		var settled []int64
		capture := newCapture(t, hogapitest.New().Client(t), hogapi.CaptureOptions{
			ID: "x", Rate: hogapi.RateUnlimited,
			Rejects:   keepRejects(&rejects),
			OnSettled: func(_ context.Context, p hogapi.Position) { settled = append(settled, p.Offset) },
		})
		bad := placed(2, 2)
		bad.Name, bad.UUID = "", uuid.Nil
		require.NoError(t, capture.Enqueue(t.Context(), placed(1, 1)))
		require.NoError(t, capture.Enqueue(t.Context(), bad))
		require.NoError(t, capture.Enqueue(t.Context(), event.Skip(hogapi.Position{Key: "q", Offset: 3}, "internal")))
		receipt := closed(t, capture)
		require.Len(t, rejects, 1)
		assert.Equal(t, event.ReasonNoName, rejects[0].Err.Reason)
		assert.Equal(t, uuidAt(hogapi.Position{Key: "q", Offset: 2}, "x"), rejects[0].UUID)
		assert.Equal(t, []int64{3}, settled[len(settled)-1:])
		assert.Equal(t, []int64{3, 1, 1, 1, 0}, []int64{receipt.Read, receipt.Acknowledged, receipt.Rejected, receipt.Skipped, receipt.Refused})
		assert.Equal(t, map[hogapi.Reason]int64{event.ReasonNoName: 1}, receipt.Rejects)
		assert.Equal(t, map[string]int64{"internal": 1}, receipt.Skips)
		requireBalanced(t, receipt)
	})
}

// The default pace is kept over any ten seconds.
func TestDefaultPace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, client := fake(t)
		receipt := imported(t, client, numbered(20_000), &history.Options{ID: "paced"})
		assert.EqualValues(t, 20_000, receipt.Acknowledged)
		requests := server.Ledger().Requests()
		for i := range requests {
			n := 0
			for _, r := range requests[i:] {
				if r.At.Sub(requests[i].At) >= 10*time.Second {
					break
				}
				n += r.Events
			}
			require.LessOrEqual(t, n, 10_500)
		}
		took := requests[len(requests)-1].At.Sub(requests[0].At)
		assert.InDelta(t, 20, took.Seconds(), 2)
	})
}

// NewCapture refuses impossible options by the name of the field, before it sends anything.
func TestNewCaptureRefusesBadOptions(t *testing.T) {
	server, client := fake(t)
	tests := map[string]hogapi.CaptureOptions{
		"CaptureOptions.ID":         {ID: "a\xffb"},
		"Rate":                      {Rate: -2},
		"Gate.PersonPolicy":         {Gate: hogapi.GateOptions{PersonPolicy: 9}},
		"Delivery.GiveUpAfter":      {Delivery: hogapi.DeliveryOptions{GiveUpAfter: -2}},
		"Delivery.UnreachableAfter": {Delivery: hogapi.DeliveryOptions{Tuning: hogapi.Tuning{UnreachableAfter: -2}}},
		"Delivery.Lanes":            {Delivery: hogapi.DeliveryOptions{Tuning: hogapi.Tuning{Lanes: 65}}},
		"Delivery.MaxBatchBytes":    {Delivery: hogapi.DeliveryOptions{Tuning: hogapi.Tuning{MaxBatchBytes: 19 << 20}}},
		"Delivery.MaxBatchEvents":   {Delivery: hogapi.DeliveryOptions{Tuning: hogapi.Tuning{MaxBatchEvents: 10_001}}},
		"Delivery.MaxBatchBytes<":   {Delivery: hogapi.DeliveryOptions{Tuning: hogapi.Tuning{MaxBatchBytes: 100_000}}}, // no room for the largest event
		"Delivery.MaxBytes":         {Delivery: hogapi.DeliveryOptions{Tuning: hogapi.Tuning{MaxBytes: -1}}},
		"Delivery.MaxBytes<":        {Delivery: hogapi.DeliveryOptions{Tuning: hogapi.Tuning{MaxBytes: 1}}},
		"Delivery.Linger":           {Delivery: hogapi.DeliveryOptions{Tuning: hogapi.Tuning{Linger: -1}}},
		"Delivery.Protocol":         {Delivery: hogapi.DeliveryOptions{Protocol: "v2"}},
		"Delivery.Compression":      {Delivery: hogapi.DeliveryOptions{Compression: "br"}},
		"Rejects":                   {Rejects: hogapi.RejectFunc(nil)},
		"Rejects<":                  {Rejects: (*struct{ hogapi.RejectHandler })(nil)},
	}
	for field, options := range tests {
		t.Run(field, func(t *testing.T) {
			_, err := client.NewCapture(&options)
			assert.Equal(t, strings.TrimSuffix(field, "<"), requireInputError(t, err).Field)
			require.ErrorIs(t, err, hogapi.ErrInvalid)
		})
	}
	for _, id := range []string{"a b", "a\nb", "é", strings.Repeat("a", 201)} {
		_, err := client.NewCapture(&hogapi.CaptureOptions{ID: id})
		require.ErrorIs(t, err, hogapi.ErrInvalid, "%q", id)
	}
	assert.Empty(t, server.Calls(ops.Capture))
}

// If its context has ended, Enqueue fails at once, not only when the buffer is full.
func TestEnqueueWithAnEndedContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		capture := newCapture(t, hogapitest.New().Client(t), hogapi.CaptureOptions{})
		ctx, cancel := context.WithCancelCause(t.Context())
		require.NoError(t, capture.Enqueue(ctx, numberedEvent(1)))
		why := errors.New("the user has had enough")
		cancel(why)
		require.ErrorIs(t, capture.Enqueue(ctx, numberedEvent(2)), why)
		receipt := closed(t, capture)
		assert.EqualValues(t, 1, receipt.Read)
	})
}

// Events go to the project of the key: a client for another project must not send them there silently.
func TestForProjectRefusesToImport(t *testing.T) {
	server := hogapitest.New()
	other := server.Client(t).ForProject("2")
	_, err := history.Import(t.Context(), other, numbered(1), &history.Options{ID: "trap"})
	assert.Equal(t, "project", requireInputError(t, err).Field)
	_, err = other.NewCapture(&hogapi.CaptureOptions{})
	require.ErrorIs(t, err, hogapi.ErrInvalid)
	assert.Empty(t, server.Calls(ops.Capture))
}
