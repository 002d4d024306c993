package vendortest_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/cmd/hogimport/internal/vendortest"
)

var (
	january = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	events  = vendortest.Generate(vendortest.GenerateOptions{
		From: january, To: january.AddDate(0, 0, 10), Count: 3000, Duplicated: 0.01, NoID: 0.02, Offline: 0.01,
	})
	noLimits = vendortest.Limits{PerHour: -1, PerSecond: -1, Concurrent: -1}
)

// get asks a server; it returns the status and the body as sent, with the error of reading it.
func get(
	t *testing.T, server *httptest.Server, path, user, password string, gzipped bool,
) (status int, body []byte, err error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, nil)
	require.NoError(t, err)
	if user != "" {
		request.SetBasicAuth(user, password)
	}
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
	defer client.CloseIdleConnections()
	if gzipped {
		request.Header.Set("Accept-Encoding", "gzip")
	}
	answer, err := client.Do(request)
	require.NoError(t, err)
	defer answer.Body.Close()
	require.Equal(t, gzipped && answer.StatusCode == 200, answer.Header.Get("Content-Encoding") == "gzip")
	body, err = io.ReadAll(answer.Body)
	return answer.StatusCode, body, err
}

func mixpanel(t *testing.T, o vendortest.MixpanelOptions) (*vendortest.Mixpanel, *httptest.Server) {
	if o.Secret == "" {
		o.Secret = "secret"
	}
	if o.Events == nil {
		o.Events = events
	}
	if o.Limits == (vendortest.Limits{}) {
		o.Limits = noLimits
	}
	m := vendortest.NewMixpanel(o)
	server := httptest.NewServer(m)
	t.Cleanup(server.Close)
	return m, server
}

type mixpanelRecord struct {
	Event      string
	Properties map[string]any
}

func mixpanelRecords(t *testing.T, body []byte) (records []mixpanelRecord) {
	t.Helper()
	for line := range strings.Lines(string(body)) {
		var r mixpanelRecord
		require.NoError(t, json.Unmarshal([]byte(line), &r), "%s", line)
		records = append(records, r)
	}
	return records
}

// Every event is in the answer for its own day, and in no other.
func TestMixpanelDays(t *testing.T) {
	losAngeles, err := time.LoadLocation("America/Los_Angeles")
	require.NoError(t, err)
	for name, old := range map[string]bool{"new": false, "old": true} {
		t.Run(name, func(t *testing.T) {
			m, server := mixpanel(t, vendortest.MixpanelOptions{Zone: losAngeles, Old: old})
			want := map[string]int{}
			for _, e := range events {
				day := e.Time.Format(time.DateOnly)
				if old {
					day = e.Time.In(losAngeles).Format(time.DateOnly)
				}
				want[day] += e.Copies
				require.Equal(t, day, m.Day(e))
			}
			total := 0
			for at := january.AddDate(0, 0, -1); at.Before(january.AddDate(0, 0, 10)); at = at.AddDate(0, 0, 1) {
				day := at.Format(time.DateOnly)
				status, body, err := get(t, server, "/api/2.0/export?from_date="+day+"&to_date="+day, "secret", "", false)
				require.NoError(t, err)
				require.Equal(t, 200, status)
				records := mixpanelRecords(t, body)
				require.Len(t, records, want[day], day)
				total += len(records)
				for _, r := range records {
					stamp := r.Properties["time"].(float64)
					require.Equal(t, day, time.Unix(int64(stamp), 0).UTC().Format(time.DateOnly), "as if it was UTC")
				}
			}
			require.Equal(t, vendortest.Rows(events), total)
			require.Empty(t, m.Log.Twice())

			status, body, err := get(t, server, "/api/2.0/export?from_date=2023-12-31&to_date=2024-01-10", "secret", "", false)
			require.NoError(t, err)
			require.Equal(t, 200, status)
			require.Len(t, mixpanelRecords(t, body), total, "both days are part of the range")
			require.Len(t, m.Log.Twice(), 11)
		})
	}
}

