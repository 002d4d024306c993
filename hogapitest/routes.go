package hogapitest

import (
	"net/http"
	"strings"

	"github.com/hogapi/hogapi"
)

// route is one endpoint. Patterns are below the project's prefix, except for capture.
type route struct {
	op      hogapi.Op
	method  string
	pattern []string
	scope   string
	since   Era // first era that has it; 0 is all
	until   Era // last era that has it; 0 is all
	serve   func(*Server, *request) answer
	handler http.Handler // instead of serve
	root    bool         // not below a project
}

var routes = []route{
	{op: hogapi.OpAppMetricsGet, method: "GET", pattern: split("/app_metrics/{id}"), scope: "plugin:read", until: E2, serve: (*Server).getAppMetrics},
	{op: hogapi.OpAppMetricsErrorDetails, method: "GET", pattern: split("/app_metrics/{id}/error_details"), scope: noScope + "plugin:read", until: E2, serve: (*Server).getErrorDetails},
	{op: hogapi.OpAppMetricsHistoricalExports, method: "GET", pattern: split("/app_metrics/{id}/historical_exports"), scope: "plugin:read", until: E2, serve: (*Server).listHistoricalExports},
	{op: hogapi.OpAppMetricsHistoricalExport, method: "GET", pattern: split("/app_metrics/{id}/historical_exports/{job}"), scope: "plugin:read", until: E2, serve: (*Server).getHistoricalExport},

	{op: hogapi.OpBatchExportsTest, method: "GET", pattern: split("/batch_exports/test"), scope: "batch_export:read", since: E2, serve: (*Server).listTestSteps},
	{op: hogapi.OpBatchExportsRunTestStep, method: "POST", pattern: split("/batch_exports/run_test_step_new"), scope: "batch_export:write", since: E2, serve: (*Server).runTestStep},

	{op: hogapi.OpBatchExportsList, method: "GET", pattern: split("/batch_exports"), scope: "batch_export:read", serve: (*Server).listExports},
	{op: hogapi.OpBatchExportsCreate, method: "POST", pattern: split("/batch_exports"), scope: "batch_export:write", serve: (*Server).createExport},
	{op: hogapi.OpBatchExportsGet, method: "GET", pattern: split("/batch_exports/{id}"), scope: "batch_export:read", serve: (*Server).getExport},
	{op: hogapi.OpBatchExportsUpdate, method: "PATCH", pattern: split("/batch_exports/{id}"), scope: "batch_export:write", serve: (*Server).patchExport},
	{op: hogapi.OpDo, method: "PUT", pattern: split("/batch_exports/{id}"), scope: "batch_export:write", serve: (*Server).putExport},
	{op: hogapi.OpBatchExportsDelete, method: "DELETE", pattern: split("/batch_exports/{id}"), scope: "batch_export:write", serve: (*Server).deleteExport},
	{op: hogapi.OpBatchExportsBackfill, method: "POST", pattern: split("/batch_exports/{id}/backfill"), scope: "batch_export:write", until: E2, serve: (*Server).backfillAction},
	{op: hogapi.OpBatchExportsLogs, method: "GET", pattern: split("/batch_exports/{id}/logs"), scope: noScope + "batch_export:read", serve: (*Server).listExportLogs},
	{op: hogapi.OpBatchExportsPause, method: "POST", pattern: split("/batch_exports/{id}/pause"), scope: "batch_export:write", serve: (*Server).pauseExport},
	{op: hogapi.OpBatchExportsUnpause, method: "POST", pattern: split("/batch_exports/{id}/unpause"), scope: "batch_export:write", serve: (*Server).unpauseExport},

	{op: hogapi.OpBackfillsList, method: "GET", pattern: split("/batch_exports/{id}/backfills"), scope: "batch_export:read", since: E2, serve: (*Server).listBackfills},
	{op: hogapi.OpBackfillsCreate, method: "POST", pattern: split("/batch_exports/{id}/backfills"), scope: "batch_export:write", since: E2, serve: (*Server).createBackfill},
	{op: hogapi.OpBackfillsGet, method: "GET", pattern: split("/batch_exports/{id}/backfills/{backfill}"), scope: "batch_export:read", since: E2, serve: (*Server).getBackfill},
	{op: hogapi.OpBackfillsCancel, method: "POST", pattern: split("/batch_exports/{id}/backfills/{backfill}/cancel"), scope: "batch_export:write", since: E2, serve: (*Server).cancelBackfill},

	{op: hogapi.OpRunsList, method: "GET", pattern: split("/batch_exports/{id}/runs"), scope: "batch_export:read", serve: (*Server).listRuns},
	{op: hogapi.OpRunsGet, method: "GET", pattern: split("/batch_exports/{id}/runs/{run}"), scope: "batch_export:read", serve: (*Server).getRun},
	{op: hogapi.OpRunsCancel, method: "POST", pattern: split("/batch_exports/{id}/runs/{run}/cancel"), scope: "batch_export:write", serve: (*Server).cancelRun},
	{op: hogapi.OpRunsLogs, method: "GET", pattern: split("/batch_exports/{id}/runs/{run}/logs"), scope: noScope + "batch_export:read", serve: (*Server).listRunLogs},
	{op: hogapi.OpRunsRetry, method: "POST", pattern: split("/batch_exports/{id}/runs/{run}/retry"), scope: "batch_export:write", serve: (*Server).retryRun},

	{op: hogapi.OpIntegrationsList, method: "GET", pattern: split("/integrations"), scope: "integration:read", since: E2, serve: (*Server).listIntegrations},
	{op: hogapi.OpIntegrationsCreate, method: "POST", pattern: split("/integrations"), scope: "integration:write", since: E2, serve: (*Server).createIntegration},
	{op: hogapi.OpIntegrationsGet, method: "GET", pattern: split("/integrations/{id}"), scope: "integration:read", since: E2, serve: (*Server).getIntegration},
	{op: hogapi.OpIntegrationsDelete, method: "DELETE", pattern: split("/integrations/{id}"), scope: "integration:write", since: E2, serve: (*Server).deleteIntegration},

	{op: hogapi.OpDashboardsList, method: "GET", pattern: split("/dashboards"), scope: "dashboard:read", serve: (*Server).listDashboards},
	{op: hogapi.OpDashboardsGet, method: "GET", pattern: split("/dashboards/{id}"), scope: "dashboard:read", serve: (*Server).getDashboard},

	{op: hogapi.OpFileDownloadsList, method: "GET", pattern: split("/file_download_batch_exports"), scope: "batch_export:read", since: E4, serve: (*Server).listFileDownloads},
	{op: hogapi.OpFileDownloadsCreate, method: "POST", pattern: split("/file_download_batch_exports"), scope: "batch_export:write", since: E4, serve: (*Server).createFileDownload},
	{op: hogapi.OpFileDownloadsCountRows, method: "POST", pattern: split("/file_download_batch_exports/count_rows"), scope: "batch_export:write", since: E4, serve: (*Server).countRows},
	{op: hogapi.OpFileDownloadsGet, method: "GET", pattern: split("/file_download_batch_exports/{id}"), scope: "batch_export:read", since: E4, serve: (*Server).getFileDownload},
	{op: hogapi.OpFileDownloadsCancel, method: "POST", pattern: split("/file_download_batch_exports/{id}/cancel"), scope: "batch_export:write", since: E4, serve: (*Server).cancelFileDownload},
	{op: hogapi.OpFileDownloadsDownload, method: "GET", pattern: split("/file_download_batch_exports/{id}/download"), scope: "batch_export:read", since: E4, serve: (*Server).downloadFile},
	{op: hogapi.OpFileDownloadsDownload, method: "GET", pattern: split("/file_download_batch_exports/{id}/download/{part}"), scope: "batch_export:read", since: E4, serve: (*Server).downloadFile},
	{op: hogapi.OpIngestionWarningsList, method: "GET", pattern: split("/ingestion_warnings_v2"), scope: "ingestion_warning:read", since: E4, serve: (*Server).listWarnings},

	{op: hogapi.OpDo, method: "POST", pattern: split("/query"), scope: "query:read", serve: (*Server).query},

	{op: hogapi.OpCapture, method: "POST", pattern: split("/batch"), root: true},
	{op: hogapi.OpPreflight, method: "POST", pattern: split("/flags"), root: true, serve: (*Server).flags},
	{op: OpStorage, method: "GET", pattern: split("/" + storageSegment + "/{file}"), root: true, serve: (*Server).serveFile},
}

