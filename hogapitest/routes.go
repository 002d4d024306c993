package hogapitest

import (
	"net/http"
	"strings"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/ops"
)

// route is one endpoint. Patterns are below the project's prefix, except for capture.
type route struct {
	op      hogapi.Op
	method  string
	pattern []string
	scope   string
	only    Era // the era that has it; 0 is both
	serve   func(*Server, *request) answer
	handler http.Handler // instead of serve
	root    bool         // not below a project

	protocol protocol // of capture
}

var routes = []route{
	{op: ops.AppMetricsGet, method: "GET", pattern: split("/app_metrics/{id}"), scope: "plugin:read", only: E1, serve: (*Server).getAppMetrics},
	{op: ops.AppMetricsErrorDetails, method: "GET", pattern: split("/app_metrics/{id}/error_details"), scope: noScope + "plugin:read", only: E1, serve: (*Server).getErrorDetails},
	{op: ops.AppMetricsHistoricalExports, method: "GET", pattern: split("/app_metrics/{id}/historical_exports"), scope: "plugin:read", only: E1, serve: (*Server).historicalExports},
	{op: ops.AppMetricsHistoricalExport, method: "GET", pattern: split("/app_metrics/{id}/historical_exports/{job}"), scope: "plugin:read", only: E1, serve: (*Server).historicalExports},

	{op: ops.BatchExportsTest, method: "GET", pattern: split("/batch_exports/test"), scope: "batch_export:read", only: E4, serve: (*Server).listTestSteps},
	{op: ops.BatchExportsRunTestStep, method: "POST", pattern: split("/batch_exports/run_test_step_new"), scope: "batch_export:write", only: E4, serve: (*Server).runTestStep},
	{op: ops.BatchExportsRunTestStepOf, method: "POST", pattern: split("/batch_exports/{id}/run_test_step"), scope: "batch_export:write", only: E4, serve: (*Server).runTestStepOf},

	{op: ops.BatchExportsList, method: "GET", pattern: split("/batch_exports"), scope: "batch_export:read", serve: (*Server).listExports},
	{op: ops.BatchExportsCreate, method: "POST", pattern: split("/batch_exports"), scope: "batch_export:write", serve: (*Server).createExport},
	{op: ops.BatchExportsGet, method: "GET", pattern: split("/batch_exports/{id}"), scope: "batch_export:read", serve: (*Server).getExport},
	{op: ops.BatchExportsUpdate, method: "PATCH", pattern: split("/batch_exports/{id}"), scope: "batch_export:write", serve: (*Server).patchExport},
	{op: ops.BatchExportsDelete, method: "DELETE", pattern: split("/batch_exports/{id}"), scope: "batch_export:write", serve: (*Server).deleteExport},
	{op: ops.BatchExportsBackfill, method: "POST", pattern: split("/batch_exports/{id}/backfill"), scope: "batch_export:write", only: E1, serve: (*Server).backfillAction},
	{op: ops.BatchExportsLogs, method: "GET", pattern: split("/batch_exports/{id}/logs"), scope: noScope + "batch_export:read", serve: (*Server).listExportLogs},
	{op: ops.BatchExportsPause, method: "POST", pattern: split("/batch_exports/{id}/pause"), scope: "batch_export:write", serve: (*Server).pauseExport},
	{op: ops.BatchExportsUnpause, method: "POST", pattern: split("/batch_exports/{id}/unpause"), scope: "batch_export:write", serve: (*Server).unpauseExport},

	{op: ops.BackfillsList, method: "GET", pattern: split("/batch_exports/{id}/backfills"), scope: "batch_export:read", only: E4, serve: (*Server).listBackfills},
	{op: ops.BackfillsCreate, method: "POST", pattern: split("/batch_exports/{id}/backfills"), scope: "batch_export:write", only: E4, serve: (*Server).createBackfill},
	{op: ops.BackfillsGet, method: "GET", pattern: split("/batch_exports/{id}/backfills/{backfill}"), scope: "batch_export:read", only: E4, serve: (*Server).getBackfill},
	{op: ops.BackfillsCancel, method: "POST", pattern: split("/batch_exports/{id}/backfills/{backfill}/cancel"), scope: "batch_export:write", only: E4, serve: (*Server).cancelBackfill},

	{op: ops.RunsList, method: "GET", pattern: split("/batch_exports/{id}/runs"), scope: "batch_export:read", serve: (*Server).listRuns},
	{op: ops.RunsGet, method: "GET", pattern: split("/batch_exports/{id}/runs/{run}"), scope: "batch_export:read", serve: (*Server).getRun},
	{op: ops.RunsCancel, method: "POST", pattern: split("/batch_exports/{id}/runs/{run}/cancel"), scope: "batch_export:write", serve: (*Server).cancelRun},
	{op: ops.RunsLogs, method: "GET", pattern: split("/batch_exports/{id}/runs/{run}/logs"), scope: noScope + "batch_export:read", serve: (*Server).listRunLogs},
	{op: ops.RunsRetry, method: "POST", pattern: split("/batch_exports/{id}/runs/{run}/retry"), scope: "batch_export:write", serve: (*Server).retryRun},

	{op: ops.IntegrationsList, method: "GET", pattern: split("/integrations"), scope: "integration:read", only: E4, serve: (*Server).listIntegrations},
	{op: ops.IntegrationsCreate, method: "POST", pattern: split("/integrations"), scope: "integration:write", only: E4, serve: (*Server).createIntegration},
	{op: ops.IntegrationsGet, method: "GET", pattern: split("/integrations/{id}"), scope: "integration:read", only: E4, serve: (*Server).getIntegration},
	{op: ops.IntegrationsDelete, method: "DELETE", pattern: split("/integrations/{id}"), scope: "integration:write", only: E4, serve: (*Server).deleteIntegration},

	{op: ops.DashboardsList, method: "GET", pattern: split("/dashboards"), scope: "dashboard:read", serve: (*Server).listDashboards},
	{op: ops.DashboardsGet, method: "GET", pattern: split("/dashboards/{id}"), scope: "dashboard:read", serve: (*Server).getDashboard},

	{op: ops.FileDownloadsList, method: "GET", pattern: split("/file_download_batch_exports"), scope: "batch_export:read", only: E4, serve: (*Server).listFileDownloads},
	{op: ops.FileDownloadsCreate, method: "POST", pattern: split("/file_download_batch_exports"), scope: "batch_export:write", only: E4, serve: (*Server).createFileDownload},
	{op: ops.FileDownloadsCountRows, method: "POST", pattern: split("/file_download_batch_exports/count_rows"), scope: "batch_export:write", only: E4, serve: (*Server).countRows},
	{op: ops.FileDownloadsGet, method: "GET", pattern: split("/file_download_batch_exports/{id}"), scope: "batch_export:read", only: E4, serve: (*Server).getFileDownload},
	{op: ops.FileDownloadsCancel, method: "POST", pattern: split("/file_download_batch_exports/{id}/cancel"), scope: "batch_export:write", only: E4, serve: (*Server).cancelFileDownload},
	{op: ops.FileDownloadsLogs, method: "GET", pattern: split("/file_download_batch_exports/{id}/logs"), scope: "batch_export:read", only: E4, serve: (*Server).listDownloadLogs},
	{op: ops.FileDownloadsDownload, method: "GET", pattern: split("/file_download_batch_exports/{id}/download"), scope: "batch_export:read", only: E4, serve: (*Server).downloadFile},
	{op: ops.FileDownloadsDownload, method: "GET", pattern: split("/file_download_batch_exports/{id}/download/{part}"), scope: "batch_export:read", only: E4, serve: (*Server).downloadFile},
	{op: ops.IngestionWarningsList, method: "GET", pattern: split("/ingestion_warnings_v2"), scope: "ingestion_warning:read", only: E4, serve: (*Server).listWarnings},

	{op: ops.ActivityLog, method: "GET", pattern: split("/activity_log"), scope: "activity_log:read", only: E4, serve: (*Server).listActivity},

	{op: ops.DataDeletionsList, method: "GET", pattern: split("/data_deletion_requests"), scope: "data_deletion:read", only: E4, serve: deletions((*Server).listDeletions)},
	{op: ops.DataDeletionsCreate, method: "POST", pattern: split("/data_deletion_requests"), scope: "data_deletion:write", only: E4, serve: deletions((*Server).createDeletion)},
	{op: ops.DataDeletionsPreview, method: "POST", pattern: split("/data_deletion_requests/preview"), scope: "data_deletion:write", only: E4, serve: deletions((*Server).previewDeletion)},
	{op: ops.DataDeletionsGet, method: "GET", pattern: split("/data_deletion_requests/{id}"), scope: "data_deletion:read", only: E4, serve: deletions((*Server).getDeletion)},

	{op: OpGroupTypes, method: "GET", pattern: split("/groups_types"), scope: "group:read", serve: (*Server).listGroupTypes},
	{op: ops.Query, method: "POST", pattern: split("/query"), scope: "query:read", serve: (*Server).query},

	{op: ops.Capture, method: "POST", pattern: split("/batch"), root: true, protocol: protocolBatch},
	{op: ops.Capture, method: "POST", pattern: split("/i/v1/analytics/events"), root: true, protocol: protocolV1, only: E4},
	{op: ops.Preflight, method: "POST", pattern: split("/flags"), root: true, serve: (*Server).flags},
	{op: OpStorage, method: "GET", pattern: split("/" + storageSegment + "/{file}"), root: true, serve: (*Server).serveFile},
}

// noScope marks an endpoint that declares its scope in E4 only: in E1, every personal key is refused there.
const noScope = "in E4: "

// match finds the route of a path and its parameters. A path that the era knows with another method only gives an empty
// route and known true. A route that the era does not have is found where no other one fits.
func (s *Server) match(method, path string) (found route, params map[string]string, known bool) {
	segments := split(path)
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
	return r.only == 0 || r.only == e
}