func TestMixpanelRecords(t *testing.T) {
	_, server := mixpanel(t, vendortest.MixpanelOptions{})
	const path = "/api/2.0/export?from_date=2024-01-01&to_date=2024-01-10"
	_, first, err := get(t, server, path, "secret", "", false)
	require.NoError(t, err)
	_, second, err := get(t, server, path, "secret", "", true)
	require.NoError(t, err)
	z, err := gzip.NewReader(strings.NewReader(string(second)))
	require.NoError(t, err)
	second, err = io.ReadAll(z)
	require.NoError(t, err)
	require.NotEqual(t, first, second, "the order is another")
	require.ElementsMatch(t, strings.Split(string(first), "\n"), strings.Split(string(second), "\n"))

	var noID, fractions int
	for _, r := range mixpanelRecords(t, first) {
		if r.Properties["distinct_id"] == nil {
			noID++
		}
		if stamp := r.Properties["time"].(float64); stamp != float64(int64(stamp)) {
			fractions++
		}
	}
	require.Positive(t, noID)
	require.Positive(t, fractions)

	_, body, err := get(t, server, path+"&time_in_ms=true", "secret", "", false)
	require.NoError(t, err)
	for _, r := range mixpanelRecords(t, body) {
		require.Greater(t, r.Properties["time"].(float64), 1e12)
	}
}

func TestMixpanelRefusals(t *testing.T) {
	o := vendortest.MixpanelOptions{
		ServiceUser: "robot", ServiceSecret: "word", ProjectID: "7",
		Now: func() time.Time { return january.AddDate(0, 0, 5) },
	}
	m, server := mixpanel(t, o)
	const good = "/api/2.0/export?from_date=2024-01-01&to_date=2024-01-02"
	for _, c := range []struct {
		name, path, user, password string
		status                     int
		text                       string
	}{
		{"no key", good, "", "", 401, "credentials"},
		{"wrong key", good, "guess", "", 401, "credentials"},
		{"secret with a password", good, "secret", "x", 401, "credentials"},
		{"service account without project", good, "robot", "word", 400, "project_id"},
		{"service account", good + "&project_id=7", "robot", "word", 200, ""},
		{"another project", good + "&project_id=8", "robot", "word", 403, "project"},
		{"another path", "/api/2.0/events", "secret", "", 404, "path"},
		{"no days", "/api/2.0/export", "secret", "", 400, "from_date"},
		{"one day", "/api/2.0/export?from_date=2024-01-01", "secret", "", 400, "to_date"},
		{"form of a day", "/api/2.0/export?from_date=20240101&to_date=2024-01-02", "secret", "", 400, "from_date"},
		{"no such day", "/api/2.0/export?from_date=2024-01-01&to_date=2024-01-32", "secret", "", 400, "to_date"},
		{"backwards", "/api/2.0/export?from_date=2024-01-02&to_date=2024-01-01", "secret", "", 400, "before"},
		{"today", "/api/2.0/export?from_date=2024-01-02&to_date=2024-01-06", "secret", "", 200, ""},
		{"tomorrow", "/api/2.0/export?from_date=2024-01-02&to_date=2024-01-07", "secret", "", 400, "today"},
		{"limit", good + "&limit=10", "secret", "", 400, "limit"},
		{"milliseconds", good + "&time_in_ms=1", "secret", "", 400, "time_in_ms"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, body, err := get(t, server, c.path, c.user, c.password, false)
			require.NoError(t, err)
			require.Equal(t, c.status, status)
			if c.status != 200 {
				var e struct{ Request, Error string }
				require.NoError(t, json.Unmarshal(body, &e))
				require.Contains(t, e.Error, c.text)
			}
		})
	}
	all := m.Log.All()
	require.Equal(t, 401, all[0].Status)
	require.Equal(t, []string{"2024-01-01", "2024-01-02"}, all[4].Units())
	require.True(t, all[4].Whole)
	require.False(t, all[5].Whole)
}

// Events that Mixpanel gets only later are not in today's answer.
func TestMixpanelLateEvents(t *testing.T) {
	now := january.AddDate(0, 0, 3)
	_, server := mixpanel(t, vendortest.MixpanelOptions{Now: func() time.Time { return now }})
	const path = "/api/2.0/export?from_date=2024-01-02&to_date=2024-01-02"
	_, early, err := get(t, server, path, "secret", "", false)
	require.NoError(t, err)
	now = now.AddDate(0, 1, 0)
	_, late, err := get(t, server, path, "secret", "", false)
	require.NoError(t, err)
	require.Less(t, len(mixpanelRecords(t, early)), len(mixpanelRecords(t, late)))
}

