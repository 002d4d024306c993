package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	parquetgo "github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/hogimport/internal/clitest"
	"github.com/hogapi/hogapi/hogapitest"
)

// moved are the events of a project, with the properties that its server has stored.
var moved = []struct{ name, who, properties string }{
	{"$pageview", "ann", `{"$current_url":"https://shop.example/?a=1&b=<2>","$ip":"203.0.113.9","$lib":"web","größe":"XL — 日本 😀","empty":"","no":null,"list":[]}`},
	{"$pageleave", "dave", `{"token":"phc_old","distinct_id":"dave","$session_id":"018cc7d8-0000-7000-8000-000000000001","$window_id":"018cc7d8-0000-7000-8000-000000000002",` +
		`"$device_id":"d","$is_identified":false,"$process_person_profile":false,"$lib":"web","$lib_version":"1.2.3","$time":1704164400.5,"$sent_at":"2024-01-02T03:00:00Z",` +
		`"$geoip_country_code":"DE","$transformations_succeeded":["GeoIP"],"$prev_pageview_pathname":"/a","$current_url":"https://shop.example/b","$user_id":"dave",` +
		`"historical_migration":true,"analytics_source":"x","$insert_id":"i","uuid":"u","timestamp":"t","event":"e"}`},
	{"order placed", "ann", ""},
	{"order paid", "ann", `{}`},
	{"$pageview", "cookieless_hash", `{"$cookieless_mode":true,"$distinct_id":"cookieless_hash","n":1}`},
	{"seat added", "ann", `{"$groups":{"company":"acme","team":7},"$group_0":"acme","$group_4":"7","$group_2":"of no type"}`},
	{"$autocapture", "ann", `{"$event_type":"click","$elements_chain":"button.primary:attr__class=\"primary\"nth-child=\"1\"text=\"Say \\\"é\\\"\\n\";body:nth-child=\"2\""}`},
	{"$ai_generation", "ann", `{"$ai_model":"m","$ai_input_tokens":12}`},
	{"$identify", "ann", `{"$anon_distinct_id":"anonymous-1","$set":{"plan":"pro","n":1.50},"$set_once":{"$initial_os":"Linux"}}`},
	{"$set", "bob", `{"$set":{"plan":"free"}}`},
	{"trial ended", "bob", `{"$set_once":{"trial":true},"$unset":["plan","coupon"]}`},
	{"$groupidentify", "ann", `{"$group_type":"company","$group_key":"acme","$group_set":{"size":12}}`},
	{"$create_alias", "ann", `{"alias":"ann@example.com"}`},
	{"$merge_dangerously", "ann", `{"alias":"another-ann"}`},
	{"imported", "carol", `{"$import_job_id":"mixpanel-2023","n":2}`},
	{"strange", "carol", `{"big":123456789012345680000,"small":-9007199254740993,"float":0.1,"exp":1e21,"deep":` +
		strings.Repeat(`{"a":[`, 40) + `1` + strings.Repeat(`]}`, 40) + `,"escaped":"\\ud83d \\u0000 \"\t\u001f"}`},
	{"zero", "carol", `{"text":"a\u0000b"}`},
	{"half a character", "carol", `{"$el_text":"café \ud83d","n":3}`},
}

// fill adds the events, some of them twice, which arrived in one hour of yesterday.
func fill(project *hogapitest.Project) (want map[uuid.UUID]hogapitest.StoredEvent, arrived time.Time) {
	want, arrived = map[uuid.UUID]hogapitest.StoredEvent{}, time.Now().UTC().Add(-24*time.Hour).Truncate(time.Hour)
	for i, e := range moved {
		ev := hogapitest.StoredEvent{
			UUID: uuid.NewSHA1(uuid.Nil, []byte{byte(i)}), Event: e.name, DistinctID: e.who, CreatedAt: arrived.Add(time.Minute), Properties: []byte(e.properties),
			Time: time.Date(2024, 1, 2, 3, i, 5, i%3*123_456_000, time.UTC),
		}
		want[ev.UUID] = ev
		for range 1 + i%2 {
			project.AddEvent(ev)
		}
	}
	return want, arrived
}

