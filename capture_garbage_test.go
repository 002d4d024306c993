package hogapi_test

import (
	"bytes"
	"context"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

// lockedBuffer takes a log.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// collect runs the garbage collector until something is so.
func collect(t *testing.T, isSo func() bool) {
	t.Helper()
	for begin := time.Now(); !isSo(); time.Sleep(time.Millisecond) {
		require.Less(t, time.Since(begin), 5*time.Second)
		runtime.GC()
	}
}

// A Capture that is garbage with events in it is reported as an error, to the client's logger or else to the default one, and tries
// to send them. One that is empty or was closed is not reported.
func TestCaptureThatIsForgotten(t *testing.T) {
	const words = "a Capture was garbage collected without Close"
	before := slog.Default()
	defer slog.SetDefault(before)
	for name, own := range map[string]bool{"the client's logger": true, "the default": false} {
		t.Run(name, func(t *testing.T) {
			log, standard := &lockedBuffer{}, &lockedBuffer{}
			slog.SetDefault(slog.New(slog.NewTextHandler(standard, nil)))
			var options []hogapi.Option
			if own {
				options = append(options, hogapi.WithLogger(slog.New(slog.NewTextHandler(log, nil))))
			} else {
				log = standard
			}
			server := hogapitest.New()
			client := server.Client(t, options...)
			capture := func(events int, closed bool) {
				c, err := client.NewCapture(&hogapi.CaptureOptions{Delivery: hogapi.DeliveryOptions{Linger: time.Hour}})
				require.NoError(t, err)
				for i := range events {
					require.NoError(t, c.Enqueue(t.Context(), numberedEvent(i+1)))
				}
				if closed {
					_, err = c.Close(t.Context())
					require.NoError(t, err)
				}
			}
			goroutines := runtime.NumGoroutine()
			capture(0, false)
			capture(3, true)
			collect(t, func() bool { return runtime.NumGoroutine() <= goroutines })
			assert.NotContains(t, log.String(), words)
			capture(5, false)
			collect(t, func() bool { return strings.Contains(log.String(), words) })
			assert.Contains(t, log.String(), "level=ERROR")
			assert.Contains(t, log.String(), "events=5")
			collect(t, func() bool { return server.Ledger().Unique() == 5 })
			collect(t, func() bool { return runtime.NumGoroutine() <= goroutines })
			if own {
				assert.Empty(t, standard.String())
			}
		})
	}
}

// A call that is under way keeps its Capture, also where it is the last thing that knows it.
func TestCaptureIsNotForgottenDuringACall(t *testing.T) {
	server := hogapitest.New()
	server.Script(ops.Preflight, hogapitest.Always(hogapitest.Slow(300*time.Millisecond)))
	client := server.Client(t)
	calls := map[string]func(c *hogapi.Capture) error{
		"Enqueue": func(c *hogapi.Capture) error { return c.Enqueue(t.Context(), numberedEvent(3)) },
		"Flush":   func(c *hogapi.Capture) error { return c.Flush(t.Context()) },
		"Close": func(c *hogapi.Capture) error {
			_, err := c.Close(t.Context())
			return err
		},
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			ended := make(chan error, 1)
			go func() {
				c, err := client.NewCapture(&hogapi.CaptureOptions{Delivery: hogapi.DeliveryOptions{MaxInFlight: 2}})
				if err == nil {
					err = c.Enqueue(context.Background(), numberedEvent(1), placed(2, 1))
				}
				if err == nil {
					err = call(c) // waits
				}
				ended <- err
			}()
			for waiting := true; waiting; {
				runtime.GC()
				select {
				case err := <-ended:
					require.NoError(t, err)
					waiting = false
				case <-time.After(time.Millisecond):
				}
			}
		})
	}
}
