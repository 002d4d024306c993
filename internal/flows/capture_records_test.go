package flows_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/testevents"
	"github.com/hogapi/hogapi/ops"
)

// messageOf is the record of a message: zero to two events, without uuids.
func messageOf(i int) (record []hogapi.Event) {
	at := hogapi.Position{Key: "queue", Offset: int64(i)}
	if i%3 == 2 {
		return []hogapi.Event{event.Skip(at, "nothing in it")}
	}
	for n := range i%3 + 1 {
		ev := numberedEvent(2*i + n)
		ev.UUID, ev.Position = uuid.Nil, at
		record = append(record, ev)
	}
	return record
}

// A queue delivers a message at least once. Whenever a message is delivered again, before or after its events are
// settled, its events are the same.
func TestRedeliveredRecordsAreTheSameEvents(t *testing.T) {
	const messages = 30
	outage := func(server *hogapitest.Server) {
		server.Script(ops.Capture, hogapitest.Repeat(3, hogapitest.CutAfter()), hogapitest.Repeat(20, hogapitest.Status(503)))
	}
	for name, deliver := range map[string]func(t *testing.T, server *hogapitest.Server, push func(i int)){
		"directly, in an outage": func(_ *testing.T, server *hogapitest.Server, push func(int)) {
			outage(server)
			for i := range messages {
				push(i)
				push(i)
			}
		},
		"directly, after they are settled": func(_ *testing.T, _ *hogapitest.Server, push func(int)) {
			for i := range messages {
				push(i)
				time.Sleep(10 * time.Second) // virtual: acknowledged and committed
				push(i)
			}
		},
		"one by one through an outage": func(_ *testing.T, server *hogapitest.Server, push func(int)) {
			outage(server)
			for i := range messages {
				push(i)
				time.Sleep(time.Second)
				push(i)
				push(i)
			}
		},
		"with others between": func(_ *testing.T, server *hogapitest.Server, push func(int)) {
			outage(server)
			for i := range messages + 5 {
				if i < messages {
					push(i)
				}
				if i >= 5 {
					push(i - 5)
				}
			}
		},
	} {
		for _, protocol := range []hogapi.Protocol{hogapi.ProtocolBatch, hogapi.ProtocolV1} {
			t.Run(fmt.Sprint(name, ", ", protocol), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					server, client := fake(t)
					capture := newCapture(t, client, hogapi.CaptureOptions{ID: "x", Delivery: hogapi.DeliveryOptions{Protocol: protocol, GiveUpAfter: -1}})
					events := map[int]int{}
					deliver(t, server, func(i int) {
						events[i] = len(messageOf(i))
						if i%3 == 2 {
							events[i] = 0
						}
						require.NoError(t, capture.Enqueue(t.Context(), messageOf(i)...))
					})
					receipt := closed(t, capture)
					want := 0
					for _, n := range events {
						want += n
					}
					ledger := server.Ledger()
					assert.Equal(t, want, ledger.Unique(), "%d rows", ledger.Len())
					assert.Empty(t, ledger.Changed())
					assert.Greater(t, receipt.Acknowledged, int64(want), "each was taken again")
					assert.Positive(t, receipt.Skipped)
				})
			})
		}
	}
}

// The events that Close lists are put back as whole records, or one by one.
func TestUnsettledEventsArePutBack(t *testing.T) {
	for name, oneByOne := range map[string]bool{"records": false, "events": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const messages = 12
				server, client := fake(t)
				options := hogapi.CaptureOptions{ID: "x", Delivery: hogapi.DeliveryOptions{Protocol: hogapi.ProtocolV1, Tuning: hogapi.Tuning{MaxBatchEvents: 5}}}
				server.Script(ops.Capture, hogapitest.Always(hogapitest.CutAfter()))
				capture := newCapture(t, client, options)
				for i := range messages {
					require.NoError(t, capture.Enqueue(t.Context(), messageOf(i)...))
				}
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				_, err := capture.Close(ctx)
				unsettled := as[*event.UnsettledError](t, err)
				assert.Equal(t, 12, unsettled.Count)
				server.ClearScript(ops.Capture)

				capture = newCapture(t, client, options)
				ids := testevents.Unsettled(unsettled)
				var last hogapi.Position
				for u := range unsettled.Events() {
					record := messageOf(int(u.Position.Offset))
					if !oneByOne {
						if u.Position != last {
							require.NoError(t, capture.Enqueue(t.Context(), record...))
						}
						last = u.Position
						continue
					}
					ev := record[u.Number]
					ev.UUID = u.UUID
					require.NoError(t, capture.Enqueue(t.Context(), ev))
				}
				closed(t, capture)
				ledger := server.Ledger()
				assert.Equal(t, len(ids), ledger.Unique(), "%d rows", ledger.Len())
				assert.Empty(t, ledger.Missing(ids))
				assert.Empty(t, ledger.Changed())
			})
		})
	}
}

