package hogapitest_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

func TestLogs(t *testing.T) {
	over(t, []hogapitest.Option{hogapitest.WithWorkingLogs()}, func(t *testing.T, w *wire) {
		p := w.project()
		export := p.AddExport(hogapitest.Export{})
		run := p.AddRun(export, hogapitest.Run{})
		for i := range 60 {
			p.AddLog(export, hogapitest.LogEntry{Time: now.Add(-time.Duration(i) * time.Minute), Message: fmt.Sprintf("Line %d", i)})
		}
		p.AddLog(export, hogapitest.LogEntry{Time: now.Add(-time.Hour), Level: "ERROR", Message: "It BROKE", RunID: run})
		path := "/batch_exports/" + export.String() + "/logs/"

		page := w.get("%s", path)
		assert.Equal(t, 50.0, page["count"], "of this answer")
		assert.Nil(t, page["next"])
		first := results(page)[0]
		assert.Equal(t, "Line 0", first["message"])
		assert.Equal(t, "INFO", first["level"])
		assert.Equal(t, export.String(), first["log_source_id"])
		assert.Equal(t, "2026-03-04T12:00:00Z", first["timestamp"])

		count := func(query string) int { return len(results(w.get("%s?%s", path, query))) }
		assert.Equal(t, 61, count("limit=500"))
		assert.Equal(t, 3, count("limit=3"))
		assert.Equal(t, 1, count("limit=500&level=error"))
		assert.Equal(t, 1, count("limit=500&level=ERROR,DEBUG"))
		assert.Equal(t, 1, count("limit=500&level=ERROR&level=DEBUG"))
		assert.Equal(t, 1, count("search=broke"))
		assert.Equal(t, 5, count("after=2026-03-04T11:55:00Z"), "exclusive")
		assert.Equal(t, 1, count("limit=500&before=2026-03-04T11:01:00Z"), "exclusive")
		for _, query := range []string{"limit=0", "limit=501", "limit=x", "after=yesterday", "after=-7d"} {
			w.refused(400, "invalid_input", "GET", path+"?"+query, "")
		}
		for query, want := range map[string]int{"level=WARN": 0, "search=%25BR_KE": 1, `search=BR\_KE`: 0, `search=Line+1%25`: 11, `search=Line+1\%25`: 0} {
			assert.Equal(t, want, count(query), query)
		}
		p.AddLog(export, hogapitest.LogEntry{Time: now.AddDate(0, 0, -8)})
		assert.Equal(t, 61, count("limit=500"), "the last 7 days")
		assert.Equal(t, 62, count("limit=500&after=1970-01-01T00:00:00Z"))
		assert.Empty(t, results(w.get("%s?before=2026-02-25T12:00:00Z", path)), "not the lines before, either")
		of := results(w.get("/batch_exports/%s/runs/%s/logs/", export, run))
		require.Len(t, of, 1)
		assert.Equal(t, "It BROKE", of[0]["message"])
		assert.NotEqual(t, run.String(), of[0]["instance_id"], "the id of the workflow")
		w.refused(404, "not_found", "GET", "/batch_exports/"+uuid.NewString()+"/logs/", "")
	})
}

func TestRunsWriteLogs(t *testing.T) {
	w, export := withExport(t, hogapitest.WithPolls(1))
	w.project().FailNextRuns(1, "no such bucket")
	w.project().AddRun(export, hogapitest.Run{Status: "Running"})
	w.get("/batch_exports/%s/runs/", export)
	lines := results(w.get("/batch_exports/%s/logs/", export))
	require.Len(t, lines, 1)
	assert.Equal(t, "ERROR", lines[0]["level"])
	assert.Contains(t, lines[0]["message"], "no such bucket")
}

