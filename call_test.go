package hogapi

import (
	"context"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jarcoal/httpmock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/integration"
	"github.com/hogapi/hogapi/ops"
)

const (
	testPersonalKey = "phx_CanaryPersonalKey0123456789"
	testProjectKey  = "phc_CanaryProjectKey0123456789"
	testBase        = "https://us.posthog.com/api/projects/12345"
)

// newTestClient returns a client and the mock that answers its requests.
func newTestClient(t *testing.T, options ...Option) (*Client, *httpmock.MockTransport) {
	t.Helper()
	mock := httpmock.NewMockTransport()
	return newFakeClient(t, mock, options...), mock
}

// Do refuses an output that it cannot decode into, an unknown replay class and a body that is no JSON, before it sends anything.
func TestDoRefusesWhatItCannotCarryOut(t *testing.T) {
	client, mock := newTestClient(t)
	var none *struct{ ID int }
	for _, out := range []any{none, struct{ ID int }{}, map[string]any{}, 7} {
		requireInputError(t, client.Do(t.Context(), Request{Method: "POST", Path: "/insights/"}, out), "out")
	}
	requireInputError(t, client.Do(t.Context(), Request{Method: "POST", Path: "/insights/", Replay: ReplayNever + 1}, nil), "Replay")
	requireInputError(t, client.Do(t.Context(), Request{Method: "POST", Path: "/insights/", Body: func() {}}, nil), "body")
	require.Zero(t, mock.GetTotalCallCount())
}

func TestNilOptions(t *testing.T) {
	_, err := NewClient(WithRegion(RegionUS), WithProject("1"), WithPersonalAPIKey(testPersonalKey), nil)
	requireInputError(t, err, "option")
	client, mock := newTestClient(t)
	requireInputError(t, get(t.Context(), client, nil), "option")
	_, err = client.BatchExports.Unpause(t.Context(), testExportID, nil, nil)
	requireInputError(t, err, "option")
	for _, err := range client.BatchExports.All(t.Context(), nil, nil) {
		requireInputError(t, err, "option")
	}
	require.Zero(t, mock.GetTotalCallCount())
}

// An answer about another thing than the one that was asked for is not taken for it.
func TestAnswerOfAnotherID(t *testing.T) {
	asked, other := fileA, uuid.MustParse("0190e0a2-0000-7000-8000-0000000000ee")
	ctx := t.Context()
	for name, tt := range map[string]struct {
		get         func(*Client) error
		good, wrong string
	}{
		"dashboard":   {func(c *Client) error { return failed(c.Dashboards.Get(ctx, 5)) }, `{"id":5}`, `{"id":7}`},
		"integration": {func(c *Client) error { return failed(c.Integrations.Get(ctx, 5)) }, `{"id":5}`, `{"id":7}`},
		"export":      {func(c *Client) error { return failed(c.BatchExports.Get(ctx, asked)) }, `{"id":"ID"}`, ""},
		"update": {func(c *Client) error {
			return failed(c.BatchExports.Update(ctx, asked, BatchExportUpdateRequest{Name: Set("n")}))
		}, `{"id":"ID"}`, ""},
		"deletion": {func(c *Client) error { return failed(c.DataDeletions.Get(ctx, asked)) }, `{"id":"ID","status":"soon"}`, ""},
		"run":      {func(c *Client) error { return failed(c.Runs.Get(ctx, exportA, asked)) }, `{"id":"ID","status":"Running"}`, ""},
		"backfill": {func(c *Client) error { return failed(c.Backfills.Get(ctx, exportA, asked)) }, `{"id":"ID","status":"Running"}`, ""},
		"file download": {
			func(c *Client) error { return failed(c.FileDownloads.Get(ctx, asked)) }, `{"status":"Running"}`, `{"id":"ID","status":"Running"}`,
		},
		"historical export": {
			func(c *Client) error { return failed(c.AppMetrics.HistoricalExport(ctx, "1", "job")) },
			`{"summary":{"job_id":"job","status":"success"}}`, `{"summary":{"job_id":"another","status":"success"}}`,
		},
	} {
		client, mock := newTestClient(t)
		answer := func(body string, id uuid.UUID) {
			mock.RegisterNoResponder(func(*http.Request) (*http.Response, error) {
				return httpmock.NewStringResponse(200, strings.ReplaceAll(body, "ID", id.String())), nil
			})
		}
		answer(tt.good, asked)
		require.NoError(t, tt.get(client), name)
		wrong := tt.wrong
		if wrong == "" {
			wrong = tt.good
		}
		answer(wrong, other)
		var undecoded *DecodeError
		require.ErrorAs(t, tt.get(client), &undecoded, name)
		require.ErrorContains(t, undecoded, "requested", name)
	}
}

