package hogapitest_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/integration"
)

// with is the body of an export to a NoOp destination, with more fields.
func with(more string) string {
	return `{"name":"a","interval":"hour","destination":{"type":"NoOp","config":{}}` + more + `}`
}

func dest(kind, config string) string {
	return fmt.Sprintf(`{"name":"a","interval":"hour","destination":{"type":%q,"config":%s}}`, kind, config)
}

func TestCreateRefuses(t *testing.T) {
	tests := []struct {
		name       string
		era        hogapitest.Era
		body       string
		code, attr string
	}{
		{"no JSON", hogapitest.E4, `{"name"`, "parse_error", ""},
		{"no object", hogapitest.E4, `[]`, "invalid_input", ""},
		{"nothing", hogapitest.E4, ``, "required", "name"},
		{"no destination", hogapitest.E4, `{"name":"a","interval":"hour"}`, "required", "destination"},
		{"no interval", hogapitest.E4, `{"name":"a","destination":{"type":"NoOp","config":{}}}`, "required", "interval"},
		{"blank name", hogapitest.E4, with(`,"name":" "`), "blank", "name"},
		{"null name", hogapitest.E4, with(`,"name":null`), "null", "name"},
		{"name of another type", hogapitest.E4, with(`,"name":{}`), "invalid_input", "name"},
		{"unknown interval", hogapitest.E4, with(`,"interval":"hourly"`), "invalid_choice", "interval"},
		{"interval in capitals", hogapitest.E4, with(`,"interval":"Hour"`), "invalid_choice", "interval"},
		{"interval of a later era", hogapitest.E1, with(`,"interval":"every 15 minutes"`), "invalid_choice", "interval"},
		{"unknown model", hogapitest.E4, with(`,"model":"people"`), "invalid_choice", "model"},
		{"model of a later era", hogapitest.E1, with(`,"model":"sessions"`), "invalid_choice", "model"},
		{"paused of another type", hogapitest.E4, with(`,"paused":"maybe"`), "invalid_input", "paused"},
		{"no time", hogapitest.E4, with(`,"start_at":"soon"`), "invalid_input", "start_at"},
		{"filters as an object", hogapitest.E4, with(`,"filters":{}`), "invalid_input", "filters"},
		{"filters with persons", hogapitest.E4, with(`,"model":"persons","filters":[]`), "invalid_input", "filters"},
		{"null for a number", hogapitest.E4, dest("Postgres", `{"database":"d","port":null}`), "invalid_input", "destination__config"},
		{"null for a boolean", hogapitest.E4, dest("Databricks", `{"http_path":"p","catalog":"c","schema":"s","table_name":"t","use_variant_type":null}`), "invalid_input", "destination__config"},
		{"self-signed Redshift", hogapitest.E4, dest("Redshift", `{"database":"d","has_self_signed_cert":true}`), "invalid_input", "destination__config"},
		{"unknown zone", hogapitest.E4, with(`,"timezone":"Mars"`), "invalid_choice", "timezone"},
		{"offset of the day with hours", hogapitest.E4, with(`,"offset_hour":3`), "invalid_input", "offset_hour"},
		{"destination as text", hogapitest.E4, with(`,"destination":"S3"`), "invalid_input", "destination"},
		{"unknown destination", hogapitest.E4, dest("Floppy", "{}"), "invalid_choice", "destination__type"},
		{"no config", hogapitest.E4, with(`,"destination":{"type":"NoOp"}`), "required", "destination__config"},
		{"missing key", hogapitest.E1, dest("S3", `{"bucket_name":"b","region":"r"}`), "invalid_input", "destination__config"},
		{"unknown key", hogapitest.E1, dest("Postgres", `{"user":"u","password":"p","host":"h","database":"d","prot":1}`), "invalid_input", "destination__config"},
		{"wrong type", hogapitest.E4, dest("Postgres", `{"database":"d","port":"many"}`), "invalid_input", "destination__config"},
		{"HTTP to anywhere", hogapitest.E4, dest("HTTP", `{"url":"https://example.com/","token":"t"}`), "invalid_input", "destination__config"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := inProcess(t, hogapitest.WithEra(test.era))
			body := w.want(400, "POST", "/batch_exports/", test.body)
			assert.Equal(t, test.code, body["code"])
			if test.attr != "" {
				assert.Equal(t, "validation_error", body["type"])
				assert.Equal(t, test.attr, body["attr"])
			} else {
				assert.Nil(t, body["attr"])
			}
			assert.Empty(t, w.project().Exports())
		})
	}
}

