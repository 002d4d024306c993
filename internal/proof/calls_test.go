package proof_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/destination"
	"github.com/hogapi/hogapi/hogapitest"
)

// writes is a service that carries out every complete POST and counts how often it gets each: once is right. It answers all other
// requests.
type writes struct {
	mu    sync.Mutex
	times map[string]int // by the call's number
}

const callHeader = "X-Call"

func (s *writes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		panic(http.ErrAbortHandler)
	}
	if r.Method == http.MethodPost {
		s.mu.Lock()
		if s.times == nil {
			s.times = map[string]int{}
		}
		s.times[r.Header.Get(callHeader)]++
		s.mu.Unlock()
		w.WriteHeader(http.StatusCreated)
	} else if strings.Contains(r.URL.Path, "/runs/") { // after a cancel
		_, _ = io.WriteString(w, `{"id":"00000000-0000-0000-0000-000000000002","status":"Cancelled","finished_at":"2024-01-01T00:00:00Z","created_at":"2024-01-01T00:00:00Z"}`)
		return
	}
	_, _ = io.WriteString(w, `{"id":"0198c2f5-3f1b-7c60-9d0e-111111111111","backfill_id":"0198c2f5-3f1b-7c60-9d0e-222222222222"}`)
}

func callsTo(t *testing.T, url string, options ...hogapi.Option) *hogapi.Client {
	t.Helper()
	client, err := hogapi.NewClient(append([]hogapi.Option{
		hogapi.WithBaseURL(url), hogapi.WithInsecureHTTP(), hogapi.WithProject("1"), hogapi.WithPersonalAPIKey(hogapitest.DefaultPersonalKey),
	}, options...)...)
	require.NoError(t, err)
	return client
}

// write makes the n-th call, of one of the three kinds that must not be carried out twice.
func write(ctx context.Context, client *hogapi.Client, n int) (err error) {
	number, id := hogapi.WithHeader(callHeader, strconv.Itoa(n)), uuid.UUID{15: 1}
	switch n % 3 {
	case 0:
		_, err = client.BatchExports.Create(ctx, hogapi.BatchExportRequest{
			Name: fmt.Sprint(n), Model: hogapi.ModelEvents, Interval: hogapi.IntervalHour,
			Destination: hogapi.Destination{Type: destination.TypeHTTP, Config: destination.HTTP{URL: hogapi.Set("https://eu.i.posthog.com/batch/"), Token: hogapi.Set(hogapi.NewSecret("phc_x"))}},
		}, number)
	case 1:
		var out struct{ ID uuid.UUID }
		err = client.Do(ctx, hogapi.Request{Method: http.MethodPost, Path: "/anything/", Body: map[string]int{"n": n}}, &out, number)
	default:
		err = client.Runs.Cancel(ctx, id, uuid.UUID{15: 2}, number)
	}
	return err
}

func read(ctx context.Context, client *hogapi.Client) error {
	return client.Do(ctx, hogapi.Request{Method: http.MethodGet, Path: "/anything/"}, nil)
}

func inParallel(n, workers int, f func(i int)) {
	var next atomic.Int64
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	all.Wait()
}

type verdicts struct{ done, unknown, failed int }

// requireHonest requires that no call was carried out twice, and that each reported its result truthfully.
func (s *writes) requireHonest(t *testing.T, results []error) (v verdicts) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for n, err := range results {
		times := s.times[strconv.Itoa(n)]
		require.LessOrEqual(t, times, 1, "call %d was carried out %d times: %v", n, times, err)
		switch {
		case err == nil:
			v.done++
			require.Equal(t, 1, times, "call %d says that it was carried out", n)
		case errors.Is(err, hogapi.ErrOutcomeUnknown):
			v.unknown++
		default:
			v.failed++
			require.Zero(t, times, "call %d says that it was not carried out: %v", n, err)
		}
	}
	return v
}
