package hogapitest_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

// exporting is an hourly export that has exported two events of one hour, some days ago: one arrived on time, the other
// arrived late, in that hour, from the day before.
type exporting struct {
	*wire

	client     *hogapi.Client
	export     uuid.UUID
	hour       time.Time // its start
	prompt     uuid.UUID // with a timestamp in the hour
	late       uuid.UUID // arrived in the hour
	ofNextHour uuid.UUID // with a timestamp in the hour, arrived in the next one
}

func newExporting(t *testing.T, days int, x hogapitest.Export, options ...hogapitest.Option) *exporting {
	w := inProcess(t, append(options, hogapitest.WithPolls(1))...)
	e := &exporting{wire: w, client: w.Client(t), hour: now.AddDate(0, 0, -days).Truncate(time.Hour)}
	w.project().ExportEvents()
	add := func(at, arrived time.Duration) uuid.UUID {
		id := uuid.New()
		w.project().AddEvent(hogapitest.StoredEvent{UUID: id, Event: "paid", DistinctID: "ada", Time: e.hour.Add(at), CreatedAt: e.hour.Add(arrived)})
		return id
	}
	e.prompt, e.late, e.ofNextHour = add(time.Minute, 2*time.Minute), add(-24*time.Hour, time.Minute), add(time.Minute, 61*time.Minute)
	x.Created = e.hour.Add(-time.Hour)
	e.export = w.project().AddExport(x)
	w.project().RunSchedule(e.export, nil)
	return e
}

// retry runs the hour again.
func (e *exporting) retry() {
	e.t.Helper()
	for _, run := range e.project().Runs(e.export) {
		if run.Start.Equal(e.hour) {
			ticket, err := e.client.Runs.Retry(e.t.Context(), e.export, run.ID, &hogapi.BackfillOptions{AcceptRowsByTimestamp: true})
			require.NoError(e.t, err)
			_, err = e.client.Backfills.Wait(e.t.Context(), ticket, &hogapi.WatchOptions{Interval: time.Millisecond})
			require.NoError(e.t, err)
			return
		}
	}
	e.t.Fatal("no run of the hour")
}

var bucket = hogapitest.Export{DestinationType: "AwsS3", Integration: 1, Config: map[string]any{"bucket_name": "b", "region": "r", "prefix": "p/"}}

func TestTheScheduleExportsByArrival(t *testing.T) {
	e := newExporting(t, 10, bucket)
	objects := e.project().Exported(e.export)
	require.Len(t, objects, 2, "hours without events have no object")
	assert.Equal(t, "p/2026-02-22T12:00:00+00:00-2026-02-22T13:00:00+00:00.jsonl", objects[0].Key)
	assert.ElementsMatch(t, []uuid.UUID{e.prompt, e.late}, objects[0].Events)
	assert.Equal(t, []uuid.UUID{e.ofNextHour}, objects[1].Events)
	assert.Equal(t, 2, e.project().Runs(e.export)[1].Records)
	assert.Equal(t, 0, e.project().Runs(e.export)[3].Records)
}

// How old a retry may be to choose by arrival depends on the era. An old one replaces the object by another one.
func TestARetryExportsByItsAge(t *testing.T) {
	for _, tt := range []struct {
		era   hogapitest.Era
		days  int
		isOld bool
	}{
		{hogapitest.E4, 7, false}, {hogapitest.E4, 9, true}, {hogapitest.E1, 1, true},
	} {
		e := newExporting(t, tt.days, bucket, hogapitest.WithEra(tt.era))
		before := e.project().Exported(e.export)
		e.retry()
		after := e.project().Exported(e.export)
		require.Len(t, after, len(before), "the key has no run")
		assert.Equal(t, before[0].Key, after[0].Key)
		assert.NotEqual(t, before[0].RunID, after[0].RunID)
		want := []uuid.UUID{e.prompt, e.late}
		if tt.isOld {
			want = []uuid.UUID{e.prompt, e.ofNextHour}
		}
		assert.ElementsMatch(t, want, after[0].Events, "%s, %d days", tt.era, tt.days)
	}
}

