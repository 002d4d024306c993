package hogapitest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/integration"
)

// destination is where an export writes to, with its secrets.
type destination struct {
	kind        string
	config      map[string]any
	integration int // 0 for none
}

// kindOf describes one destination type: its config keys per age. "*" marks a required key, ":int" and ":bool" a
// type other than string, ":any" one that is not checked, as the service does not check types that allow null.
type kindOf struct {
	old, new string // of E1 and E4
	secrets  string
}

const (
	s3Old    = "bucket_name* region* prefix* aws_access_key_id aws_secret_access_key compression encryption kms_key_id endpoint_url file_format max_file_size_mb:int use_virtual_style_addressing:bool"
	s3New    = "bucket_name* region* prefix* compression:any file_format max_file_size_mb:any legacy_parquet_extension:bool"
	s3Secret = "aws_access_key_id aws_secret_access_key"
	tables   = "database* schema table_name"
	server   = " user:any host:any port:int password:any"
)

var kinds = map[string]kindOf{
	"S3":           {old: s3Old, secrets: s3Secret},
	"AwsS3":        {new: s3New + " encryption:any kms_key_id:any", secrets: s3Secret},
	"S3Compatible": {new: s3New + " use_virtual_style_addressing:bool", secrets: s3Secret},
	"Snowflake": {
		old:     "account* user* database* warehouse* schema* table_name authentication_type password private_key private_key_passphrase role",
		new:     "database* warehouse* schema* table_name role:any",
		secrets: "user password private_key private_key_passphrase",
	},
	"Postgres": {
		old:     "user* password* host* database* schema table_name port:int has_self_signed_cert:bool",
		new:     tables + server + " has_self_signed_cert:bool",
		secrets: "user password",
	},
	"Redshift": {
		old:     "user* password* host* database* schema table_name port:int has_self_signed_cert:bool properties_data_type mode copy_inputs:any",
		new:     tables + server + " properties_data_type mode copy_inputs:any",
		secrets: "user password",
	},
	"BigQuery": {
		old:     "project_id* dataset_id* table_id private_key* private_key_id* token_uri* client_email* use_json_type:bool",
		new:     "dataset_id* table_id use_json_type:bool project_id:any private_key:any private_key_id:any token_uri:any client_email:any",
		secrets: "private_key private_key_id client_email token_uri",
	},
	"Databricks": {new: "http_path* catalog* schema* table_name* use_variant_type:bool use_automatic_schema_evolution:bool"},
	"AzureBlob":  {new: "container_name* prefix compression:any file_format max_file_size_mb:any legacy_parquet_extension:bool"},
	"HTTP":       {old: "url* token*", new: "url* token*", secrets: "token"},
	"Workflows":  {new: "hog_function_id*"},
	"NoOp":       {old: " ", new: " "},
}

// captureURLs are the only targets of an HTTP destination.
var captureURLs = []string{"https://us.i.posthog.com/batch/", "https://eu.i.posthog.com/batch/"}

// keys are the config keys of an era; empty where the era cannot make the type.
func (k kindOf) keys(e Era) string {
	if e == E4 {
		return k.new
	}
	return k.old
}

// json is the destination as it is read: without secrets, and in E1 with every scalar turned into a string.
func (d destination) json(e Era) object {
	config := map[string]any{}
	secrets := strings.Fields(kinds[d.kind].secrets)
	for name, value := range d.config {
		if slices.Contains(secrets, name) {
			continue
		}
		if e == E1 {
			value = stringified(value)
		} else if name == "copy_inputs" {
			value = withoutSecrets(value, append(secrets, strings.Fields(s3Secret)...))
		}
		config[name] = value
	}
	o := object{"type": d.kind, "config": config}
	if e == E4 {
		o["integration"] = orNull(d.integration)
	}
	return o
}

// stringified is the type loss of the encrypted column of E1.
func stringified(v any) any {
	switch v := v.(type) {
	case bool:
		return map[bool]string{true: "True", false: "False"}[v]
	case json.Number:
		return v.String()
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = stringified(v[i])
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for name, value := range withoutCredentials(v).(map[string]any) {
			out[name] = stringified(value)
		}
		return out
	}
	return v
}

func withoutCredentials(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	m = maps.Clone(m)
	delete(m, "bucket_credentials")
	return m
}

// withoutSecrets leaves out secret keys at every depth.
func withoutSecrets(v any, secrets []string) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	out := map[string]any{}
	for name, value := range m {
		if !slices.Contains(secrets, name) {
			out[name] = withoutSecrets(value, secrets)
		}
	}
	return out
}

