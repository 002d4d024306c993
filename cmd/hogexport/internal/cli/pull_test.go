package cli

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/integration"
)

// A pulled file creates the same export in another project: pulled again, it is equal except for the id. Secrets come
// from variables, never appear in output, and are named where they are missing.
func TestPullCreatePull(t *testing.T) {
	t.Parallel()
	type config = map[string]any
	start := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	bucket, table := config{"bucket_name": "b", "region": "r", "prefix": "p/", "file_format": "Parquet", "compression": "zstd", "max_file_size_mb": 12345678}, config{"database": "d", "schema": "s", "table_name": "t", "port": 5433}
	onServer := func(more config) config {
		all := config{"user": "u", "password": "s3cret-s3cret", "host": "db.example"}
		maps.Copy(all, table)
		maps.Copy(all, more)
		return all
	}
	keys := config{"aws_access_key_id": "AKIACANARY", "aws_secret_access_key": "s3cret-s3cret"}
	for name, c := range map[string]struct {
		era    hogapitest.Era
		kind   integration.Kind
		export hogapitest.Export
		blanks []string
	}{
		"aws":        {hogapitest.E4, "aws-s3", hogapitest.Export{DestinationType: "AwsS3", Config: bucket, Interval: hogapi.IntervalWeek, Timezone: "Europe/Berlin", Extra: config{"offset_day": 1, "offset_hour": 3}}, nil},
		"compatible": {hogapitest.E4, "s3-compatible", hogapitest.Export{DestinationType: "S3Compatible", Config: bucket, StartAt: start, EndAt: start.AddDate(9, 0, 0)}, nil},
		"snowflake":  {hogapitest.E4, "snowflake", hogapitest.Export{DestinationType: "Snowflake", Config: config{"database": "d", "warehouse": "w", "schema": "s", "role": "r", "include_events": []string{"paid", "yes", "1"}}, Model: "sessions"}, nil},
		"postgres":   {hogapitest.E4, "postgresql", hogapitest.Export{DestinationType: "Postgres", Config: table, Model: "persons"}, nil},
		"redshift":   {hogapitest.E4, "aws-redshift", hogapitest.Export{DestinationType: "Redshift", Config: config{"database": "d", "host": "h", "properties_data_type": "super"}}, nil},
		"copy": {hogapitest.E4, "aws-redshift", hogapitest.Export{DestinationType: "Redshift", Config: config{"database": "d", "host": "h", "mode": "COPY", "copy_inputs": config{
			"s3_bucket": "b", "region_name": "r", "s3_key_prefix": "k", "authorization": "arn:aws:iam::1:role/reader", "bucket_credentials": 77,
		}}}, nil},
		"copy with keys": {hogapitest.E4, "aws-redshift", hogapitest.Export{DestinationType: "Redshift", Config: config{"database": "d", "host": "h", "mode": "COPY", "copy_inputs": config{
			"s3_bucket": "b", "region_name": "r", "s3_key_prefix": "k", "authorization": keys, "bucket_credentials": keys,
		}}}, []string{"copy_inputs.authorization.aws_access_key_id", "copy_inputs.bucket_credentials.aws_secret_access_key"}},
		"bigquery":   {hogapitest.E4, "google-cloud-service-account", hogapitest.Export{DestinationType: "BigQuery", Config: config{"dataset_id": "d", "table_id": "t", "use_json_type": true}, Extra: config{"filters": []config{{"key": "plan", "type": "event", "value": 10000000, "operator": "gt"}}}}, nil},
		"databricks": {hogapitest.E4, "databricks", hogapitest.Export{DestinationType: "Databricks", Config: config{"http_path": "/a", "catalog": "c", "schema": "s", "table_name": "t", "use_variant_type": false}, Interval: hogapi.IntervalDay, Extra: config{"offset_hour": 5}}, nil},
		"azure":      {hogapitest.E4, "azure-blob", hogapitest.Export{DestinationType: "AzureBlob", Config: config{"container_name": "c", "prefix": "p"}, Paused: true}, nil},
		"hogql":      {hogapitest.E4, "google-cloud-service-account", hogapitest.Export{DestinationType: "BigQuery", Config: config{"dataset_id": "d"}, Model: "hogql", Extra: config{"hogql_query": "SELECT uuid AS id\nFROM events", "primary_key": []string{"id"}, "incremental_mode": "MERGE"}}, nil},
		"http":       {hogapitest.E4, "", hogapitest.Export{DestinationType: "HTTP", Config: config{"url": "https://eu.i.posthog.com/batch/", "token": "s3cret-s3cret"}}, []string{"token"}},
		"old s3":     {hogapitest.E1, "", hogapitest.Export{DestinationType: "S3", Config: config{"bucket_name": "b", "region": "r", "prefix": "p", "aws_access_key_id": "AKIACANARY", "aws_secret_access_key": "s3cret-s3cret"}}, []string{"aws_access_key_id", "aws_secret_access_key"}},
		"old snowflake": {hogapitest.E1, "", hogapitest.Export{DestinationType: "Snowflake", Config: config{"account": "a", "user": "u", "database": "d", "warehouse": "w", "schema": "s", "authentication_type": "keypair", "private_key": "s3cret-s3cret"}},
			[]string{"private_key", "user"}},
		"old postgres": {hogapitest.E1, "", hogapitest.Export{DestinationType: "Postgres", Config: onServer(config{"has_self_signed_cert": true})}, []string{"password", "user"}},
		"old redshift": {hogapitest.E1, "", hogapitest.Export{DestinationType: "Redshift", Config: onServer(nil)}, []string{"password", "user"}},
		"old bigquery": {hogapitest.E1, "", hogapitest.Export{DestinationType: "BigQuery", Config: config{"project_id": "p", "dataset_id": "d", "private_key": "s3cret-s3cret", "private_key_id": "i", "token_uri": "u", "client_email": "e"}},
			[]string{"client_email", "private_key", "private_key_id", "token_uri"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProgram(t, hogapitest.WithEra(c.era), hogapitest.WithHogQLExports())
			from, to := p.server.Project(hogapitest.DefaultProject), p.server.Project("777")
			to.AddIntegration(hogapitest.Integration{ID: 900, Kind: "aws-s3", Config: config{"name": "other"}}) // other numbers
			for _, project := range []*hogapitest.Project{from, to} {
				if c.kind != "" {
					c.export.Integration = project.AddIntegration(hogapitest.Integration{ID: map[bool]int{true: 5, false: 905}[project == from], Kind: c.kind, Config: config{"name": "of the warehouse"}})
				}
				project.AddIntegration(hogapitest.Integration{ID: map[bool]int{true: 77, false: 977}[project == from], Kind: "aws-s3", Config: config{"name": "the bucket"}})
			}
			if c.kind != "" {
				c.export.Integration = 5
			}
			c.export.Name = "export"
			id := from.AddExport(c.export)
			folder, copied := t.TempDir(), t.TempDir()
			path := filepath.Join(folder, "export.yaml")
			p.ends(t, 0, "pull", folder)
			text := read(t, path)
			says(t, text, "id: "+id.String(), map[bool]string{true: "paused: true", false: "paused: false"}[c.export.Paused])
			for _, secret := range []string{"s3cret", "AKIACANARY"} {
				assert.NotContains(t, text, secret)
			}
			p.env["POSTHOG_PROJECT_ID"] = "777"
			args := []string{"create", "--from", path, "--yes"}
			if len(c.blanks) > 0 {
				r := p.ends(t, 2, args...).err(t, append([]string{"blank among destination.credentials:"}, c.blanks...)...)
				says(t, r.stderr, "--secret "+c.blanks[0]+"=VARIABLE")
				assert.Empty(t, to.Exports())
				p.env["SECRET"] = "s3cret-s3cret"
				for _, blank := range regexp.MustCompile(`(?m)^    (\S+): ""$`).FindAllStringSubmatch(text, -1) {
					args = append(args, "--secret", blank[1]+"=SECRET")
				}
			}
			r := p.ends(t, 0, append(args, "--json")...)
			assert.NotContains(t, r.stdout+r.stderr, "s3cret")
			assert.True(t, to.Exports()[0].Paused)
			p.ends(t, 0, "pull", copied)
			own := regexp.MustCompile(`(?m)^(id|paused): .*\n`)
			assert.Equal(t, own.ReplaceAllString(text, ""), own.ReplaceAllString(read(t, filepath.Join(copied, "export.yaml")), ""))
		})
	}
}

// A file may name the variable of a secret; an unset secret, or a flag that does not name one, ends create.
func TestCreateWithSecrets(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	file := filepath.Join(t.TempDir(), "export.yaml")
	require.NoError(t, os.WriteFile(file, []byte(`{name: eu, model: events, interval: day, destination: {type: HTTP, config: {url: "https://eu.i.posthog.com/batch/"}, credentials: {token: PROJECT_KEY}}}`), 0o600))
	p.ends(t, 2, "create", "--from", file, "--yes").err(t, "the variable PROJECT_KEY for destination.credentials.token is not set")
	p.ends(t, 2, "create", "--from", file, "--yes", "--secret", "token").err(t, `--secret wants KEY=VARIABLE`)
	r := p.ends(t, 2, "create", "--from", file, "--yes", "--secret", "token=hunter2")
	assert.NotContains(t, r.stderr, "hunter2", "a secret in place of a variable")
	p.env["PROJECT_KEY"] = "s3cret-s3cret"
	p.ends(t, 0, "create", "--from", file, "--yes")
	assert.Equal(t, "s3cret-s3cret", p.server.Project(hogapitest.DefaultProject).Exports()[0].Config["token"])
}