func TestRowsOfATableAreAdded(t *testing.T) {
	e := newExporting(t, 10, hogapitest.Export{DestinationType: "BigQuery", Integration: 2, Config: map[string]any{"exclude_events": []string{"seen"}}})
	e.project().AddEvent(hogapitest.StoredEvent{Event: "seen", DistinctID: "ada", Time: e.hour.Add(time.Minute)})
	e.project().AddEvent(hogapitest.StoredEvent{UUID: e.prompt, Event: "paid", DistinctID: "ada", Time: e.hour.Add(time.Minute)})
	e.retry()
	copies := map[uuid.UUID]int{}
	for _, part := range e.project().Exported(e.export) {
		assert.Empty(t, part.Key)
		for _, id := range part.Events {
			copies[id]++
		}
	}
	assert.Equal(t, map[uuid.UUID]int{e.prompt: 2, e.late: 1, e.ofNextHour: 2}, copies, "a copy of an event comes once a run, and another name not at all")
}

// A run writes objects of about the size that bounds them, with the names, the manifest and the columns of the service. One
// without rows writes nothing. A table gets rows.
func TestWhatRunsWrite(t *testing.T) {
	const name = "2026-02-22T12:00:00+00:00-2026-02-22T13:00:00+00:00"
	config := func(more map[string]any) map[string]any {
		c := map[string]any{"bucket_name": "b", "region": "r", "container_name": "c", "prefix": "/{table}/{year}"}
		maps.Copy(c, more)
		return c
	}
	for what, c := range map[string]struct {
		kind   string
		config map[string]any
		big    int      // further events, of half a MiB each
		want   []string // keys, of the first hour
	}{
		"one object":       {"AwsS3", nil, 0, []string{"events/2026/" + name + ".jsonl"}},
		"gzip":             {"S3Compatible", map[string]any{"compression": "gzip", "max_file_size_mb": 0}, 3, []string{"events/2026/" + name + ".jsonl.gz"}},
		"old names":        {"AwsS3", map[string]any{"file_format": "Parquet", "compression": "zstd"}, 0, []string{"events/2026/" + name + ".parquet.zst"}},
		"S3 lists one":     {"AwsS3", map[string]any{"max_file_size_mb": 1}, 0, []string{"events/2026/" + name + "-0.jsonl", "/events/2026/" + name + "_manifest.json"}},
		"Azure lists none": {"AzureBlob", map[string]any{"max_file_size_mb": 1}, 0, []string{"events/2026/" + name + "-0.jsonl"}},
		"parts":            {"AzureBlob", map[string]any{"max_file_size_mb": 1}, 3, []string{"events/2026/" + name + "-0.jsonl", "events/2026/" + name + "-1.jsonl", "/events/2026/" + name + "_manifest.json"}},
		"a table":          {"Postgres", map[string]any{}, 0, []string{""}},
	} {
		w := inProcess(t)
		w.project().ExportEvents()
		hour := now.AddDate(0, 0, -10).Truncate(time.Hour)
		properties := `{"text":"` + strings.Repeat("x", 1<<19) + `","$elements_chain":"a:x=\"1\""}`
		for range c.big {
			w.project().AddEvent(hogapitest.StoredEvent{Event: "paid", DistinctID: "ada", Time: hour, CreatedAt: hour, Properties: json.RawMessage(properties)})
		}
		last := uuid.New()
		for range 2 { // copies
			w.project().AddEvent(hogapitest.StoredEvent{UUID: last, Event: "paid", DistinctID: "ada", Time: hour, CreatedAt: hour})
		}
		export := w.project().AddExport(hogapitest.Export{Created: hour.Add(-2 * time.Hour), DestinationType: c.kind, Integration: 1, Config: config(c.config)})
		w.project().RunSchedule(export, nil)
		var keys, listed []string
		var rows []map[string]json.RawMessage
		for _, x := range w.project().Exported(export) {
			keys = append(keys, x.Key)
			if strings.HasSuffix(x.Key, "_manifest.json") {
				listed = append(listed, string(x.Content))
				continue
			}
			text := x.Content
			if strings.HasSuffix(x.Key, ".gz") {
				r, err := gzip.NewReader(bytes.NewReader(text))
				require.NoError(t, err)
				text, err = io.ReadAll(r)
				require.NoError(t, err)
			}
			n := len(rows)
			for line := range strings.Lines(string(text)) {
				var row map[string]json.RawMessage
				require.NoError(t, json.Unmarshal([]byte(line), &row))
				rows = append(rows, row)
			}
			assert.Len(t, x.Events, len(rows)-n)
		}
		assert.Equal(t, c.want, keys, what)
		require.Len(t, rows, c.big+1, what)
		assert.Equal(t, "null", string(rows[c.big]["properties"]), "empty properties")
		if c.big > 0 {
			assert.Equal(t, []bool{false, c.kind != "AzureBlob"}, []bool{strings.Contains(string(rows[0]["properties"]), "$elements_chain"), rows[0]["elements_chain"] != nil}, what)
		}
		switch what {
		case "S3 lists one":
			assert.Equal(t, []string{`{"files":["events/2026/` + name + `-0.jsonl"]}`}, listed)
		case "parts":
			assert.Contains(t, listed[0], "{\n  \"files\": [\n    \"events")
			assert.Contains(t, rows[0], "azure_blob_ingested_timestamp")
		case "a table":
			assert.NotContains(t, rows[0], "_inserted_at")
			assert.Equal(t, "12345", string(rows[0]["team_id"]))
		}
	}
}

