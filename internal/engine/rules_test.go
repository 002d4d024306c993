package engine

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/delivery"
	"github.com/hogapi/hogapi/internal/httptry"
	"github.com/hogapi/hogapi/internal/ledger"
	"github.com/hogapi/hogapi/internal/wire"
)

// Events of one place are one record. Events without a place are a record each.
func TestRecordsOfPlaces(t *testing.T) {
	t.Parallel()
	var r openRecord
	for i, step := range []struct {
		place  event.Position
		begins bool
	}{{at(1), true}, {at(1), false}, {at(2), true}, {at(2), false}, {at(1), true}, {event.Position{}, true}, {event.Position{}, true}} {
		assert.Equal(t, step.begins, r.next(&Event{Position: step.place}), i)
		r.held.Events++
		assert.Equal(t, step.begins, r.held.Events == 1, i)
	}
}

func TestTextsOfRejects(t *testing.T) {
	t.Parallel()
	o := past("", 1)
	o.IsMapped, o.Record = true, []byte("raw")
	o.reject(&event.Error{Reason: event.ReasonNoName})
	assert.Equal(t, len(o.rejected.Event)+len("raw")+len("f"), o.size, "what it holds until it is handed over")
	assert.Equal(t, strings.Repeat("n", wire.MaxName), rowName(strings.Repeat("n", wire.MaxName+1)))
}

// As many rejects as accepted events, and skipped ones, are an import like others.
func TestSomeOfEach(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld().keeps().asks(byKind(200, 404, 200)) // it is not known when the first event is read
		skipped := past("", 3)
		skipped.Skip = "internal"
		first := past("", 0)
		first.Position, first.Skip = at(1), "internal"
		p, err := New(w.Config)
		require.NoError(t, err)
		r, err := p.Import(t.Context(), source(nil, first, past("a", 2), past("", 3), skipped))
		require.NoError(t, err)
		assert.True(t, r.Finished)
		assert.Equal(t, ledger.Counts{Acknowledged: 1, Rejected: 1, Skipped: 2}, countsOf(r))
		assert.EqualValues(t, 1, p.Stats(0).Requests)
		assert.Zero(t, r.Warnings[event.WarningAllSkipped])
		assert.Equal(t, "save", w.log[len(w.log)-1], "that it is finished")
	})
}

// A server that is busy when it is asked for its protocol is asked again.
func TestABusyServerIsAskedAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		questions := 0
		w := newWorld().keeps().asks(func(r Request) httptry.Try {
			switch {
			case r.Kind == Question:
				if questions++; questions == 1 {
					return answered(503, "busy")
				}
				return answered(400, `{"error":"empty_batch","error_description":"x"}`)
			case r.Kind == Events && questions < 2:
				t.Error("sent before the protocol was known")
			}
			return takenByV1(r)
		})
		r, err := w.run(t.Context(), t, source(nil, past("a", 1)))
		require.NoError(t, err)
		assert.Equal(t, event.ProtocolV1, r.Protocol)
		assert.Equal(t, 2, questions)
		assert.Zero(t, r.Warnings[event.WarningProtocol])
	})
}

// How long a busy service wants to be left alone is read from its answer.
func TestAnswersAreJudged(t *testing.T) {
	t.Parallel()
	w := newWorld()
	p, err := New(w.Config)
	require.NoError(t, err)
	busy := answered(503, "")
	busy.Header.Set("Retry-After", "7")
	a := p.poster.judge(busy, batch{w}, &delivery.Request{}, time.Second)
	assert.Equal(t, 7*time.Second, a.RetryAfter)
	assert.Equal(t, time.Second, a.Duration)
	_, err = p.Close(t.Context())
	require.NoError(t, err)
}

// Capture v1 refuses a request with a uuid twice, so two events with one uuid are not sent together there.
func TestOneUUIDInARequest(t *testing.T) {
	t.Parallel()
	for protocol, requests := range map[event.Protocol]int{event.ProtocolBatch: 1, event.ProtocolV1: 2} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld()
			w.Protocol = protocol
			if protocol == event.ProtocolV1 {
				w.answer = takenByV1
			}
			first, second := past("a", 1), past("b", 2)
			first.UUID = uuid.UUID{0: 1, 6: 0x40, 8: 0x80}
			second.UUID = first.UUID
			r, err := w.run(t.Context(), t, source(nil, first, second))
			require.NoError(t, err)
			assert.EqualValues(t, 2, r.Acknowledged)
			n := 0
			for _, text := range w.log {
				if text == "events" {
					n++
				}
			}
			assert.Equal(t, requests, n, protocol)
		})
	}
}

// A source is read as there is room for its events. One record may have more than the room. Batches that are not full are sent to make
// room, and do not linger then.
func TestRoomIsWaitedFor(t *testing.T) {
	t.Parallel()
	for _, perRecord := range []int{1, 2, 20} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld()
			w.Room.Events, w.Limits.Linger = 3, time.Hour
			begin := time.Now()
			var events []*Event
			for i := range 40 {
				events = append(events, past("a", int64(i/perRecord+1)))
			}
			ctx, end := context.WithTimeout(t.Context(), time.Minute)
			defer end()
			r, err := w.run(ctx, t, source(nil, events...))
			require.NoError(t, err)
			assert.EqualValues(t, 40, r.Acknowledged, perRecord)
			assert.Len(t, w.sent, 40)
			assert.Less(t, time.Since(begin), time.Minute)
		})
	}
}

// While the protocol is not known, a bad event is refused, a good one is taken, and one that only one protocol takes
// is not. A pipeline is finished when all of its events are settled.
func TestRefusedBeforeTheProtocolIsKnown(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld().asks(slowly(byKind(200, 404, 200)))
		w.Handler = nil
		p, err := New(w.Config)
		require.NoError(t, err)
		require.ErrorIs(t, enqueue(p, false, past(strings.Repeat("ä", 150), 1)), event.ErrFull)
		refused := new(event.Error)
		require.ErrorAs(t, enqueue(p, false, past("", 1)), &refused)
		require.NoError(t, enqueue(p, true, past("a", 1)))
		r, err := p.Close(t.Context())
		require.NoError(t, err)
		assert.True(t, r.Finished)
		assert.Equal(t, []string{"a"}, w.sent)
		assert.Equal(t, delivery.Held{}, p.budget.Held(), "also what the other form needed")
	})
}
