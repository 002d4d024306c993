package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/coverage"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/testevents"
)

// output is the command's output, with the address in it.
type output struct {
	testevents.Output

	url chan string
}

func (o *output) Write(p []byte) (int, error) {
	if url := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).Find(p); url != nil {
		select {
		case o.url <- string(url):
		default:
		}
	}
	return o.Output.Write(p)
}

// start runs the command and returns its address and a function that ends it, as Ctrl-C does.
func start(t *testing.T, args ...string) (url string, end func() string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, done := &output{url: make(chan string, 1)}, make(chan error, 1)
	go func() { done <- run(ctx, out, append(args, "-addr", "127.0.0.1:0")) }()
	select {
	case url = <-out.url:
	case err := <-done:
		t.Fatalf("it ended: %v", err)
	}
	return url, func() string {
		cancel()
		require.NoError(t, <-done)
		return out.String()
	}
}

// clientOf returns a client of the fake at an address.
func clientOf(t *testing.T, url string) *hogapi.Client {
	t.Helper()
	client, err := hogapi.NewClient(
		hogapi.WithBaseURL(url), hogapi.WithProject(hogapitest.DefaultProject),
		hogapi.WithPersonalAPIKey(hogapitest.DefaultPersonalKey), hogapi.WithProjectAPIKey(hogapitest.DefaultProjectKey),
	)
	require.NoError(t, err)
	return client
}

// call makes a request, with a key unless it is empty.
func call(t *testing.T, method, url, key, body string) (status int, text string, header http.Header) {
	t.Helper()
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	require.NoError(t, err)
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, strings.TrimSpace(string(content)), resp.Header
}

// get is the text of a page.
func get(t *testing.T, url string) string {
	t.Helper()
	_, text, _ := call(t, "GET", url, "", "")
	return text
}

func TestThePageShowsWhatTheFakeHolds(t *testing.T) {
	url, end := start(t)
	client, ctx := clientOf(t, url), t.Context()
	var lake hogapi.BatchExport
	for export, err := range client.BatchExports.All(ctx, nil) {
		require.NoError(t, err)
		if export.Name == "Events to the lake" {
			lake = export
		}
	}
	hour := time.Now().UTC().Truncate(time.Hour)
	hours := hogapi.BackfillRange{Start: hogapi.AtTime(hour.Add(-2 * time.Hour)), End: hogapi.AtTime(hour)}
	_, err := client.BatchExports.Backfill(ctx, lake.ID, hours, nil)
	require.NoError(t, err)
	hostile := `<script>alert(1)</script>`
	record := fmt.Sprintf(`{"event":%q,"distinct_id":"ann","timestamp":"2024-05-01T00:00:00Z"}`, hostile) + "\n"
	file := filepath.Join(t.TempDir(), "e.jsonl")
	require.NoError(t, os.WriteFile(file, []byte(record+strings.Replace(record, hostile, "signed up", 1)), 0o600))
	_, err = history.Import(ctx, client, history.JSONLines(file), &history.Options{ID: "x", Rate: hogapi.RateUnlimited})
	require.NoError(t, err)

	status, page, header := call(t, "GET", url, "", "")
	assert.Equal(t, 200, status)
	assert.Contains(t, header.Get("Content-Security-Policy"), "default-src 'none'")
	for _, want := range []string{
		"of the age <b>E4</b>", "Events to the lake", "Persons to the archive", "SlowDown: reduce your request rate", "Backfills and retries of “Events to the lake”",
		"aws-s3", "<td>lake</td>", "42 bytes", "Company numbers", "<td>2024-05-01</td>", "<td>signed up</td>", `<b>2</b>events`,
		"&lt;script&gt;", "/api/projects/12345/batch_exports/", "batch_exports.list", "POSTHOG_HOST=" + url, hogapitest.DefaultProjectKey,
	} {
		assert.Contains(t, page, want)
	}
	assert.Regexp(t, `[012] of 2<`, page)
	for _, bad := range []string{"<script", "not shown", "AKIAEXAMPLE", "db.example", "http-equiv"} {
		assert.NotContains(t, page, bad)
	}
	assert.Contains(t, get(t, url+"/?refresh"), `http-equiv="refresh"`)
	for _, path := range []string{"/nothing", "/api/projects/phx_ownOne1234567890/things/", "/api/projects/PHX_ownTwo/" + strings.Repeat("oldKey", 6) + "/"} {
		assert.Contains(t, get(t, url+path), "Endpoint not found.")
	}
	page = get(t, url)
	assert.Contains(t, page, "/api/projects/[key]/things/")
	assert.Contains(t, page, "/api/projects/[key]/[key]/")
	for _, key := range []string{"phx_own", "PHX_own", "oldKey"} {
		assert.NotContains(t, page, key, "a key in a path is shown to nobody")
	}
	assert.True(t, strings.HasSuffix(end(), "hogfake: ended\n"))
	_, err = net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	require.Error(t, err, "it listens no more")
}