// Without ExportEvents too, a file has one row for each event, in S3's columns, and null for properties that are empty.
func TestAFileHasARowForEachEvent(t *testing.T) {
	w := inProcess(t, hogapitest.WithPolls(1))
	for _, id := range []uuid.UUID{{1}, {1}, {2}} {
		w.project().AddEvent(hogapitest.StoredEvent{UUID: id, Event: "paid", DistinctID: "ada", Time: now.AddDate(0, 0, -1)})
	}
	body := `{"model":"events","file":{"format":"JSONLines"},"data_interval_start":"2026-03-03T00:00:00Z","data_interval_end":"2026-03-04T00:00:00Z"}`
	w.want(202, "POST", "/file_download_batch_exports/", body)
	download := w.project().FileDownloads()[0]
	assert.Equal(t, 2, download.Records)
	var row map[string]any
	require.NoError(t, json.NewDecoder(bytes.NewReader(download.Files[0].Content)).Decode(&row))
	assert.Equal(t, []string{
		"_inserted_at", "created_at", "distinct_id", "elements_chain", "event", "person_id", "person_properties", "properties", "timestamp", "uuid",
	}, slices.Sorted(maps.Keys(row)))
	assert.Nil(t, row["properties"])
	assert.Equal(t, "2026-03-03T12:00:00+00:00", row["timestamp"])
}

// A file download takes events by their arrival at any age; for an old interval, only events with a timestamp in the
// week before.
func TestFileDownloadsOfEvents(t *testing.T) {
	for days, want := range map[int]int{2: 3, 10: 2} {
		w := inProcess(t, hogapitest.WithPolls(1))
		w.project().ExportEvents()
		hour := now.AddDate(0, 0, -days)
		for _, late := range []time.Duration{time.Minute, 3 * day, 30 * day} {
			w.project().AddEvent(hogapitest.StoredEvent{Event: "paid", DistinctID: "ada", Time: hour.Add(-late), CreatedAt: hour})
		}
		w.project().AddEvent(hogapitest.StoredEvent{Event: "paid", DistinctID: "ada", Time: hour, CreatedAt: hour.Add(2 * time.Hour)})
		id, err := w.Client(t).FileDownloads.Create(t.Context(), hogapi.FileDownloadRequest{
			Model: hogapi.ModelEvents, File: hogapi.FileOptions{Format: hogapi.FileFormatJSONLines}, DataIntervalStart: hour, DataIntervalEnd: hour.Add(time.Hour),
		})
		require.NoError(t, err)
		assert.Equal(t, id, w.project().FileDownloads()[0].ID)
		assert.Equal(t, want, w.project().FileDownloads()[0].Records, "%d days", days)
	}
}

// A run writes when it completes. A backfill estimates by timestamp, and ends without a run where nothing has one.
func TestBackfillsOfEvents(t *testing.T) {
	e := newExporting(t, 2, bucket)
	objects := e.project().Exported(e.export)
	e.project().FailNextRuns(1, "no bucket")
	body := `{"start_at":"` + e.hour.Format(time.RFC3339) + `","end_at":"` + e.hour.Add(2*time.Hour).Format(time.RFC3339) + `"}`
	path := "/batch_exports/" + e.export.String() + "/backfills/"
	id := e.want(201, "POST", path, body)["backfill_id"].(string)
	e.get("%s%s/", path, id)
	assert.Equal(t, 2.0, e.get("%s%s/", path, id)["total_records_count"], "by timestamp")
	for range 3 {
		e.get("%s%s/", path, id)
	}
	got := e.get("%s%s/", path, id)
	assert.Equal(t, "Completed", got["status"])
	assert.Equal(t, 1.0, got["total_records_count"], "the hour that completed, by arrival")
	after := e.project().Exported(e.export)
	assert.Equal(t, objects[0], after[0], "a failed run writes nothing")
	assert.NotEqual(t, objects[1].RunID, after[1].RunID)

	body = `{"start_at":"` + e.hour.Add(time.Hour).Format(time.RFC3339) + `","end_at":"` + e.hour.Add(2*time.Hour).Format(time.RFC3339) + `"}`
	id = e.want(201, "POST", path, body)["backfill_id"].(string)
	assert.Equal(t, "Completed", e.get("%s%s/", path, id)["status"], "an event arrived then, but has another timestamp")
	assert.Equal(t, after, e.project().Exported(e.export))
}

