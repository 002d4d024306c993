package hogapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jarcoal/httpmock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	testExportID = uuid.MustParse("0190e0a2-0000-7000-8000-00000000000e")
	testExport   = testBase + "/batch_exports/" + testExportID.String() + "/"
)

func TestLogsSendTheirOptions(t *testing.T) {
	client, mock := newTestClient(t)
	var query string
	mock.RegisterResponder("GET", testExport+"logs/", func(r *http.Request) (*http.Response, error) {
		query = r.URL.RawQuery
		return httpmock.NewStringResponse(200, `{"count":1,"next":null,"previous":null,"results":[
			{"log_source_id":"a","instance_id":"b","timestamp":"2024-03-01T00:00:00.000001Z","level":"CRITICAL","message":"m","new":1}]}`), nil
	})
	berlin := time.FixedZone("CET", 3600)
	page, err := client.BatchExports.Logs(t.Context(), testExportID, &LogOptions{
		Limit: 500, After: time.Date(2024, 3, 1, 1, 0, 0, 0, berlin), Before: time.Date(2024, 3, 2, 1, 0, 0, 0, berlin),
		Levels: []LogLevel{LogLevelError, "CRITICAL"}, Search: "a b", InstanceID: "b",
	})
	require.NoError(t, err)
	assert.Equal(t, "after=2024-03-01T00%3A00%3A00Z&before=2024-03-02T00%3A00%3A00Z&instance_id=b&level=ERROR%2CCRITICAL&limit=500&search=a+b", query)
	require.Len(t, page.Results, 1)
	assert.Equal(t, LogEntry{time.Date(2024, 3, 1, 0, 0, 0, 1000, time.UTC), "CRITICAL", "m", "b", "a"}, page.Results[0])

	_, err = client.BatchExports.Logs(t.Context(), testExportID, nil)
	require.NoError(t, err)
	assert.Equal(t, "after=1970-01-01T00%3A00%3A00Z", query, "newer servers would look back 7 days")
	_, err = client.BatchExports.Logs(t.Context(), testExportID, &LogOptions{Search: `100%, a_b \`})
	require.NoError(t, err)
	q, err := url.ParseQuery(query)
	require.NoError(t, err)
	assert.Equal(t, `100\%, a\_b \\`, q.Get("search"), "the service searches by ILIKE")
}

func TestLogsReadEveryBody(t *testing.T) {
	at := time.Date(2024, 3, 1, 0, 0, 0, 500_000_000, time.UTC)
	for body, want := range map[string][]LogEntry{
		``:               nil,
		`{"results":[]}`: {},
		`[{"timestamp":"2024-03-01T00:00:00.5Z","level":"INFO","message":"m"}]`:                                                    {{Timestamp: at, Level: LogLevelInfo, Message: "m"}},
		`{"results":[{"batch_export_id":"a","run_id":"b","timestamp":"2024-03-01 00:00:00.500000","level":"INFO","message":"m"}]}`: {{at, LogLevelInfo, "m", "b", "a"}},
		`{"results":[{"timestamp":"2024-03-01T01:00:00.5+01:00","instance_id":null}]}`:                                             {{Timestamp: at}},
	} {
		t.Run(body, func(t *testing.T) {
			client, mock := newTestClient(t)
			mock.RegisterResponder("GET", testExport+"logs/", httpmock.NewStringResponder(200, body))
			page, err := client.BatchExports.Logs(t.Context(), testExportID, nil)
			require.NoError(t, err)
			assert.Equal(t, want, page.Results)
		})
	}
}

func TestLogsRefuseBadInput(t *testing.T) {
	client, mock := newTestClient(t)
	now := time.Now()
	for field, o := range map[string]*LogOptions{
		"Limit":    {Limit: 501},
		"Limit ":   {Limit: -1},
		"Before":   {After: now, Before: now},
		"Levels":   {Levels: []LogLevel{"error"}},
		"Levels ":  {Levels: []LogLevel{"ERROR,INFO"}},
		"Levels  ": {Levels: []LogLevel{""}},
		"MaxPages": {MaxPages: -1},
	} {
		_, err := client.BatchExports.Logs(t.Context(), testExportID, o)
		requireInputError(t, err, field)
		for _, err := range client.BatchExports.AllLogs(t.Context(), testExportID, o) {
			requireInputError(t, err, field)
		}
	}
	assert.Zero(t, mock.GetTotalCallCount())
}

// requireInputError wants a refusal of a field; blanks at its end only tell cases apart.
func requireInputError(t *testing.T, err error, field string) {
	t.Helper()
	input := as[*InputError](t, err)
	require.ErrorIs(t, err, ErrInvalid)
	for len(field) > 0 && field[len(field)-1] == ' ' {
		field = field[:len(field)-1]
	}
	require.Equal(t, field, input.Field, err.Error())
	require.NotEmpty(t, input.Want)
}

// logServer answers as the service does: the newest entries before a time, up to the limit.
func logServer(t *testing.T, mock *httpmock.MockTransport, entries []LogEntry) {
	t.Helper()
	mock.RegisterResponder("GET", testExport+"logs/", func(r *http.Request) (*http.Response, error) {
		limit, err := strconv.Atoi(r.URL.Query().Get("limit"))
		require.NoError(t, err)
		before := time.Now().AddDate(100, 0, 0)
		if text := r.URL.Query().Get("before"); text != "" {
			before, err = time.Parse(time.RFC3339, text)
			require.NoError(t, err)
		}
		found := []LogEntry{}
		for _, e := range entries {
			if e.Timestamp.Before(before) && len(found) < limit {
				found = append(found, e)
			}
		}
		return httpmock.NewJsonResponse(200, map[string]any{"results": found})
	})
}

// logLines makes entries, newest first, of the given microseconds.
func logLines(micros ...int) []LogEntry {
	start := time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC)
	entries := make([]LogEntry, len(micros))
	for i, n := range micros {
		entries[i] = LogEntry{Timestamp: start.Add(time.Duration(n) * time.Microsecond), Level: LogLevelInfo, Message: strconv.Itoa(i)}
	}
	return entries
}

// Without its time, an entry has no place to go on from.
func TestAllLogsRefuseAnEntryWithoutATime(t *testing.T) {
	client, mock := newTestClient(t)
	logServer(t, mock, []LogEntry{{Message: "m"}})
	require.ErrorContains(t, as[*PageError](t, last(client.BatchExports.AllLogs(t.Context(), testExportID, nil))), "time is missing")
}

func TestAllLogsSayWhereToGoOn(t *testing.T) {
	entries := logLines(9, 8, 7, 6, 5, 4)
	client, mock := newTestClient(t, WithRetryPolicy(RetryPolicy{MaxTries: 1}))
	logServer(t, mock, entries)
	var got []LogEntry
	var page *PageError
	for e, err := range client.BatchExports.AllLogs(t.Context(), testExportID, &LogOptions{Limit: 2}) {
		if err != nil {
			require.ErrorAs(t, err, &page)
			break
		}
		if got = append(got, e); len(got) == 3 {
			mock.RegisterResponder("GET", testExport+"logs/", httpmock.NewStringResponder(500, ""))
		}
	}
	require.NotNil(t, page)
	logServer(t, mock, entries)
	for e, err := range client.BatchExports.AllLogs(t.Context(), testExportID, &LogOptions{Limit: 2, Before: page.Before}) {
		require.NoError(t, err)
		if !slices.Contains(got, e) {
			got = append(got, e)
		}
	}
	assert.Equal(t, entries, got)
}

func TestLogPageOfOldShapesKeepsErrors(t *testing.T) {
	var p LogPage
	require.Error(t, json.Unmarshal([]byte(`{"results":[{"timestamp":"soon"}]}`), &p))
	require.Error(t, json.Unmarshal([]byte(`{"results":[{"timestamp":7}]}`), &p))
	require.Error(t, json.Unmarshal(fmt.Appendf(nil, `{"results":%q}`, "x"), &p))
}