func TestCreateAccepts(t *testing.T) {
	for _, test := range []struct {
		era  hogapitest.Era
		body string
	}{
		{hogapitest.E1, dest("S3", `{"bucket_name":"b","region":"r","prefix":"p","max_file_size_mb":"5"}`)},
		{hogapitest.E1, dest("Snowflake", `{"account":"a","user":"u","database":"d","warehouse":"w","schema":"s","password":"p"}`)},
		{hogapitest.E1, dest("BigQuery", `{"project_id":"p","dataset_id":"d","private_key":"k","private_key_id":"i","token_uri":"t","client_email":"c"}`)},
		{hogapitest.E1, dest("HTTP", `{"url":"https://us.i.posthog.com/batch/","token":"t"}`)},
		{hogapitest.E4, withIntegration("Databricks", `{"http_path":"h","catalog":"c","schema":"s","table_name":"t","use_variant_type":"true"}`, 4)},
		{hogapitest.E4, `{"name":"a","interval":"week","offset_day":1,"offset_hour":5,"timezone":"UTC","destination":{"type":"AwsS3","integration":3,"config":{"bucket_name":"b","region":"r","prefix":"p","include_events":["x"]}}}`},
		{hogapitest.E4, withIntegration("BigQuery", `{"dataset_id":"d"}`, 5)},
		{hogapitest.E4, with(`,"model":"hogql","hogql_query":"select 1","incremental_mode":"MERGE","primary_key":["id"],"what_is_this":1`)},
	} {
		w := inProcess(t, hogapitest.WithEra(test.era), hogapitest.WithHogQLExports())
		for id, kind := range map[int]integration.Kind{3: "aws-s3", 4: "databricks", 5: "google-cloud-service-account"} {
			w.project().AddIntegration(hogapitest.Integration{ID: id, Kind: kind})
		}
		w.want(201, "POST", "/batch_exports/", test.body)
	}
}

func TestShapeOfAnExport(t *testing.T) {
	spec := []string{"created_at", "destination", "end_at", "filters", "id", "interval", "last_paused_at", "last_updated_at", "latest_runs", "model", "name", "paused", "schema", "start_at", "team_id"}
	newest := []string{"hogql_modifiers", "hogql_query", "incremental_mode", "offset_day", "offset_hour", "primary_key", "timezone", "version_key"}
	for era, want := range map[hogapitest.Era][]string{hogapitest.E1: spec, hogapitest.E4: append(newest, spec...)} {
		w, id := withExport(t, hogapitest.WithEra(era))
		assert.ElementsMatch(t, want, slices.Collect(maps.Keys(w.get("/batch_exports/%s/", id))), era)
	}
}

func TestSecretsAndTypesOnRead(t *testing.T) {
	config := map[string]any{"user": "u", "password": "p", "host": "h", "database": "d", "port": 5432, "has_self_signed_cert": true, "schema": nil}
	for era, want := range map[hogapitest.Era]string{
		hogapitest.E1: `{"type":"Postgres","config":{"host":"h","database":"d","port":"5432","has_self_signed_cert":"True","schema":null}}`,
		hogapitest.E4: `{"type":"Postgres","integration":null,"config":{"host":"h","database":"d","port":5432,"has_self_signed_cert":true,"schema":null}}`,
	} {
		w := inProcess(t, hogapitest.WithEra(era))
		id := w.project().AddExport(hogapitest.Export{DestinationType: "Postgres", Config: config})
		got, err := json.Marshal(w.get("/batch_exports/%s/", id)["destination"])
		require.NoError(t, err)
		assert.JSONEq(t, want, string(got), era)
		assert.Equal(t, "p", w.project().Exports()[0].Config["password"], "but it is there")
	}
}

