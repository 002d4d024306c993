package proof_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync/atomic"
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
	"github.com/hogapi/hogapi/internal/testevents"
	"github.com/hogapi/hogapi/ops"
)

// This file has the tests of a hostile user: handlers that fail, panic or block, contexts that end at bad moments, sources that break
// their contract. Nothing may be lost, counted twice, or hang.

// A save of the checkpoint, or a call of the reject handler, fails, one after the other. The import stops within the window. The receipt
// stays true, and the next run loses nothing and ends with the same counts.
func TestEveryWriteFails(t *testing.T) {
	for reason, least := range map[hogapi.StopReason]int{hogapi.StopCheckpoint: 3, hogapi.StopHandler: 25} {
		nth := 1
		for writeFails(t, reason, nth) {
			nth++
		}
		require.Greater(t, nth, least, "there were writes to fail")
	}
}

func writeFails(t *testing.T, reason hogapi.StopReason, nth int) (failed bool) {
	const n, window = 500, 100
	full, writes := errors.New("no space left on device"), map[hogapi.StopReason]int{}
	write := func(of hogapi.StopReason) error {
		if writes[of]++; of == reason && writes[of] == nth {
			failed = true
			return full
		}
		return nil
	}
	synctest.Test(t, func(t *testing.T) {
		server := hogapitest.New()
		client := server.Client(t)
		checkpoint := &testevents.Checkpoint{Before: func(int, []byte) error { return write(hogapi.StopCheckpoint) }}
		rejected, saved := map[int64]bool{}, 0
		options := history.Options{
			ID: "full", MaxRejectShare: -1, Checkpoint: checkpoint, Rate: hogapi.RateUnlimited,
			Delivery: hogapi.DeliveryOptions{Tuning: hogapi.Tuning{Lanes: 2, MaxBatchEvents: 25, MaxInFlight: window}},
			Rejects: hogapi.RejectFunc(func(_ context.Context, r hogapi.Reject) error {
				err := write(hogapi.StopHandler)
				rejected[r.Position.Offset] = rejected[r.Position.Offset] || err == nil
				return err
			}),
		}
		source := testevents.Altered(testevents.Source(n), func(ev *hogapi.Event) {
			if ev.Position.Offset%20 == 7 {
				ev.Name = ""
			}
		})
		receipt, err := history.Import(t.Context(), client, source, &options)
		testevents.RequireBalanced(t, receipt)
		require.False(t, checkpoint.Held, "the checkpoint is given back")
		if failed {
			requireStop(t, err, reason)
			require.ErrorIs(t, err, full)
			require.EqualValues(t, server.Ledger().Unique(), receipt.Acknowledged)
			if checkpoint.State != nil {
				saved = int(testevents.SavedReceipt(t, checkpoint.State).Read)
			}
			require.LessOrEqual(t, server.Ledger().Unique()-saved, window, "stops within the window")
			receipt, err = history.Import(t.Context(), client, source, &options)
			testevents.RequireBalanced(t, receipt)
			require.LessOrEqual(t, server.Ledger().Duplicates(), window)
		}
		require.NoError(t, err)
		require.EqualValues(t, n, receipt.Read)
		require.EqualValues(t, n/20, receipt.Rejected)
		require.Len(t, rejected, n/20)
		require.NotContains(t, slices.Collect(maps.Values(rejected)), false)
		require.Equal(t, n-n/20, server.Ledger().Unique())
		require.Empty(t, server.Ledger().Changed())
	})
	return failed
}

func requireStop(t *testing.T, err error, reason hogapi.StopReason) {
	t.Helper()
	var stop *hogapi.StopError
	require.ErrorAs(t, err, &stop)
	require.Equal(t, reason, stop.Reason)
}

