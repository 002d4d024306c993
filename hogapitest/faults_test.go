package hogapitest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

// creating makes an export, which the project then shows.
func (w *wire) creating() (answer, error) {
	return w.send("POST", w.prefix+"/batch_exports/", []byte(`{"name":"a","interval":"hour","destination":{"type":"NoOp","config":{}}}`))
}

func TestEachFault(t *testing.T) {
	tests := []struct {
		fault  hogapitest.Fault
		status int // 0 is an error
		done   bool
		holds  string // part of the answer or of the error
	}{
		{hogapitest.Status(503), 503, false, `"type":"server_error"`},
		{hogapitest.Status(409), 409, false, `"code":"conflict"`},
		{hogapitest.Status(400, `{"code":"x"}`), 400, false, `{"code":"x"}`},
		{hogapitest.Status(400, map[string]any{"code": "y"}), 400, false, `{"code":"y"}`},
		{hogapitest.Status(403, "go away"), 403, false, "go away"},
		{hogapitest.RateLimit("7"), 429, false, "Expected available in 7 seconds."},
		{hogapitest.RateLimit(""), 429, false, `"code":"throttled"`},
		{hogapitest.HTML(502), 502, false, "<html>"},
		{hogapitest.Refuse(), 0, false, "connection re"}, // refused, or reset over a socket
		{hogapitest.CutSending(), 0, false, ""},
		{hogapitest.CutBefore(), 0, false, ""},
		{hogapitest.CutAfter(), 0, true, ""},
		{hogapitest.CutHeader(), 0, true, "unexpected EOF"},
		{hogapitest.CutBody(10), 0, true, "unexpected EOF"},
		{hogapitest.CutBody(0), 0, true, "unexpected EOF"},
		{hogapitest.Altered(func(own []byte) []byte { return append(own, " and more"...) }), 201, true, "} and more"},
		{hogapitest.Slow(time.Millisecond), 201, true, `"id"`},
		{hogapitest.Slow(time.Millisecond, hogapitest.CutAfter()), 0, true, ""},
		{hogapitest.SlowAnswer(time.Millisecond, hogapitest.Status(500)), 500, false, "server_error"},
		{hogapitest.PartialCommit(1, 503), 503, false, "server_error"},
		{hogapitest.Then(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			w.Header().Set("X-Mine", "yes")
			w.WriteHeader(418)
			fmt.Fprintf(w, "%s %s %d", r.Method, r.URL.Path, len(body))
		}), 418, false, "POST /api/projects/12345/batch_exports/ 72"},
	}
	for _, test := range tests {
		t.Run(test.fault.String(), func(t *testing.T) {
			over(t, nil, func(t *testing.T, w *wire) {
				w.Script(ops.BatchExportsCreate, test.fault)
				require.Len(t, w.Unused(), 1)
				a, err := w.creating()
				call := w.Calls(ops.BatchExportsCreate)[0]
				if test.status == 0 {
					require.Error(t, err)
					assert.Contains(t, err.Error(), test.holds)
					assert.False(t, call.Delivered)
				} else {
					require.NoError(t, err)
					assert.Equal(t, test.status, a.StatusCode)
					assert.Contains(t, a.text, test.holds)
					assert.True(t, call.Delivered)
					assert.Equal(t, test.status, call.Status)
				}
				assert.Len(t, w.project().Exports(), map[bool]int{true: 1}[test.done])
				assert.Equal(t, test.fault.String(), call.Fault)
				assert.Empty(t, w.Unused())
				a, err = w.creating()
				require.NoError(t, err, "service as usual again")
				assert.Equal(t, 201, a.StatusCode)
			})
		})
	}
}

func TestHeadersOfFaults(t *testing.T) {
	over(t, nil, func(t *testing.T, w *wire) {
		w.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		plain, date := hogapitest.Status(307), "Wed, 04 Mar 2026 12:00:07 GMT"
		for _, test := range []struct {
			fault       hogapitest.Fault
			status      int
			name, value string
		}{
			{hogapitest.RateLimit(date), 429, "Retry-After", date},
			{hogapitest.RateLimit(""), 429, "Retry-After", ""},
			{plain.WithHeader("Location", "https://evil.example/"), 307, "Location", "https://evil.example/"},
			{plain, 307, "Location", ""}, // WithHeader has not changed it
			{hogapitest.Slow(0).WithHeader("X-Mine", "yes"), 201, "X-Mine", "yes"},
		} {
			w.Script(ops.BatchExportsCreate, test.fault)
			a, err := w.creating()
			require.NoError(t, err)
			assert.Equal(t, test.status, a.StatusCode)
			assert.Equal(t, test.value, a.Header.Get(test.name), test.fault)
		}
		w.Script(ops.Capture, hogapitest.RateLimit("3"))
		a := w.batch(historical(event(1)))
		assert.Equal(t, []any{429, "3", "rate limited"}, []any{a.StatusCode, a.Header.Get("Retry-After"), a.text})
		assert.Zero(t, w.Ledger().Len())
	})
}