func TestMixpanelFaults(t *testing.T) {
	m, server := mixpanel(t, vendortest.MixpanelOptions{})
	const path = "/api/2.0/export?from_date=2024-01-02&to_date=2024-01-03"
	cut := func(f vendortest.Fault, gzipped bool) ([]byte, error) {
		m.Script.On("2024-01-03", f)
		status, body, err := get(t, server, path, "secret", "", gzipped)
		require.Equal(t, 200, status)
		require.Zero(t, m.Script.Left())
		return body, err
	}
	unpack := func(body []byte) ([]byte, error) {
		z, err := gzip.NewReader(strings.NewReader(string(body)))
		if err != nil {
			return nil, err
		}
		return io.ReadAll(z)
	}
	last := func(text []byte) (line string) {
		s := bufio.NewScanner(strings.NewReader(string(text)))
		s.Buffer(nil, 1<<20)
		for s.Scan() {
			line = s.Text()
		}
		return line
	}

	_, other, err := get(t, server, "/api/2.0/export?from_date=2024-01-02&to_date=2024-01-02", "secret", "", false)
	require.NoError(t, err)
	require.True(t, json.Valid([]byte(last(other))), "the fault is for another day")

	for _, gzipped := range []bool{false, true} {
		body, err := cut(vendortest.Fault{Cut: vendortest.CutLine, At: 0.3}, gzipped)
		require.NoError(t, err, "the connection ends well")
		if gzipped {
			body, err = unpack(body)
			require.NoError(t, err, "and so does gzip")
		}
		require.False(t, json.Valid([]byte(last(body))))
		require.NotEmpty(t, last(body))

		body, err = cut(vendortest.Fault{Cut: vendortest.CutTerminated}, gzipped)
		require.NoError(t, err)
		if gzipped {
			body, err = unpack(body)
			require.NoError(t, err)
		}
		require.Equal(t, "terminated early", last(body))
	}
	body, err := cut(vendortest.Fault{Cut: vendortest.CutBody}, true)
	require.NoError(t, err)
	_, err = unpack(body)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	_, err = cut(vendortest.Fault{Cut: vendortest.CutConnection}, true)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	body, err = cut(vendortest.Fault{Cut: vendortest.CutEmpty}, true)
	require.NoError(t, err)
	require.Empty(t, body)

	m.Script.Next(vendortest.Fault{Status: 429}, vendortest.Fault{Status: 500, Text: "oops"}, vendortest.Fault{})
	for _, want := range []int{429, 500, 200} {
		status, _, err := get(t, server, path, "secret", "", false)
		require.NoError(t, err)
		require.Equal(t, want, status)
	}
	require.Equal(t, []string{"2024-01-02 2 times"}, m.Log.Twice(), "what was cut does not count as given")
	all := m.Log.All()
	require.Equal(t, "cut line", all[1].Fault)
	require.Equal(t, "500", all[len(all)-2].Fault)
}

// A slow body arrives in parts, and ends when the client leaves.
func TestMixpanelSlowBody(t *testing.T) {
	m, server := mixpanel(t, vendortest.MixpanelOptions{})
	m.Script.Next(vendortest.Fault{Pause: time.Hour})
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
		server.URL+"/api/2.0/export?from_date=2024-01-02&to_date=2024-01-03", nil)
	require.NoError(t, err)
	request.SetBasicAuth("secret", "")
	request.Header.Set("Accept-Encoding", "identity")
	answer, err := http.DefaultTransport.RoundTrip(request)
	require.NoError(t, err)
	_, err = io.ReadFull(answer.Body, make([]byte, 100))
	require.NoError(t, err, "a first part comes at once")
	require.NoError(t, answer.Body.Close())
	server.Close() // waits until the handler is done
	all := m.Log.All()
	require.Len(t, all, 1)
	require.Equal(t, "slow", all[0].Fault)
	require.False(t, all[0].Whole)
}

func TestRetryAfterHeader(t *testing.T) {
	m := vendortest.NewMixpanel(vendortest.MixpanelOptions{Secret: "secret"})
	for want, f := range map[string]vendortest.Fault{
		"3": {Status: 429, RetryAfter: 3 * time.Second}, "": {Status: 429},
	} {
		m.Script.Next(f)
		r := httptest.NewRequest(http.MethodGet, "/api/2.0/export?from_date=2024-01-02&to_date=2024-01-03", nil)
		r.SetBasicAuth("secret", "")
		w := httptest.NewRecorder()
		m.ServeHTTP(w, r)
		require.Equal(t, 429, w.Code)
		require.Equal(t, want, w.Header().Get("Retry-After"))
	}
}
