package delivery

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Items that fit one batch are one request, regardless of their keys. Further items spread over the
// lanes, after the earlier batch, until nothing is left.
func TestFewItemsGoOutTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type sent struct {
			at    time.Duration
			items int
		}
		var requests []sent
		var mu sync.Mutex
		begin, settled := time.Now(), 0
		l := newLedger()
		s := New(t.Context(), l.config(Limits{Lanes: 4, BatchItems: 10, MostBatchItems: 10, Linger: time.Second}, func(r *Request) Answer {
			n := r.Len() // before settling
			mu.Lock()
			requests = append(requests, sent{time.Since(begin), n})
			settled += n
			mu.Unlock()
			time.Sleep(time.Minute)
			return Answer{Verdict: Settled, Status: 200, Duration: time.Minute}
		}))
		add := func(from, to int) {
			for i := from; i < to; i++ {
				s.Add(Item{Seq: uint64(i), Wire: []byte("x"), Time: begin, Key: uint64(i)})
			}
		}
		add(0, 8)
		s.Flush(8)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		require.Equal(t, []sent{{0, 8}}, requests)

		requests = nil
		add(8, 18)
		add(18, 30)
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Equal(t, 30, settled)
		require.Equal(t, sent{2 * time.Minute, 10}, requests[0], "the first lane")
		for _, r := range requests[1:] {
			assert.GreaterOrEqual(t, r.at, 3*time.Minute, "the others wait for it")
		}
		assert.Greater(t, len(requests), 3, "they are spread")

		requests = nil
		add(30, 38)
		s.Flush(38)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		require.Len(t, requests, 1, "together again")
		s.Close()
	})
}