// A record that is split over calls would be events that replace each other: it is refused, and nothing of it is taken.
func TestSplitRecordsAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, client := fake(t)
		capture := newCapture(t, client, hogapi.CaptureOptions{ID: "x", Rejects: testevents.IgnoreRejects})
		two := messageOf(1)
		require.NoError(t, capture.Enqueue(t.Context(), two[0]))
		require.NoError(t, capture.Enqueue(t.Context(), messageOf(3)...), "of another record")
		err := capture.Enqueue(t.Context(), two[1])
		require.ErrorIs(t, err, hogapi.ErrInvalid)
		require.EqualError(t, err, `hogapi: capture: events "queue@1": want all events of a record in one call, or a UUID for each of them: `+
			`event 0 of this Position was taken with other content before, and two events of one uuid would replace each other`)
		require.ErrorIs(t, capture.TryEnqueue(slices.Concat(two[1:], two[:1])...), hogapi.ErrInvalid, "another order")
		require.NoError(t, capture.Enqueue(t.Context(), two...), "the whole record: its first event is the same")
		own := two[1]
		own.UUID = testevents.ID(99)
		require.NoError(t, capture.Enqueue(t.Context(), own), "with a uuid")

		first, second := messageOf(4)[0], messageOf(4)[1]
		own = first
		own.UUID = testevents.ID(98)
		require.NoError(t, capture.Enqueue(t.Context(), own, second))
		other, changed := first, second
		other.DistinctID, changed.DistinctID = "other", "changed"
		require.ErrorIs(t, capture.Enqueue(t.Context(), other, changed), hogapi.ErrInvalid)
		require.NoError(t, capture.Enqueue(t.Context(), first, second), "of a record that is refused, nothing is remembered")
		receipt := closed(t, capture)
		assert.EqualValues(t, 3, receipt.Refused)
		assert.EqualValues(t, 9, receipt.Acknowledged)
		assert.Zero(t, capture.Stats().Bytes, "what was refused takes no room")
		assert.Equal(t, 7, server.Ledger().Unique())
		requireBalanced(t, receipt)
	})
}

// With a real clock and socket: a Capture takes events before its host answers for the first time. Each is sent as it would
// have been sent later, and a record that is delivered again after the answer is the same.
func TestEventsAreTakenBeforeTheHostAnswers(t *testing.T) {
	const messages = 40
	for name, options := range map[string][]hogapitest.Option{"batch": {hogapitest.WithoutV1()}, "v1": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := deadPort(t)
			server := hogapitest.New(options...)
			client, err := hogapi.NewClient(hogapi.WithCaptureURL("http://"+address), hogapi.WithProjectAPIKey(hogapitest.DefaultProjectKey))
			require.NoError(t, err)
			capture := newCapture(t, client, hogapi.CaptureOptions{ID: "x", Delivery: hogapi.DeliveryOptions{GiveUpAfter: -1, Tuning: hogapi.Tuning{MaxInFlight: 300}}})
			push := func(i int) error {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				record := messageOf(i)
				record[0].Properties = map[string]any{
					"$session_id": "0190a5c2-0000-7000-8000-000000000000", "$lib": "own", "$process_person_profile": false, "n": i,
				}
				if i%5 == 0 {
					record[0].UUID = testevents.ID(i)
				}
				return capture.Enqueue(ctx, record...)
			}
			taken := 0
			for i := range messages {
				if push(i) == nil {
					taken++
				}
			}
			require.Equal(t, messages, taken, "not one call waited")
			assert.Empty(t, capture.Stats().Requests)
			listener, err := net.Listen("tcp", address)
			require.NoError(t, err)
			host := &http.Server{Handler: server, ReadHeaderTimeout: time.Minute}
			go func() { _ = host.Serve(listener) }()
			t.Cleanup(func() { _ = host.Close() })
			require.NoError(t, capture.Flush(t.Context()))
			first := server.Ledger().Len()
			for i := range messages {
				require.NoError(t, push(i))
			}
			receipt := closed(t, capture)
			ledger := server.Ledger()
			assert.Equal(t, name, string(receipt.Protocol))
			assert.Equal(t, first, ledger.Unique())
			assert.Equal(t, 2*first, ledger.Len())
			assert.Empty(t, ledger.Changed())
			assert.NotContains(t, receipt.Warnings, event.WarningUUIDReuse)
			assert.NotContains(t, receipt.Warnings, event.WarningUUIDConflict)
		})
	}
}