func TestAppMetricsOfAnExport(t *testing.T) {
	w, export := withExport(t, hogapitest.WithOldService())
	for i, status := range []hogapi.RunStatus{"Failed", "Completed", "Completed", "Cancelled", "FailedBilling"} {
		w.project().AddRun(export, hogapitest.Run{Status: status, Created: now.Add(-time.Duration(i) * day)})
	}
	got := w.get("/app_metrics/%s/", export)
	metrics := got["metrics"].(map[string]any)
	assert.Equal(t, []any{"2026-03-02", "2026-03-03", "2026-03-04"}, metrics["dates"])
	assert.Equal(t, []any{1.0, 1.0, 0.0}, metrics["successes"])
	assert.Equal(t, []any{0.0, 0.0, 1.0}, metrics["failures"])
	assert.Nil(t, got["errors"])
}

// The rows of runs are in the table app_metrics of HogQL, by the id of the run.
func TestAppMetricsInQueries(t *testing.T) {
	w, export := withExport(t)
	run := w.project().AddRun(export, hogapitest.Run{Records: 412, Created: now.Add(-day)})
	for _, status := range []hogapi.RunStatus{"Failed", "FailedBilling", "Cancelled", "Terminated"} {
		w.project().AddRun(export, hogapitest.Run{Status: status, Records: 7, Created: now.Add(-2 * day)})
	}
	w.project().AddRun(export, hogapitest.Run{Status: "Running", Created: now})
	values := map[string]any{"export": export.String()}
	const where = " FROM app_metrics WHERE app_source = 'batch_export' AND app_source_id = {export}"
	assert.JSONEq(t, `[["canceled",1],["failed",1],["failed_billing",1],["rows_exported",412],["succeeded",1]]`,
		w.rows("SELECT metric_name, sum(count) AS n"+where+" GROUP BY metric_name ORDER BY metric_name", values))
	assert.JSONEq(t, `[["`+run.String()+`","2026-03-03T12:01:00Z",412]]`,
		w.rows("SELECT instance_id, timestamp, count"+where+" AND metric_kind = 'rows' AND count > 0", values))
	assert.JSONEq(t, `[[4,4,8]]`, w.rows("SELECT countIf(instance_id != '') AS named, countIf(metric_kind = 'rows') AS rows, count() AS n"+where, values))
	assert.JSONEq(t, `[[0]]`, w.rows("SELECT count() AS n"+where, map[string]any{"export": "another"}))
	status, _ := w.call("POST", "/query/", hogQL("SELECT properties.x FROM app_metrics", nil))
	assert.Equal(t, 400, status, "events have properties")
}

// Group types get numbers in the order of arrival, but a sixth one does not.
func TestGroupTypes(t *testing.T) {
	w := inProcess(t, hogapitest.WithPersonalKey(hogapitest.DefaultPersonalKey), hogapitest.WithPersonalKey("phx_other", "query:read"))
	for _, e := range []hogapitest.StoredEvent{
		{Event: "e", Properties: []byte(`{"$group_type":"no event about a group","$groups":{"company":"acme","team":7}}`)},
		{Event: "$groupidentify", Properties: []byte(`{"$group_type":"seat","$group_key":"1"}`)},
		{Event: "e", Properties: []byte(`{"$groups":{"team":"a","d":1,"e":1,"f":1}}`)}, {Event: "e", Properties: []byte(`{"$groups":[]}`)},
	} {
		w.project().AddEvent(e)
	}
	var list []map[string]any
	require.NoError(t, json.Unmarshal([]byte(w.sent("GET", w.prefix+"/groups_types/", nil).text), &list))
	for i, kind := range []string{"company", "team", "seat", "d", "e"} {
		require.Equal(t, []any{kind, float64(i)}, []any{list[i]["group_type"], list[i]["group_type_index"]})
	}
	assert.Len(t, list, 5)
	w.key = "phx_other"
	assert.Equal(t, "API key missing required scope 'group:read'", w.refused(403, "permission_denied", "GET", "/groups_types/", ""))
}