// Every method of a service, and Do, refuses a nil context and a zero id: as an error, or as the first and only step of an iterator.
func TestNilArgumentsAreRefused(t *testing.T) {
	client, mock := newTestClient(t)
	arguments := map[reflect.Type]reflect.Value{
		reflect.TypeFor[context.Context]():          reflect.ValueOf(t.Context()),
		reflect.TypeFor[uuid.UUID]():                reflect.ValueOf(runA),
		reflect.TypeFor[string]():                   reflect.ValueOf("7"),
		reflect.TypeFor[io.Writer]():                reflect.ValueOf(io.Discard),
		reflect.TypeFor[BatchExportRequest]():       reflect.ValueOf(hostileExport()),
		reflect.TypeFor[BatchExportUpdateRequest](): reflect.ValueOf(BatchExportUpdateRequest{Name: Set("x")}),
		reflect.TypeFor[BackfillRange]():            reflect.ValueOf(january),
		reflect.TypeFor[*BackfillOptions]():         reflect.ValueOf(anyAge),
		reflect.TypeFor[*BackfillTicket](): reflect.ValueOf(&BackfillTicket{
			ExportID: exportA, RetriedRun: runA, RequestedAt: january.Start.Time(), BackfillID: runB,
		}),
	}
	methods := 0
	for _, service := range []any{
		client.BatchExports, client.Backfills, client.Runs, client.AppMetrics, client.Dashboards, client.Integrations, client.FileDownloads, client.DataDeletions,
	} {
		for method, call := range reflect.ValueOf(service).Methods() {
			kind := call.Type()
			var in []reflect.Value
			for i := range kind.NumIn() - 1 { // without options
				argument, ok := arguments[kind.In(i)]
				if !ok {
					argument = reflect.Zero(kind.In(i))
				}
				in = append(in, argument)
			}
			for i, good := range in {
				if i > 0 && kind.In(i) != reflect.TypeFor[uuid.UUID]() {
					continue
				}
				in[i] = reflect.Zero(kind.In(i))
				err := lastResult(t, call.Call(in))
				in[i] = good
				require.ErrorIs(t, err, ErrInvalid, method.Name)
				require.False(t, errors.As(err, new(*PageError)), method.Name)
				if i == 0 {
					requireInputError(t, err, "ctx")
					methods++
				}
			}
		}
	}
	require.Greater(t, methods, 45)
	var none context.Context
	requireInputError(t, client.Do(none, Request{Method: "GET", Path: "/x/"}, nil), "ctx")
	require.Zero(t, mock.GetTotalCallCount())
}

// lastResult is the error of a call, or of the only step of an iterator.
func lastResult(t *testing.T, out []reflect.Value) error {
	t.Helper()
	result := out[len(out)-1]
	err, _ := reflect.TypeAssert[error](result)
	if result.Kind() == reflect.Func {
		steps := 0
		for _, failed := range result.Seq2() {
			steps++
			err, _ = reflect.TypeAssert[error](failed)
		}
		require.Equal(t, 1, steps)
	}
	return err
}

const noEndpointBody = `{"type":"invalid_request","code":"not_found","detail":"Endpoint not found.","attr":null}`

// An endpoint that the server lacks is neither a missing object nor worth another try.
func TestUnsupportedIsNotNotFound(t *testing.T) {
	for name, tt := range map[string]struct {
		status      int
		body        string
		unsupported bool
		also        error
		says        string
	}{
		"no route":          {404, noEndpointBody, true, nil, "this server does not have the operation; instead: Runs.Counts"},
		"no method":         {405, `{"type":"invalid_request","code":"method_not_allowed","detail":"Method \"GET\" not allowed.","attr":null}`, true, nil, "instead: Runs.Counts"},
		"no personal key":   {403, `{"type":"authentication_error","code":"permission_denied","detail":"This action does not support Personal API Key access","attr":null}`, true, ErrForbidden, "no personal API key can do this"},
		"no key, newer":     {403, `{"code":"permission_denied","detail":"This action does not support personal API key access"}`, true, ErrForbidden, "no personal API key can do this"},
		"no object":         {404, `{"code":"not_found","detail":"Not found."}`, false, ErrNotFound, "Not found."},
		"no project":        {404, `{"code":"not_found","detail":"Project not found."}`, false, ErrNotFound, "Project not found."},
		"more words":        {404, `{"code":"not_found","detail":"Endpoint not found. Really."}`, false, ErrNotFound, "Really"},
		"a proxy's 404":     {404, "<html>Endpoint not found.</html>", false, nil, "404"},
		"a proxy's 405":     {405, "<html></html>", false, nil, "405"},
		"a proxy's own 405": {405, "", false, nil, "405"},
		"a scope":           {403, `{"code":"permission_denied","detail":"API key missing required scope 'plugin:read'"}`, false, ErrForbidden, "needs the scope plugin:read"},
		"a feature":         {403, `{"code":"permission_denied","detail":"HogQL batch exports are not enabled for this team."}`, false, ErrForbidden, "ask PostHog's support"},
	} {
		t.Run(name, func(t *testing.T) {
			client, mock := newTestClient(t)
			mock.RegisterResponder("GET", testBase+"/app_metrics/7/", httpmock.NewStringResponder(tt.status, tt.body))
			_, err := client.AppMetrics.Get(t.Context(), "7", nil)
			api := as[*APIError](t, err)
			assert.Equal(t, ops.AppMetricsGet, api.Op)
			require.ErrorContains(t, err, tt.says)
			assert.Equal(t, tt.unsupported, api.Alternative != "")
			for _, sentinel := range sentinels {
				want := sentinel == ErrUnsupported && tt.unsupported || tt.also != nil && sentinel == tt.also //nolint:errorlint // the sentinels themselves
				assert.Equal(t, want, api.Is(sentinel), "%v", sentinel)
			}
			assert.Equal(t, 1, mock.GetTotalCallCount(), "never retried")
		})
	}
}

