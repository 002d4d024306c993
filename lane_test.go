package hogapi

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// testBatch is the part of a batch's events that the limits are about, counted anew.
type testBatch struct {
	events, bytes  int
	oldest, newest time.Time
}

func newTestBatch(prefix string, events []encoded) testBatch {
	b := testBatch{events: len(events), bytes: len(prefix) + len(events) - 1 + len(bodySuffix), oldest: events[0].time, newest: events[0].time}
	for _, e := range events {
		b.bytes += len(e.wire)
		if e.time.Before(b.oldest) {
			b.oldest = e.time
		}
		if e.time.After(b.newest) {
			b.newest = e.time
		}
	}
	return b
}

func (b testBatch) keeps(o DeliveryOptions) bool {
	return b.events <= o.MaxBatchEvents && b.bytes <= o.MaxBatchBytes && (o.MaxBatchSpan == 0 || b.newest.Sub(b.oldest) <= o.MaxBatchSpan)
}

// Each request has as many events, bytes and days in it as it may, and not one more.
func TestBatchesKeepTheirLimits(t *testing.T) {
	const prefix, programs, largest = `{"batch":[`, 500, 50
	for seed := range uint64(programs) {
		random := rand.New(rand.NewPCG(seed, 1))
		options := DeliveryOptions{Lanes: 1, MaxBatchEvents: 1 + random.IntN(12), MaxBatchBytes: len(prefix) + largest + len(bodySuffix) + random.IntN(300)}
		if random.IntN(2) == 0 {
			options.MaxBatchSpan = time.Duration(1 + random.IntN(30)) // whatever the unit
		}
		set := deliverySettings{DeliveryOptions: options, prefix: func() []byte { return []byte(prefix) }}
		l := newLane(&Capture{set: set, flow: newFlow(set), bodies: &spares{}}, 0)
		events := make([]encoded, 60)
		for i := range events {
			events[i] = encoded{wire: bytes.Repeat([]byte{byte('a' + i%26)}, 1+random.IntN(largest)), time: testTime.Add(time.Duration(random.IntN(40)))}
			l.add(events[i], uint64(i))
		}
		l.seal()
		at := 0
		for n, b := range l.queue {
			of := events[at : at+len(b.seqs)]
			require.True(t, newTestBatch(prefix, of).keeps(options), "seed %d, batch %d: more than it may", seed, n)
			for i, e := range of {
				require.EqualValues(t, at+i, b.seqs[i])
				require.Equal(t, string(e.wire), string(b.events(part{i, i + 1}, len(prefix))))
			}
			if at += len(of); at < len(events) {
				require.False(t, newTestBatch(prefix, events[at-len(of):at+1]).keeps(options), "seed %d, batch %d: one more was to go with it", seed, n)
			}
		}
		require.Len(t, events, at)
	}
}
