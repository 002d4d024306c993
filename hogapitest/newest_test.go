package hogapitest_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hogapi/hogapi/hogapitest"
)

const bucketConfig = `{"bucket_name":"b","region":"r","prefix":"p/"}`

// withIntegration is an export's body with a destination that names an integration.
func withIntegration(kind, config string, integration any) string {
	return fmt.Sprintf(`{"name":"a","interval":"hour","destination":{"type":%q,"config":%s,"integration_id":%v}}`, kind, config, integration)
}

// The newest age refuses settings that older ones accepted, in the words of the service.
func TestNewestAgeRefuses(t *testing.T) {
	w := inProcess(t)
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
	made := w.want(201, "POST", "/batch_exports/", withIntegration("AwsS3", bucketConfig, s3))
	config := made["destination"].(map[string]any)["config"].(map[string]any)
	assert.Equal(t, false, config["legacy_parquet_extension"], "a new export has the new names")
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
	old := inProcess(t, hogapitest.WithOldService())
	assert.Equal(t, "Not found.", old.refused(404, "not_found", "GET", "/batch_exports/test/?destination=S3", ""), "it is taken for an id")
	old.refused(405, "method_not_allowed", "POST", "/batch_exports/run_test_step_new/", "{}")
	old.refused(404, "not_found", "GET", "/integrations/", "")
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