func TestDashboards(t *testing.T) {
	w := inProcess(t)
	p := w.project()
	p.AddDashboard(hogapitest.Dashboard{Name: "b", Tags: []string{"x"}})
	p.AddDashboard(hogapitest.Dashboard{Name: "a", Description: "Sales"})
	p.AddDashboard(hogapitest.Dashboard{Name: "c", Pinned: true, Extra: map[string]any{"created_by": nil, "user_access_level": nil, "name": nil}})
	p.AddDashboard(hogapitest.Dashboard{Name: "gone", Deleted: true})
	hidden := p.AddDashboard(hogapitest.Dashboard{Name: "hidden", Mode: hogapi.CreationModeUnlisted})
	list := results(w.get("/dashboards/"))
	assert.Equal(t, []any{nil, "a", "b"}, pluck(list, "name"), "pinned first, then by name, deleted and unlisted left out")
	assert.Equal(t, []any{"hidden"}, pluck(results(w.get("/dashboards/?creation_mode=unlisted")), "name"))
	assert.Equal(t, "hidden", w.get("/dashboards/%d/", hidden)["name"])
	w.refused(404, "not_found", "GET", fmt.Sprintf("/dashboards/%d/?creation_mode=default", hidden), "")
	assert.Nil(t, list[0]["created_by"])
	user := list[1]["created_by"].(map[string]any)
	assert.Contains(t, user, "hedgehog_config")
	assert.Nil(t, user["role_at_organization"])
	assert.Equal(t, []any{}, list[1]["tags"])
	assert.Equal(t, []any{"a"}, pluck(results(w.get("/dashboards/?search=SALES")), "name"))
	assert.Equal(t, []any{"b"}, pluck(results(w.get("/dashboards/?tags=x")), "name"))

	p.AddDashboard(hogapitest.Dashboard{Name: "Revenue", Tags: []string{"y"}, Folder: "f", Extra: map[string]any{"description": "sales"}})
	p.AddDashboard(hogapitest.Dashboard{Name: "Sales and more", Tags: []string{"z"}})
	for query, want := range map[string][]any{
		"tags=y&tags=z": {"Revenue", "Sales and more"}, "search=sales": {"Sales and more", "a"}, "search=Z": {"Sales and more"},
		"search=salesandmore": {"Sales and more"}, "search=qqq": {}, "folder=f": {"Revenue"}, "folder=": {nil, "Sales and more", "a", "b"},
	} {
		assert.ElementsMatch(t, want, pluck(results(w.get("/dashboards/?%s", query)), "name"), query)
	}
	assert.Equal(t, "Sales and more", results(w.get("/dashboards/?search=sales"))[0]["name"], "the best first")
	assert.Equal(t, "similar", results(w.get("/dashboards/?search=salesandmore"))[0]["search_match_type"])
	assert.Equal(t, "exact", results(w.get("/dashboards/?search=sales"))[0]["search_match_type"])
	assert.NotContains(t, list[0], "search_match_type")
	w.refused(400, "max_length", "GET", "/dashboards/?search="+strings.Repeat("x", 201), "")
}

func TestWarnings(t *testing.T) {
	w := inProcess(t)
	for _, ago := range []time.Duration{time.Hour, 90 * time.Minute, 47 * time.Hour, 72 * time.Hour} {
		w.project().AddWarning(hogapitest.Warning{Type: "big", Raised: now.Add(-ago)})
	}
	first := func(query string) map[string]any {
		a := w.sent("GET", w.prefix+"/ingestion_warnings_v2/?"+query, nil)
		var rows []map[string]any
		require.NoError(t, json.Unmarshal([]byte(a.text), &rows), a.text)
		return rows[0]
	}
	for query, want := range map[string][]any{
		"":                             {"2026-03-04T10:00:00Z", "2026-03-04T11:00:00Z"},
		"since=-48h":                   {"2026-03-02T13:00:00Z", "2026-03-04T10:00:00Z", "2026-03-04T11:00:00Z"},
		"since=-7d":                    {"2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z", "2026-03-04T00:00:00Z"},
		"since=-7d&until=-2d":          {"2026-03-01T00:00:00Z"},
		"since=-1w&order_by=last_seen": {"2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z", "2026-03-04T00:00:00Z"},
	} {
		var times []any
		for _, point := range first(query)["sparkline"].([]any) {
			times = append(times, point.(map[string]any)["timestamp"])
		}
		assert.Equal(t, want, times, query)
	}
	sample := first("")["samples"].([]any)[0].(map[string]any)
	assert.Equal(t, []any{"plugin-server", "unknown", map[string]any{}}, []any{sample["source"], sample["pipeline_step"], sample["details"]})
	assert.Equal(t, "unknown", first("")["category"])
	for _, query := range []string{"order_by=newest", "since=-1h&until=-2h", "since=lately"} {
		assert.Equal(t, 400, w.sent("GET", w.prefix+"/ingestion_warnings_v2/?"+query, nil).StatusCode, query)
	}
}