func TestPatch(t *testing.T) {
	over(t, nil, func(t *testing.T, w *wire) {
		id := w.project().AddExport(hogapitest.Export{
			Paused: true, EndAt: now.Add(time.Hour), Timezone: "Europe/Berlin", Interval: "day",
			Config: map[string]any{"bucket_name": "b", "region": "r", "prefix": "old/", "kms_key_id": "k"},
		})
		path := "/batch_exports/" + id.String() + "/"

		got := w.want(200, "PATCH", path, `{"paused":false,"end_at":null,"destination":{"type":"AwsS3","config":{"prefix":"new/"}}}`)
		assert.Equal(t, false, got["paused"])
		assert.Nil(t, got["end_at"])
		assert.Equal(t, "Export", got["name"], "absent keeps")
		config := w.project().Exports()[0].Config
		assert.Equal(t, map[string]any{"bucket_name": "b", "region": "r", "prefix": "new/", "kms_key_id": "k", "legacy_parquet_extension": false}, config)

		got = w.want(200, "PATCH", path, `{"interval":"day","offset_hour":4}`)
		assert.Equal(t, 4.0, got["offset_hour"])
		got = w.want(200, "PATCH", path, `{"interval":"day","offset_hour":null,"timezone":null}`)
		assert.Equal(t, 0.0, got["offset_hour"])
		assert.Equal(t, "UTC", got["timezone"], "null resets")

		w.refused(500, "error", "PATCH", path, `{"destination":{"config":{"prefix":"x"}}}`)
		w.refused(500, "error", "PATCH", path, `{"destination":{"type":"AwsS3"}}`)
		w.refused(400, "invalid_input", "PATCH", path, `{"destination":{"type":"NoOp","config":{}}}`)
		w.refused(400, "invalid_input", "PATCH", path, `{"model":"persons"}`)
		w.refused(400, "invalid_input", "PATCH", path, `{"destination":{"type":"AwsS3","config":{"prefix":1}}}`)
		w.refused(404, "not_found", "PATCH", "/batch_exports/0190e0a2-0000-7000-8000-000000000001/", `{}`)
		assert.Equal(t, "new/", w.project().Exports()[0].Config["prefix"], "a refused change changes nothing")
	})
}

// A day hides the day of a week and an hour resets both; a week and a day without offsets begin at 0.
func TestOffsetsOfIntervals(t *testing.T) {
	w := inProcess(t)
	path := "/batch_exports/" + w.project().AddExport(hogapitest.Export{Interval: "week"}).String() + "/"
	for _, tt := range []struct {
		body      string
		day, hour any
	}{
		{`{}`, 0.0, 0.0},
		{`{"interval":"week","offset_day":3,"offset_hour":5}`, 3.0, 5.0},
		{`{"interval":"day"}`, nil, 5.0},
		{`{"interval":"week"}`, 3.0, 5.0},
		{`{"interval":"hour"}`, nil, nil},
		{`{"interval":"day"}`, nil, 0.0},
		{`{"interval":"week"}`, 0.0, 0.0},
	} {
		got := w.want(200, "PATCH", path, tt.body)
		assert.Equal(t, []any{tt.day, tt.hour}, []any{got["offset_day"], got["offset_hour"]}, tt.body)
	}
	w.refused(400, "invalid_input", "PATCH", path, `{"interval":"hour","offset_day":1}`)
}

func TestPauseAndUnpause(t *testing.T) {
	w, id := withExport(t)
	path := "/batch_exports/" + id.String()
	_, body := w.call("POST", path+"/unpause/", `{"backfill":true}`)
	assert.Equal(t, map[string]any{"paused": false}, body)
	assert.Empty(t, results(w.get("%s/backfills/", path)), "it was not paused")

	for range 2 {
		_, body = w.call("POST", path+"/pause/", `{"name":"is not read"}`)
		assert.Equal(t, map[string]any{"paused": true}, body)
	}
	assert.Equal(t, "2026-03-04T12:00:00Z", w.get("%s/", path)["last_paused_at"])
	w.refused(400, "invalid_input", "POST", path+"/unpause/", `{"backfill":"yes please"}`)

	later := w.project().AddExport(hogapitest.Export{Paused: true, LastPaused: now.Add(-3 * time.Hour)})
	_, body = w.call("POST", "/batch_exports/"+later.String()+"/unpause/", `{"backfill":true}`)
	assert.Equal(t, map[string]any{"paused": false}, body)
	made := results(w.get("/batch_exports/%s/backfills/", later))
	require.Len(t, made, 1)
	assert.Equal(t, "2026-03-04T09:00:00Z", made[0]["start_at"])
	assert.Equal(t, "2026-03-04T12:00:00Z", made[0]["end_at"])
}

