package hogapitest_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/integration"
)

// notPlayed are the operations that the fake does not have, or that answer without JSON.
var notPlayed = map[string]string{
	"batch_exports.replace":   "PATCH does it, and PUT resets what is not sent",
	"file_downloads.download": "a redirect to the file",
}

// beyond are keys of the fake's answers that the contract lacks, and required ones that answers leave out.
var beyond = map[string]string{
	"DashboardBasic.search_match_type": "in answers to a search only",
}

// contractWorld is a server with one of each resource, and the ids of them by operation and by resource.
func contractWorld(t *testing.T) (w *wire, ids map[string]string) {
	w = inProcess(t, hogapitest.WithDataDeletions(), hogapitest.WithWorkingLogs(), hogapitest.WithHogQLExports(), hogapitest.WithShortIntervals())
	w.origin = "https://app.hogapitest.example" // the host of the client
	p := w.project()
	export := p.AddExport(hogapitest.Export{Integration: 1})
	query := p.AddExport(hogapitest.Export{Model: hogapi.ModelHogQL, Interval: hogapi.IntervalWeek, Extra: map[string]any{"hogql_query": "SELECT 1"}})
	run := p.AddRun(export, hogapitest.Run{})
	p.AddRun(export, hogapitest.Run{Status: "Failed"})
	running := p.AddRun(export, hogapitest.Run{Status: "Running", Created: now})
	p.AddLog(export, hogapitest.LogEntry{RunID: run})
	p.AddWarning(hogapitest.Warning{Type: "t", Details: map[string]any{"a": 1}})
	p.AddDashboard(hogapitest.Dashboard{Name: "d", Tiles: []map[string]any{{}}, Tags: []string{"x"}})
	ids = map[string]string{
		"batch_exports": export.String(), "hogql": query.String(), "runs": run.String(), "runs.cancel": running.String(), "integrations": "1", "dashboards": "1",
		"file_downloads":        p.AddFileDownload(hogapitest.FileDownload{Files: []hogapitest.File{{Content: []byte("a")}}}).String(),
		"file_downloads.cancel": p.AddFileDownload(hogapitest.FileDownload{Status: "Running"}).String(),
	}
	p.AddLog(uuid.MustParse(ids["file_downloads"]), hogapitest.LogEntry{})
	made := w.want(201, "POST", "/batch_exports/"+export.String()+"/backfills/", `{"start_at":"2026-03-04T01:00:00Z","end_at":"2026-03-04T04:00:00Z"}`)
	ids["backfills"] = made["backfill_id"].(string)
	ids["data_deletions"] = w.want(201, "POST", "/data_deletion_requests/", deletion(deletionQuery, submission, `{}`))["id"].(string)
	ids["integrations.delete"] = fmt.Sprint(p.AddIntegration(hogapitest.Integration{}))
	return w, ids
}

var bodies = map[string]string{
	"batch_exports.create": `{"name":"n","interval":"hour","destination":{"type":"AwsS3","integration":1,"config":` + bucketConfig + `}}`,
	"batch_exports.update": `{"name":"m"}`, "batch_exports.unpause": `{"backfill":false}`, "backfills.create": `{"start_at":"2026-03-04T01:00:00Z","end_at":"2026-03-04T04:00:00Z"}`,
	"batch_exports.run_test_step":    `{"step":0,"name":"n","interval":"hour","destination":{"type":"AwsS3","integration":1,"config":` + bucketConfig + `}}`,
	"batch_exports.run_test_step_of": `{"step":1,"name":"n","interval":"hour","destination":{"type":"AwsS3","integration":1,"config":{}}}`,
	"file_downloads.create":          `{"model":"events","file":{},"data_interval_start":"2026-03-03T00:00:00Z","data_interval_end":"2026-03-04T00:00:00Z"}`,
	"file_downloads.count_rows":      `{"model":"hogql","hogql_query":"SELECT 1"}`,
	"data_deletions.create":          deletion(deletionQuery, uuid.NewString(), `{}`), "data_deletions.preview": deletion(deletionQuery, "", `{}`),
	"integrations.create": `{"kind":"aws-s3","config":{"name":"other","aws_access_key_id":"i","aws_secret_access_key":"k"}}`,
}

