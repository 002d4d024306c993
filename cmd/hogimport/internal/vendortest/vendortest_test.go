package vendortest_test

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/cmd/hogimport/internal/vendortest"
)

var (
	january = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	events  = vendortest.Generate(january, january.AddDate(0, 0, 10), 3000, 1)
)

func days(from, to string) string {
	return "/api/2.0/export?project_id=77&time_in_ms=true&from_date=" + from + "&to_date=" + to
}

func hours(start, end string) string { return "/api/2/export?start=" + start + "&end=" + end }

// ask is a request without a network, so that time can be virtual.
func ask(h http.Handler, path, user, password string, encodings ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	if user != "" {
		r.SetBasicAuth(user, password)
	}
	r.Header["Accept-Encoding"] = encodings
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// mixpanel asks for records.
func mixpanel(t *testing.T, m *vendortest.Mixpanel, from, to string) (records []map[string]any) {
	t.Helper()
	w := ask(m, days(from, to), vendortest.User, vendortest.Secret)
	require.Equal(t, 200, w.Code, w.Body)
	return decoded(t, w.Body)
}

func decoded(t *testing.T, lines io.Reader) (records []map[string]any) {
	t.Helper()
	for all := json.NewDecoder(lines); all.More(); {
		var r map[string]any
		require.NoError(t, all.Decode(&r))
		records = append(records, r)
	}
	return records
}

func unpacked(t *testing.T, packed io.Reader) string {
	t.Helper()
	z, err := gzip.NewReader(packed)
	require.NoError(t, err)
	text, err := io.ReadAll(z)
	require.NoError(t, err)
	return string(text)
}

// ids are the sorted ids of records of Mixpanel.
func ids(records []map[string]any) (ids []string) {
	for _, r := range records {
		ids = append(ids, r["properties"].(map[string]any)["$insert_id"].(string))
	}
	slices.Sort(ids)
	return ids
}

// amplitude asks for records, and the names of their files.
func amplitude(t *testing.T, a *vendortest.Amplitude, start, end string) (records []map[string]any, names []string) {
	t.Helper()
	w := ask(a, hours(start, end), vendortest.Key, vendortest.Secret)
	if w.Code == 404 {
		return nil, nil
	}
	require.Equal(t, 200, w.Code, w.Body)
	archive, err := zip.NewReader(bytes.NewReader(w.Body.Bytes()), int64(w.Body.Len()))
	require.NoError(t, err)
	for _, f := range archive.File {
		names = append(names, f.Name)
		member, err := f.Open()
		require.NoError(t, err)
		records = append(records, decoded(t, strings.NewReader(unpacked(t, member)))...)
	}
	return records, names
}

// Every event is in the answer for its own day, and in no other. The order of an answer is another one each time.
func TestMixpanelDays(t *testing.T) {
	losAngeles, err := time.LoadLocation("America/Los_Angeles")
	require.NoError(t, err)
	for _, zone := range []*time.Location{nil, losAngeles} {
		m := vendortest.NewMixpanel(events, zone)
		want := map[string]int{}
		for _, e := range events {
			day := e.Time.Format(time.DateOnly)
			if zone != nil {
				day = e.Time.In(zone).Format(time.DateOnly)
			}
			want[day] += e.Copies
			require.Equal(t, day, m.Day(e))
		}
		total, noID := 0, 0
		for at := january.AddDate(0, 0, -1); at.Before(january.AddDate(0, 0, 10)); at = at.AddDate(0, 0, 1) {
			day := at.Format(time.DateOnly)
			records := mixpanel(t, m, day, day)
			require.Len(t, records, want[day], day)
			total += len(records)
			for _, r := range records {
				properties := r["properties"].(map[string]any)
				stamp := int64(properties["time"].(float64))
				require.Equal(t, day, time.UnixMilli(stamp).UTC().Format(time.DateOnly), "as if it was UTC")
				if properties["distinct_id"] == nil {
					noID++
				}
			}
		}
		require.Equal(t, vendortest.Rows(events), total)
		require.Positive(t, noID)
		require.Empty(t, m.Log.Twice())

		all := mixpanel(t, m, "2023-12-31", "2024-01-10")
		require.Len(t, all, total, "both days are part of the range")
		require.Len(t, m.Log.Twice(), 11)
		w := ask(m, days("2023-12-31", "2024-01-10"), vendortest.User, vendortest.Secret, "gzip")
		again := decoded(t, strings.NewReader(unpacked(t, w.Body)))
		require.NotEqual(t, all, again)
		require.Equal(t, ids(all), ids(again))
	}
}

// Every event is in the answer for the hour in which it was stored, and in no other.
func TestAmplitudeHours(t *testing.T) {
	a := vendortest.NewAmplitude(events, 0)
	form := regexp.MustCompile(`^318274/318274_2024-0[12]-\d\d_(\d|1\d|2[0-3])#\d+\.json\.gz$`)
	seen := map[string]bool{}
	total, late := 0, 0
	for at := january; at.Before(january.AddDate(0, 0, 32)); at = at.Add(6 * time.Hour) {
		records, names := amplitude(t, a, at.Format("20060102T15"), at.Add(5*time.Hour).Format("20060102T15"))
		for _, name := range names {
			require.Regexp(t, form, name)
			require.False(t, seen[name], "each file has a name of its own")
			seen[name] = true
		}
		total += len(records)
		for _, r := range records {
			stored, err := time.Parse("2006-01-02 15:04:05.000000", r["server_upload_time"].(string))
			require.NoError(t, err)
			require.True(t, !stored.Before(at) && stored.Before(at.Add(6*time.Hour)))
			happened, err := time.Parse("2006-01-02 15:04:05.000000", r["event_time"].(string))
			require.NoError(t, err)
			if stored.Sub(happened) > 24*time.Hour {
				late++
			}
		}
	}
	require.Equal(t, vendortest.Rows(events), total)
	require.Positive(t, late)
	require.Empty(t, a.Log.Twice())
	require.Equal(t, "20240101T00", a.Hour(vendortest.Event{Received: january.Add(59 * time.Minute)}))
}

func TestRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(january.Add(50 * time.Hour))) // the bubble begins with the year 2000
		m, a := vendortest.NewMixpanel(events, nil), vendortest.NewAmplitude(events, 20_000)
		const user, key, secret = vendortest.User, vendortest.Key, vendortest.Secret
		good, hour := days("2024-01-01", "2024-01-02"), hours("20240101T00", "20240101T00")
		for _, c := range []struct {
			vendor               http.Handler
			path, user, password string
			status               int
			text                 string
		}{
			{m, good, "", "", 401, "credentials"},
			{m, good, "guess", "", 401, "credentials"},
			{m, strings.Replace(good, "project_id", "x", 1), user, secret, 400, "project_id"},
			{m, good, user, secret, 200, ""},
			{m, strings.Replace(good, "77", "78", 1), user, secret, 403, "project"},
			{m, "/api/2.0/events", user, secret, 404, "path"},
			{m, "/api/2.0/export?project_id=77", user, secret, 400, "from_date"},
			{m, days("20240101", "2024-01-02"), user, secret, 400, "from_date"},
			{m, days("2024-01-02", "2024-01-01"), user, secret, 400, "before"},
			{m, days("2024-01-02", "2024-01-03"), user, secret, 200, ""},
			{m, days("2024-01-02", "2024-01-04"), user, secret, 400, "today"},
			{m, good + "&limit=10", user, secret, 400, "limit"},
			{m, strings.Replace(good, "true", "1", 1), user, secret, 400, "seconds"},

			{a, hour, key, "guess", 401, "key"},
			{a, hour, key, secret, 200, ""},
			{a, hours("20240101", "20240101T00"), key, secret, 400, "start"},
			{a, hours("20240101T00", ""), key, secret, 400, "end"},
			{a, hours("20240101T01", "20240101T00"), key, secret, 400, "before"},
			{a, hours("20230101T00", "20240101T00"), key, secret, 400, "365"},
			{a, hours("20220101T00", "20221231T23"), key, secret, 404, "not found"},
			{a, hours("20240101T00", "20240102T20"), key, secret, 400, "20000 bytes"},
			{a, hours("20240103T01", "20240103T02"), key, secret, 404, "not found"}, // not ready
		} {
			w := ask(c.vendor, c.path, c.user, c.password)
			require.Equal(t, c.status, w.Code, c.path)
			require.Contains(t, w.Body.String(), c.text, c.path)
		}
		all := m.Log.All()
		require.Empty(t, all[3].Error)
		require.True(t, all[3].Whole)
		require.False(t, all[4].Whole)
		require.Contains(t, all[4].Error, "project")
		time.Sleep(3 * time.Hour)
		records, _ := amplitude(t, a, "20240103T01", "20240103T02")
		require.NotEmpty(t, records, "two hours later it is there")
	})
}
