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
	"github.com/hogapi/hogapi/ops"
)

// An import returns within a second of its context's end, or of a stop of the sending, although its source gives nothing and ignores its
// context, and although the service is silent too. What the source gives later is not taken.
func TestBlockedSourceHoldsUpNothing(t *testing.T) {
	t.Parallel()
	const n = 50
	sources := map[string]func(released <-chan struct{}, ended chan<- struct{}) hogapi.Source{
		"a function": func(released <-chan struct{}, ended chan<- struct{}) hogapi.Source {
			return hogapi.SourceFunc("blocked", func(ctx context.Context, after hogapi.Position) iter.Seq2[hogapi.Event, error] {
				return func(yield func(hogapi.Event, error) bool) {
					defer close(ended)
					for ev, err := range numbered(n).Events(ctx, after) {
						if !yield(ev, err) {
							return
						}
					}
					<-released
					assert.False(t, yield(numberedEvent(n+1), nil), "it comes too late")
				}
			})
		},
		"a page": func(released <-chan struct{}, ended chan<- struct{}) hogapi.Source {
			return hogapi.PagedSource("blocked", func(_ context.Context, after hogapi.Position) (page []hogapi.Event, upTo hogapi.Position, err error) {
				if !after.IsZero() {
					defer close(ended)
					<-released
					return nil, after, nil
				}
				for i := range n {
					page = append(page, numberedEvent(i+1))
				}
				return page, page[n-1].Position, nil
			})
		},
	}
	for name, blocked := range sources {
		for end, tt := range map[string]struct {
			fault  hogapitest.Fault
			reason hogapi.StopReason
		}{
			"canceled":                            {hogapitest.Slow(1), hogapi.StopCanceled},
			"canceled, and the service is silent": {hogapitest.Slow(time.Hour), hogapi.StopCanceled},
			"401":                                 {hogapitest.Slow(20*time.Second, hogapitest.Status(401)), hogapi.StopUnauthorized},
		} {
			t.Run(name+", "+end, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					server := hogapitest.New()
					server.Script(ops.Capture, hogapitest.Always(tt.fault))
					released, ended := make(chan struct{}), make(chan struct{})
					ctx, cancel := context.WithCancel(t.Context())
					due := time.Now().Add(20*time.Second + 250*time.Millisecond) // the linger time
					if tt.reason == hogapi.StopCanceled {
						due = time.Now().Add(30 * time.Second)
						time.AfterFunc(30*time.Second, cancel)
					}
					defer cancel()
					checkpoint := &memoryCheckpoint{}
					options := hogapi.ImportOptions{ID: "blocked", Checkpoint: checkpoint, Rate: hogapi.Unpaced, Delivery: hogapi.DeliveryOptions{NoPreflight: true}}
					receipt, err := server.Client(t).Import(ctx, blocked(released, ended), &options)
					late := time.Since(due)
					assert.GreaterOrEqual(t, late, time.Duration(0))
					assert.Less(t, late, time.Second)
					assert.Equal(t, tt.reason, stopOf(t, err).Reason, "%v", err)
					requireBalanced(t, receipt)
					assert.False(t, checkpoint.Held)
					saved := checkpoint.Saves
					close(released)
					<-ended
					synctest.Wait()
					assert.Equal(t, saved, checkpoint.Saves)
					server.ClearScript(ops.Capture)
					receipt, err = server.Client(t).Import(t.Context(), hogapi.SourceFunc("blocked", numbered(n+1).Events), &options)
					require.NoError(t, err)
					assert.EqualValues(t, n+1, receipt.Acknowledged)
					requireWhole(t, server, n+1)
				})
			})
		}
	}
}