// writeDestination checks a destination and puts it into the export. A PATCH merges its config into the stored one, and in E1
// replaces it.
func (s *Server) writeDestination(c checker, e *export, raw json.RawMessage) {
	inner := checker{prefix: "destination__"}
	if json.Unmarshal(raw, &inner.fields) != nil || inner.fields == nil {
		c.fail("destination", "invalid_input", "Invalid data. Expected a dictionary.")
	}
	inner.require("type", "config")
	before, d := e.destination, e.destination
	choice(inner, "type", &d.kind, s.kinds()...)
	config := inner.dictionary("config")
	if before.kind != "" && before.kind != d.kind && s.era == E4 {
		inner.fail("type", "invalid_input", fmt.Sprintf("Cannot change destination type from '%s' to '%s'. Delete this batch export and create a new one.", before.kind, d.kind))
	}
	sent := s.era == E4 && (inner.integration("integration", &d.integration) || inner.integration("integration_id", &d.integration))
	stored := before.config
	if before.kind != d.kind || s.era == E1 {
		stored = nil
	}
	d.config = merged(stored, config, s.era == E4)
	s.checkConfig(inner, e.Model, d)
	checkCompression(inner, d)
	if s.era == E4 {
		e.project.checkNewest(inner, before, d, sent)
		checkValues(inner, before, d)
		e.project.checkCopy(inner, d)
	}
	e.destination = d
}

// integration reads an id, or null, of a field that may be absent.
func (c checker) integration(name string, to *int) bool {
	raw, sent := c.fields[name]
	if sent && json.Unmarshal(raw, to) != nil {
		c.fail("integration", "incorrect_type", "Incorrect type. Expected pk value.")
	}
	if isNull(raw) {
		*to = 0
	}
	return sent
}

func (s *Server) kinds() []string {
	var all []string
	for name, k := range kinds {
		if k.keys(s.era) != "" {
			all = append(all, name)
		}
	}
	return all
}

// merged is the stored config with the sent keys over it: at the top level, or all the way down.
func merged(stored, sent map[string]any, deep bool) map[string]any {
	out := maps.Clone(stored)
	if out == nil {
		out = map[string]any{}
	}
	for name, value := range sent {
		below, isMap := value.(map[string]any)
		old, wasMap := out[name].(map[string]any)
		if deep && isMap && wasMap {
			value = merged(old, below, true)
		}
		out[name] = value
	}
	return out
}

// checkConfig holds a config to the keys of its type.
func (s *Server) checkConfig(c checker, model hogapi.Model, d destination) {
	config := d.config
	keys := kinds[d.kind].keys(s.era)
	known := map[string]string{"include_events": "any", "exclude_events": "any"}
	for key := range strings.FieldsSeq(keys) {
		name, typ, _ := strings.Cut(key, ":")
		bare := strings.TrimSuffix(name, "*")
		known[bare] = typ
		if value, ok := config[bare]; bare != name && (!ok || value == nil && s.era == E1) {
			c.fail("config", "invalid_input", fmt.Sprintf("Configuration missing required field: '%s'", bare))
		}
	}
	var unknown []string
	for _, name := range slices.Sorted(maps.Keys(config)) {
		typ, ok := known[name]
		if !ok {
			unknown = append(unknown, "'"+name+"'")
		} else if !fits(typ, config[name]) || s.era == E4 && typ != "any" && config[name] == nil {
			c.fail("config", "invalid_input", fmt.Sprintf("Configuration has invalid type: '%s'", name))
		}
	}
	if unknown != nil {
		c.fail("config", "invalid_input", "Configuration has unknown field/s: "+strings.Join(unknown, ", "))
	}
	if url, _ := config["url"].(string); d.kind == "HTTP" && !slices.Contains(captureURLs, url) {
		c.fail("config", "invalid_input", "HTTP destinations must be a capture URL of PostHog.")
	}
	if d.kind == "HTTP" && model != "events" {
		c.fail("config", "invalid_input", "HTTP destinations support the events model only.")
	}
}

// fits reports whether a config value has the wanted type; strings are turned into numbers and booleans.
func fits(typ string, value any) bool {
	if value == nil {
		return true
	}
	text, isText := value.(string)
	switch typ {
	case "int":
		if n, ok := value.(json.Number); ok {
			text, isText = n.String(), true
		}
		_, err := strconv.Atoi(text)
		return isText && err == nil
	case "bool":
		_, ok := value.(bool)
		return ok || isText && (strings.EqualFold(text, "true") || strings.EqualFold(text, "false"))
	case "any":
		return true
	}
	return isText
}