// of is the path of an operation in a world.
func (o operation) of(ids map[string]string) string {
	resource, _, _ := strings.Cut(o.Op, ".")
	id := ids[o.Op]
	if id == "" {
		id = ids[resource]
	}
	return strings.NewReplacer("{batch_export_id}", ids["batch_exports"], "{id}", id, "{part}", "0").Replace(o.Path)
}

// Every answer of the fake fits the contract, and every parameter of a query that the contract allows is taken.
func TestContractFakeFits(t *testing.T) {
	for _, c := range contracts(t) {
		for _, o := range c.Operations {
			if notPlayed[o.Op] != "" {
				continue
			}
			w, ids := contractWorld(t)
			path := w.prefix + o.of(ids)
			if o.Op == "activity_log.list" {
				path += "?scope=BatchExport&item_id=" + ids["batch_exports"]
			} else if o.Op == "batch_exports.test" {
				path += "?destination=AwsS3"
			}
			a := w.sent(o.Method, path, []byte(bodies[o.Op]))
			assert.Contains(t, o.Statuses, a.StatusCode, "%s: %s", o.Op, a.text)
			assert.Less(t, a.StatusCode, 300, "%s: %s", o.Op, a.text)
			kind, name, isList := strings.Cut(o.Response, ":")
			if !isList {
				name = kind
			}
			if name == "" {
				continue
			}
			var answer any
			require.NoError(t, json.Unmarshal([]byte(a.text), &answer), "%s: %s", o.Op, a.text)
			rows := []any{answer}
			if page, ok := answer.(map[string]any); ok && isList {
				want := []string{"next", "previous", "results"}
				if kind == "offset_page" {
					want = append(want, "count")
				}
				assert.ElementsMatch(t, want, slices.Collect(maps.Keys(page)), o.Op)
				rows = page["results"].([]any)
			} else if isList {
				rows = answer.([]any)
			}
			assert.NotEmpty(t, rows, "%s: nothing is compared", o.Op)
			for _, row := range rows {
				assert.Empty(t, mismatch(c, name, c.Types[name], row, beyond), o.Op)
			}
			for _, parameter := range o.Query {
				if skipped[parameter.Name] != "" || skipped[o.Op] != "" {
					continue
				}
				for _, value := range values(c, parameter, 0) {
					if since, ok := relative[parameter.Name]; ok && parameter.Format == "" {
						value = since
					}
					sep := map[bool]string{true: "&", false: "?"}[strings.Contains(path, "?")]
					query := sep + parameter.Name + "=" + url.QueryEscape(fmt.Sprint(value))
					got := w.sent(o.Method, path+query, []byte(bodies[o.Op]))
					assert.Less(t, got.StatusCode, 300, "%s%s: %s", o.Op, query, got.text)
				}
			}
		}
	}
}

// skipped are parameters, and operations with parameters, that are not tried.
var skipped = map[string]string{
	"cursor": "of an answer", "format": "the client reads JSON only", "page": "pages by number are not played", "item_id": "is there",
	"runs.get": "they filter the run itself", "runs.logs": "the same",
}

var relative = map[string]string{"after": "-3d", "start": "-3d", "since": "-3d", "before": "-1h", "end": "-1h", "until": "-1h"}