// A panic in a user's function never ends the process. If the function decides about events, the import stops; if it only observes, the
// import continues.
func TestPanicsOfTheUser(t *testing.T) {
	const n = 300
	bad := testevents.Altered(testevents.Source(n), func(ev *hogapi.Event) {
		if ev.Position.Offset == 150 {
			ev.Name = ""
		}
	})
	of := func(events func(yield func(hogapi.Event, error) bool)) history.Source {
		return history.Func("s", func(context.Context, hogapi.Position) iter.Seq2[hogapi.Event, error] { return events })
	}
	for name, tt := range map[string]struct {
		reason  hogapi.StopReason
		source  history.Source
		rejects hogapi.RejectHandler
		save    func(int, []byte) error
		says    string
	}{
		"handler":    {hogapi.StopHandler, bad, hogapi.RejectFunc(func(context.Context, hogapi.Reject) error { panic("handler") }), nil, "panic"},
		"checkpoint": {hogapi.StopCheckpoint, bad, testevents.IgnoreRejects, func(int, []byte) error { panic("checkpoint") }, "panic"},
		"source": {hogapi.StopSource, of(func(yield func(hogapi.Event, error) bool) {
			yield(testevents.Event(1), nil)
			panic("the source")
		}), testevents.IgnoreRejects, nil, "panic"},
		"source that ignores break": {hogapi.StopSource, of(func(yield func(hogapi.Event, error) bool) {
			yield(hogapi.Event{}, errors.New("the table is gone"))
			yield(testevents.Event(1), nil)
		}), testevents.IgnoreRejects, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				checkpoint := &testevents.Checkpoint{Before: tt.save}
				options := history.Options{ID: "panics", Rate: hogapi.RateUnlimited, Rejects: tt.rejects, Checkpoint: checkpoint}
				receipt, err := history.Import(t.Context(), hogapitest.New().Client(t), tt.source, &options)
				requireStop(t, err, tt.reason)
				assert.ErrorContains(t, err, tt.says)
				require.False(t, checkpoint.Held)
				testevents.RequireBalanced(t, receipt)
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		server := hogapitest.New()
		client := server.Client(t)
		calls := 0
		receipt, err := history.Import(t.Context(), client, testevents.Source(n), &history.Options{
			ID: "panics", OnProgress: func(hogapi.Stats) { calls++; panic("progress") },
		})
		require.NoError(t, err)
		assert.EqualValues(t, n, receipt.Acknowledged)
		assert.Positive(t, calls)
		capture, err := client.NewCapture(&hogapi.CaptureOptions{OnSettled: func(context.Context, hogapi.Position) { panic("settled") }})
		require.NoError(t, err)
		for i := range n {
			require.NoError(t, capture.Enqueue(t.Context(), testevents.Event(i+1)))
		}
		_, err = capture.Close(t.Context())
		require.NoError(t, err)
	})
}

// panicking is a transport that panics at some of its requests, before it sends them or in the answer's body.
type panicking struct {
	http.RoundTripper

	n      atomic.Int64
	isBody bool
}

func (p *panicking) RoundTrip(r *http.Request) (*http.Response, error) {
	odd := p.n.Add(1)%2 == 1
	if odd && !p.isBody {
		panic(hogapitest.DefaultProjectKey)
	}
	resp, err := p.RoundTripper.RoundTrip(r)
	if odd && err == nil {
		resp.Body = panickingBody{resp.Body}
	}
	return resp, err
}

type panickingBody struct{ io.ReadCloser }

func (panickingBody) Read([]byte) (n int, err error) {
	var none *int
	return *none, nil
}

// A panic in the caller's transport fails the try. It is logged with its stack, and without its value.
func TestPanicsBelowACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &testevents.Output{}
		logged := hogapi.WithLogger(slog.New(slog.NewTextHandler(log, nil)))
		server := hogapitest.New()
		for _, isBody := range []bool{false, true} {
			client := server.Client(t, logged, hogapi.WithHTTPClient(&http.Client{Transport: &panicking{RoundTripper: server.Transport(), isBody: isBody}}))
			capture, err := client.NewCapture(&hogapi.CaptureOptions{})
			require.NoError(t, err)
			require.NoError(t, capture.Enqueue(t.Context(), testevents.Event(1)))
			receipt, err := capture.Close(t.Context())
			require.NoError(t, err)
			assert.EqualValues(t, 1, receipt.Acknowledged)
			_, err = client.BatchExports.Get(t.Context(), uuid.New())
			require.ErrorIs(t, err, hogapi.ErrNotFound, "the call is tried again")
		}
		assert.Contains(t, log.String(), "goroutine", "the stack")
		assert.NotContains(t, log.String(), hogapitest.DefaultProjectKey)
	})
}

// A handler may block: the window fills, reading waits, and the end of the context unblocks everything.
func TestHandlerThatBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := hogapitest.New()
		client := server.Client(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		allBad := testevents.Altered(testevents.Source(100_000), func(ev *hogapi.Event) { ev.DistinctID = "" })
		begin := time.Now()
		receipt, err := history.Import(ctx, client, allBad, &history.Options{
			ID: "blocks",
			Rejects: hogapi.RejectFunc(func(ctx context.Context, _ hogapi.Reject) error {
				<-ctx.Done()
				return ctx.Err()
			}),
		})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.LessOrEqual(t, time.Since(begin), time.Hour+10*time.Second)
		assert.LessOrEqual(t, receipt.Read, int64(2000))
		testevents.RequireBalanced(t, receipt)
	})
}

// An import notices the end of its context even if the source never looks at it and never waits for room.
func TestCancelWithoutTheSourcesHelp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := hogapitest.New()
		ctx, cancel := context.WithCancel(t.Context())
		endless := testevents.Altered(testevents.Source(100_000), func(ev *hogapi.Event) {
			if ev.Position.Offset == 1000 {
				cancel()
			}
		})
		receipt, err := history.Import(ctx, server.Client(t), endless, &history.Options{
			ID: "x", Rate: hogapi.RateUnlimited, Delivery: hogapi.DeliveryOptions{Tuning: hogapi.Tuning{MaxInFlight: 200_000}},
		})
		require.ErrorIs(t, err, context.Canceled)
		assert.LessOrEqual(t, receipt.Read, int64(1000))
		testevents.RequireBalanced(t, receipt)
	})
}