// parquetOf writes lines as the service writes Parquet: all columns optional, JSON as text, times in microseconds.
func parquetOf(lines []byte, codec string) []byte {
	type row struct {
		UUID             *string    `parquet:"uuid,optional"`
		Timestamp        *time.Time `parquet:"timestamp,optional,timestamp(microsecond)"`
		InsertedAt       *time.Time `parquet:"_inserted_at,optional,timestamp(microsecond)" json:"_inserted_at"`
		CreatedAt        *time.Time `parquet:"created_at,optional,timestamp(microsecond)" json:"created_at"`
		Event            *string    `parquet:"event,optional"`
		Properties       *string    `parquet:"properties,optional" json:"-"`
		DistinctID       *string    `parquet:"distinct_id,optional" json:"distinct_id"`
		ElementsChain    *string    `parquet:"elements_chain,optional" json:"elements_chain"`
		PersonProperties *string    `parquet:"person_properties,optional" json:"-"`
		PersonID         *string    `parquet:"person_id,optional" json:"person_id"`

		Text json.RawMessage `parquet:"-" json:"properties"`
	}
	var file bytes.Buffer
	options := []parquetgo.WriterOption{}
	if codec == "zstd" {
		options = append(options, parquetgo.Compression(&parquetgo.Zstd))
	}
	w := parquetgo.NewGenericWriter[row](&file, options...)
	for line := range bytes.Lines(lines) {
		var r row
		err := json.Unmarshal(line, &r)
		if text := string(r.Text); err == nil {
			if text != "null" {
				r.Properties = &text
			}
			_, err = w.Write([]row{r})
		}
		if err != nil {
			panic(err) // a line of the fake
		}
	}
	if err := w.Close(); err != nil {
		panic(err) // to memory
	}
	return file.Bytes()
}

// A project with all kinds of rows moves in five ways. Each move ends as complete, and the two projects differ, event
// by event, exactly as hogimport said, with its counts.
func TestAProjectMoves(t *testing.T) {
	t.Parallel()
	alike := []string{
		`$merge_dangerously: missing`,
		`$pageleave: new $import_lib "web", new $import_lib_version "1.2.3", without $lib, without $lib_version, without distinct_id`, // its own
		`$pageview: new $import_lib "web", without $lib`,
		`$pageview: new posthog_cookieless_mode true, without $cookieless_mode, without $distinct_id`,
		`imported: new posthog_import_job_id "mixpanel-2023", without $import_job_id`,
		`seat added: new posthog_group_2 "of no type", without $group_0, without $group_2, without $group_4`,
	}
	said := []string{
		"1 of 18 events are of cookieless visitors", "1 of 18 events are of an earlier import",
		"2 of 3 keys of groups in $group_0 to $group_4 stay out", "1 of 3 keys of groups in $group_0 to $group_4 are in no $groups",
		"1 of 1 AI events have no input and no output",
	}
	for name, way := range map[string]struct {
		kind   string
		config map[string]any
		file   string
		more   []string // differences, of texts that the service writes in another way, as posthogexport documents
		said   []string
	}{
		"S3 JSON lines": {
			"AwsS3", map[string]any{"file_format": "JSONLines", "compression": "gzip"}, "rows.jsonl.gz",
			[]string{`half a character: $el_text "cafÃ© ?"`}, []string{"18 records: 17 good, 1 rejected"},
		},
		"S3 Parquet": {
			"AwsS3", map[string]any{"file_format": "Parquet", "compression": "zstd"}, "rows.parquet.zst",
			[]string{`half a character: missing`}, []string{"16 good, 2 rejected", "bad_record: 1", "lone surrogate in $el_text"},
		},
		"file download": {"", nil, "", []string{`half a character: missing`}, []string{"16 good, 2 rejected", "bad_record: 1", "lone surrogate in $el_text"}},
		"Postgres": {
			"Postgres", map[string]any{}, "rows.jsonl",
			[]string{`half a character: $el_text "café "`, `zero: text "ab"`}, []string{"18 records: 17 good, 1 rejected"},
		},
		"BigQuery": {
			"BigQuery", map[string]any{}, "rows.jsonl", []string{`half a character: missing`}, []string{"16 good, 2 rejected", "bad_record: 1", "lone surrogate in $el_text"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			old := hogapitest.New(hogapitest.WithPolls(1), hogapitest.WithParquet(parquetOf))
			project := old.Project(hogapitest.DefaultProject)
			project.ExportEvents()
			want, arrived := fill(project)
			server, p := clitest.Serve(t)
			if way.kind == "" {
				client := old.Client(t)
				file := hogapi.FileOptions{Compression: hogapi.FileCompressionZstd}
				id, err := client.FileDownloads.Create(t.Context(), hogapi.FileDownloadRequest{
					Model: hogapi.ModelEvents, DataIntervalStart: arrived, DataIntervalEnd: arrived.Add(time.Hour), File: file,
				})
				require.NoError(t, err)
				_, err = client.FileDownloads.Wait(t.Context(), id, &hogapi.WatchOptions{Interval: time.Millisecond})
				require.NoError(t, err)
				_, err = client.FileDownloads.DownloadAll(t.Context(), id, filepath.Join(p.Dir, "export"), &hogapi.FolderOptions{Extension: file.Extension()})
				require.NoError(t, err)
			} else {
				maps.Copy(way.config, map[string]any{"bucket_name": "b", "region": "r", "prefix": "p"})
				export := project.AddExport(hogapitest.Export{Created: arrived.Add(-time.Hour), DestinationType: way.kind, Integration: 1, Config: way.config})
				project.RunSchedule(export, nil)
				written := project.Exported(export)
				require.Len(t, written, 1)
				if way.kind == "AwsS3" {
					assert.Equal(t, strings.TrimPrefix(way.file, "rows"), written[0].Key[strings.Index(written[0].Key, "+00:00.")+len("+00:00"):])
				}
				p.Write(t, "export/"+way.file, string(written[0].Content))
			}
			args := []string{"export/*", "--format", "posthog", "--max-rejects", "20%"}
			p.Ends(t, 0, append([]string{"check"}, args...)...).Out(t, said...)
			run := p.Ends(t, 0, append(append([]string{"run"}, args...), "--yes")...)
			clitest.Says(t, run.Stdout+run.Stderr, slices.Concat(said, way.said, []string{
				"dangerous_merge: 1", "2 events have a $lib, which PostHog may replace: the old one is kept as $import_lib",
			})...)
			p.Ends(t, 0, "verify").Out(t, append(slices.Clone(said), "Complete: all")...)
			differences := append(slices.Clone(alike), way.more...)
			slices.Sort(differences)
			assert.Equal(t, differences, differencesOf(t, want, server))
		})
	}
}

