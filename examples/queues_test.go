package examples_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

const messages = 12

// queue stands in for a queue that delivers at least once. The acknowledgement of the first delivery of each message is
// lost, so that the message is delivered again once its lease has ended.
type queue struct {
	kind

	lease time.Duration // of SQS: the visibility time-out; of Pub/Sub: the acknowledgement deadline; 0: each comes twice at once

	mu   sync.Mutex
	held []message
}

type kind struct {
	isOrdered    bool // Kafka keeps the order
	takesLateAck bool // SQS takes the newest receipt handle after the end of its lease; Pub/Sub does not
}

type message struct {
	n, deliveries int
	until         time.Time // nobody else gets it
	acknowledged  bool
}

type delivery struct{ n, handle int }

func newQueue(k kind, lease time.Duration) *queue {
	q := &queue{kind: k, lease: lease}
	for n := range messages {
		q.held = append(q.held, message{n: n})
	}
	return q
}

// receive delivers up to so many messages.
func (q *queue) receive(most int) (got []delivery) {
	q.mu.Lock()
	defer q.mu.Unlock()
	order := rand.Perm(messages)
	if q.isOrdered {
		slices.Sort(order)
	}
	for _, n := range order {
		if m := &q.held[n]; len(got) < most && !m.acknowledged && time.Now().After(m.until) {
			m.until = time.Now().Add(cmp.Or(q.lease, 5*time.Second))
			for range 2 {
				m.deliveries++
				got = append(got, delivery{n, m.deliveries})
				if q.lease > 0 {
					break
				}
			}
		}
	}
	return got
}

func (q *queue) acknowledge(d delivery) {
	q.mu.Lock()
	defer q.mu.Unlock()
	m := &q.held[d.n]
	if d.handle > 1 && d.handle == m.deliveries && (q.takesLateAck || time.Now().Before(m.until)) {
		m.acknowledged = true
	}
}

func (q *queue) isEmpty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return !slices.ContainsFunc(q.held, func(m message) bool { return !m.acknowledged })
}

// recordOf returns the events of a message: one, two or none.
func recordOf(n int, origin, position hogapi.Position) (record []hogapi.Event) {
	for i := range []int{1, 2, 0}[n%3] {
		record = append(record, hogapi.Event{
			Name: "ordered", DistinctID: fmt.Sprint("person-", n%4), Timestamp: time.Date(1999, 1, 1, 0, 0, n, 0, time.UTC),
			Properties: map[string]any{"n": n, "i": i}, Origin: origin, Position: position,
		})
	}
	if len(record) == 0 {
		record = []hogapi.Event{hogapi.SkippedEvent(position, "no events")}
	}
	return record
}

// byFlush is the simplest program: it takes some messages, enqueues each, flushes, and acknowledges all of them.
func byFlush(t *testing.T, client *hogapi.Client, o hogapi.CaptureOptions, q *queue, origin func(n int) hogapi.Position) hogapi.Receipt {
	t.Helper()
	capture, err := client.NewCapture(&o)
	require.NoError(t, err)
	for range 10_000 {
		if q.isEmpty() {
			break
		}
		got := q.receive(3)
		for _, d := range got {
			require.NoError(t, capture.Enqueue(t.Context(), recordOf(d.n, origin(d.n), origin(d.n))...))
		}
		require.NoError(t, capture.Flush(t.Context()))
		for _, d := range got {
			q.acknowledge(d)
		}
		time.Sleep(100 * time.Millisecond)
	}
	receipt, err := capture.Close(t.Context())
	require.NoError(t, err)
	return receipt
}

// bySettled numbers the deliveries, and acknowledges those that OnSettled names. It waits for no group.
func bySettled(t *testing.T, client *hogapi.Client, o hogapi.CaptureOptions, q *queue, origin func(n int) hogapi.Position) hogapi.Receipt {
	t.Helper()
	var mu sync.Mutex
	unacked, number := map[int64]delivery{}, int64(0)
	o.OnSettled = func(_ context.Context, upTo hogapi.Position) {
		mu.Lock()
		defer mu.Unlock()
		for at, d := range maps.All(unacked) {
			if at <= upTo.Offset {
				q.acknowledge(d)
				delete(unacked, at)
			}
		}
	}
	capture, err := client.NewCapture(&o)
	require.NoError(t, err)
	for range 10_000 {
		if q.isEmpty() {
			break
		}
		for _, d := range q.receive(1) {
			mu.Lock()
			number++
			at := hogapi.Position{Key: "delivery", Offset: number}
			unacked[number] = d
			mu.Unlock()
			require.NoError(t, capture.Enqueue(t.Context(), recordOf(d.n, origin(d.n), at)...))
		}
		time.Sleep(100 * time.Millisecond)
	}
	receipt, err := capture.Close(t.Context())
	require.NoError(t, err)
	return receipt
}

// The words of queues.md as programs. Each message, of one, two or no events, is delivered at least twice: at once, in an
// outage or after it. The outage begins at each request. Its events are the same.
func TestEveryMessageIsDeliveredTwice(t *testing.T) {
	for _, tt := range []struct {
		name    string
		kind    kind
		origin  func(n int) hogapi.Position
		program func(*testing.T, *hogapi.Client, hogapi.CaptureOptions, *queue, func(int) hogapi.Position) hogapi.Receipt
	}{
		{"SQS", kind{takesLateAck: true}, func(n int) hogapi.Position { return hogapi.Position{Key: fmt.Sprint("orders/", n)} }, byFlush},
		{"SQS, by OnSettled", kind{takesLateAck: true}, func(n int) hogapi.Position { return hogapi.Position{Key: fmt.Sprint("orders/", n)} }, bySettled},
		{"Pub/Sub", kind{}, func(n int) hogapi.Position { return hogapi.Position{Key: fmt.Sprint("topic/", n)} }, bySettled},
		{"Kafka", kind{isOrdered: true, takesLateAck: true}, func(n int) hogapi.Position { return hogapi.Position{Key: "topic/0", Offset: int64(n)} }, byFlush},
	} {
		for _, protocol := range []hogapi.Protocol{hogapi.ProtocolV1, hogapi.ProtocolBatch} {
			for _, lease := range []time.Duration{0, time.Second, 5 * time.Second, 5 * time.Minute} {
				for begins := range 5 {
					t.Run(fmt.Sprintf("%s, %s, again after %v, outage from request %d", tt.name, protocol, lease, begins), func(t *testing.T) {
						t.Parallel()
						synctest.Test(t, func(t *testing.T) {
							server := hogapitest.New()
							server.Script(ops.Capture, hogapitest.Repeat(begins, hogapitest.SlowAnswer(time.Millisecond)),
								hogapitest.Repeat(2, hogapitest.CutAfter()), hogapitest.Repeat(4, hogapitest.Status(503)))
							o := hogapi.CaptureOptions{ID: "queue", Delivery: hogapi.DeliveryOptions{Protocol: protocol, GiveUpAfter: -1, Tuning: hogapi.Tuning{Linger: 50 * time.Millisecond}}}
							receipt := tt.program(t, server.Client(t), o, newQueue(tt.kind, lease), tt.origin)
							assert.Equal(t, messages, server.Ledger().Unique(), "of 4 messages with one event and 4 with two")
							assert.GreaterOrEqual(t, receipt.Acknowledged, int64(2*messages), "each was taken twice")
							assert.GreaterOrEqual(t, receipt.Skipped, int64(2*messages/3))
							assert.Empty(t, server.Ledger().Changed())
						})
					})
				}
			}
		}
	}
}
