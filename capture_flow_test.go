package hogapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/bits"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

// In a synctest bubble it is the year 2000: events of the tests are from the years before.
var longAgo = time.Date(1998, 1, 1, 0, 0, 0, 0, time.UTC)

// numbered is a source of n events of seventeen persons, each at its own position.
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
		Name: "order placed", DistinctID: fmt.Sprintf("person-%d", i%17), Timestamp: longAgo.Add(time.Duration(i) * time.Second),
		UUID:       numberedUUID(i),
		Properties: map[string]any{"n": i, "price": 12.5, "note": "a \"quoted\" text"},
		Position:   hogapi.Position{Offset: int64(i)},
	}
}

func numberedUUID(i int) uuid.UUID {
	return uuid.NewSHA1(uuid.NameSpaceOID, fmt.Append(nil, i))
}

func numberedUUIDs(n int) (ids []uuid.UUID) {
	for i := range n {
		ids = append(ids, numberedUUID(i+1))
	}
	return ids
}

// requireWhole demands that the service holds exactly the n numbered events, unchanged and in order per person.
func requireWhole(t *testing.T, server *hogapitest.Server, n int) {
	t.Helper()
	ledger := server.Ledger()
	require.Equal(t, n, ledger.Unique())
	require.Empty(t, ledger.Missing(numberedUUIDs(n)))
	require.Empty(t, ledger.Changed())
	require.Zero(t, ledger.Inversions(numberedUUIDs(n)), "order per person")
	for _, r := range ledger.Requests() {
		require.True(t, r.Historical, "a request without historical_migration")
	}
}

var everyFault = []hogapitest.Fault{
	hogapitest.Status(500), hogapitest.Status(502), hogapitest.Status(408), hogapitest.HTML(504), hogapitest.PartialCommit(7, 503),
	hogapitest.RateLimit(""), hogapitest.RateLimit("1"), hogapitest.Refuse(), hogapitest.CutSending(), hogapitest.CutBefore(),
	hogapitest.CutAfter(), hogapitest.Truncated(), hogapitest.CutBody(3),
}

func TestImportSurvivesFaults(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		synctest.Test(t, func(t *testing.T) {
			server := hogapitest.New()
			client := server.Client(t)
			server.Chaos(ops.Capture, seed, 0.3, everyFault...)
			const n = 6000
			receipt, err := client.Import(t.Context(), numbered(n), &hogapi.ImportOptions{ID: "faults", Rate: hogapi.Unpaced, Delivery: hogapi.DeliveryOptions{MaxBatchEvents: 100}})
			require.NoError(t, err)
			assert.EqualValues(t, n, receipt.Read)
			assert.EqualValues(t, n, receipt.Acknowledged)
			assert.Zero(t, receipt.Pending)
			assert.Positive(t, receipt.Resent)
			requireWhole(t, server, n)
		})
	}
}

// One event that the service refuses costs at most 2·⌈log2 n⌉ requests more, and is itself tried exactly once.
func TestPoisonIsFoundByHalving(t *testing.T) {
	for _, status := range []int{http.StatusBadRequest, http.StatusRequestEntityTooLarge} {
		for _, n := range []int{1, 2, 3, 100, 1000} {
			synctest.Test(t, func(t *testing.T) {
				server := hogapitest.New()
				client := server.Client(t)
				poison := numberedUUID(n/2 + 1)
				tried := 0
				server.RejectEvents(func(raw json.RawMessage) int {
					if strings.Contains(string(raw), poison.String()) {
						tried++
						return status
					}
					return 0
				})
				var rejects []hogapi.Reject
				capture, err := client.NewCapture(&hogapi.CaptureOptions{
					Rate: hogapi.Unpaced, Delivery: hogapi.DeliveryOptions{Lanes: 1},
					Rejects: hogapi.RejectFunc(func(_ context.Context, r hogapi.Reject) error {
						rejects = append(rejects, r)
						return nil
					}),
				})
				require.NoError(t, err)
				for i := range n {
					require.NoError(t, capture.Enqueue(t.Context(), numberedEvent(i+1)))
				}
				receipt, err := capture.Close(t.Context())
				require.NoError(t, err)
				assert.EqualValues(t, n-1, receipt.Acknowledged)
				assert.EqualValues(t, 1, receipt.Rejected)
				require.Len(t, rejects, 1)
				assert.Equal(t, poison, rejects[0].UUID)
				assert.Equal(t, status, rejects[0].Status)
				assert.Equal(t, hogapi.Position{Offset: int64(n/2 + 1)}, rejects[0].Position)
				parts := 1 // that have the event, each half of the one before
				for from, to := 0, n; to-from > 1; parts++ {
					if middle := from + (to-from)/2; n/2 < middle {
						to = middle
					} else {
						from = middle
					}
				}
				assert.Equal(t, parts, tried, "requests with the event, the last one alone")
				calls := len(server.Calls(ops.Capture))
				assert.LessOrEqual(t, calls-1, 2*bits.Len(uint(n-1)), "extra requests")
				assert.Equal(t, n-1, server.Ledger().Unique())
			})
		}
	}
}

