package hogapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/destination"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/pages"
	"github.com/hogapi/hogapi/ops"
)

var sentinels = []error{
	ErrUnauthorized, ErrForbidden, ErrNotFound, ErrInvalid, ErrRateLimited, ErrQuota,
	ErrOutcomeUnknown, ErrFull, ErrClosed, ErrUnsupported, ErrRunFailed, ErrRunCancelled, ErrListCut, ErrHeld,
}

// The service's real error bodies, error bodies of proxies before it, and empty bodies.
func TestErrorBodies(t *testing.T) {
	const html, text = "text/html; charset=utf-8", "text/plain"
	for name, tt := range map[string]struct {
		status  int
		body    string
		headers []string
		is      error // the only sentinel, or nil
		says    string
	}{
		"required": {
			400, `{"type":"validation_error","code":"required","detail":"This field is required.","attr":"destination__type"}`, nil,
			ErrInvalid, "hogapi: batch_exports.get: 400 required: This field is required. (field destination__type)",
		},
		"unauthorized": {
			401, `{"type":"authentication_error","code":"authentication_failed","detail":"Personal API key found in request Authorization header is invalid.","attr":null}`, nil,
			ErrUnauthorized, "check the personal API key (phx_…) and that it belongs to this region",
		},
		"quota": {402, `{"type":"server_error","code":"payment_required","detail":"Plan limit."}`, nil, ErrQuota, "402 payment_required: Plan limit."},
		"scope": {
			403, `{"type":"authentication_error","code":"permission_denied","detail":"API key missing required scope 'batch_export:read'","attr":null}`, nil,
			ErrForbidden, "the personal API key needs the scope batch_export:read and access to this project",
		},
		"region block": {403, "Forbidden in your region\n", []string{"Content-Type", text}, ErrForbidden, "403 Forbidden: Forbidden in your region; the personal API key needs"},
		"not found": {
			404, `{"type":"invalid_request","code":"not_found","detail":"Endpoint not found.","attr":null}`, nil,
			ErrUnsupported, "404 not_found: Endpoint not found.; this server does not have the operation",
		},
		"conflict":      {409, `{"type":"server_error","code":"conflict","detail":"Conflict."}`, nil, nil, "409 conflict: Conflict."},
		"unprocessable": {422, `{}`, nil, ErrInvalid, "422 Unprocessable Entity"},
		"throttled": {
			429, `{"type":"throttled_error","code":"throttled","detail":"Request was throttled. Expected available in 3600 seconds.","attr":null}`, []string{"Retry-After", "3600"},
			ErrRateLimited, "the service asks to wait 1h0m0s",
		},
		"too many backfills": {
			429, `{"type":"server_error","code":"too_many_concurrent_backfills","detail":"Too many."}`, nil, ErrRateLimited, "wait until a running backfill has ended",
		},
		"not implemented": {501, "", nil, nil, "hogapi: batch_exports.get: 501 Not Implemented"},
		"out of memory":   {513, "", nil, nil, "hogapi: batch_exports.get: 513"},
		"HTML":            {500, "<!DOCTYPE html><h1>Bad gateway</h1>", []string{"Content-Type", html}, nil, "500 Internal Server Error"},
		"redirect":        {302, "", []string{"Location", "/login"}, nil, "302 Found; redirects are not followed: check the base URL"},
		"request id": {
			404, "", []string{"X-Correlation-Id", "corr", "Cf-Ray", "ray"},
			ErrNotFound, "404 Not Found; asked for 0190a0d0-0000-0000-0000-000000000000: is it of another project? [request corr]",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := endpoint(ops.BatchExportsGet, "0190a0d0-0000-0000-0000-000000000000")
			err := newFakeClient(t, newScript(answers(tt.status, tt.body, tt.headers...)), WithRetryPolicy(RetryPolicy{MaxTries: 1})).call(t.Context(), r, nil)
			got := as[*APIError](t, err)
			require.Equal(t, tt.body, string(got.Body()))
			require.Equal(t, CallInfo{ops.BatchExportsGet, "GET", "/batch_exports/{id}/", 1}, got.CallInfo)
			require.Equal(t, tt.status, got.StatusCode)
			want := struct{ Type, Code, Detail, Attr string }{Detail: strings.TrimSpace(map[string]string{"region block": tt.body}[name])}
			_ = json.Unmarshal([]byte(tt.body), &want) // if it is JSON
			require.Equal(t, want, struct{ Type, Code, Detail, Attr string }{got.Type, got.Code, got.Detail, got.Attr})
			for _, sentinel := range sentinels {
				assert.Equal(t, errors.Is(tt.is, sentinel), errors.Is(err, sentinel), "%v", sentinel)
			}
			require.Contains(t, err.Error(), tt.says)
			require.NotContains(t, err.Error(), "\n")
			require.NotContains(t, err.Error(), "posthog.com")
		})
	}
}

