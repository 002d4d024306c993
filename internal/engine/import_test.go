package engine

import (
	"context"
	"errors"
	"iter"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/httptry"
	"github.com/hogapi/hogapi/internal/ledger"
	"github.com/hogapi/hogapi/internal/wire"
)

func TestAnImport(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld().keeps()
		nameless := past("", 2)
		nameless.Fields.Properties = map[string]any{"a": 1}
		skipped := past("left out", 3)
		skipped.Skip = "internal user"
		r, err := w.run(t.Context(), t, source(nil, past("a", 1), nameless, skipped, past("b", 4), past("c", 4)))
		require.NoError(t, err)
		assert.True(t, r.Finished)
		assert.Equal(t, event.ProtocolBatch, r.Protocol)
		assert.Equal(t, ledger.Counts{Acknowledged: 3, Rejected: 1, Skipped: 1}, countsOf(r))
		assert.Equal(t, map[event.Reason]int64{event.ReasonNoName: 1}, r.Rejects)
		assert.Equal(t, map[string]int64{"internal user": 1}, r.Skips)
		assert.Equal(t, at(4), r.Last)
		assert.Zero(t, r.Pending)

		identity := wire.NewIdentity("imp")
		assert.Equal(t, []string{"a", "b", "c"}, w.sent)
		assert.Equal(t, []string{identity.At(at(1), 0).String(), identity.At(at(4), 0).String(), identity.At(at(4), 1).String()}, w.ids)
		require.Len(t, w.rejects, 1)
		reject := w.rejects[0]
		assert.Equal(t, identity.At(at(2), 0), reject.UUID, "it keeps the uuid when it is corrected")
		assert.Equal(t, at(2), reject.Position)
		assert.JSONEq(t, `{"event":"","timestamp":"1999-05-01T00:00:00Z","distinct_id":"ann","properties":{"a":1}}`, string(reject.Event))

		assert.Equal(t, "save", w.log[0], "the start, before anything is sent")
		assert.Less(t, slices.Index(w.log, "preflight"), slices.Index(w.log, "events"))
		assert.Less(t, slices.Index(w.log, "reject no_name"), slices.Index(w.log, "saved 4"))
		assert.Less(t, slices.Index(w.log, "saved 4"), slices.Index(w.log, "settled 4"))
	})
}

// The server is asked once, and its answer is durable before the first event is sent.
func TestNegotiation(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		answer httptry.Try
		want   event.Protocol
		warned int64
	}{
		"capture v1":  {answered(400, `{"error":"empty_batch","error_description":"x"}`), event.ProtocolV1, 0},
		"none":        {answered(404, ""), event.ProtocolBatch, 0},
		"not clear":   {answered(200, "hello"), event.ProtocolBatch, 1},
		"a wrong key": {answered(401, ""), "stop", 0},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld().keeps().asks(func(r Request) httptry.Try {
					switch {
					case r.Kind == Question:
						return tt.answer
					case tt.want == event.ProtocolV1:
						return takenByV1(r)
					}
					return answered(200, `{"status":"Ok"}`)
				})
				r, err := w.run(t.Context(), t, source(nil, past("a", 1)))
				assert.Equal(t, tt.warned, r.Warnings[event.WarningProtocol])
				if tt.want == "stop" {
					assert.Equal(t, event.StopUnauthorized, reasonOf(err))
					assert.NotContains(t, w.log, "events")
					return
				}
				require.NoError(t, err)
				assert.Equal(t, tt.want, r.Protocol)
				assert.Equal(t, []string{"save", "question", "save", "preflight", "events"}, w.log[:5])
			})
		})
	}
}

// As long as the answer is not durable, nothing is sent.
func TestNothingIsSentWhileTheProtocolIsSaved(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld().keeps().asks(byKind(200, 404, 404))
		w.saves = func(n int) {
			if n == 2 { // the first is that of the start
				time.Sleep(time.Hour)
				w.note("saved the protocol")
			}
		}
		_, err := w.run(t.Context(), t, source(nil, past("a", 1)))
		require.NoError(t, err)
		assert.Equal(t, []string{"save", "question", "save", "saved the protocol", "preflight", "events"}, w.log[:6])
	})
}

