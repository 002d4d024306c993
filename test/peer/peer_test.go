// Package peer drives the SDK against programs of others: a Django REST framework app, and a real Prometheus.
package peer_test

import (
	"bufio"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/destination"
	"github.com/hogapi/hogapi/internal/testevents"
)

// python is the system's Python, which has Debian's packages. Another one may come first in PATH.
const python = "/usr/bin/python3"

// start returns the address of the app, with seven exports and the 250 runs of the first.
func start(t *testing.T) string {
	t.Helper()
	readFiles(t, "service.py")
	if exec.Command(python, "-c", "import rest_framework").Run() != nil {
		t.Skip("needs Debian's python3-django and python3-djangorestframework")
	}
	cmd := exec.CommandContext(t.Context(), python, "-B", "service.py")
	cmd.Stderr = t.Output()
	stdin := must(cmd.StdinPipe())(t)
	stdout := must(cmd.StdoutPipe())(t)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = stdin.Close() // ends the app
		_ = cmd.Wait()
	})
	return strings.TrimSpace(must(bufio.NewReader(stdout).ReadString('\n'))(t))
}

func client(t *testing.T, url string, options ...hogapi.Option) *hogapi.Client {
	t.Helper()
	return must(hogapi.NewClient(append([]hogapi.Option{
		hogapi.WithBaseURL(url), hogapi.WithProject("1"), hogapi.WithPersonalAPIKey("phx_peer"), hogapi.WithInsecureHTTP(),
	}, options...)...))(t)
}

func s3(bucket string) hogapi.Destination {
	return hogapi.Destination{Type: destination.TypeS3, Config: destination.S3{BucketName: hogapi.Set(bucket), Region: hogapi.Set("eu-west-1")}}
}

func request(name, bucket string) hogapi.BatchExportRequest {
	return hogapi.BatchExportRequest{Name: name, Model: hogapi.ModelEvents, Interval: hogapi.IntervalHour, Destination: s3(bucket)}
}

// The framework's LimitOffsetPagination: its links, its count, and its own bounds of a limit.
func TestOffsetPages(t *testing.T) {
	c, ctx := client(t, start(t)), t.Context()
	for limit := range 9 {
		var names []string
		for e, err := range c.BatchExports.All(ctx, &hogapi.ListOptions{Limit: limit}) {
			require.NoError(t, err)
			names = append(names, e.Name)
		}
		require.Len(t, names, 7, "limit %d", limit)
		require.True(t, slices.IsSorted(names))
	}
	page := must(c.BatchExports.List(ctx, &hogapi.ListOptions{Limit: 3, Offset: 3}))(t)
	require.Equal(t, 7, page.Count)
	require.Contains(t, *page.Next, "limit=3&offset=6")
	require.Contains(t, *page.Previous, "limit=3")
	require.Equal(t, "export 3", page.Results[0].Name)
	beyond := must(c.BatchExports.List(ctx, &hogapi.ListOptions{Offset: 100}))(t)
	require.Empty(t, beyond.Results)
	require.Nil(t, beyond.Next)
}

