package endpoints

import (
	"net/http"

	"github.com/hogapi/hogapi/ops"
)

// rows are the endpoints of the management API that this module calls, in the order of PostHog's
// API reference. For logs and error details, older servers declare no scope and refuse all personal
// keys.
var rows = table(
	Row{ops.AppMetricsGet, http.MethodGet, "/app_metrics/{id}/", "plugin:read", Safe},
	Row{ops.AppMetricsErrorDetails, http.MethodGet, "/app_metrics/{id}/error_details/", "plugin:read", Safe},
	Row{ops.AppMetricsHistoricalExports, http.MethodGet, "/app_metrics/{plugin_config_id}/historical_exports/", "plugin:read", Safe},
	Row{ops.AppMetricsHistoricalExport, http.MethodGet, "/app_metrics/{plugin_config_id}/historical_exports/{id}/", "plugin:read", Safe},

	Row{ops.BatchExportsList, http.MethodGet, "/batch_exports/", "batch_export:read", Safe},
	Row{ops.BatchExportsCreate, http.MethodPost, "/batch_exports/", "batch_export:write", Never},
	Row{ops.BatchExportsGet, http.MethodGet, "/batch_exports/{id}/", "batch_export:read", Safe},
	Row{ops.BatchExportsUpdate, http.MethodPatch, "/batch_exports/{id}/", "batch_export:write", Idempotent},
	Row{ops.BatchExportsDelete, http.MethodDelete, "/batch_exports/{id}/", "batch_export:write", Idempotent},
	Row{ops.BatchExportsBackfill, http.MethodPost, "/batch_exports/{id}/backfill/", "batch_export:write", Never},
	Row{ops.BatchExportsLogs, http.MethodGet, "/batch_exports/{id}/logs/", "batch_export:read", Safe},
	Row{ops.BatchExportsPause, http.MethodPost, "/batch_exports/{id}/pause/", "batch_export:write", Idempotent},
	Row{ops.BatchExportsUnpause, http.MethodPost, "/batch_exports/{id}/unpause/", "batch_export:write", Idempotent},

	Row{ops.RunsList, http.MethodGet, "/batch_exports/{batch_export_id}/runs/", "batch_export:read", Safe},
	Row{ops.RunsGet, http.MethodGet, "/batch_exports/{batch_export_id}/runs/{id}/", "batch_export:read", Safe},
	Row{ops.RunsCancel, http.MethodPost, "/batch_exports/{batch_export_id}/runs/{id}/cancel/", "batch_export:write", Never},
	Row{ops.RunsLogs, http.MethodGet, "/batch_exports/{batch_export_id}/runs/{id}/logs/", "batch_export:read", Safe},
	Row{ops.RunsRetry, http.MethodPost, "/batch_exports/{batch_export_id}/runs/{id}/retry/", "batch_export:write", Never},

	Row{ops.DashboardsList, http.MethodGet, "/dashboards/", "dashboard:read", Safe},
	Row{ops.DashboardsGet, http.MethodGet, "/dashboards/{id}/", "dashboard:read", Safe},

	// The newer resource; PostHog's API reference of that time does not list it.
	Row{ops.BackfillsList, http.MethodGet, "/batch_exports/{batch_export_id}/backfills/", "batch_export:read", Safe},
	Row{ops.BackfillsCreate, http.MethodPost, "/batch_exports/{batch_export_id}/backfills/", "batch_export:write", Never},
	Row{ops.BackfillsGet, http.MethodGet, "/batch_exports/{batch_export_id}/backfills/{id}/", "batch_export:read", Safe},
	Row{ops.BackfillsCancel, http.MethodPost, "/batch_exports/{batch_export_id}/backfills/{id}/cancel/", "batch_export:write", Never},

	// On-demand exports and warnings: servers from May 2026.
	Row{ops.FileDownloadsList, http.MethodGet, "/file_download_batch_exports/", "batch_export:read", Safe},
	Row{ops.FileDownloadsCreate, http.MethodPost, "/file_download_batch_exports/", "batch_export:write", Never},
	Row{ops.FileDownloadsGet, http.MethodGet, "/file_download_batch_exports/{id}/", "batch_export:read", Safe},
	Row{ops.FileDownloadsCancel, http.MethodPost, "/file_download_batch_exports/{id}/cancel/", "batch_export:write", Never},
	Row{ops.FileDownloadsDownload, http.MethodGet, "/file_download_batch_exports/{id}/download/{part}/", "batch_export:read", Safe},
	Row{ops.FileDownloadsLogs, http.MethodGet, "/file_download_batch_exports/{id}/logs/", "batch_export:read", Safe},
	Row{ops.FileDownloadsCountRows, http.MethodPost, "/file_download_batch_exports/count_rows/", "batch_export:write", Safe},
	Row{ops.ActivityLog, http.MethodGet, "/activity_log/", "activity_log:read", Safe},
	Row{ops.IngestionWarningsList, http.MethodGet, "/ingestion_warnings_v2/", "ingestion_warning:read", Safe},

	Row{ops.Query, http.MethodPost, "/query/", "query:read", Safe},

	// submission_id identifies a create.
	Row{ops.DataDeletionsList, http.MethodGet, "/data_deletion_requests/", "data_deletion:read", Safe},
	Row{ops.DataDeletionsCreate, http.MethodPost, "/data_deletion_requests/", "data_deletion:write", Idempotent},
	Row{ops.DataDeletionsGet, http.MethodGet, "/data_deletion_requests/{id}/", "data_deletion:read", Safe},
	Row{ops.DataDeletionsPreview, http.MethodPost, "/data_deletion_requests/preview/", "data_deletion:write", Safe},

	Row{ops.BatchExportsTest, http.MethodGet, "/batch_exports/test/", "batch_export:read", Safe},
	Row{ops.BatchExportsRunTestStep, http.MethodPost, "/batch_exports/run_test_step_new/", "batch_export:write", Never},
	Row{ops.BatchExportsRunTestStepOf, http.MethodPost, "/batch_exports/{id}/run_test_step/", "batch_export:write", Never},

	Row{ops.IntegrationsList, http.MethodGet, "/integrations/", "integration:read", Safe},
	Row{ops.IntegrationsCreate, http.MethodPost, "/integrations/", "integration:write", Never},
	Row{ops.IntegrationsGet, http.MethodGet, "/integrations/{id}/", "integration:read", Safe},
	Row{ops.IntegrationsDelete, http.MethodDelete, "/integrations/{id}/", "integration:write", Idempotent},
)

func table(rows ...Row) map[ops.Op]Row {
	m := make(map[ops.Op]Row, len(rows))
	for _, row := range rows {
		m[row.Name] = row
	}
	return m
}