// Every answer that would meet all later batches too stops the Capture at once, and nothing is lost from sight.
func TestAnswersThatStop(t *testing.T) {
	tests := map[string]struct {
		fault  hogapitest.Fault
		reason hogapi.StopReason
		is     error
	}{
		"401":                {hogapitest.Status(401), hogapi.StopUnauthorized, hogapi.ErrUnauthorized},
		"402":                {hogapitest.Status(402), hogapi.StopQuota, hogapi.ErrQuota},
		"403":                {hogapitest.Status(403), hogapi.StopForbidden, hogapi.ErrForbidden},
		"404":                {hogapitest.Status(404), hogapi.StopNotFound, hogapi.ErrNotFound},
		"405":                {hogapitest.Status(405), hogapi.StopRefused, nil},
		"501":                {hogapitest.Status(501), hogapi.StopRefused, nil},
		"redirect":           {redirect("https://elsewhere.example/batch/"), hogapi.StopRedirect, nil},
		"quota in a 200":     {hogapitest.Status(200, `{"status":"Ok","quota_limited":["events"]}`), hogapi.StopQuota, hogapi.ErrQuota},
		"a login page":       {hogapitest.HTML(200), hogapi.StopNotService, nil},
		"an empty 200":       {hogapitest.Status(200, ""), hogapi.StopNotService, nil},
		"another status":     {hogapitest.Status(200, `{"status":0}`), hogapi.StopNotService, nil},
		"someone else's 200": {hogapitest.Status(200, `{"ok":true}`), hogapi.StopNotService, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := hogapitest.New()
				client := server.Client(t)
				server.Script(ops.Capture, hogapitest.Always(test.fault))
				capture, err := client.NewCapture(&hogapi.CaptureOptions{Delivery: hogapi.DeliveryOptions{Lanes: 1}})
				require.NoError(t, err)
				for i := range 3 {
					require.NoError(t, capture.Enqueue(t.Context(), numberedEvent(i+1)))
				}
				receipt, err := capture.Close(t.Context())
				var stop *hogapi.StopError
				require.ErrorAs(t, err, &stop)
				assert.Equal(t, test.reason, stop.Reason)
				if test.is != nil {
					require.ErrorIs(t, err, test.is)
				}
				var unsettled *hogapi.UnsettledError
				require.ErrorAs(t, err, &unsettled)
				assert.Equal(t, 3, unsettled.Count)
				assert.Equal(t, numberedUUIDs(3), unsettledUUIDs(unsettled))
				assert.EqualValues(t, 3, receipt.Pending)
				assert.EqualValues(t, 3, receipt.Read)
				assert.Len(t, server.Calls(ops.Capture), 1)
				require.ErrorIs(t, capture.Enqueue(t.Context(), numberedEvent(4)), hogapi.ErrClosed)
				require.ErrorIs(t, capture.Enqueue(t.Context(), hogapi.Event{}), hogapi.ErrClosed, "closed, whatever the event")
			})
		})
	}
}

func redirect(to string) hogapitest.Fault {
	return hogapitest.Then(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusTemporaryRedirect)
	})
}

// An outage of ten minutes loses nothing, and the import goes on within five seconds after it.
func TestOutageIsWaitedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := hogapitest.New()
		client := server.Client(t)
		begin := time.Now()
		time.AfterFunc(time.Second, func() { server.SetDown(true) })
		time.AfterFunc(10*time.Minute, func() { server.SetDown(false) })
		receipt, err := client.Import(t.Context(), numbered(5000), &hogapi.ImportOptions{ID: "outage"})
		require.NoError(t, err)
		assert.EqualValues(t, 5000, receipt.Acknowledged)
		requireWhole(t, server, 5000)
		var first time.Duration
		for _, r := range server.Ledger().Requests() {
			if at := r.At.Sub(begin); at > 10*time.Minute {
				first = at - 10*time.Minute
				break
			}
		}
		assert.Positive(t, first)
		assert.LessOrEqual(t, first, 5*time.Second)
		during := len(server.Calls(ops.Capture))
		assert.Less(t, during, 600, "one lane looks whether the outage is over, not all")
	})
}