// The framework's CursorPagination, also where more rows have one time than a page holds: its cursor then has an offset.
func TestCursorPages(t *testing.T) {
	c, ctx := client(t, start(t)), t.Context()
	id := must(c.BatchExports.List(ctx, nil))(t).Results[0].ID
	for _, order := range []hogapi.RunOrdering{hogapi.RunsNewestFirst, hogapi.RunsOldestFirst, hogapi.RunsByInterval, hogapi.RunsByIntervalBackward} {
		for _, prefetch := range []int{0, 1} {
			seen, last := map[uuid.UUID]bool{}, time.Time{}
			options := &hogapi.RunListOptions{Ordering: order, CursorOptions: hogapi.CursorOptions{Prefetch: prefetch}}
			for run, err := range c.Runs.All(ctx, id, options) {
				require.NoError(t, err)
				require.False(t, seen[run.ID], "a run comes once")
				seen[run.ID] = true
				at := run.CreatedAt
				if order == hogapi.RunsByInterval || order == hogapi.RunsByIntervalBackward {
					at = *run.DataIntervalStart
				}
				if descends := strings.HasPrefix(string(order), "-"); !last.IsZero() {
					require.False(t, descends && at.After(last) || !descends && at.Before(last), "%s", order)
				}
				last = at
			}
			require.Len(t, seen, 250, "%s", order)
		}
	}
	first := must(c.Runs.List(ctx, id, nil))(t)
	require.Len(t, first.Results, 100)
	cursor := must(first.NextCursor())(t)
	second := must(c.Runs.List(ctx, id, &hogapi.RunListOptions{CursorOptions: hogapi.CursorOptions{Cursor: cursor}}))(t)
	require.NotEqual(t, first.Results[0].ID, second.Results[0].ID)
	require.Len(t, testevents.Walked(t, c.Runs.LatestFailed(ctx, id, nil)), 50)

	_, err := c.Runs.List(ctx, id, &hogapi.RunListOptions{CursorOptions: hogapi.CursorOptions{Cursor: "no cursor"}})
	refusal(t, err, nil, http.StatusNotFound, "Invalid cursor")
	require.NotErrorIs(t, err, hogapi.ErrNotFound, "the export is there")
}

// The framework's throttle: 429 with Retry-After in seconds. A call that may be repeated waits for it, and a caller's bound is kept.
func TestThrottle(t *testing.T) {
	url := start(t)
	var tries atomic.Int64
	counting := hogapi.WithHTTPClient(&http.Client{Transport: counter{&tries}})
	write := func(c *hogapi.Client) error {
		body := map[string]any{"name": "throttled", "interval": "hour", "destination": map[string]any{"type": "S3", "config": map[string]string{"bucket_name": "b", "region": "r"}}}
		return c.Do(t.Context(), hogapi.Request{Method: http.MethodPost, Path: "/throttled/", Body: body}, nil)
	}
	patient := client(t, url, counting)
	for range 3 {
		require.NoError(t, write(patient))
	}
	require.Greater(t, tries.Load(), int64(3), "the third had to wait")

	hasty := client(t, url, hogapi.WithRetryPolicy(hogapi.RetryPolicy{MaxTries: 1}))
	var err error
	for range 4 {
		if err = write(hasty); err != nil {
			break
		}
	}
	answer := refusal(t, err, hogapi.ErrRateLimited, http.StatusTooManyRequests, "throttled")
	require.Positive(t, answer.RetryAfter)
	require.LessOrEqual(t, answer.RetryAfter, time.Second)
}

type counter struct{ tries *atomic.Int64 }

func (c counter) RoundTrip(r *http.Request) (*http.Response, error) {
	c.tries.Add(1)
	return http.DefaultTransport.RoundTrip(r)
}

