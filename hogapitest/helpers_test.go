package hogapitest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hogapi/hogapi/hogapitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// now is the clock of the tests.
var now = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func fixedClock() time.Time { return now }

// wire is one server over one of its transports, driven with plain net/http.
type wire struct {
	*hogapitest.Server
	t      testing.TB
	origin string
	http   *http.Client
	key    string
	prefix string
}

// over runs a test once in process and once over a socket, each with a server of its own.
func over(t *testing.T, options []hogapitest.Option, test func(t *testing.T, w *wire)) {
	t.Run("in process", func(t *testing.T) { test(t, inProcess(t, options...)) })
	t.Run("socket", func(t *testing.T) {
		w := inProcess(t, options...)
		transport := &http.Transport{}
		t.Cleanup(func() {
			transport.CloseIdleConnections()
			w.Close()
		})
		w.origin, w.http = w.URL(), &http.Client{Transport: transport}
		test(t, w)
	})
}

func inProcess(t *testing.T, options ...hogapitest.Option) *wire {
	s := hogapitest.New(append([]hogapitest.Option{hogapitest.WithClock(fixedClock)}, options...)...)
	return &wire{
		Server: s, t: t, origin: "https://fake.example", http: &http.Client{Transport: s.Transport()},
		key: hogapitest.DefaultPersonalKey, prefix: "/api/projects/" + hogapitest.DefaultProject,
	}
}

// withExport is a server with a batch export.
func withExport(t *testing.T, options ...hogapitest.Option) (*wire, uuid.UUID) {
	w := inProcess(t, options...)
	return w, w.project().AddExport(hogapitest.Export{})
}

func (w *wire) project() *hogapitest.Project { return w.Project(hogapitest.DefaultProject) }

// answer is a response with its body read.
type answer struct {
	*http.Response
	text string
}

// send makes a request of a full path with any body. Headers replace earlier ones; an empty value removes one.
func (w *wire) send(method, path string, body []byte, header ...string) (answer, error) {
	r, err := http.NewRequest(method, w.origin+path, bytes.NewReader(body))
	require.NoError(w.t, err)
	if w.key != "" {
		r.Header.Set("Authorization", "Bearer "+w.key)
	}
	for i := 0; i < len(header); i += 2 {
		if r.Header.Del(header[i]); header[i+1] != "" {
			r.Header.Set(header[i], header[i+1])
		}
	}
	resp, err := w.http.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	return answer{resp, string(raw)}, err
}

// sent is send for a request that must be answered.
func (w *wire) sent(method, path string, body []byte, header ...string) answer {
	w.t.Helper()
	a, err := w.send(method, path, body, header...)
	require.NoError(w.t, err)
	return a
}

// call makes a request below the project's prefix, and decodes a JSON answer.
func (w *wire) call(method, path, body string) (int, map[string]any) {
	w.t.Helper()
	if !strings.HasPrefix(path, "/api/") {
		path = w.prefix + path
	}
	a := w.sent(method, path, []byte(body))
	var out map[string]any
	if a.text != "" {
		require.NoError(w.t, json.Unmarshal([]byte(a.text), &out), a.text)
	}
	return a.StatusCode, out
}

// want makes a call that must be answered with a status.
func (w *wire) want(status int, method, path, body string) map[string]any {
	w.t.Helper()
	got, out := w.call(method, path, body)
	require.Equal(w.t, status, got, "%s %s: %v", method, path, out)
	return out
}

// get makes a GET that must succeed.
func (w *wire) get(format string, args ...any) map[string]any {
	w.t.Helper()
	return w.want(200, "GET", fmt.Sprintf(format, args...), "")
}

// refused makes a call that must fail with a status and a code, and returns the detail.
func (w *wire) refused(status int, code, method, path, body string) string {
	w.t.Helper()
	out := w.want(status, method, path, body)
	require.Equal(w.t, code, out["code"])
	require.Contains(w.t, out, "attr")
	require.NotEmpty(w.t, out["type"])
	return out["detail"].(string)
}

// results are the items of a page.
func results(page map[string]any) []map[string]any {
	var list []map[string]any
	for _, item := range page["results"].([]any) {
		list = append(list, item.(map[string]any))
	}
	return list
}

func pluck(list []map[string]any, key string) []any {
	var values []any
	for _, item := range list {
		values = append(values, item[key])
	}
	return values
}

// batch sends a capture request without a personal key.
func (w *wire) batch(body string, header ...string) answer {
	w.t.Helper()
	w.key = ""
	return w.sent("POST", "/batch/", []byte(body), header...)
}

// historical is a capture body with the flag.
func historical(events ...string) string {
	return `{"api_key":"` + hogapitest.DefaultProjectKey + `","historical_migration":true,"batch":[` + strings.Join(events, ",") + `]}`
}

// event is an old event.
func event(n int) string {
	return fmt.Sprintf(`{"event":"signed up","distinct_id":"user-%d","uuid":"00000000-0000-4000-8000-%012d","timestamp":"2025-01-02T03:04:05.678Z","properties":{"n":%d}}`, n%3, n, n)
}

// uuids returns the uuids of the events with these numbers.
func uuids(numbers ...int) []uuid.UUID {
	var ids []uuid.UUID
	for _, n := range numbers {
		ids = append(ids, uuid.MustParse(fmt.Sprintf("00000000-0000-4000-8000-%012d", n)))
	}
	return ids
}
