package hogapitest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hogapi/hogapi/integration"
)

var kindFor = map[string]integration.Kind{
	"AwsS3": "aws-s3", "S3Compatible": "s3-compatible", "Snowflake": "snowflake", "Postgres": "postgresql", "Redshift": "aws-redshift",
	"BigQuery": "google-cloud-service-account", "Databricks": "databricks", "AzureBlob": "azure-blob",
}

// isResent reports whether a write of a destination must name the integration that is stored.
func isResent(kind string) bool {
	return kind == "Databricks" || kind == "BigQuery" || kind == "AzureBlob" || kind == "Redshift"
}

// checkNewest asks for an integration of the right kind, as the newest era does. Before is the stored destination, of no kind for a
// new export.
func (p *Project) checkNewest(c checker, before, d destination, sent bool) {
	want, needs := kindFor[d.kind]
	if !needs {
		return
	}
	isNew, has := before.kind == "", d.integration != 0
	switch {
	case d.kind == "Redshift" && before.integration != 0 && (!sent || !has):
		c.fail("integration", "invalid_input", "Cannot remove the integration from a Redshift batch export that uses one. Re-send its `integration` to keep it.")
	case !has && (isNew || d.kind != "Postgres" && d.kind != "Redshift"), isResent(d.kind) && has && !sent:
		name := or(map[string]string{"AzureBlob": "Azure Blob"}[d.kind], d.kind)
		c.fail("integration", "invalid_input", "Integration is required for "+name+" batch exports")
	case !has:
		return
	}
	x := p.integration(d.integration)
	switch {
	case x == nil:
		c.fail("integration", "does_not_exist", fmt.Sprintf(`Invalid pk "%d" - object does not exist.`, d.integration))
	case x.Kind != want && (want == "aws-s3" || want == "s3-compatible" || want == "snowflake"):
		c.fail("integration", "invalid_input", fmt.Sprintf("Integration provided is not %s integration (got kind='%s')", integrationKinds[want].titled, x.Kind))
	case x.Kind != want:
		c.fail("integration", "invalid_input", "Integration is not "+integrationKinds[want].titled+" integration.")
	case want == "aws-redshift" && x.Config["host"] == nil && d.config["host"] == nil:
		c.fail("config", "invalid_input", "A 'host' is required when using an AWS Redshift integration: set it to the cluster or workgroup endpoint.")
	}
}

func checkValues(c checker, before, d destination) {
	if d.kind == "AwsS3" || d.kind == "S3Compatible" {
		for _, name := range []string{"bucket_name", "region", "prefix"} {
			if d.config[name] == "" {
				c.fail("config", "invalid_input", "The following inputs are empty: ['"+name+"']")
			}
		}
	}
	if fileTypes[d.kind] {
		legacy, stored := d.config["legacy_parquet_extension"], before.config["legacy_parquet_extension"]
		if legacy == true && stored != true {
			c.fail("config", "invalid_input", "'legacy_parquet_extension' can only stay on for batch exports that write such names already.")
		}
		if legacy == nil {
			d.config["legacy_parquet_extension"] = false
		}
	}
	if d.kind != "Redshift" || d.config["mode"] != "COPY" {
		return
	}
	inputs, _ := d.config["copy_inputs"].(map[string]any)
	for _, name := range []string{"s3_bucket", "region_name", "bucket_credentials", "authorization"} {
		if inputs[name] == nil || inputs[name] == "" {
			c.fail("config", "invalid_input", "Missing required input for 'COPY': "+name)
		}
	}
}

var fileTypes = map[string]bool{"S3": true, "AwsS3": true, "S3Compatible": true, "AzureBlob": true}

// checkCompression holds the codec to the file format, in every era.
func checkCompression(c checker, d destination) {
	codec, _ := d.config["compression"].(string)
	format, _ := d.config["file_format"].(string)
	format = or(format, "JSONLines")
	if codec == "" || !fileTypes[d.kind] {
		return
	}
	codecs, ok := map[string][]string{"JSONLines": {"gzip", "brotli"}, "Parquet": {"zstd", "lz4", "snappy", "gzip", "brotli"}}[format]
	if !ok {
		c.fail("config", "invalid_input", "File format "+format+" is not supported.")
	} else if !slices.Contains(codecs, codec) {
		c.fail("config", "invalid_input", fmt.Sprintf("Compression %s is not supported for file format %s. Supported compressions are ['%s']", codec, format, strings.Join(codecs, "', '")))
	}
}

// writeNewestFields applies the rules for an export's fields that E4 added. The service fails for an offset without its interval.
func (s *Server) writeNewestFields(c checker, e *export, isNew bool) {
	hasDay, hasHour := c.has("offset_day"), c.has("offset_hour")
	switch {
	case (hasDay || hasHour) && !c.has("interval"):
		refuse(serverError())
	case e.Interval == "week" && hasDay && !hasHour:
		e.offsetHour = new(0)
	case e.Interval == "week" && hasHour && !hasDay:
		e.offsetDay = new(0)
	}
	if isNew && e.Model == "hogql" && absent(c.fields["hogql_query"]) {
		c.fail("hogql_query", "required", "'hogql_query' is required when 'model' is 'hogql'")
	}
	for _, name := range optional[1:5] {
		if e.Model != "hogql" && !absent(c.fields[name]) {
			c.fail(name, "invalid_input", fmt.Sprintf("'%s' is only supported for 'hogql' not '%s' model", name, e.Model))
		}
	}
}