func TestNoProgressStopsResumable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := hogapitest.New()
		client := server.Client(t)
		server.Script(ops.Capture, hogapitest.Always(hogapitest.Status(503)))
		begin := time.Now()
		receipt, err := client.Import(t.Context(), numbered(100), &hogapi.ImportOptions{ID: "down"})
		var stop *hogapi.StopError
		require.ErrorAs(t, err, &stop)
		assert.Equal(t, hogapi.StopNoProgress, stop.Reason)
		assert.InDelta(t, 15*time.Minute, time.Since(begin), float64(10*time.Second))
		assert.EqualValues(t, 100, receipt.Pending)
	})
}

func TestRetryAfterIsAFloorForAllLanes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := hogapitest.New()
		client := server.Client(t)
		server.Script(ops.Capture, hogapitest.RateLimit("90"))
		begin := time.Now()
		_, err := client.Import(t.Context(), numbered(1000), &hogapi.ImportOptions{ID: "limited", Rate: hogapi.Unpaced})
		require.NoError(t, err)
		early := 0
		for _, r := range server.Ledger().Requests() {
			if at := r.At.Sub(begin); at > time.Second && at < 90*time.Second {
				early++
			}
		}
		assert.Zero(t, early)
		requireWhole(t, server, 1000)
	})
}

func TestRetryAfterBeyondTheLimitStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := hogapitest.New()
		client := server.Client(t)
		server.Script(ops.Capture, hogapitest.Always(hogapitest.RateLimit("86400")))
		_, err := client.Import(t.Context(), numbered(10), &hogapi.ImportOptions{ID: "limited"})
		var stop *hogapi.StopError
		require.ErrorAs(t, err, &stop)
		assert.Equal(t, 24*time.Hour, stop.RetryAfter)
	})
}

// Who closes with a context that has ended wants nothing more sent, not even what only waited for company.
func TestCloseWithAnEndedContextSendsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := hogapitest.New()
		capture, err := server.Client(t).NewCapture(&hogapi.CaptureOptions{Delivery: hogapi.DeliveryOptions{Linger: time.Hour}})
		require.NoError(t, err)
		for i := range 10 {
			require.NoError(t, capture.Enqueue(t.Context(), numberedEvent(i+1)))
		}
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		receipt, err := capture.Close(lateContext{ctx})
		var unsettled *hogapi.UnsettledError
		require.ErrorAs(t, err, &unsettled)
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

// The official client loses what waits for a retry when it is closed. Close waits, or says what is unsettled: never nil
// with something lost.
func TestCloseDuringARetryWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := hogapitest.New()
		client := server.Client(t)
		server.Script(ops.Capture, hogapitest.Repeat(2, hogapitest.Status(503)))
		capture, err := client.NewCapture(&hogapi.CaptureOptions{})
		require.NoError(t, err)
		for i := range 10 {
			require.NoError(t, capture.Enqueue(t.Context(), numberedEvent(i+1)))
		}
		time.Sleep(300 * time.Millisecond) // virtual: the first tries have failed
		receipt, err := capture.Close(t.Context())
		require.NoError(t, err)
		assert.EqualValues(t, 10, receipt.Acknowledged)
		requireWhole(t, server, 10)
	})
	synctest.Test(t, func(t *testing.T) {
		server := hogapitest.New()
		client := server.Client(t)
		server.SetDown(true)
		capture, err := client.NewCapture(&hogapi.CaptureOptions{})
		require.NoError(t, err)
		for i := range 10 {
			require.NoError(t, capture.Enqueue(t.Context(), numberedEvent(i+1)))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		begin := time.Now()
		receipt, err := capture.Close(ctx)
		assert.Equal(t, 3*time.Second, time.Since(begin))
		var unsettled *hogapi.UnsettledError
		require.ErrorAs(t, err, &unsettled)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, 10, unsettled.Count)
		assert.Equal(t, hogapi.Position{Offset: 1}, unsettled.First)
		assert.Equal(t, hogapi.Position{Offset: 10}, unsettled.Last)
		assert.EqualValues(t, 10, receipt.Pending)
		again, errAgain := capture.Close(t.Context())
		assert.Equal(t, receipt, again)
		assert.Equal(t, err, errAgain)
	})
}