func TestListOfExports(t *testing.T) {
	w := inProcess(t)
	p := w.project()
	first := p.AddExport(hogapitest.Export{Name: "first", Created: now.Add(-time.Hour)})
	p.AddExport(hogapitest.Export{Name: "hidden", DestinationType: "Workflows", Config: map[string]any{}})
	p.AddExport(hogapitest.Export{Name: "second"})
	for i := range 12 {
		p.AddRun(first, hogapitest.Run{Created: now.Add(-time.Duration(i) * 24 * time.Hour)})
	}
	page := w.get("/batch_exports/")
	assert.Equal(t, 2.0, page["count"])
	assert.Equal(t, []any{"second", "first"}, pluck(results(page), "name"))
	assert.Len(t, results(page)[1]["latest_runs"], 10, "without the hidden window")
	w.Project("2").AddExport(hogapitest.Export{Name: "elsewhere"})
	assert.Equal(t, 2.0, w.get("/batch_exports/")["count"])
}

const bucketConfig = `{"bucket_name":"b","region":"r","prefix":"p/"}`

// withIntegration is an export's body with a destination that names an integration.
func withIntegration(kind, config string, integration any) string {
	return fmt.Sprintf(`{"name":"a","interval":"hour","destination":{"type":%q,"config":%s,"integration_id":%v}}`, kind, config, integration)
}

