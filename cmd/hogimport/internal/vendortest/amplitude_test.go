package vendortest_test

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/cmd/hogimport/internal/vendortest"
)

func amplitude(t *testing.T, o vendortest.AmplitudeOptions) (*vendortest.Amplitude, *httptest.Server) {
	o.APIKey, o.SecretKey = "key", "secret"
	if o.Events == nil {
		o.Events = events
	}
	a := vendortest.NewAmplitude(o)
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	return a, server
}

func amplitudeRecords(t *testing.T, body []byte) (records []map[string]any, names []string) {
	t.Helper()
	archive, err := zip.NewReader(bytes.NewReader(body), int64(len(body)))
	require.NoError(t, err)
	for _, f := range archive.File {
		names = append(names, f.Name)
		member, err := f.Open()
		require.NoError(t, err)
		z, err := gzip.NewReader(member)
		require.NoError(t, err)
		text, err := io.ReadAll(z)
		require.NoError(t, err)
		for line := range strings.Lines(string(text)) {
			var r map[string]any
			require.NoError(t, json.Unmarshal([]byte(line), &r))
			records = append(records, r)
		}
	}
	return records, names
}

// Every event is in the answer for the hour in which it was stored, and in no other.
func TestAmplitudeHours(t *testing.T) {
	a, server := amplitude(t, vendortest.AmplitudeOptions{PartRows: 5})
	form := regexp.MustCompile(`^318274/318274_2024-0[12]-\d\d_(\d|1\d|2[0-3])#\d+\.json\.gz$`)
	seen := map[string]bool{}
	total, late, noUUID := 0, 0, 0
	end := january.AddDate(0, 0, 32)
	for at := january; at.Before(end); at = at.Add(6 * time.Hour) {
		start, last := at.Format("20060102T15"), at.Add(5*time.Hour).Format("20060102T15")
		status, body, err := get(t, server, "/api/2/export?start="+start+"&end="+last, "key", "secret", false)
		require.NoError(t, err)
		if status == 404 {
			continue
		}
		require.Equal(t, 200, status)
		records, names := amplitudeRecords(t, body)
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
			if r["uuid"] == nil {
				noUUID++
			}
		}
	}
	require.Equal(t, vendortest.Rows(events), total)
	require.Positive(t, late)
	require.Positive(t, noUUID)
	require.Empty(t, a.Log.Twice())
	require.Equal(t, "20240101T00", a.Hour(vendortest.Event{Received: january.Add(59 * time.Minute)}))
}

func TestAmplitudeRefusals(t *testing.T) {
	now := january.Add(50 * time.Hour)
	_, server := amplitude(t, vendortest.AmplitudeOptions{Now: func() time.Time { return now }, MaxBytes: 20_000})
	for _, c := range []struct {
		name, query, user, password string
		status                      int
		text                        string
	}{
		{"no key", "?start=20240101T00&end=20240101T00", "", "", 401, "key"},
		{"wrong key", "?start=20240101T00&end=20240101T00", "key", "guess", 401, "key"},
		{"one hour", "?start=20240101T00&end=20240101T00", "key", "secret", 200, ""},
		{"no start", "?end=20240101T00", "key", "secret", 400, "start"},
		{"a day", "?start=20240101&end=20240101T00", "key", "secret", 400, "start"},
		{"no end", "?start=20240101T00", "key", "secret", 400, "end"},
		{"backwards", "?start=20240101T01&end=20240101T00", "key", "secret", 400, "before"},
		{"a year and an hour", "?start=20230101T00&end=20240101T00", "key", "secret", 400, "365"},
		{"a year", "?start=20220101T00&end=20221231T23", "key", "secret", 404, "not found"},
		{"too much", "?start=20240101T00&end=20240102T20", "key", "secret", 400, "20000 bytes"},
		{"not ready", "?start=20240103T01&end=20240103T02", "key", "secret", 404, "not found"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, body, err := get(t, server, "/api/2/export"+c.query, c.user, c.password, false)
			require.NoError(t, err)
			require.Equal(t, c.status, status, "%s", body[:min(len(body), 200)])
			if status != 200 {
				require.Contains(t, string(body), c.text)
			}
		})
	}
	now = now.Add(3 * time.Hour)
	status, _, err := get(t, server, "/api/2/export?start=20240103T01&end=20240103T02", "key", "secret", false)
	require.NoError(t, err)
	require.Equal(t, 200, status, "two hours later it is there")
}

func TestAmplitudeFaults(t *testing.T) {
	a, server := amplitude(t, vendortest.AmplitudeOptions{})
	const path = "/api/2/export?start=20240101T00&end=20240101T05"
	a.Script.Next(vendortest.Fault{Cut: vendortest.CutBody, At: 0.9}, vendortest.Fault{Cut: vendortest.CutConnection})
	status, body, err := get(t, server, path, "key", "secret", false)
	require.NoError(t, err, "the connection ends well")
	require.Equal(t, 200, status)
	_, err = zip.NewReader(bytes.NewReader(body), int64(len(body)))
	require.ErrorIs(t, err, zip.ErrFormat)
	_, _, err = get(t, server, path, "key", "secret", false)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	_, body, err = get(t, server, path, "key", "secret", false)
	require.NoError(t, err)
	records, _ := amplitudeRecords(t, body)
	require.NotEmpty(t, records)
	require.Equal(t, len(records), a.Log.All()[2].Rows)
	require.Empty(t, a.Log.Twice())
}

func TestGenerateIsTheSameTwice(t *testing.T) {
	o := vendortest.GenerateOptions{From: january, To: january.AddDate(0, 1, 0), Count: 100, Seed: 3}
	require.Equal(t, vendortest.Generate(o), vendortest.Generate(o))
	other := o
	other.Seed++
	require.NotEqual(t, vendortest.Generate(o)[0].ID, vendortest.Generate(other)[0].ID)
}