// The buffer blocks and never drops; TryEnqueue says that it is full: by default at 2,000 events in flight.
func TestBackPressure(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		options hogapi.CaptureOptions
		most    int
	}{
		"the default":          {hogapi.CaptureOptions{}, 2000},
		"the default, unpaced": {hogapi.CaptureOptions{Rate: hogapi.Unpaced, Delivery: hogapi.DeliveryOptions{MaxBytes: 32 << 20}}, 32_768}, // not full by bytes first
		"as it is set":         {hogapi.CaptureOptions{Rate: hogapi.Unpaced, Delivery: hogapi.DeliveryOptions{MaxInFlight: 50}}, 50},
		"as it is set, paced":  {hogapi.CaptureOptions{Delivery: hogapi.DeliveryOptions{MaxInFlight: 2500}}, 2500},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testBackPressure(t, test.options, test.most) })
		})
	}
}

func testBackPressure(t *testing.T, options hogapi.CaptureOptions, most int) {
	server := hogapitest.New()
	client := server.Client(t)
	server.Script(ops.Capture, hogapitest.Always(hogapitest.Slow(40*time.Second)))
	capture, err := client.NewCapture(&options)
	require.NoError(t, err)
	for i := range most {
		require.NoError(t, capture.TryEnqueue(numberedEvent(i+1)))
	}
	next := numberedEvent(most + 1)
	require.ErrorIs(t, capture.TryEnqueue(next), hogapi.ErrFull)
	assert.Equal(t, most, capture.Stats().InFlight)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	require.ErrorIs(t, capture.Enqueue(ctx, next), context.DeadlineExceeded)
	begin := time.Now()
	require.NoError(t, capture.Enqueue(t.Context(), next))
	assert.Greater(t, time.Since(begin), 30*time.Second)
	receipt, err := capture.Close(t.Context())
	require.NoError(t, err)
	assert.EqualValues(t, most+1, receipt.Acknowledged)
	requireWhole(t, server, most+1)
}

// When all room is taken by batches that are not full, they are sent for want of it: nobody waits for them to linger.
func TestOpenBatchesGiveRoom(t *testing.T) {
	for _, plain := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			const n = 300
			server := hogapitest.New()
			start := time.Now()
			capture, err := server.Client(t).NewCapture(&hogapi.CaptureOptions{
				Rate: hogapi.Unpaced, Delivery: hogapi.DeliveryOptions{MaxInFlight: 20, Linger: time.Hour, NoCompression: plain},
			})
			require.NoError(t, err)
			for i := range n {
				require.NoError(t, capture.Enqueue(t.Context(), numberedEvent(i+1)))
			}
			receipt, err := capture.Close(t.Context())
			require.NoError(t, err)
			require.EqualValues(t, n, receipt.Acknowledged)
			require.Less(t, time.Since(start), time.Minute)
		})
	}
}

// Batches are held in full until their last event is settled, and count until then. What is refused, and compressed bodies, come on top.
func TestMemoryWhileBatchesAreTakenApart(t *testing.T) {
	measuresMemory(t)
	t.Parallel()
	const most, mostBatch = 8 << 20, 4 << 20
	const n = 800
	for name, plain := range map[string]bool{"gzip": false, "plain": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := hogapitest.New()
				server.Script(ops.Capture, slices.Repeat([]hogapitest.Fault{hogapitest.Slow(time.Minute)}, 8)...) // all lanes are full by then
				server.Chaos(ops.Capture, 1, 1, hogapitest.Slow(20*time.Millisecond))
				refused := map[string]bool{}
				for i := 0; i < n; i += 20 {
					refused[numberedUUID(i+1).String()] = true
				}
				server.RejectEvents(func(raw json.RawMessage) int {
					_, rest, _ := strings.Cut(string(raw), `"uuid":"`)
					if refused[rest[:36]] {
						return http.StatusBadRequest
					}
					return 0
				})
				var rejects atomic.Int64
				capture, err := server.Client(t).NewCapture(&hogapi.CaptureOptions{
					Rate: hogapi.Unpaced, Delivery: hogapi.DeliveryOptions{MaxBytes: most, MaxBatchBytes: mostBatch, NoCompression: plain},
					Rejects: hogapi.RejectFunc(func(context.Context, hogapi.Reject) error {
						rejects.Add(1)
						return nil
					}),
				})
				require.NoError(t, err)
				counted := 0
				ctx, cancel := context.WithCancel(t.Context())
				var watching sync.WaitGroup
				watching.Go(func() {
					for ctx.Err() == nil {
						time.Sleep(10 * time.Millisecond)
						synctest.Wait()
						counted = max(counted, capture.Stats().Bytes)
					}
				})
				text := strings.Repeat("a", 40<<10)
				for i := range n {
					ev := numberedEvent(i + 1)
					ev.Properties["text"] = text
					require.NoError(t, capture.Enqueue(t.Context(), ev))
				}
				receipt, err := capture.Close(t.Context())
				require.NoError(t, err)
				cancel()
				watching.Wait()
				assert.EqualValues(t, n-len(refused), receipt.Acknowledged)
				assert.EqualValues(t, len(refused), rejects.Load())
				t.Logf("%.1f MiB counted", float64(counted)/(1<<20))
				assert.Greater(t, counted, most/2)
				assert.LessOrEqual(t, counted, most+mostBatch)
				assert.Zero(t, capture.Stats().Bytes)
			})
		})
	}
}