// The newest age refuses settings that older ones accepted, in the words of the service.
func TestNewestAgeRefuses(t *testing.T) {
	w := inProcess(t, hogapitest.WithHogQLExports())
	bucketWith := func(more string) string { return `{"bucket_name":"b","region":"r","prefix":"p",` + more + `}` }
	p := w.project()
	s3 := p.AddIntegration(hogapitest.Integration{})
	slack := p.AddIntegration(hogapitest.Integration{Kind: "slack"})
	aws := p.AddIntegration(hogapitest.Integration{Kind: "aws-redshift", Config: map[string]any{"name": "n"}})
	copyWith := func(inputs string) string {
		return withIntegration("Redshift", `{"database":"d","host":"h","mode":"COPY","copy_inputs":`+inputs+`}`, aws)
	}
	for _, tt := range []struct{ name, body, attr, says string }{
		{"type S3", dest("S3", bucketConfig), "destination__type", "not a valid choice"},
		{"no integration", dest("AwsS3", bucketConfig), "destination__integration", "Integration is required for AwsS3 batch exports"},
		{"inline Postgres", dest("Postgres", `{"database":"d","host":"h","user":"u","password":"p"}`), "destination__integration", "Integration is required for Postgres batch exports"},
		{"Azure, written apart", dest("AzureBlob", `{"container_name":"c"}`), "destination__integration", "Integration is required for Azure Blob batch exports"},
		{"null", withIntegration("AwsS3", bucketConfig, "null"), "destination__integration", "Integration is required"},
		{"wrong kind", withIntegration("AwsS3", bucketConfig, slack), "destination__integration", "Integration provided is not an AWS S3 integration (got kind='slack')"},
		{"wrong kind, others", withIntegration("Postgres", `{"database":"d"}`, s3), "destination__integration", "Integration is not a PostgreSQL integration."},
		{"unknown id", withIntegration("AwsS3", bucketConfig, 77), "destination__integration", "object does not exist"},
		{"inline keys", withIntegration("AwsS3", `{"bucket_name":"b","region":"r","prefix":"p","aws_access_key_id":"i","aws_secret_access_key":"k"}`, s3),
			"destination__config", "Configuration has unknown field/s: 'aws_access_key_id', 'aws_secret_access_key'"},
		{"empty value", withIntegration("AwsS3", `{"bucket_name":"b","region":"r","prefix":""}`, s3), "destination__config", "The following inputs are empty: ['prefix']"},
		{"codec", withIntegration("AwsS3", `{"bucket_name":"b","region":"r","prefix":"p","compression":"zstd"}`, s3),
			"destination__config", "Compression zstd is not supported for file format JSONLines. Supported compressions are ['gzip', 'brotli']"},
		{"old names", withIntegration("AwsS3", `{"bucket_name":"b","region":"r","prefix":"p","legacy_parquet_extension":true}`, s3), "destination__config", "can only stay on"},
		{"Redshift without a host", withIntegration("Redshift", `{"database":"d"}`, aws), "destination__config", "A 'host' is required"},
		{"COPY of nothing", copyWith(`null`), "destination__config", "Missing required input for 'COPY': s3_bucket"},
		{"COPY without keys", copyWith(`{"region_name":"r","s3_bucket":"b","authorization":"arn:r"}`), "destination__config", "bucket_credentials"},
		{"hogql without a query", with(`,"model":"hogql"`), "hogql_query", "'hogql_query' is required when 'model' is 'hogql'"},
		{"COPY with another's keys", copyWith(`{"region_name":"r","s3_bucket":"b","authorization":"arn:r","bucket_credentials":77}`), "destination__config", "'bucket_credentials' does not reference an AWS S3 integration"},
		{"COPY as a Slack", copyWith(fmt.Sprintf(`{"region_name":"r","s3_bucket":"b","authorization":%d,"bucket_credentials":%d}`, slack, s3)), "destination__config", "'authorization' does not"},
		{"null", withIntegration("Redshift", `{"database":"d","host":"h","schema":null}`, aws), "destination__config", "invalid type: 'schema'"},
		{"null number", withIntegration("Redshift", `{"database":"d","host":"h","port":null}`, aws), "destination__config", "invalid type: 'port'"},
		{"null required", withIntegration("AwsS3", `{"bucket_name":null,"region":"r","prefix":"p"}`, s3), "destination__config", "invalid type: 'bucket_name'"},
		{"unknown to Redshift", withIntegration("Redshift", `{"database":"d","host":"h","has_self_signed_cert":true}`, aws), "destination__config", "unknown field/s: 'has_self_signed_cert'"},
		{"format without a codec", withIntegration("AwsS3", bucketWith(`"file_format":"JSONL"`), s3), "destination__config", "File format JSONL is not supported."},
		{"no columns", with(`,"model":"hogql","hogql_query":"q","primary_key":[]`), "primary_key", "may not be empty"},
		{"column without a name", with(`,"model":"hogql","hogql_query":"q","version_key":["a",""]`), "version_key", "may not be blank"},
		{"one column", with(`,"model":"hogql","hogql_query":"q","version_key":"a"`), "version_key", "list of items"},
		{"mode", with(`,"model":"hogql","hogql_query":"q","incremental_mode":"append"`), "incremental_mode", "not a valid choice"},
		{"null mode", with(`,"incremental_mode":null`), "incremental_mode", "may not be null"},
		{"blank query", with(`,"model":"hogql","hogql_query":""`), "hogql_query", "may not be blank"},
		{"modifiers", with(`,"model":"hogql","hogql_query":"q","hogql_modifiers":[]`), "hogql_modifiers", "dictionary"},
		{"filter of cohorts", with(`,"filters":[{"type":"cohort","key":"id"}]`), "filters", "Each filter must have a 'type' of one of: 'event', 'hogql', 'person'"},
		{"one filter", with(`,"filters":{"type":"event"}`), "filters", "should be an array"},
		{"interval as a filter", with(`,"filters":[{"type":"event","data_interval_start":"x"}]`), "filters", "are run attributes"},
		{"no filters of persons", with(`,"model":"persons","filters":[]`), "filters", "'filters' is only supported for 'events' not 'persons' model"},
		{"query of events", with(`,"hogql_query":"select 1"`), "hogql_query", "'hogql_query' is only supported for 'hogql' not 'events' model"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, path := range []string{"/batch_exports/", "/batch_exports/run_test_step_new/"} {
				body := w.want(400, "POST", path, tt.body)
				assert.Equal(t, tt.attr, body["attr"])
				assert.Contains(t, body["detail"], tt.says)
			}
		})
	}
	assert.Empty(t, p.Exports())

	w.want(201, "POST", "/batch_exports/", copyWith(fmt.Sprintf(`{"region_name":"r","s3_bucket":"b","authorization":"arn:r","bucket_credentials":"%d"}`, s3)))
	w.want(201, "POST", "/batch_exports/", withIntegration("AwsS3", `{"bucket_name":"b","region":"r","prefix":"p","max_file_size_mb":"many"}`, s3))
	made := w.want(201, "POST", "/batch_exports/", withIntegration("AwsS3", bucketConfig, s3))
	config := made["destination"].(map[string]any)["config"].(map[string]any)
	assert.Equal(t, false, config["legacy_parquet_extension"], "a new export has the new names")
	for _, more := range []string{`"compression":null`, `"max_file_size_mb":null`, `"max_file_size_mb":"no number"`, `"legacy_parquet_extension":"false"`, `"kms_key_id":7`} {
		w.want(201, "POST", "/batch_exports/", withIntegration("AwsS3", bucketWith(more), s3)) // not checked, as their types allow null
	}
}