// Long texts of the service are cut, and cut between characters.
func TestErrorTextIsBounded(t *testing.T) {
	err := get(t.Context(), newFakeClient(t, newScript(answers(400, `{"detail":"`+strings.Repeat("ä", 10_000)+`"}`))))
	require.Less(t, len(err.Error()), 700)
	require.True(t, strings.HasSuffix(err.Error(), "ä…"))
	transport := &TransportError{CallInfo: CallInfo{Op: ops.Do}, Err: errors.New(strings.Repeat("x", 10_000) + "\n")}
	require.Less(t, len(transport.Error()), 700)
	input := &InputError{Op: ops.Do, Field: "Path", Value: strings.Repeat("ä", 100), Want: "less"}
	require.Less(t, len(input.Error()), 200)
}

// The error of a call that was tried several times tells how often, and is logged as fields.
func TestErrorFields(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		err := get(t.Context(), newFakeClient(t, newScript(answers(503, `{"code":"busy","detail":"d"}`, "X-Request-Id", "req1")), WithLogger(logger)))
		require.ErrorContains(t, err, "503 busy: d [request req1] [4 tries]")
		for _, want := range []string{
			`level=DEBUG msg="hogapi: try" op=do route=/things/ try=4 status=503`, `level=WARN msg="hogapi: retry" op=do route=/things/ try=3 reason="status 503"`,
			`level=DEBUG msg="hogapi: failed" op=do route=/things/ try=4 status=503`, "error.op=do error.route=/things/ error.status=503 error.code=busy error.detail=d error.request_id=req1 error.tries=4",
		} {
			require.Contains(t, log.String(), want)
		}
		require.Equal(t, 5, strings.Count(log.String(), "DEBUG"))
		require.Equal(t, 3, strings.Count(log.String(), "WARN"))
		require.NotContains(t, log.String(), "ERROR", "the caller gets the error")

		log.Reset()
		require.NoError(t, get(t.Context(), newFakeClient(t, newScript(fails(errCut), answers(200, "")), WithLogger(logger))))
		require.Contains(t, log.String(), `error="the connection was cut"`)
		require.Contains(t, log.String(), `reason="no answer"`)
		require.NotContains(t, log.String(), "ERROR")

		log.Reset()
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		require.Error(t, get(ctx, newFakeClient(t, newScript(hangs), WithLogger(logger))))
		require.NotContains(t, log.String(), "ERROR", "the caller's own wish")
	})
}

// Every kind of error names the operation, keeps its cause, and nothing else.
func TestErrorTexts(t *testing.T) {
	api := &APIError{CallInfo: CallInfo{Op: ops.BatchExportsCreate}, StatusCode: 502}
	for _, tt := range []struct {
		err    error
		text   string
		causes []error
	}{
		{&TransportError{CallInfo: CallInfo{Op: ops.RunsList}, Err: errCut, Sent: true}, "hogapi: runs.list: no answer: the connection was cut", []error{errCut}},
		{&TransportError{CallInfo: CallInfo{Op: ops.RunsList, Tries: 3}, Err: errCut}, "hogapi: runs.list: no answer: the connection was cut (nothing was sent) [3 tries]", []error{errCut}},
		{&DecodeError{CallInfo: CallInfo{Op: ops.RunsList}, StatusCode: 200, Err: errCut}, "hogapi: runs.list: the answer (status 200) cannot be decoded: the connection was cut", []error{errCut}},
		{&OutcomeUnknownError{CallInfo: CallInfo{Op: ops.BatchExportsCreate}, Err: api}, "hogapi: batch_exports.create: outcome unknown: the call may have taken effect: check before you try again: 502 Bad Gateway", []error{api, ErrOutcomeUnknown}},
		{&PageError{Op: ops.DashboardsList, Page: 3, Offset: 200, Err: api}, "hogapi: dashboards.list: page 3: batch_exports.create: 502 Bad Gateway; resume at offset 200", []error{api}},
		{&PageError{Op: ops.RunsList, Page: 2, Cursor: "secret", Err: pages.ErrPageLimit}, "hogapi: runs.list: page 2: the page limit is reached; raise MaxPages or continue here; resume at its cursor", []error{pages.ErrPageLimit}},
		{&PageError{Op: ops.RunsList, Page: 1, Err: errCut}, "hogapi: runs.list: page 1: the connection was cut; resume at the start", []error{errCut}},
		{&PageError{Op: ops.BatchExportsLogs, Page: 2, Before: time.Unix(1, 0), Err: errCut}, "hogapi: batch_exports.logs: page 2: the connection was cut; resume at Before 1970-01-01T00:00:01Z", []error{errCut}},
		{&InputError{Op: ops.Do, Field: "Path", Value: "a\nb", Want: "c"}, `hogapi: do: Path "a\nb": want c`, []error{ErrInvalid}},
		{&InputError{Field: "region", Want: "us"}, "hogapi: region: want us", []error{ErrInvalid}},
	} {
		require.EqualError(t, tt.err, tt.text)
		for _, cause := range tt.causes {
			require.ErrorIs(t, tt.err, cause)
		}
		require.NotErrorIs(t, tt.err, context.Canceled)
	}
}