// The framework's parser, serializers and methods, as PostHog's handler words them: which field, which rule.
func TestErrors(t *testing.T) {
	url := start(t)
	c, ctx := client(t, url), t.Context()
	made := must(c.BatchExports.Create(ctx, request("new", "bucket")))(t)
	require.Equal(t, "new", made.Name)
	require.NoError(t, c.BatchExports.Pause(ctx, made.ID))
	renamed := must(c.BatchExports.Update(ctx, made.ID, hogapi.BatchExportUpdateRequest{Name: hogapi.Set("other")}))(t)
	require.Equal(t, "other", renamed.Name)
	require.True(t, renamed.Paused)

	_, err := c.BatchExports.Create(ctx, request(strings.Repeat("n", 41), "bucket"))
	answer := refusal(t, err, hogapi.ErrInvalid, 400, "no more than 40 characters")
	require.Equal(t, "name", answer.Attr)
	_, err = c.BatchExports.Create(ctx, request("nested", strings.Repeat("b", 21)))
	answer = refusal(t, err, hogapi.ErrInvalid, 400, "no more than 20 characters")
	require.Equal(t, "destination__config__bucket_name", answer.Attr)
	post := func(body any) error {
		return c.Do(ctx, hogapi.Request{Method: http.MethodPost, Path: "/batch_exports/", Body: body}, nil)
	}
	answer = refusal(t, post(map[string]any{"name": "x"}), hogapi.ErrInvalid, 400, "This field is required.")
	require.Contains(t, []string{"destination", "interval"}, answer.Attr)
	refusal(t, post([]int{1}), hogapi.ErrInvalid, 400, "Invalid data. Expected a dictionary")

	require.NoError(t, c.BatchExports.Delete(ctx, made.ID))
	_, err = c.BatchExports.Get(ctx, made.ID)
	refusal(t, err, hogapi.ErrNotFound, 404, "")
	refusal(t, c.BatchExports.Delete(ctx, made.ID), hogapi.ErrNotFound, 404, "")
	refusal(t, c.Do(ctx, hogapi.Request{Method: http.MethodDelete, Path: "/batch_exports/"}, nil), hogapi.ErrUnsupported, 405, "not allowed")
	_, err = client(t, url, hogapi.WithPersonalAPIKey("phx_reader")).BatchExports.Create(ctx, request("x", "b"))
	refusal(t, err, hogapi.ErrForbidden, 403, "permission")
	_, err = client(t, url, hogapi.WithPersonalAPIKey("phx_unknown")).BatchExports.List(ctx, nil)
	refusal(t, err, hogapi.ErrUnauthorized, 401, "invalid")

	_, err = c.AppMetrics.Get(ctx, "1", nil) // Django's own page of HTML, not the service's error
	refusal(t, err, nil, 404, "")
	require.NotErrorIs(t, err, hogapi.ErrNotFound)
	require.ErrorContains(t, err, "this is not the service's own answer")
}

// Django's APPEND_SLASH redirects a GET and refuses a POST: every path that the SDK sends ends with a slash, and a caller's own path is
// followed for reads only.
func TestSlashes(t *testing.T) {
	url := start(t)
	var tries atomic.Int64
	c, ctx := client(t, url, hogapi.WithHTTPClient(&http.Client{Transport: counter{&tries}})), t.Context()
	id := must(c.BatchExports.List(ctx, nil))(t).Results[0].ID
	must(c.BatchExports.Get(ctx, id))(t)
	must(c.Runs.List(ctx, id, nil))(t)
	require.EqualValues(t, 3, tries.Load(), "no request is redirected")

	for _, method := range []string{http.MethodGet, http.MethodPost} {
		err := c.Do(ctx, hogapi.Request{Method: method, Path: "/batch_exports"}, nil)
		require.Error(t, err, method)
		assert.NotContains(t, err.Error(), url)
		t.Logf("%s: %v", method, err)
	}
}

// readFiles reads files, so that Go's test cache depends on them: it does not see the files that a child process reads.
func readFiles(t *testing.T, patterns ...string) {
	t.Helper()
	for _, pattern := range patterns {
		files := must(filepath.Glob(pattern))(t)
		require.NotEmpty(t, files)
		for _, file := range files {
			must(os.ReadFile(file))(t)
		}
	}
}

func refusal(t *testing.T, err, sentinel error, status int, detail string) *hogapi.APIError {
	t.Helper()
	if sentinel != nil {
		require.ErrorIs(t, err, sentinel)
	}
	var answer *hogapi.APIError
	require.ErrorAs(t, err, &answer)
	require.Equal(t, status, answer.StatusCode)
	require.Contains(t, answer.Detail, detail)
	return answer
}

// must requires that a call has succeeded, and returns its result.
func must[T any](result T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		require.NoError(t, err)
		return result
	}
}