// slowAlone is a transport that refuses each request that has an event "poison", and takes its time where that is the only event.
type slowAlone struct{}

// RoundTrip implements http.RoundTripper.
func (slowAlone) RoundTrip(r *http.Request) (*http.Response, error) {
	raw, err := io.ReadAll(r.Body)
	_ = r.Body.Close()
	if err != nil {
		return nil, err
	}
	if raw, err = unzipped(raw); err != nil {
		return nil, err
	}
	status := http.StatusOK
	if bytes.Contains(raw, []byte(`"poison"`)) {
		status = http.StatusBadRequest
		if bytes.Count(raw, []byte(`"uuid":`)) == 1 {
			time.Sleep(time.Minute)
		}
	}
	time.Sleep(50 * time.Millisecond)
	return &http.Response{
		StatusCode: status, ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Request: r, Body: io.NopCloser(strings.NewReader(`{"status":"Ok"}`)),
	}, nil
}

// A batch that is taken apart is held as a whole until its last event is settled, and counts as a whole.
func TestMemoryOfBatchesThatAreAlmostSettled(t *testing.T) {
	measuresMemory(t)
	t.Parallel()
	const most, mostBatch, each, lanes = 8 << 20, 4 << 20, 90, 8
	for name, plain := range map[string]bool{"gzip": false, "plain": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := hogapitest.New().Client(t, hogapi.WithHTTPClient(&http.Client{Transport: slowAlone{}}))
				capture, err := client.NewCapture(&hogapi.CaptureOptions{
					Rate: hogapi.Unpaced, Rejects: ignoreRejects,
					Delivery: hogapi.DeliveryOptions{MaxBytes: most, MaxBatchBytes: mostBatch, NoCompression: plain, MaxBatchEvents: each, Lanes: lanes},
				})
				require.NoError(t, err)
				for i := range 20_000 { // the lanes get their permits
					require.NoError(t, capture.Enqueue(t.Context(), numberedEvent(i+1)))
				}
				require.NoError(t, capture.Flush(t.Context()))
				counted, n := 0, 20_000
				for lane := range lanes {
					var ev hogapi.Event
					for i := 0; ev.DistinctID == "" || hogapi.LaneOf(capture, ev) != lane; i++ {
						ev = numberedEvent(1)
						ev.DistinctID = fmt.Sprint("person-", i)
					}
					for i := range each {
						n++
						ev.UUID, ev.Name = numberedUUID(n), "fine"
						ev.Properties = map[string]any{"text": strings.Repeat("a", 40<<10)}
						if i == each-1 {
							ev.Name = "poison"
						}
						require.NoError(t, capture.Enqueue(t.Context(), ev))
					}
					time.Sleep(5 * time.Second)
					synctest.Wait()
					counted = max(counted, capture.Stats().Bytes)
				}
				receipt, err := capture.Close(t.Context())
				require.NoError(t, err)
				t.Logf("%.1f MiB counted", float64(counted)/(1<<20))
				assert.Greater(t, counted, most/2)
				assert.LessOrEqual(t, counted, most+mostBatch)
				assert.EqualValues(t, lanes, receipt.Rejected)
				assert.Zero(t, capture.Stats().Bytes)
			})
		})
	}
}