// Calls of /api/environments read below /api/projects where the server no longer has it, and write nothing twice.
func TestEnvironmentsThatAreGone(t *testing.T) {
	const gone = "https://us.posthog.com/api/environments/12345/things/"
	for name, tt := range map[string]struct {
		method, path string
		first        string
		status       int
		calls        int
		is           error
	}{
		"read":              {"GET", "/api/environments", noEndpointBody, 404, 2, nil},
		"read, slash":       {"GET", "api/environments/", noEndpointBody, 404, 2, nil},
		"write":             {"POST", "/api/environments", noEndpointBody, 404, 1, ErrUnsupported},
		"no such thing":     {"GET", "/api/environments", `{"code":"not_found","detail":"Not found."}`, 404, 1, ErrNotFound},
		"forbidden":         {"GET", "/api/environments", noEndpointBody, 403, 1, ErrForbidden},
		"method":            {"GET", "/api/environments", `{"code":"method_not_allowed"}`, 405, 1, ErrUnsupported},
		"another API path":  {"GET", "/api/environments2", noEndpointBody, 404, 1, ErrUnsupported},
		"at projects, once": {"GET", "/api/projects", noEndpointBody, 404, 1, ErrUnsupported},
	} {
		t.Run(name, func(t *testing.T) {
			var tries, ended []CallRecord
			client, mock := newTestClient(t, WithAPIPath(tt.path), WithHooks(Hooks{OnCall: func(_ context.Context, r CallRecord) {
				if r.Ended {
					ended = append(ended, r)
				} else {
					tries = append(tries, r)
				}
			}}))
			mock.RegisterNoResponder(httpmock.NewStringResponder(tt.status, tt.first))
			if tt.calls == 2 {
				mock.RegisterResponder(tt.method, gone, httpmock.NewStringResponder(tt.status, tt.first))
				mock.RegisterResponder(tt.method, testBase+"/things/", func(r *http.Request) (*http.Response, error) {
					assert.Equal(t, "Bearer "+testPersonalKey, r.Header.Get("Authorization"))
					return httpmock.NewStringResponse(200, `{"n":1}`), nil
				})
			}
			var out struct{ N int }
			err := client.Do(t.Context(), Request{Method: tt.method, Path: "/things/"}, &out)
			require.ErrorIs(t, err, tt.is)
			assert.Equal(t, tt.is == nil, out.N == 1)
			assert.Equal(t, tt.calls, mock.GetTotalCallCount())
			assert.Len(t, tries, tt.calls)
			require.Len(t, ended, 1, "a call ends once")
			assert.Equal(t, err, ended[0].Err)
		})
	}
	client, mock := newTestClient(t, WithAPIPath("/api/environments"))
	mock.RegisterNoResponder(httpmock.NewStringResponder(404, noEndpointBody))
	require.ErrorIs(t, client.Do(t.Context(), Request{Method: "GET", Path: "/things/"}, nil), ErrUnsupported)
	require.Equal(t, 2, mock.GetTotalCallCount(), "both lack it")

	const integrations = `=~^https://us.posthog.com/api/projects/12345/integrations/1/$`
	mock.RegisterResponder("GET", integrations, httpmock.NewStringResponder(200, `{"id":1,"kind":"aws-s3"}`))
	mock.RegisterResponder("DELETE", integrations, httpmock.NewStringResponder(204, ""))
	mock.ZeroCallCounters()
	for range 3 {
		require.NoError(t, failed(client.Integrations.Get(t.Context(), 1)))
	}
	require.NoError(t, client.ForProject("12345").Integrations.Delete(t.Context(), 1))
	require.Equal(t, 1+3+1, mock.GetTotalCallCount(), "the client remembers what the server lacks, for writes too")
}