// A panic in a hook does not end the call, and the log names only the kind of panic.
func TestPanicInAHook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		var told []string
		tell := func(name string, info CallInfo) {
			told = append(told, fmt.Sprint(name, info.Tries))
			panic("secret text")
		}
		hooks := Hooks{
			OnCall: func(_ context.Context, r CallRecord) { tell(r.Retry, r.CallInfo) },
		}
		client := newFakeClient(t, newScript(answers(503, ""), answers(200, "")), WithHooks(hooks), WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		require.NoError(t, get(t.Context(), client))
		require.Equal(t, []string{"status 5031", "2", "2"}, told)
		require.Equal(t, 3, strings.Count(log.String(), "a hook panicked"))
		require.NotContains(t, log.String(), "secret text")
	})
}

// Each hook receives its events, and a transport receives the CallInfo of each try.
func TestHookEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tries, results []CallRecord
		var infos []CallInfo
		slow := func(then step) step {
			return func(r *http.Request) (*http.Response, error) {
				info, ok := CallInfoFrom(r.Context())
				require.True(t, ok)
				infos = append(infos, info)
				time.Sleep(time.Second)
				return then(r)
			}
		}
		client := newFakeClient(t, newScript(slow(answers(503, "", "Retry-After", "2")), slow(fails(errCut)), slow(answers(404, ""))), WithHooks(Hooks{
			OnCall: func(_ context.Context, r CallRecord) {
				if r.Ended {
					results = append(results, r)
				} else {
					tries = append(tries, r)
				}
			},
		}))
		start := time.Now()
		err := client.call(t.Context(), endpoint(ops.BatchExportsGet, "x"), nil)
		require.ErrorIs(t, err, ErrNotFound)
		info := func(try int) CallInfo {
			return CallInfo{Op: ops.BatchExportsGet, Method: "GET", Route: "/batch_exports/{id}/", Tries: try}
		}
		require.Equal(t, []CallInfo{info(1), info(2), info(3)}, infos)
		require.Len(t, tries, 3)
		require.Equal(t, []CallRecord{
			{CallInfo: info(1), StatusCode: 503, Duration: time.Second, Retry: "status 503", Wait: 2 * time.Second},
			{CallInfo: info(2), Err: errCut, Duration: time.Second, Retry: "no answer", Wait: tries[1].Wait},
			{CallInfo: info(3), StatusCode: 404, Duration: time.Second},
		}, tries)
		require.Positive(t, tries[1].Wait)
		require.Equal(t, []CallRecord{{CallInfo: info(3), StatusCode: 404, Err: err, Duration: time.Since(start), Ended: true}}, results)

		require.ErrorIs(t, client.ForProject("x").call(t.Context(), endpoint(ops.BatchExportsGet, "x"), nil), ErrInvalid)
		require.Len(t, results, 1, "a call that is refused is none")
	})
	_, ok := CallInfoFrom(t.Context())
	require.False(t, ok)
}