// Flush is a barrier for what came before it, and OnSettled has been told by then.
func TestFlushAndOnSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := hogapitest.New()
		client := server.Client(t)
		var mu sync.Mutex
		var positions []hogapi.Position
		capture, err := client.NewCapture(&hogapi.CaptureOptions{
			Rate: hogapi.Unpaced,
			OnSettled: func(p hogapi.Position) {
				mu.Lock()
				defer mu.Unlock()
				positions = append(positions, p)
			},
		})
		require.NoError(t, err)
		require.NoError(t, capture.Flush(t.Context()), "nothing to do")
		begin := time.Now()
		for i := range 500 {
			require.NoError(t, capture.Enqueue(t.Context(), numberedEvent(i+1)))
		}
		require.NoError(t, capture.Flush(t.Context()))
		assert.Less(t, time.Since(begin), 100*time.Millisecond, "Flush does not linger")
		assert.Equal(t, 500, server.Ledger().Unique())
		mu.Lock()
		assert.Equal(t, hogapi.Position{Offset: 500}, positions[len(positions)-1])
		for i := 1; i < len(positions); i++ {
			assert.Greater(t, positions[i].Offset, positions[i-1].Offset)
		}
		mu.Unlock()
		_, err = capture.Close(t.Context())
		require.NoError(t, err)
	})
}

// A record is reported when all its events are settled, within the linger time, whether or not another one comes.
func TestOnSettledIsToldOfWholeRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := hogapitest.New()
		got := make(chan hogapi.Position, 10)
		capture, err := server.Client(t).NewCapture(&hogapi.CaptureOptions{ID: "x", Rate: hogapi.Unpaced, OnSettled: func(p hogapi.Position) { got <- p }})
		require.NoError(t, err)
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
		receipt, err := capture.Close(t.Context())
		require.NoError(t, err)
		assert.EqualValues(t, 6, receipt.Acknowledged)
		assert.Equal(t, 6, server.Ledger().Unique(), "Identify got a uuid of the record's place")
		assert.Empty(t, got)
	})
}

// placed is an event at an offset; with 0 it has no position.
func placed(i int, offset int64) hogapi.Event {
	ev := numberedEvent(i)
	ev.Position = hogapi.Position{Offset: offset}
	return ev
}

// A record is taken as a whole or not at all.
func TestEnqueueTakesAllOrNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := hogapitest.New()
		capture, err := server.Client(t).NewCapture(&hogapi.CaptureOptions{ID: "x", Rate: hogapi.Unpaced, Delivery: hogapi.DeliveryOptions{MaxInFlight: 3, Linger: time.Hour}})
		require.NoError(t, err)
		bad := placed(2, 1)
		bad.Name = ""
		refusal, refused := errors.AsType[*hogapi.EventError](capture.Enqueue(t.Context(), placed(1, 1), bad))
		require.True(t, refused)
		assert.Equal(t, hogapi.ReasonNoName, refusal.Reason)
		require.ErrorIs(t, capture.Enqueue(t.Context(), placed(1, 1), placed(2, 2)), hogapi.ErrInvalid, "two records")
		require.NoError(t, capture.TryEnqueue(placed(1, 1), placed(2, 1)))
		require.ErrorIs(t, capture.TryEnqueue(placed(3, 2), placed(4, 2)), hogapi.ErrFull)
		require.NoError(t, capture.TryEnqueue(placed(5, 3)))
		require.NoError(t, capture.Enqueue(t.Context()), "nothing")
		receipt, err := capture.Close(t.Context())
		require.NoError(t, err)
		assert.EqualValues(t, 3, receipt.Acknowledged)
		assert.EqualValues(t, 1, receipt.Refused)
		requireBalanced(t, receipt)
	})
}