func TestCutsOfCapture(t *testing.T) {
	over(t, nil, func(t *testing.T, w *wire) {
		w.key = ""
		w.Script(ops.Capture, hogapitest.CutBefore(), hogapitest.CutAfter(), hogapitest.PartialCommit(1, 503), hogapitest.PartialCommit(-1, 503), hogapitest.CutBody(3))
		body := []byte(historical(event(1), event(2), event(3), event(4)))
		want := []struct{ commits, status int }{{0, 0}, {4, 0}, {5, 503}, {7, 503}, {11, 200}, {15, 200}}
		for i, step := range want {
			a, err := w.send("POST", "/batch/", body)
			if step.status == 503 {
				require.NoError(t, err)
				assert.Equal(t, "transient error, please retry", a.text)
			}
			assert.Equal(t, step.commits, w.Ledger().Len(), i)
		}
		var delivered []bool
		var statuses []int
		for _, r := range w.Ledger().Requests() {
			delivered, statuses = append(delivered, r.Delivered), append(statuses, r.Status)
		}
		assert.Equal(t, []bool{false, true, true, false, true}, delivered)
		assert.Equal(t, []int{0, 503, 503, 200, 200}, statuses)
		assert.Equal(t, 4, w.Ledger().Unique())
	})
}

func TestScripts(t *testing.T) {
	w := inProcess(t)
	status := func() int {
		a, err := w.creating()
		require.NoError(t, err)
		return a.StatusCode
	}
	w.Script(ops.BatchExportsCreate, hogapitest.Repeat(2, hogapitest.Status(500)), hogapitest.Status(503), hogapitest.Repeat(0, hogapitest.Status(501)))
	assert.Equal(t, []int{500, 500, 503, 201}, []int{status(), status(), status(), status()})

	w.Script(ops.BatchExportsCreate, hogapitest.Always(hogapitest.Status(504)))
	w.Script(ops.RunsList, hogapitest.Repeat(3, hogapitest.Refuse()))
	assert.Equal(t, []string{"batch_exports.create: Status(504)", "runs.list: 3 × Refuse"}, w.Unused())
	for range 3 {
		assert.Equal(t, 504, status())
	}
	w.get("/dashboards/") // another operation
	assert.Equal(t, []string{"runs.list: 3 × Refuse"}, w.Unused(), "Always is used once it was met")
	w.ClearScript(ops.BatchExportsCreate)
	assert.Equal(t, 201, status())
}

func TestChaosIsTheSameForOneSeed(t *testing.T) {
	run := func(seed uint64) (met []string) {
		w := inProcess(t)
		w.Chaos(ops.BatchExportsCreate, seed, 0.5, hogapitest.Status(500), hogapitest.CutAfter(), hogapitest.CutBefore())
		for range 200 {
			_, _ = w.creating()
		}
		for _, c := range w.Calls() {
			met = append(met, c.Fault)
		}
		assert.Empty(t, w.Unused())
		return met
	}
	first := run(1)
	assert.Equal(t, first, run(1))
	assert.NotEqual(t, first, run(2))
	none := 0
	for _, f := range first {
		if f == "" {
			none++
		}
	}
	assert.InDelta(t, 100, none, 30)
}

func TestSlowEndsWithItsContext(t *testing.T) {
	over(t, nil, func(t *testing.T, w *wire) {
		for _, f := range []hogapitest.Fault{hogapitest.Slow(time.Hour), hogapitest.SlowAnswer(time.Hour)} {
			w.Script(ops.DashboardsList, f)
			ctx, cancel := context.WithCancel(context.Background())
			time.AfterFunc(20*time.Millisecond, cancel)
			r, err := http.NewRequestWithContext(ctx, "GET", w.origin+w.prefix+"/dashboards/", nil)
			require.NoError(t, err)
			r.Header.Set("Authorization", "Bearer "+w.key)
			resp, err := w.http.Do(r)
			if err == nil {
				_, err = io.ReadAll(resp.Body)
				_ = resp.Body.Close()
			}
			assert.ErrorIs(t, err, context.Canceled, f)
		}
	})
}

func TestDown(t *testing.T) {
	over(t, nil, func(t *testing.T, w *wire) {
		w.get("/dashboards/")
		w.SetDown(true)
		w.http.CloseIdleConnections() // else the first request finds its connection ended
		_, err := w.creating()
		require.ErrorIs(t, err, syscall.ECONNREFUSED)
		var op *net.OpError
		require.True(t, errors.As(err, &op))
		assert.Equal(t, "dial", op.Op)
		w.SetDown(false)
		w.get("/dashboards/")
	})
}