// An error names the thing that the caller asked for, in the caller's words.
func TestTextsNameWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	id, run, at := uuid.UUID{1}, uuid.UUID{2}, time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)
	missing := func() *Client {
		return newFakeClient(t, newScript(answers(404, `{"code":"not_found","detail":"Not found."}`)))
	}
	failing := func(status int, body string) *Client { return newFakeClient(t, newScript(answers(status, body))) }
	answered := func(body string) *Client { return failing(200, body) }
	exported := func(interval Interval, model Model, kind destination.Type) BatchExportRequest {
		return BatchExportRequest{Name: "n", Interval: interval, Model: model, Destination: Destination{Type: kind, Config: destination.Raw("{}")}}
	}
	good, ctx := []Option{WithPersonalAPIKey(testPersonalKey), WithProject("1")}, t.Context()
	for says, err := range map[string]error{
		"asked for " + id.String(): failed(missing().BatchExports.Get(ctx, id)),
		"asked for " + id.String() + ", " + run.String() + ": are they swapped": failed(missing().Runs.Get(ctx, id, run)),
		"no final slash":                                  missing().Do(ctx, Request{Method: "GET", Path: "/insights"}, nil),
		"paths begin below the project":                   missing().Do(ctx, Request{Method: "GET", Path: "/api/projects/1/insights/"}, nil),
		"below the project, such as":                      missing().Do(ctx, Request{Method: "GET", Path: "api/environments/1/insights/"}, nil),
		"hogapi: GET /things/: 404 not_found: Not found.": missing().Do(ctx, Request{Method: "GET", Path: "/things/"}, nil),
		"hogapi: POST /things/: outcome unknown: the call may have taken effect: check before you try again: 500": newFakeClient(t, newScript(answers(500, ""))).
			Do(ctx, Request{Method: "POST", Path: "/things/"}, nil),
		`Path "/insights/?…": want a path without a query, which goes into Query`:                   missing().Do(ctx, Request{Method: "GET", Path: "/insights/?limit=3"}, nil),
		"does *[]int, the type of out, fit the answer?":                                             answered(`{"a":1}`).Do(ctx, Request{Method: "GET", Path: "/things/"}, new([]int)),
		"got an HTML page, not JSON; is the base URL the service's?":                                failed(answered("<html>").BatchExports.TestDestination(ctx, testCreate)),
		"asked for project 12345: its number is in the project's settings":                          failed(failing(404, `{"code":"not_found","detail":"Project not found."}`).BatchExports.List(ctx, nil)),
		"404 not_found: Invalid cursor; the cursor is not one of this list":                         failed(failing(404, `{"code":"not_found","detail":"Invalid cursor"}`).Runs.List(ctx, id, nil)),
		"no scope changes that: the user of the personal API key lacks the access":                  failed(failing(403, `{"code":"permission_denied","detail":"You do not have viewer access to this resource."}`).Dashboards.Get(ctx, 1)),
		"unpauses only for a key whose user has chosen a project":                                   failed(failing(401, "").BatchExports.Unpause(ctx, id, nil)),
		"hogapi: backfills.wait: ticket: want":                                                      failed(missing().Backfills.Wait(ctx, nil, nil)),
		"hogapi: runs.wait: WatchOptions.Timeout":                                                   failed(missing().Runs.Wait(ctx, id, run, &WatchOptions{Timeout: -1})),
		`Interval "hourly": want "hour", or another of: hour, day, week`:                            failed(missing().BatchExports.Create(ctx, exported("hourly", ModelEvents, "S3"))),
		`Interval "daily": want "day"`:                                                              failed(missing().BatchExports.Create(ctx, exported("daily", ModelEvents, "S3"))),
		`Model "event": want "events", or another of: events, persons`:                              failed(missing().BatchExports.Create(ctx, exported("hour", "event", "S3"))),
		`Destination.Type "s3": want "AwsS3" or "S3Compatible"; only older`:                         failed(missing().BatchExports.Create(ctx, exported("hour", ModelEvents, "s3"))),
		`personal API key: want a personal API key (phx_…) without "Bearer"`:                        failed(NewClient(append(good, WithRegion("EU"), WithPersonalAPIKey("Bearer phx_x"))...)),
		"no answer: the time limit of a try, 1ms, is over (see WithTryTimeout)":                     get(ctx, newFakeClient(t, newScript(hangs), WithTryTimeout(time.Millisecond), WithRetryPolicy(RetryPolicy{MaxTries: 1}))),
		"https://us.posthog.com: app.posthog.com":                                                   failed(NewClient(append(good, WithBaseURL("https://app.posthog.com"))...)),
		"https://eu.posthog.com: eu.i.posthog.com":                                                  failed(NewClient(append(good, WithBaseURL("https://eu.i.posthog.com"))...)),
		`Before "2024-05-01T12:00:00Z": want later than After`:                                      failed(missing().Runs.List(ctx, id, &RunListOptions{After: at.Add(time.Hour), Before: at})),
		"hogapi: capture: Rate":                                                                     failed(missing().NewCapture(&CaptureOptions{Rate: -2})),
		"hogapi: the retry of run " + run.String() + " of export " + id.String() + ": no run began": (&BackfillState{}).judge(&BackfillTicket{ExportID: id, RetriedRun: run}),
		"hogapi: context canceled; 3 events are unsettled; 1 were never sent, 2 were sent and the answer is unknown; enqueue their records again": &event.UnsettledError{
			Count: 3, NeverSent: 1, Err: &StopError{Reason: StopCanceled, Err: context.Canceled},
		},
		": 9 of 10 records were rejected; correct the source": &StopError{Reason: StopTooManyRejects, Err: errors.New("9 of 10 records were rejected")},
	} {
		require.Error(t, err, says)
		assert.ErrorContains(t, err, says)
	}
	require.NotErrorIs(t, failed(failing(404, `{"code":"not_found","detail":"Invalid cursor"}`).Runs.List(ctx, id, nil)), ErrNotFound)
}