// What the gate refuses goes to the reject handler where there is one, as in an import.
func TestGateRefusalsGoToTheHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rejects []hogapi.Reject
		var settled []int64
		capture, err := hogapitest.New().Client(t).NewCapture(&hogapi.CaptureOptions{
			ID: "x", Rate: hogapi.Unpaced,
			Rejects: hogapi.RejectFunc(func(_ context.Context, r hogapi.Reject) error {
				rejects = append(rejects, r)
				return nil
			}),
			OnSettled: func(p hogapi.Position) { settled = append(settled, p.Offset) },
		})
		require.NoError(t, err)
		bad := placed(2, 2)
		bad.Name, bad.UUID = "", uuid.Nil
		require.NoError(t, capture.Enqueue(t.Context(), placed(1, 1)))
		require.NoError(t, capture.Enqueue(t.Context(), bad))
		require.NoError(t, capture.Enqueue(t.Context(), hogapi.SkippedEvent(hogapi.Position{Offset: 3}, "internal")))
		receipt, err := capture.Close(t.Context())
		require.NoError(t, err)
		require.Len(t, rejects, 1)
		assert.Equal(t, hogapi.ReasonNoName, rejects[0].Err.Reason)
		assert.Equal(t, hogapi.UUIDAt(hogapi.Position{Offset: 2}, "x"), rejects[0].UUID)
		assert.Equal(t, []int64{3}, settled[len(settled)-1:])
		assert.Equal(t, []int64{3, 1, 1, 1, 0}, []int64{receipt.Read, receipt.Acknowledged, receipt.Rejected, receipt.Skipped, receipt.Refused})
		assert.Equal(t, map[hogapi.Reason]int64{hogapi.ReasonNoName: 1}, receipt.Rejects)
		assert.Equal(t, map[string]int64{"internal": 1}, receipt.Skips)
		requireBalanced(t, receipt)
	})
}

// The default pace is kept over any ten seconds.
func TestDefaultPace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := hogapitest.New()
		client := server.Client(t)
		receipt, err := client.Import(t.Context(), numbered(60_000), &hogapi.ImportOptions{ID: "paced"})
		require.NoError(t, err)
		assert.EqualValues(t, 60_000, receipt.Acknowledged)
		requests := requirePace(t, server)
		took := requests[len(requests)-1].At.Sub(requests[0].At)
		assert.InDelta(t, 60, took.Seconds(), 2)
	})
}

// requirePace demands that the default pace was kept over any ten seconds, and returns the requests.
func requirePace(t *testing.T, server *hogapitest.Server) []hogapitest.CaptureRequest {
	t.Helper()
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
	return requests
}

func TestImportEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := hogapitest.New()
		client := server.Client(t)
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("the operator pressed a key")
		time.AfterFunc(5*time.Second, func() { cancel(why) })
		receipt, err := client.Import(ctx, numbered(50_000), &hogapi.ImportOptions{ID: "canceled"})
		require.ErrorIs(t, err, why)
		require.ErrorIs(t, err, context.Canceled)
		assert.Equal(t, 1, strings.Count(err.Error(), why.Error()), "it says so once: %v", err)
		var stop *hogapi.StopError
		require.ErrorAs(t, err, &stop)
		assert.Equal(t, hogapi.StopCanceled, stop.Reason)
		assert.Equal(t, receipt.Read, receipt.Acknowledged+receipt.Rejected+receipt.Pending)
		assert.EqualValues(t, server.Ledger().Unique(), receipt.Acknowledged)
	})
}

func TestWithoutHandlerTheFirstRejectStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := hogapitest.New()
		client := server.Client(t)
		source := hogapi.SourceFunc("bad", func(context.Context, hogapi.Position) iter.Seq2[hogapi.Event, error] {
			return func(yield func(hogapi.Event, error) bool) {
				bad := numberedEvent(2)
				bad.Name = ""
				_ = yield(numberedEvent(1), nil) && yield(bad, nil) && yield(numberedEvent(3), nil)
			}
		})
		_, err := client.Import(t.Context(), source, &hogapi.ImportOptions{ID: "bad"})
		var refused *hogapi.EventError
		require.ErrorAs(t, err, &refused)
		assert.Equal(t, hogapi.ReasonNoName, refused.Reason)
		assert.Equal(t, hogapi.Position{Offset: 2}, refused.Position)
		var stop *hogapi.StopError
		require.ErrorAs(t, err, &stop)
		assert.Equal(t, hogapi.StopRejected, stop.Reason)
	})
}

// What a source gave before its error is settled all the same.
func TestSourceErrorSettlesWhatCameBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := hogapitest.New()
		client := server.Client(t)
		broken := errors.New("the table is gone")
		source := hogapi.SourceFunc("broken", func(ctx context.Context, after hogapi.Position) iter.Seq2[hogapi.Event, error] {
			return func(yield func(hogapi.Event, error) bool) {
				for ev, err := range numbered(300).Events(ctx, after) {
					if !yield(ev, err) {
						return
					}
				}
				yield(hogapi.Event{}, broken)
			}
		})
		receipt, err := client.Import(t.Context(), source, &hogapi.ImportOptions{ID: "broken"})
		var stop *hogapi.StopError
		require.ErrorAs(t, err, &stop)
		assert.Equal(t, hogapi.StopSource, stop.Reason)
		require.ErrorIs(t, err, broken)
		assert.EqualValues(t, 300, receipt.Acknowledged)
		assert.Zero(t, receipt.Pending)
		requireWhole(t, server, 300)
	})
}

