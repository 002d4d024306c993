package faults

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
)

// A connection is cut at each byte of a write, including the TLS handshake and the frames of HTTP/2, in every way. No write is carried
// out twice, each reports its result, and a request that had not begun yet is sent again.
func TestWritesCutAtEveryByte(t *testing.T) {
	for protocol, start := range servers {
		for _, how := range []ending{isClosed, isReset, isSilent} {
			t.Run(protocol+", "+string(how), func(t *testing.T) {
				t.Parallel()
				step := sized(23, 5, 1)
				if how == isSilent { // each costs the time of a try
					step = sized(307, 101, 29)
				}
				up, down := sizesOfAWrite(t, start)
				var cuts []cut
				for k := 0; k <= up; k += step {
					cuts = append(cuts, cut{up: k, down: -1, ending: how})
				}
				for k := 0; k <= down; k += step {
					cuts = append(cuts, cut{up: -1, down: k, ending: how})
				}
				cuts = append(cuts, noCut)
				service := &writes{}
				results := make([]error, len(cuts))
				lines := make(chan *cutLine, 16)
				for range cap(lines) {
					lines <- newCutLine(t, service, start)
				}
				inParallel(len(cuts), cap(lines), func(i int) {
					line := <-lines
					results[i] = line.write(t, i, cuts[i])
					lines <- line
				})
				v := service.requireHonest(t, results)
				t.Logf("%d cuts: %+v", len(cuts), v)
				require.Zero(t, v.failed, "there is always a connection to be had")
				require.Positive(t, v.unknown)
				require.Positive(t, v.done)
				if protocol != "HTTP 1" && how != isSilent { // on a busy machine the next try may outlast a short patience
					require.Greater(t, v.done, v.unknown, "most bytes are of the handshake")
				}
			})
		}
	}
}

// Calls over bad lines: no write is carried out twice, and each reports its result.
func TestCallsOverBadLines(t *testing.T) {
	n := sized(150, 450, 1500)
	for name, line := range badLines(1500, 700) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := &writes{}
			cutter := newCutter(t, service, servers["HTTP 1"], line.next())
			client := callsTo(t, cutter.url(), hogapi.WithTryTimeout(line.patience), hogapi.WithRetryPolicy(hogapi.RetryPolicy{MaxTries: 30, MaxDelay: time.Second}))
			results := make([]error, n)
			inParallel(n, 8, func(i int) {
				assert.NoError(t, read(t.Context(), client), "a call that may be repeated survives all this") // and leaves a connection to use again
				results[i] = write(t.Context(), client, i)
			})
			v := service.requireHonest(t, results)
			require.Zero(t, v.failed, "a connection can always be had, so nothing is provably unsent for long")
			require.Equal(t, line.breaks, v.unknown > 0, v)
			t.Logf("%+v", v)
		})
	}
}

// cutLine makes one write after another, each with its first connection cut.
type cutLine struct {
	*cutter

	client *hogapi.Client
	mu     sync.Mutex
	at     cut
}

func newCutLine(t *testing.T, service http.Handler, start func(*httptest.Server)) *cutLine {
	t.Helper()
	l := &cutLine{at: noCut}
	l.cutter = newCutter(t, service, start, func() cut {
		l.mu.Lock()
		defer l.mu.Unlock()
		at := l.at
		l.at = noCut
		return at
	})
	l.client = callsTo(t, l.url(), hogapi.WithTryTimeout(time.Second), hogapi.WithRetryPolicy(hogapi.RetryPolicy{BaseDelay: 100 * time.Millisecond}),
		hogapi.WithHTTPClient(&http.Client{Transport: l.transport}))
	return l
}

func (l *cutLine) write(t *testing.T, n int, at cut) error {
	l.mu.Lock()
	l.at = at
	l.mu.Unlock()
	defer l.transport.CloseIdleConnections()
	return write(t.Context(), l.client, n)
}

func sizesOfAWrite(t *testing.T, start func(*httptest.Server)) (up, down int) {
	t.Helper()
	line := newCutLine(t, &writes{}, start)
	require.NoError(t, line.write(t, 0, noCut))
	require.Eventually(t, func() bool { return line.up.Load() > 0 && line.down.Load() > 0 }, time.Minute, time.Millisecond)
	return int(line.up.Load()), int(line.down.Load())
}