// The client does not repeat a write below /api/environments at another path; its error names the API path to use.
func TestWritesBelowEnvironmentsNameTheRemedy(t *testing.T) {
	for name, write := range map[string]func(*Client) error{
		"pause": func(c *Client) error { return c.BatchExports.Pause(t.Context(), fileA) },
		"integration": func(c *Client) error {
			return failed(c.Integrations.Create(t.Context(), integration.AwsS3{Name: "n", AWSRoleARN: "r"}))
		},
		"backfill": func(c *Client) error {
			return failed(c.Backfills.Create(t.Context(), fileA, BackfillRange{Start: AtDate(2024, 1, 1), End: AtDate(2024, 1, 2)}, anyAge))
		},
		"test": func(c *Client) error { return failed(c.BatchExports.TestDestination(t.Context(), testCreate)) },
		"Do":   func(c *Client) error { return c.Do(t.Context(), Request{Method: "POST", Path: "/things/"}, nil) },
	} {
		for path, remedy := range map[string]string{
			"/api/environments": `WithAPIPath("/api/projects")`, "/posthog/api/environments/": `WithAPIPath("/posthog/api/projects")`, "/api/projects": "", "/api/v2": "",
		} {
			client, mock := newTestClient(t, WithAPIPath(path))
			mock.RegisterNoResponder(httpmock.NewStringResponder(404, noEndpointBody))
			mock.RegisterResponder("GET", `=~/(runs|backfills)/`, httpmock.NewStringResponder(200, `{"next":null,"results":[]}`))
			mock.RegisterResponder("GET", `=~/batch_exports/[0-9a-f-]+/$`, httpmock.NewStringResponder(200, `{"id":"`+fileA.String()+`","interval":"day","timezone":"UTC","model":"events"}`))
			mock.RegisterResponder("GET", `=~/test/`, httpmock.NewStringResponder(200, `{"steps":[{"name":"A"}]}`))
			err := write(client)
			require.ErrorIs(t, err, ErrUnsupported, name)
			api := as[*APIError](t, err)
			if remedy == "" {
				require.NotContains(t, api.Alternative, "WithAPIPath", name)
				continue
			}
			require.Contains(t, api.Alternative, remedy, name)
			require.ErrorContains(t, err, "instead: "+remedy, name)
		}
	}
	client, mock := newTestClient(t, WithAPIPath("/api/environments"))
	mock.RegisterNoResponder(httpmock.NewStringResponder(404, noEndpointBody))
	_, err := client.Integrations.Get(t.Context(), 1)
	require.ErrorIs(t, err, ErrUnsupported)
	require.NotContains(t, err.Error(), "WithAPIPath", "it was tried there")
}

// The service asks vendors during some calls, which takes longer than other calls may.
func TestSlowCallsHaveLongerTries(t *testing.T) {
	for name, tt := range map[string]struct {
		takes time.Duration
		call  func(context.Context, *Client) error
	}{
		"integration": {55 * time.Second, func(ctx context.Context, c *Client) error {
			return failed(c.Integrations.Create(ctx, integration.AwsS3{Name: "n", AWSRoleARN: "arn:aws:iam::1:role/r"}))
		}},
		"test": {115 * time.Second, func(ctx context.Context, c *Client) error {
			return failed(c.BatchExports.TestDestination(ctx, testCreate))
		}},
	} {
		for limit, options := range map[time.Duration][]Option{
			0: nil, 5 * time.Second: {WithTryTimeout(5 * time.Second)}, 10 * time.Minute: {WithTryTimeout(10 * time.Minute)},
		} {
			t.Run(name, bubble(func(t *testing.T) {
				takes, tries := max(tt.takes, limit-time.Second), 0
				transport := roundTrip(func(r *http.Request) (*http.Response, error) {
					if r.Method == http.MethodGet {
						return answer(r, 200, `{"steps":[{"name":"a","description":"","result":null}]}`), nil
					}
					tries++
					select {
					case <-time.After(takes):
						return answer(r, 200, `{"id":1,"kind":"aws-s3","name":"a","result":{"status":"Passed","message":null}}`), nil
					case <-r.Context().Done():
						return nil, r.Context().Err()
					}
				})
				client := newFakeClient(t, transport, options...)
				require.NoError(t, tt.call(t.Context(), client))
				takes = time.Hour
				require.ErrorIs(t, tt.call(t.Context(), client), ErrOutcomeUnknown)
				require.Equal(t, 2, tries, "one try each: it may have acted")
			}))
		}
	}
}