// What cannot be meant is refused before anything is sent, under the name of its field.
func TestNewCaptureRefusesBadOptions(t *testing.T) {
	server := hogapitest.New()
	client := server.Client(t)
	tests := map[string]hogapi.CaptureOptions{
		"CaptureOptions.ID":       {ID: "a\xffb"},
		"CaptureOptions.ID<":      {Gate: hogapi.GateOptions{ContentIDs: 1}},
		"Rate":                    {Rate: -2},
		"Gate.PersonPolicy":       {Gate: hogapi.GateOptions{PersonPolicy: 9}},
		"Gate.ContentIDs":         {Gate: hogapi.GateOptions{ContentIDs: -1}},
		"Delivery.FirstAnswer":    {Delivery: hogapi.DeliveryOptions{FirstAnswer: -2}},
		"Delivery.Lanes":          {Delivery: hogapi.DeliveryOptions{Lanes: 65}},
		"Delivery.MaxBatchBytes":  {Delivery: hogapi.DeliveryOptions{MaxBatchBytes: 19 << 20}},
		"Delivery.MaxBatchEvents": {Delivery: hogapi.DeliveryOptions{MaxBatchEvents: 10_001}},
		"Delivery.MaxBatchBytes<": {Delivery: hogapi.DeliveryOptions{MaxBatchBytes: 100_000}}, // no room for the largest event
		"Delivery.MaxBytes":       {Delivery: hogapi.DeliveryOptions{MaxBytes: -1}},
		"Delivery.MaxBytes<":      {Delivery: hogapi.DeliveryOptions{MaxBytes: 1}},
		"Delivery.Linger":         {Delivery: hogapi.DeliveryOptions{Linger: -1}},
		"Rejects":                 {Rejects: hogapi.RejectFunc(nil)},
		"Rejects<":                {Rejects: (*struct{ hogapi.RejectHandler })(nil)},
	}
	for field, options := range tests {
		t.Run(field, func(t *testing.T) {
			_, err := client.NewCapture(&options)
			var input *hogapi.InputError
			require.ErrorAs(t, err, &input)
			assert.Equal(t, strings.TrimSuffix(field, "<"), input.Field)
			require.ErrorIs(t, err, hogapi.ErrInvalid)
		})
	}
	for _, id := range []string{"a b", "a\nb", "é", strings.Repeat("a", 201)} {
		_, err := client.NewCapture(&hogapi.CaptureOptions{ID: id})
		require.ErrorIs(t, err, hogapi.ErrInvalid, "%q", id)
	}
	assert.Empty(t, server.Calls(ops.Capture))
}

// A producer whose context has ended hears of it at once, not only when the buffer is full.
func TestEnqueueWithAnEndedContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		capture, err := hogapitest.New().Client(t).NewCapture(&hogapi.CaptureOptions{})
		require.NoError(t, err)
		ctx, cancel := context.WithCancelCause(t.Context())
		require.NoError(t, capture.Enqueue(ctx, numberedEvent(1)))
		why := errors.New("the user has had enough")
		cancel(why)
		require.ErrorIs(t, capture.Enqueue(ctx, numberedEvent(2)), why)
		receipt, err := capture.Close(t.Context())
		require.NoError(t, err)
		assert.EqualValues(t, 1, receipt.Read)
	})
}

// Events go to the project of the key: a client for another project must not send them there without a word.
func TestForProjectRefusesToImport(t *testing.T) {
	server := hogapitest.New()
	other := server.Client(t).ForProject("2")
	_, err := other.Import(t.Context(), numbered(1), &hogapi.ImportOptions{ID: "trap"})
	var input *hogapi.InputError
	require.ErrorAs(t, err, &input)
	assert.Equal(t, "project", input.Field)
	_, err = other.NewCapture(&hogapi.CaptureOptions{})
	require.ErrorIs(t, err, hogapi.ErrInvalid)
	assert.Empty(t, server.Calls(ops.Capture))
}