func TestAgesAndAddresses(t *testing.T) {
	for _, age := range []string{"E1", "e4"} {
		url, end := start(t, "-age", age)
		page := get(t, url)
		assert.Contains(t, page, "of the age <b>"+strings.ToUpper(age)+"</b>")
		assert.Contains(t, page, "Events to the lake")
		end()
	}
	url, end := start(t, "-empty")
	assert.Equal(t, 6, strings.Count(get(t, url), "None yet."))
	err := run(t.Context(), io.Discard, []string{"-addr", strings.TrimPrefix(url, "http://")})
	require.ErrorContains(t, err, "-addr chooses another address")
	end()
	url, end = start(t, "-empty", "-deletions")
	_, err = clientOf(t, url).DataDeletions.Create(t.Context(), hogapi.DataDeletionRequest{ImportID: "mixpanel-2024"})
	require.NoError(t, err)
	end()
	var said strings.Builder
	require.NoError(t, run(t.Context(), &said, []string{"--version"}))
	assert.True(t, strings.HasPrefix(said.String(), "hogfake "), said.String())
	for _, args := range [][]string{{"-age", "E9"}, {"something"}, {"-unknown"}} {
		require.Error(t, run(t.Context(), io.Discard, args))
	}
}

// The broken story has every way in which an export ends up incomplete, and every way of a repair.
func TestTheBrokenStory(t *testing.T) {
	url, end := start(t, "-story", "broken")
	defer end()
	client := clientOf(t, url)
	states, actions := map[string]map[coverage.State]bool{}, map[string]map[string]bool{}
	for export, err := range client.BatchExports.All(t.Context(), nil) {
		require.NoError(t, err)
		covered, err := coverage.Of(t.Context(), client, export.ID, nil)
		require.NoError(t, err)
		plan, err := coverage.MakePlan(t.Context(), client, covered, nil)
		require.NoError(t, err)
		states[export.Name], actions[export.Name] = map[coverage.State]bool{}, map[string]bool{}
		for _, gap := range covered.Gaps() {
			for _, state := range gap.States {
				states[export.Name][state] = true
			}
		}
		for _, step := range plan.Steps {
			actions[export.Name][string(step.Action)+" "+string(step.Rows)] = true
		}
	}
	hourly := map[coverage.State]bool{
		coverage.StateStuck: true, coverage.StateCancelled: true, coverage.StateFailed: true, coverage.StateFailedBilling: true, coverage.StateNeverScheduled: true,
	}
	assert.Equal(t, hourly, states["events to the lake"])
	assert.Equal(t, hourly, states["events to the warehouse"])
	assert.Equal(t, map[coverage.State]bool{coverage.StateFailed: true, coverage.StatePaused: true}, states["persons by day"])
	assert.Equal(t, map[string]bool{
		"second_export by_timestamp": true, "file_download as_scheduled": true, "cancel_run ": true, "backfill as_scheduled": true,
	}, actions["events to the lake"])
	assert.Equal(t, map[string]bool{
		"backfill by_timestamp": true, "file_download as_scheduled": true, "cancel_run ": true, "backfill as_scheduled": true,
	}, actions["events to the warehouse"])
}

func TestEventsByName(t *testing.T) {
	counts := map[hogapitest.EventDay]int{{Event: "b", Day: "2024-05-02"}: 1, {Event: "b", Day: "2024-05-01"}: 2}
	assert.Equal(t, []*eventRow{{"b", "2024-05-01", "2024-05-02", 3}}, eventRows(counts))
	for i := range 100 {
		counts[hogapitest.EventDay{Event: fmt.Sprintf("a%02d", i), Day: "2024-01-01"}] = 1 + i%2
	}
	rows := eventRows(counts)
	require.Len(t, rows, 50)
	assert.Equal(t, []string{"b", "a01", "a03"}, []string{rows[0].Name, rows[1].Name, rows[2].Name})
	assert.Equal(t, "1,234,567", number(1234567))
	assert.Equal(t, "999", number(999))
}

func TestV1CanBeLeftOut(t *testing.T) {
	for _, test := range []struct {
		args   []string
		status int
	}{{nil, http.StatusUnauthorized}, {[]string{"-no-v1"}, http.StatusNotFound}} {
		url, end := start(t, test.args...)
		status, _, _ := call(t, "POST", url+"/i/v1/analytics/events", "", "{}")
		assert.Equal(t, test.status, status)
		end()
	}
}