var kindFor = map[string]integration.Kind{
	"AwsS3": "aws-s3", "S3Compatible": "s3-compatible", "Snowflake": "snowflake", "Postgres": "postgresql", "Redshift": "aws-redshift",
	"BigQuery": "google-cloud-service-account", "Databricks": "databricks", "AzureBlob": "azure-blob",
}

// isResent reports whether a write of a destination must name the integration that is stored.
func isResent(kind string) bool {
	return kind == "Databricks" || kind == "BigQuery" || kind == "AzureBlob" || kind == "Redshift"
}

// checkNewest asks for an integration of the right kind, as E4 does. Before is the stored destination, of no kind for a
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
}

// checkCopy asks for the inputs of COPY. A number among its credentials is an integration of the project.
func (p *Project) checkCopy(c checker, d destination) {
	if d.kind != "Redshift" || d.config["mode"] != "COPY" {
		return
	}
	inputs, _ := d.config["copy_inputs"].(map[string]any)
	for _, name := range []string{"s3_bucket", "region_name", "bucket_credentials", "authorization"} {
		if inputs[name] == nil || inputs[name] == "" {
			c.fail("config", "invalid_input", "Missing required input for 'COPY': "+name)
		}
	}
	for _, name := range []string{"bucket_credentials", "authorization"} {
		id, err := strconv.Atoi(fmt.Sprint(inputs[name]))
		if x := p.integration(id); err == nil && (x == nil || x.Kind != "aws-s3") {
			c.fail("config", "invalid_input", fmt.Sprintf("'%s' does not reference an AWS S3 integration of this project.", name))
		}
	}
}

var fileTypes = map[string]bool{"S3": true, "AwsS3": true, "S3Compatible": true, "AzureBlob": true}

// checkCompression holds the codec to the file format.
func checkCompression(c checker, d destination) {
	codec, _ := d.config["compression"].(string)
	format, _ := d.config["file_format"].(string)
	format = or(format, "JSONLines")
	if !fileTypes[d.kind] {
		return
	}
	codecs, ok := map[string][]string{"JSONLines": {"gzip", "brotli"}, "Parquet": {"zstd", "lz4", "snappy", "gzip", "brotli"}}[format]
	if !ok {
		c.fail("config", "invalid_input", "File format "+format+" is not supported.")
	} else if codec != "" && !slices.Contains(codecs, codec) {
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
	s.checkNewestValues(c)
	for _, name := range optional[:5] {
		model := hogapi.ModelHogQL
		if name == "filters" {
			model = hogapi.ModelEvents
		}
		if e.Model != model && !absent(c.fields[name]) {
			c.fail(name, "invalid_input", fmt.Sprintf("'%s' is only supported for '%s' not '%s' model", name, model, e.Model))
		}
	}
}

// checkNewestValues holds the optional fields to their types.
func (s *Server) checkNewestValues(c checker) {
	if raw := c.fields["hogql_query"]; !absent(raw) {
		var query string
		c.text("hogql_query", &query)
	}
	if raw := c.fields["hogql_modifiers"]; !absent(raw) {
		c.dictionary("hogql_modifiers")
	}
	for _, name := range []string{"primary_key", "version_key"} {
		var columns []string
		if raw := c.fields[name]; absent(raw) {
			continue
		} else if json.Unmarshal(raw, &columns) != nil {
			c.fail(name, "not_a_list", "Expected a list of items.")
		}
		if len(columns) == 0 {
			c.fail(name, "empty", "This list may not be empty.")
		}
		if slices.Contains(columns, "") {
			c.fail(name, "blank", "This field may not be blank.")
		}
	}
	var mode string
	choice(c, "incremental_mode", &mode, "APPEND", "MERGE")
	var filters []fields
	if raw := c.fields["filters"]; absent(raw) {
		return
	} else if json.Unmarshal(raw, &filters) != nil || slices.ContainsFunc(filters, func(f fields) bool { return f == nil }) {
		c.fail("filters", "invalid_input", "'filters' should be an array of filters")
	}
	for _, f := range filters {
		if kind, _ := asString(f["type"]); !slices.Contains([]string{"event", "hogql", "person"}, kind) {
			c.fail("filters", "invalid_input", "Each filter must have a 'type' of one of: 'event', 'hogql', 'person'")
		}
		if f["data_interval_start"] != nil || f["data_interval_end"] != nil {
			c.fail("filters", "invalid_input", "'data_interval_start' and 'data_interval_end' are run attributes and not 'filters'.")
		}
	}
}