// Most projects have neither HogQL exports nor short intervals.
func TestPlanOfTheTeam(t *testing.T) {
	w := inProcess(t)
	id := w.project().AddIntegration(hogapitest.Integration{})
	body := func(field string) string {
		return strings.Replace(withIntegration("AwsS3", bucketConfig, id), "{", "{"+field+",", 1)
	}
	for field, says := range map[string]string{
		`"model":"hogql","hogql_query":"q"`: "HogQL batch exports", `"interval":"every 5 minutes"`: "Higher frequency batch exports",
	} {
		body := strings.Replace(body(field), `"interval":"hour",`, "", strings.Count(field, "interval"))
		assert.Equal(t, says+" are not enabled for this team.", w.refused(403, "permission_denied", "POST", "/batch_exports/", body))
		with := inProcess(t, hogapitest.WithHogQLExports(), hogapitest.WithShortIntervals())
		with.project().AddIntegration(hogapitest.Integration{})
		with.want(201, "POST", "/batch_exports/", body)
	}
	export := w.project().AddExport(hogapitest.Export{})
	w.refused(403, "permission_denied", "PATCH", "/batch_exports/"+export.String()+"/", `{"interval":"every 15 minutes"}`)
}

// Some types of destination must resend their integration with each write.
func TestNewestAgeOnUpdates(t *testing.T) {
	w := inProcess(t)
	p := w.project()
	change := func(kind string, config map[string]any, integration string) (int, map[string]any) {
		id := p.AddExport(hogapitest.Export{DestinationType: kind, Config: config, Integration: 7})
		return w.call("PATCH", "/batch_exports/"+id.String()+"/", fmt.Sprintf(`{"destination":{"type":%q,"config":{}%s}}`, kind, integration))
	}
	for _, tt := range []struct {
		kind, integration string
		status            int
	}{
		{"AwsS3", "", 200}, {"AwsS3", `,"integration":null`, 400}, {"AwsS3", `,"integration":7`, 200},
		{"Postgres", "", 200}, {"Postgres", `,"integration":null`, 200},
		{"Redshift", "", 400}, {"Redshift", `,"integration":null`, 400}, {"Redshift", `,"integration":7`, 200},
		{"BigQuery", "", 400}, {"BigQuery", `,"integration":7`, 200}, {"AzureBlob", "", 400}, {"AzureBlob", `,"integration":7`, 200},
	} {
		w = inProcess(t)
		p = w.project()
		config := map[string]any{
			"AwsS3": map[string]any{"bucket_name": "b", "region": "r", "prefix": "p"}, "Postgres": map[string]any{"database": "d"},
			"Redshift": map[string]any{"database": "d", "host": "h"}, "BigQuery": map[string]any{"dataset_id": "d"}, "AzureBlob": map[string]any{"container_name": "c"},
		}[tt.kind].(map[string]any)
		status, body := change(tt.kind, config, tt.integration)
		assert.Equal(t, tt.status, status, "%s%s: %v", tt.kind, tt.integration, body)
	}

	id := p.AddExport(hogapitest.Export{Interval: "week"})
	path := "/batch_exports/" + id.String() + "/"
	w.refused(500, "error", "PATCH", path, `{"offset_hour":3}`)
	body := w.want(200, "PATCH", path, `{"interval":"week","offset_hour":3}`)
	assert.Equal(t, 0.0, body["offset_day"], "the other becomes 0")
	w.refused(400, "invalid_choice", "PATCH", path, `{"destination":{"type":"S3","config":{}}}`)
}

func TestDestinationTestsAnswer(t *testing.T) {
	w := inProcess(t)
	for path, want := range map[string]int{"": 400, "?destination=HTTP": 404, "?destination=S3": 404, "?destination=AwsS3": 200} {
		a := w.sent("GET", w.prefix+"/batch_exports/test"+path, nil)
		assert.Equal(t, want, a.StatusCode, path)
		assert.Equal(t, want == 200, a.text != "", "an empty body")
	}
	w.refused(500, "error", "POST", "/batch_exports/run_test_step_new/", with(""))
	for config, want := range map[string]string{`{"dataset_id":"d"}`: "Failed", `{"dataset_id":"d","table_id":"t"}`: "Passed"} {
		id := w.project().AddIntegration(hogapitest.Integration{Kind: "google-cloud-service-account"})
		body := w.want(200, "POST", "/batch_exports/run_test_step_new/", fmt.Sprintf(`{"name":"n","interval":"hour","step":4,"destination":{"type":"BigQuery","integration":%d,"config":%s}}`, id, config))
		assert.Equal(t, want, body["result"].(map[string]any)["status"], config)
	}
	old := inProcess(t, hogapitest.WithOldService())
	assert.Equal(t, "Not found.", old.refused(404, "not_found", "GET", "/batch_exports/test/?destination=S3", ""), "it is taken for an id")
	old.refused(405, "method_not_allowed", "POST", "/batch_exports/run_test_step_new/", "{}")
	old.refused(404, "not_found", "GET", "/integrations/", "")
}