// pathOf is the path and query of a link.
func pathOf(t *testing.T, link any) string {
	t.Helper()
	u, err := url.Parse(link.(string))
	require.NoError(t, err)
	return u.RequestURI()
}

func TestOffsetPages(t *testing.T) {
	over(t, nil, func(t *testing.T, w *wire) {
		for i := range 250 {
			w.project().AddDashboard(hogapitest.Dashboard{Name: fmt.Sprintf("%03d", i)})
		}
		var names []any
		path, pages := w.prefix+"/dashboards/", 0
		for next := any(path); next != nil; pages++ {
			if pages > 0 {
				assert.True(t, strings.HasPrefix(next.(string), w.origin+"/api/projects/"), "absolute, under the newer prefix: %s", next)
				path = pathOf(t, next)
			}
			page := w.get("%s", path)
			assert.Equal(t, 250.0, page["count"])
			names = append(names, pluck(results(page), "name")...)
			next = page["next"]
		}
		assert.Equal(t, 3, pages)
		require.Len(t, names, 250)
		assert.Equal(t, "249", names[249])

		for query, want := range map[string]int{"limit=7": 7, "limit=0": 100, "limit=-1": 100, "limit=x": 100, "limit=1000": 250, "offset=240": 10, "offset=-1": 100, "offset=300": 0} {
			assert.Len(t, results(w.get("/dashboards/?%s", query)), want, query)
		}
	})
}

func TestCursorPages(t *testing.T) {
	over(t, nil, func(t *testing.T, w *wire) {
		p := w.project()
		export := p.AddExport(hogapitest.Export{})
		for i := range 250 {
			p.AddRun(export, hogapitest.Run{Created: now.Add(-time.Duration(i/2) * time.Minute)}) // pairs of one moment
		}
		seen := map[any]bool{}
		var sizes []int
		path := fmt.Sprintf("%s/batch_exports/%s/runs/?limit=7", w.prefix, export)
		var page map[string]any
		for {
			page = w.get("%s", path)
			require.NotContains(t, page, "count")
			for _, id := range pluck(results(page), "id") {
				seen[id] = true
			}
			sizes = append(sizes, len(results(page)))
			if page["next"] == nil {
				break
			}
			p.AddRun(export, hogapitest.Run{}) // new rows move nothing
			path = pathOf(t, page["next"])
		}
		assert.Equal(t, []int{100, 100, 50}, sizes)
		assert.Len(t, seen, 250)
		assert.Equal(t, "Invalid cursor", w.refused(404, "not_found", "GET", "/batch_exports/"+export.String()+"/runs/?cursor=%21", ""))
	})
}

func TestLinksOfE1(t *testing.T) {
	w, export := withExport(t, hogapitest.WithOldService())
	w.prefix = "/api/environments/" + hogapitest.DefaultProject
	for range 301 {
		w.project().AddRun(export, hogapitest.Run{})
	}
	first := w.get("/batch_exports/%s/runs/", export)
	assert.Contains(t, first["next"], "/api/environments/", "as asked for")
}