// differencesOf returns how the events of a server differ from another project's, apart from the properties that each
// import adds.
func differencesOf(t *testing.T, want map[uuid.UUID]hogapitest.StoredEvent, server *hogapitest.Server) (list []string) {
	t.Helper()
	properties := func(text []byte) map[string]any {
		m := map[string]any{}
		if len(text) > 0 {
			require.NoError(t, json.Unmarshal(text, &m))
		}
		return m
	}
	left := maps.Clone(want)
	for ev := range server.Ledger().Events() {
		before, isKnown := left[ev.UUID]
		require.True(t, isKnown, "%s once", ev.Event)
		delete(left, ev.UUID)
		assert.Equal(t, []any{before.Event, before.DistinctID, before.Time}, []any{ev.Event, ev.DistinctID, ev.Time})
		was, is := properties(before.Properties), properties(ev.Properties)
		for _, own := range []string{"$geoip_disable", "$ignore_sent_at", "$import_job_id", "$lib", "$lib_version"} {
			assert.Contains(t, is, own)
			delete(is, own)
		}
		var parts []string
		for key, value := range was {
			if now, isThere := is[key]; !isThere {
				parts = append(parts, "without "+key)
			} else if !assert.ObjectsAreEqual(value, now) {
				parts = append(parts, fmt.Sprintf("%s %q", key, now))
			}
			delete(is, key)
		}
		for key, value := range is {
			text, err := json.Marshal(value)
			require.NoError(t, err)
			parts = append(parts, fmt.Sprintf("new %s %s", key, text))
		}
		if slices.Sort(parts); len(parts) > 0 {
			list = append(list, ev.Event+": "+strings.Join(parts, ", "))
		}
	}
	for _, ev := range left {
		list = append(list, ev.Event+": missing")
	}
	slices.Sort(list)
	return list
}