func TestStops(t *testing.T) {
	t.Parallel()
	failed := errors.New("hogapi: disk full")
	for name, tt := range map[string]struct {
		change func(*world)
		source Source
		want   event.StopReason
		text   string
	}{
		"the source fails":    {nil, source(failed, past("a", 1)), event.StopSource, "disk full"},
		"it says why":         {nil, source(errFinal, past("a", 1)), "", "final"},
		"it panics":           {nil, func(context.Context, event.Position) iter.Seq2[*Event, error] { panic("oh") }, event.StopSource, "the source panicked: oh"},
		"no place":            {nil, source(nil, past("a", 1), &Event{Skip: "x"}), event.StopSource, "an event has no position"},
		"a key without UTF-8": {nil, source(nil, &Event{Position: event.Position{Key: "\xff", Offset: 1}}), event.StopSource, `not UTF-8, and checkpoints hold no other text: "\xff"`},
		"nobody takes a reject": {
			func(w *world) { w.Handler = nil }, source(nil, past("a", 1), past("", 2)), event.StopRejected, "no_name",
		},
		"the handler": {
			func(w *world) { w.rejectErr = failed }, source(nil, past("", 1)), event.StopHandler, "disk full",
		},
		"the checkpoint":   {func(w *world) { w.saveErr = failed }, source(nil, past("a", 1)), event.StopCheckpoint, "disk full"},
		"too many rejects": {func(w *world) { w.Rejects = RejectLimits{Most: 1} }, source(nil, past("", 1), past("", 2), past("a", 3)), event.StopTooManyRejects, "more than MaxRejects (1)"},
		"the key":          {func(w *world) { w.answer = slowly(byKind(200, 0, 401)) }, source(nil, past("a", 1)), event.StopWrongKey, "401"}, // events wait for it
		"no progress":      {func(w *world) { w.answer = byKind(503, 0, 200) }, source(nil, past("a", 1)), event.StopNoProgress, "503"},
		"not reached": {
			func(w *world) {
				w.answer = func(Request) httptry.Try {
					return httptry.Try{Err: errors.New("refused"), Unsent: true}
				}
			}, source(nil, past("a", 1)), event.StopUnreachable, "refused",
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld().keeps()
				if tt.change != nil {
					tt.change(w)
				}
				r, err := w.run(t.Context(), t, tt.source)
				require.ErrorContains(t, err, tt.text)
				assert.Equal(t, tt.want, reasonOf(err))
				assert.False(t, r.Finished)
				if tt.want == event.StopWrongKey {
					assert.Empty(t, w.sent)
				}
			})
		})
	}
}

// A canceled import says why no request succeeded, and lists the open events.
func TestCanceled(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld()
		w.NoPreflight = true
		w.answer = func(Request) httptry.Try { return answered(503, "") }
		why := errors.New("shutdown")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(20*time.Second, func() { cancel(why) })
		r, err := w.run(ctx, t, source(nil, past("a", 1)))
		open, ok := errors.AsType[*event.UnsettledError](err)
		require.True(t, ok, "%v", err)
		require.Equal(t, 1, open.Count)
		assert.Zero(t, open.NeverSent)
		assert.EqualValues(t, 1, r.Pending)
		stop, ok := errors.AsType[*event.StopError](err)
		require.True(t, ok)
		assert.Equal(t, event.StopCanceled, stop.Reason)
		require.ErrorIs(t, stop.Err, why)
		require.ErrorIs(t, stop.Err, context.Canceled)
		require.ErrorContains(t, stop.Failure, "503")
		assert.False(t, stop.FailingSince.IsZero())
	})
}

// A source that does not end with its context is left behind.
func TestASourceThatHangs(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		start, w := time.Now(), newWorld().keeps()
		_, err := w.run(ctx, t, func(context.Context, event.Position) iter.Seq2[*Event, error] {
			return func(yield func(*Event, error) bool) {
				<-release
				assert.False(t, yield(past("a", 1), nil), "it comes too late")
			}
		})
		assert.Equal(t, event.StopCanceled, reasonOf(err))
		assert.Equal(t, patience, time.Since(start))
		log := slices.Clone(w.log)
		close(release)
		synctest.Wait()
		assert.Equal(t, log, w.log, "nothing is sent or saved any more")
	})
}

func TestNothingToRead(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r, err := newWorld().run(t.Context(), t, source(nil))
		require.NoError(t, err)
		assert.Equal(t, map[event.Warning]int64{event.WarningNoRecords: 1}, r.Warnings)
		skipped := past("a", 1)
		skipped.Skip = "x"
		r, err = newWorld().run(t.Context(), t, source(nil, skipped))
		require.NoError(t, err)
		assert.Equal(t, map[event.Warning]int64{event.WarningAllSkipped: 1}, r.Warnings)
	})
}

func countsOf(r event.Receipt) ledger.Counts {
	return ledger.Counts{Acknowledged: r.Acknowledged, Rejected: r.Rejected, Unconfirmed: r.Unconfirmed, Skipped: r.Skipped}
}
