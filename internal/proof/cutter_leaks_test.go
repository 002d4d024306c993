//go:build linux

package proof_test

import (
	"context"
	"net/http"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/internal/testevents"
)

// Calls that are cut anywhere, meet silence or are abandoned by their caller leave no descriptor and no goroutine behind.
func TestNothingIsLeftOfFailedCalls(t *testing.T) {
	failures := testevents.Sized(100, 2000, 10_000)
	for protocol, start := range servers {
		t.Run(protocol, func(t *testing.T) { // one by one: the test counts the whole process
			var n atomic.Int64
			cutter := newCutter(t, &writes{}, start, func() cut {
				k := int(n.Add(1))
				at := cut{up: -1, down: k * 37 % 2500, ending: []cutEnding{isSilent, isReset, isClosed}[k%3]}
				if k%2 == 0 {
					at.up, at.down = at.down, -1
				}
				return at
			})
			client := callsTo(t, cutter.url(), hogapi.WithTryTimeout(20*time.Millisecond),
				hogapi.WithRetryPolicy(hogapi.RetryPolicy{MaxTries: 1}), hogapi.WithHTTPClient(&http.Client{Transport: cutter.transport}))
			_ = read(t.Context(), client)
			files, goroutines := openFiles(t), runtime.NumGoroutine()
			var failed atomic.Int64
			calls := 0
			for ; failed.Load() < int64(failures) && calls < 20*failures; calls += failures / 10 {
				inParallel(failures/10, 16, func(i int) {
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+i%10)*3*time.Millisecond)
					defer cancel()
					if err := write(ctx, client, i); err != nil {
						failed.Add(1)
					}
				})
			}
			t.Logf("%d of %d calls failed", failed.Load(), calls)
			require.GreaterOrEqual(t, failed.Load(), int64(failures))
			gone := func() bool {
				cutter.transport.CloseIdleConnections()
				return openFiles(t) <= files && runtime.NumGoroutine() <= goroutines+1 // the goroutine of Eventually
			}
			require.Eventually(t, gone, 20*time.Second, 10*time.Millisecond)
		})
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(entries)
}