func TestCallsPrintNoKey(t *testing.T) {
	w := inProcess(t)
	w.get("/dashboards/?limit=3")
	w.batch(historical(event(1)))
	w.call("GET", "/phx_inAPath/", "")
	calls := w.Calls()
	require.Len(t, calls, 3)
	assert.Equal(t, " GET /api/projects/12345/[key]/: 404", calls[2].String())
	assert.Equal(t, "Bearer "+hogapitest.DefaultPersonalKey, calls[0].Header.Get("Authorization"))
	assert.Equal(t, "3", calls[0].Query.Get("limit"))
	assert.Equal(t, "dashboards.list GET /api/projects/12345/dashboards/: 200", calls[0].String())
	var printed strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		printed.WriteString(fmt.Sprintf(verb, calls) + fmt.Sprintf(verb, &calls[1]) + fmt.Sprintf(verb, struct{ C hogapitest.Call }{calls[1]}))
	}
	encoded, err := calls[0].MarshalJSON()
	require.NoError(t, err)
	printed.WriteString(string(encoded))
	assert.NotContains(t, printed.String(), "phx_")
	assert.NotContains(t, printed.String(), "phc_")
	assert.NotContains(t, printed.String(), fmt.Sprintf("%x", "phx_"))
}

func TestManyAtOnce(t *testing.T) {
	over(t, nil, func(t *testing.T, w *wire) {
		w.Chaos(ops.Capture, 7, 0.2, hogapitest.Status(503), hogapitest.CutAfter())
		w.key = ""
		var group sync.WaitGroup
		for g := range 8 {
			group.Go(func() {
				for i := range 50 {
					_, _ = w.send("POST", "/batch/", []byte(historical(event(g*50+i))))
					_ = w.Ledger().Unique()
					_ = w.Calls(ops.Capture)
				}
			})
		}
		group.Wait()
		assert.Len(t, w.Calls(ops.Capture), 400)
		assert.Greater(t, w.Ledger().Unique(), 250)
		assert.Zero(t, w.Ledger().Duplicates())
	})
}

func TestHandle(t *testing.T) {
	w := inProcess(t)
	w.Handle("GET", "/insights/{id}/", http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.project().AddDashboard(hogapitest.Dashboard{Name: r.PathValue("id")}) // it may use the server
		fmt.Fprint(rw, `{"ok":true}`)
	}))
	assert.Equal(t, map[string]any{"ok": true}, w.get("/insights/x/"))
	assert.Equal(t, ops.Do, w.Calls()[0].Op)
	w.key = "phx_wrong"
	w.refused(401, "authentication_failed", "GET", "/insights/x/", "")
	assert.Empty(t, w.Unknown())
}

// told is a test that records its errors.
type told struct {
	errors   []string
	cleanups []func()
}

func (f *told) Helper()                      {}
func (f *told) Cleanup(fn func())            { f.cleanups = append(f.cleanups, fn) }
func (f *told) Errorf(s string, args ...any) { f.errors = append(f.errors, fmt.Sprintf(s, args...)) }
func (f *told) Fatalf(s string, args ...any) { f.Errorf("fatal: "+s, args...) }

func TestClientEndsWithAVerdict(t *testing.T) {
	verdict := func(use func(w *wire), options ...hogapi.Option) []string {
		test, w := &told{}, inProcess(t)
		w.Client(test, options...)
		use(w)
		for _, end := range test.cleanups {
			end()
		}
		return test.errors
	}
	assert.Equal(t, []string{
		"hogapitest: a scripted fault was not met: runs.get: CutAfter",
		"hogapitest: the fake knows no such endpoint: POST /api/projects/1/unheard/of/",
		"hogapitest: POST /batch/: the personal API key was sent to capture",
		"hogapitest: POST /api/projects/1/dashboards/: the personal API key is in the URL",
	}, verdict(func(w *wire) {
		w.Script(ops.RunsGet, hogapitest.CutAfter())
		for _, path := range []string{"/api/projects/1/unheard/of/", "/batch/", "/api/projects/1/dashboards/?key=" + hogapitest.DefaultPersonalKey} {
			w.sent("POST", path, []byte("{}"))
		}
	}))
	assert.Empty(t, verdict(func(*wire) {}))
	assert.Equal(t, []string{"hogapitest: a personal API key was sent to several hosts: app.hogapitest.example, evil.example"}, verdict(func(w *wire) {
		for _, host := range []string{"app.hogapitest.example", "evil.example", w.URL()[len("http://"):]} {
			w.origin = "https://" + host
			w.get("/dashboards/")
		}
	}))
	bad := verdict(func(*wire) {}, hogapi.WithProject("../1"))
	require.Len(t, bad, 1)
	assert.Contains(t, bad[0], "fatal: hogapitest:")
}