// noScope marks an endpoint that declares its scope since E3 only: before, every personal key is refused there.
const noScope = "since E3: "

// match finds the route of a path and what its parameters are. A path that the era knows with another method only gives an empty
// route and known true. A route that the era does not have is found where no other one fits.
func (s *Server) match(method, path string) (found route, params map[string]string, known bool) {
	if !strings.HasPrefix(path, s.pathPrefix) {
		return route{}, nil, false
	}
	segments := split(path[len(s.pathPrefix):])
	for _, r := range s.routes {
		values, ok := r.match(segments)
		switch {
		case !ok:
		case r.method == method && r.exists(s.era):
			return r, values, true
		case r.exists(s.era):
			known = true
		case r.method == method && found.method == "":
			found, params = r, values
		}
	}
	if known {
		return route{}, params, true
	}
	return found, params, false
}

func (r route) match(segments []string) (map[string]string, bool) {
	params := map[string]string{}
	if !r.root {
		if len(segments) < 3 || segments[0] != "api" || (segments[1] != "environments" && segments[1] != "projects") {
			return nil, false
		}
		params["prefix"], params["project"] = segments[1], segments[2]
		segments = segments[3:]
	}
	if len(segments) != len(r.pattern) {
		return nil, false
	}
	for i, want := range r.pattern {
		if name, ok := strings.CutPrefix(want, "{"); ok {
			params[strings.TrimSuffix(name, "}")] = segments[i]
		} else if segments[i] != want {
			return nil, false
		}
	}
	return params, true
}

// exists reports whether the era has the route. An absent one is known to the fake and answered 404 "Endpoint not found.".
func (r route) exists(e Era) bool {
	return (r.since == 0 || e >= r.since) && (r.until == 0 || e <= r.until)
}