// A downloaded row has a uuid and a time, as the service's has, so that it can be imported.
func TestRowsOfAFileDownload(t *testing.T) {
	for name, o := range map[string]hogapitest.Option{"a bubble": nil, "a clock": hogapitest.WithClock(fixedClock)} {
		synctest.Test(t, func(t *testing.T) {
			var options []hogapitest.Option
			end := time.Now()
			if o != nil {
				options, end = []hogapitest.Option{o}, now
			}
			client := hogapitest.New(options...).Client(t)
			id, err := client.FileDownloads.Create(t.Context(), hogapi.FileDownloadRequest{
				Model: hogapi.ModelEvents, DataIntervalStart: end.Add(-time.Hour), DataIntervalEnd: end, File: hogapi.FileOptions{Format: hogapi.FileFormatJSONLines},
			})
			require.NoError(t, err, name)
			done, err := client.FileDownloads.Wait(t.Context(), id, nil)
			require.NoError(t, err, name)
			var content bytes.Buffer
			_, err = client.FileDownloads.Download(t.Context(), id, done.Files[0], &content, nil)
			require.NoError(t, err, name)
			var row struct {
				UUID      uuid.UUID
				Timestamp time.Time
			}
			require.NoError(t, json.NewDecoder(&content).Decode(&row))
			assert.NotZero(t, row.UUID)
			assert.WithinRange(t, row.Timestamp, end.Add(-time.Hour), end)
		})
	}
}

// The files of a download are listed one by one once it has completed, in the order of their names, and named by the
// service's numbers.
func TestFilesOfADownload(t *testing.T) {
	w := inProcess(t, hogapitest.WithPolls(1))
	body := `{"model":"events","file":{"format":"JSONLines","max_size_mb":1},"data_interval_start":"2026-03-03T00:00:00Z","data_interval_end":"2026-03-04T00:00:00Z"}`
	w.project().ExportEvents()
	for range 3_000 {
		at := time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)
		w.project().AddEvent(hogapitest.StoredEvent{Event: "paid", DistinctID: strings.Repeat("x", 1_000), Time: at, CreatedAt: at})
	}
	id := w.want(202, "POST", "/file_download_batch_exports/", body)["id"].(string)
	path := "/file_download_batch_exports/" + id + "/"
	assert.Equal(t, "Starting", w.get("%s", path)["status"])
	for n := range 5 {
		got := w.get("%s", path)
		assert.Equal(t, "Completed", got["status"])
		assert.Len(t, got["files"], min(n+1, 4))
		assert.Equal(t, 3_000.0, got["records_completed"])
	}
	w.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	var names []string
	for part := range 4 {
		a := w.sent("GET", fmt.Sprintf("%s%sdownload/%d/", w.prefix, path, part), nil)
		require.Equal(t, 302, a.StatusCode, a.text)
		location, err := url.Parse(a.Header.Get("Location"))
		require.NoError(t, err)
		names = append(names, location.Query().Get("response-content-disposition"))
	}
	assert.Equal(t, `attachment; filename="2026-03-03T00:00:00+00:00-2026-03-04T00:00:00+00:00-0.jsonl"`, names[0])
	assert.Contains(t, names[3], "-3.jsonl")
	w.refused(404, "not_found", "GET", path+"download/4/", "")
	w.refused(404, "not_found", "GET", path+"download/"+uuid.NewString()+"/", "")
	w.refused(400, "invalid_input", "GET", path+"download/first/", "")
	for _, more := range []string{`"hogql_query":"SELECT 1"`, `"hogql_modifiers":{}`, `"data_interval_end":"2026-03-12T00:00:00Z"`, `"data_interval_end":"2026-03-02T00:00:00Z"`} {
		w.refused(400, "invalid_input", "POST", "/file_download_batch_exports/", body[:len(body)-1]+","+more+"}")
	}
}