// An import that has stopped does not wait for a source that has nothing to give.
func TestStopReachesAWaitingSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := hogapitest.New()
		server.Script(ops.Capture, hogapitest.Status(401))
		source := history.Func("quiet", func(ctx context.Context, _ hogapi.Position) iter.Seq2[hogapi.Event, error] {
			return func(yield func(hogapi.Event, error) bool) {
				if yield(testevents.Event(1), nil) {
					<-ctx.Done() // a queue without messages
					yield(hogapi.Event{}, ctx.Err())
				}
			}
		})
		_, err := history.Import(t.Context(), server.Client(t), source, &history.Options{ID: "x"})
		requireStop(t, err, hogapi.StopUnauthorized)
	})
}

// A checkpoint stays readable after every kind of reject: times outside of any calendar, names that are not valid UTF-8.
func TestResumeAfterStrangeRejects(t *testing.T) {
	strange := []func(*hogapi.Event){
		func(ev *hogapi.Event) {
			ev.Timestamp = time.Date(9999, 12, 31, 23, 59, 59, 0, time.FixedZone("", -3600))
		},
		func(ev *hogapi.Event) { ev.Timestamp = time.Date(12024, 1, 1, 0, 0, 0, 0, time.UTC) },
		func(ev *hogapi.Event) { ev.Timestamp = time.Date(-44, 3, 15, 0, 0, 0, 0, time.UTC) },
		func(ev *hogapi.Event) { ev.Timestamp = time.Time{} },
		func(ev *hogapi.Event) { ev.Name = "\xff\xfe" },
		func(ev *hogapi.Event) { ev.Name = "" },
		func(ev *hogapi.Event) { ev.DistinctID = "\xff" },
		func(ev *hogapi.Event) { ev.Properties = map[string]any{"n": func() {}} },
		func(ev *hogapi.Event) { *ev = event.Bad(ev.Position, []byte("\xff{"), errors.New("no JSON")) },
	}
	synctest.Test(t, func(t *testing.T) {
		server := hogapitest.New()
		client := server.Client(t)
		const n = 200
		source := testevents.Altered(testevents.Source(n), func(ev *hogapi.Event) {
			if i := int(ev.Position.Offset); i%10 == 5 {
				strange[i/10%len(strange)](ev)
			}
		})
		checkpoint := &testevents.Checkpoint{}
		options := history.Options{
			ID: "strange", Checkpoint: checkpoint, Rejects: testevents.IgnoreRejects, MaxRejectShare: -1, Rate: hogapi.RateUnlimited,
			Delivery: hogapi.DeliveryOptions{Tuning: hogapi.Tuning{MaxBatchEvents: 10, MaxInFlight: 20}},
		}
		for stop := range int64(n) {
			ctx, cancel := context.WithCancel(t.Context())
			_, err := history.Import(ctx, client, testevents.Altered(source, func(ev *hogapi.Event) {
				if ev.Position.Offset == stop {
					cancel()
				}
			}), &options)
			cancel()
			if err != nil {
				require.ErrorIs(t, err, context.Canceled)
			}
		}
		receipt, err := history.Import(t.Context(), client, source, &options)
		require.NoError(t, err)
		testevents.RequireBalanced(t, receipt)
		assert.EqualValues(t, n/10, receipt.Rejected)
		assert.EqualValues(t, n-n/10, receipt.Acknowledged)
		assert.Equal(t, n-n/10, server.Ledger().Unique())
	})
}

// A name that a checkpoint cannot hold is refused before anything is sent: it would be read back changed, and no run could resume.
func TestANameThatIsNoText(t *testing.T) {
	server := hogapitest.New()
	source := history.Func("caf\xe9", testevents.Source(3).Events)
	_, err := history.Import(t.Context(), server.Client(t), source, &history.Options{ID: "binary", Checkpoint: &testevents.Checkpoint{}})
	require.ErrorContains(t, err, "want a name of UTF-8")
	require.Empty(t, server.Ledger().Requests())
}

// A time in a zone that JSON cannot write, such as a local mean time with seconds, is a valid time.
func TestTimesInStrangeZones(t *testing.T) {
	for _, offset := range []time.Duration{25 * time.Hour, 19*time.Minute + 32*time.Second} {
		synctest.Test(t, func(t *testing.T) {
			zone := time.FixedZone("strange", int(offset.Seconds()))
			source := testevents.Altered(testevents.Source(3), func(ev *hogapi.Event) { ev.Timestamp = ev.Timestamp.In(zone) })
			checkpoint := &testevents.Checkpoint{}
			receipt, err := history.Import(t.Context(), hogapitest.New().Client(t), source, &history.Options{ID: "zones", Checkpoint: checkpoint})
			require.NoError(t, err)
			assert.EqualValues(t, 3, receipt.Acknowledged)
			saved := testevents.SavedReceipt(t, checkpoint.State)
			assert.True(t, testevents.Event(1).Timestamp.Equal(saved.Oldest), "%v", saved.Oldest)
			assert.True(t, testevents.Event(3).Timestamp.Equal(saved.Newest), "%v", saved.Newest)
		})
	}
}