// requests make an export, change one or make a file download with the fields of a body, through the client.
func requests(w *wire, ids map[string]string, name string, body []byte) error {
	client, ctx := w.Client(w.t), w.t.Context()
	var err error
	switch name {
	case "BatchExportRequest":
		var r hogapi.BatchExportRequest
		if err = json.Unmarshal(body, &r); err == nil {
			r.Model = hogapi.Model(or(string(r.Model), "events")) // the client wants one
			_, err = client.BatchExports.Create(ctx, r)
		}
	case "BatchExportPatch":
		var r hogapi.BatchExportUpdateRequest
		if err = json.Unmarshal(body, &r); err == nil {
			_, err = client.BatchExports.Update(ctx, uuid.MustParse(ids["batch_exports"]), r)
		}
	case "FileDownloadRequest":
		var r hogapi.FileDownloadRequest
		if err = json.Unmarshal(body, &r); err == nil {
			_, err = client.FileDownloads.Create(ctx, r)
		}
	}
	return err
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// allowed are values of a field of a request, where the type alone does not tell them.
var allowed = map[string][]any{
	"filters": {nil, []any{}, []any{map[string]any{"type": "event", "key": "k"}}}, "timezone": {nil, "Europe/Berlin"}, "destination": {}, "file": {},
	"data_interval_start": {"2026-03-03T00:00:00Z", "2026-03-03T02:00:00+02:00"}, "data_interval_end": {"2026-03-03T05:00:00Z"},
	"integration": {}, "integration_id": {},
}

// needs are the other fields that a value of a field needs.
func needs(name string, value any) map[string]any {
	switch {
	case name == "offset_day":
		return map[string]any{"interval": "week", "offset_hour": 1}
	case name == "offset_hour":
		return map[string]any{"interval": "day"}
	case value == nil:
		return nil
	case name == "model" && value == "hogql", name == "hogql_modifiers", name == "primary_key", name == "version_key":
		return map[string]any{"model": "hogql", "hogql_query": "SELECT 1"}
	case name == "hogql_query":
		return map[string]any{"model": "hogql"}
	case name == "incremental_mode" && value == "MERGE":
		return map[string]any{"model": "hogql", "hogql_query": "SELECT 1", "primary_key": []string{"a"}}
	}
	return nil
}

// Every request that the contract allows is taken by the client and the fake.
func TestContractRequestsAreTaken(t *testing.T) {
	all := contracts(t)
	try := func(name, path string, body map[string]any) {
		w, ids := contractWorld(t)
		if body["model"] == "hogql" {
			ids["batch_exports"] = ids["hogql"]
		}
		text, err := json.Marshal(body)
		require.NoError(t, err)
		assert.NoError(t, requests(w, ids, name, text), "the client: %s %s", name, text)
		bodiesFit(t, w, all, map[string]bool{})
		w, ids = contractWorld(t)
		method := "POST"
		if name == "BatchExportPatch" {
			if method = "PATCH"; body["model"] == "hogql" {
				ids["batch_exports"] = ids["hogql"]
			}
			path += ids["batch_exports"] + "/"
		}
		status, answer := w.call(method, path, string(text))
		assert.Less(t, status, 300, "the fake: %s %s: %v", name, text, answer)
	}
	for _, r := range []struct{ resource, name, path, minimal string }{
		{"batch-exports", "BatchExportRequest", "/batch_exports/", bodies["batch_exports.create"]}, {"batch-exports", "BatchExportPatch", "/batch_exports/", `{}`},
		{"file-downloads", "FileDownloadRequest", "/file_download_batch_exports/", bodies["file_downloads.create"]},
	} {
		for _, f := range all[r.resource].Types[r.name] {
			list, ok := allowed[f.Name]
			if !ok {
				list = values(all[r.resource], f, 0)
			}
			for _, value := range list {
				columns, isKey := value.([]any)
				switch {
				case isKey && strings.HasSuffix(f.Name, "_key") && len(columns) == 0, isKey && (f.Name == "include" || f.Name == "exclude") && len(columns) == 0:
					continue // the contract's notes: no empty list; an empty filter is none
				case r.name == "BatchExportPatch" && f.Name == "model" && value != "events" && value != "hogql":
					continue // a change of the model is refused
				}
				body := map[string]any{}
				require.NoError(t, json.Unmarshal([]byte(r.minimal), &body))
				maps.Copy(body, needs(f.Name, value))
				body[f.Name] = value
				try(r.name, r.path, body)
			}
		}
	}
	for _, f := range all["file-downloads"].Types["File"] {
		for _, value := range values(all["file-downloads"], f, 0) {
			body := map[string]any{}
			require.NoError(t, json.Unmarshal([]byte(bodies["file_downloads.create"]), &body))
			body["file"] = map[string]any{f.Name: value}
			try("FileDownloadRequest", "/file_download_batch_exports/", body)
		}
	}
	kinds := map[string]integration.Kind{
		"AwsS3": "aws-s3", "S3Compatible": "s3-compatible", "Snowflake": "snowflake", "Postgres": "postgresql", "Redshift": "aws-redshift",
		"BigQuery": "google-cloud-service-account", "Databricks": "databricks", "AzureBlob": "azure-blob",
	}
	c := all["destinations"]
	for kind, of := range kinds {
		minimal := map[string]any{}
		for _, f := range c.Types[kind] {
			if f.Required {
				minimal[f.Name] = "text"
			}
		}
		if kind == "Redshift" {
			minimal["host"] = "h"
		}
		for _, f := range c.Types[kind] {
			for _, value := range values(c, f, 0) {
				config := maps.Clone(minimal)
				config[f.Name] = value
				switch {
				case f.Name == "legacy_parquet_extension" && value == true:
					continue // only where an old export has it
				case f.Name == "compression":
					config["file_format"] = "Parquet"
				case f.Name == "copy_inputs", f.Name == "mode" && value == "COPY":
					config["mode"], config["copy_inputs"] = "COPY", map[string]any{"s3_bucket": "b", "region_name": "r", "s3_key_prefix": "p", "authorization": "arn:r", "bucket_credentials": 1}
				}
				w, ids := contractWorld(t)
				id := w.project().AddIntegration(hogapitest.Integration{Kind: of, Config: map[string]any{"name": "n"}})
				text, err := json.Marshal(map[string]any{"name": "n", "interval": "hour", "destination": map[string]any{"type": kind, "config": config, "integration": id}})
				require.NoError(t, err)
				assert.NoError(t, requests(w, ids, "BatchExportRequest", text), "%s", text)
				bodiesFit(t, w, all, map[string]bool{})
			}
		}
	}
}

// mismatch says how a value differs from a type of the contract. Keys that the contract lacks are listed in more, with a reason.
func mismatch(c contract, at string, fields []field, value any, more map[string]string) (list []string) {
	object, ok := value.(map[string]any)
	if !ok {
		return []string{fmt.Sprintf("%s: no object: %v", at, value)}
	}
	byName := map[string]field{}
	for _, f := range fields {
		byName[f.Name] = f
		if _, ok := object[f.Name]; !ok && f.Required && !f.WriteOnly && more[at+"."+f.Name] == "" {
			list = append(list, at+"."+f.Name+": missing")
		}
	}
	for name, v := range object {
		f, ok := byName[name]
		if !ok && more[at+"."+name] == "" {
			list = append(list, at+"."+name+": unknown to the contract")
		} else if ok && more[at+"."+name] == "" {
			list = append(list, differs(c, at+"."+name, f, v, more)...)
		}
	}
	return list
}

func differs(c contract, at string, f field, v any, more map[string]string) (list []string) {
	bad := func(ok bool) []string {
		if ok {
			return nil
		}
		return []string{fmt.Sprintf("%s: %v is no %s %s", at, v, f.Type, f.Format)}
	}
	text, isText := v.(string)
	switch {
	case v == nil:
		return bad(f.Nullable)
	case f.Enum != nil:
		return bad(slices.Contains(f.Enum, v))
	case f.Type == "any":
		return nil
	case f.Type == "string" && f.Format == "uuid":
		return bad(isText && uuid.Validate(text) == nil)
	case f.Type == "string" && f.Format == "date-time":
		_, err := time.Parse(time.RFC3339, text)
		return bad(isText && err == nil)
	case f.Type == "string":
		return bad(isText)
	case f.Type == "integer" || f.Type == "number":
		n, ok := v.(float64)
		return bad(ok && (f.Min == nil || n >= *f.Min) && (f.Max == nil || n <= *f.Max))
	case f.Type == "boolean":
		_, ok := v.(bool)
		return bad(ok)
	case f.Type == "array":
		all, ok := v.([]any)
		for i, element := range all {
			if below, isRef := c.Types[f.Of]; isRef && len(below) > 0 {
				list = append(list, mismatch(c, f.Of, below, element, more)...)
			} else if f.Of == "string" || f.Of == "uuid" {
				list = append(list, differs(c, fmt.Sprintf("%s[%d]", at, i), field{Type: "string", Format: strings.TrimPrefix(f.Of, "string")}, element, more)...)
			}
		}
		return append(list, bad(ok)...)
	case f.Type == "ref":
		return mismatch(c, f.Of, c.Types[f.Of], v, more)
	}
	_, ok := v.(map[string]any)
	return bad(ok)
}