// Integrations are stored by their target: the same target again keeps the id, and replaces the rest.
func TestIntegrationsAreStoredByTheirTarget(t *testing.T) {
	w := inProcess(t)
	const file = `,"private_key":"k","private_key_id":"i","token_uri":"https://oauth2.googleapis.com/token"`
	for _, tt := range []struct {
		kind, config string
		id           float64
	}{
		{"google-cloud-service-account", `{"service_account_email":"a@x","project_id":"p"}`, 1},
		{"google-cloud-service-account", `{"service_account_email":"a@x","project_id":"q"}`, 1},
		{"google-cloud-service-account", `{"service_account_email":"a@x","project_id":"q"` + file + `}`, 2},
		{"google-cloud-service-account", `{"service_account_email":"a@x","project_id":"p"` + file + `}`, 2},
		{"azure-blob", `{"connection_string":"AccountName=acme;AccountKey=1"}`, 3},
		{"azure-blob", `{"connection_string":"AccountKey=2;AccountName=acme"}`, 3},
		{"databricks", `{"server_hostname":"h","client_id":"a","client_secret":"s"}`, 4},
		{"databricks", `{"server_hostname":"h","client_id":"b","client_secret":"s"}`, 4},
	} {
		got := w.want(201, "POST", "/integrations/", fmt.Sprintf(`{"kind":%q,"config":%s}`, tt.kind, tt.config))
		assert.Equal(t, tt.id, got["id"], tt.config)
	}
	assert.Equal(t, "q", w.project().Integrations()[0].Config["project_id"])
	w.refused(400, "invalid_input", "POST", "/integrations/", `{"kind":"azure-blob","config":{"connection_string":"AccountKey=2"}}`)
	w.want(201, "POST", "/integrations/", `{"kind":"aws-s3","config":{"name":"n","aws_role_arn":"r"}}`)
	assert.Equal(t, "An integration named 'n' already exists", w.want(400, "POST", "/integrations/", `{"kind":"aws-s3","config":{"name":"n","aws_role_arn":"s"}}`)["detail"])
}

func TestIntegrationsAnswer(t *testing.T) {
	w := inProcess(t, hogapitest.WithMember())
	post := func(status int, kind, config string) map[string]any {
		return w.want(status, "POST", "/integrations/", fmt.Sprintf(`{"kind":%q,"config":%s}`, kind, config))
	}
	for _, tt := range []struct{ kind, config, says string }{
		{"aws-s3", `{"aws_role_arn":"arn:r"}`, "A name is required for aws-s3 integration"},
		{"aws-s3", `{"name":"n"}`, "Access key ID is required for aws-s3 integration"},
		{"aws-redshift", `{"user":"u"}`, "Host is required"},
		{"aws-redshift", `{}`, "Missing required inputs"},
		{"snowflake", `{"name":"n","account":"a","user":"u"}`, "Password is required for password authentication"},
		{"postgresql", `{"host":"h","port":"x","user":"u","password":"p"}`, "Port must be an integer"},
		{"postgresql", `{"host":"h","port":1,"user":"u","password":"p","ssl_mode":"verify-ca"}`, "SSL root certificate"},
		{"databricks", `{}`, "Server hostname, client ID, and client secret must be provided"},
		{"slack", `{}`, "Kind not supported"},
	} {
		assert.Contains(t, post(400, tt.kind, tt.config)["detail"], tt.says)
	}
	assert.NotContains(t, post(201, "postgresql", `{"host":"h","port":"5432","user":"u","password":"p"}`)["config"], "password")
	assert.Contains(t, post(403, "postgresql", `{"host":"h","port":5432,"user":"u","password":"q"}`)["detail"], "requires project admin access")
	w.refused(405, "method_not_allowed", "PATCH", "/integrations/1/", "{}")
}
