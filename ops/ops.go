// Package ops has the names of the operations of package hogapi, for hooks, tests and metrics, and the error of bad input.
package ops

// Op names an operation in errors, hooks and logs, for example "batch_exports.get". It never holds
// an id, so it is safe as a metric label.
type Op string

// The operations. Do stands for every call through Client.Do.
const (
	BatchExportsList     Op = "batch_exports.list"
	BatchExportsCreate   Op = "batch_exports.create"
	BatchExportsGet      Op = "batch_exports.get"
	BatchExportsUpdate   Op = "batch_exports.update"
	BatchExportsDelete   Op = "batch_exports.delete"
	BatchExportsBackfill Op = "batch_exports.backfill"
	BatchExportsLogs     Op = "batch_exports.logs"
	BatchExportsPause    Op = "batch_exports.pause"
	BatchExportsUnpause  Op = "batch_exports.unpause"

	BackfillsList   Op = "backfills.list"
	BackfillsCreate Op = "backfills.create"
	BackfillsGet    Op = "backfills.get"
	BackfillsCancel Op = "backfills.cancel"

	RunsList   Op = "runs.list"
	RunsGet    Op = "runs.get"
	RunsCancel Op = "runs.cancel"
	RunsLogs   Op = "runs.logs"
	RunsRetry  Op = "runs.retry"

	AppMetricsGet               Op = "app_metrics.get"
	AppMetricsErrorDetails      Op = "app_metrics.error_details"
	AppMetricsHistoricalExports Op = "app_metrics.historical_exports"
	AppMetricsHistoricalExport  Op = "app_metrics.historical_export"

	BatchExportsTest          Op = "batch_exports.test"
	BatchExportsRunTestStep   Op = "batch_exports.run_test_step"
	BatchExportsRunTestStepOf Op = "batch_exports.run_test_step_of" // of an export that exists

	IntegrationsList   Op = "integrations.list"
	IntegrationsCreate Op = "integrations.create"
	IntegrationsGet    Op = "integrations.get"
	IntegrationsDelete Op = "integrations.delete"

	DashboardsList Op = "dashboards.list"
	DashboardsGet  Op = "dashboards.get"

	FileDownloadsList      Op = "file_downloads.list"
	FileDownloadsCreate    Op = "file_downloads.create"
	FileDownloadsGet       Op = "file_downloads.get"
	FileDownloadsCancel    Op = "file_downloads.cancel"
	FileDownloadsDownload  Op = "file_downloads.download"
	FileDownloadsLogs      Op = "file_downloads.logs"
	FileDownloadsCountRows Op = "file_downloads.count_rows"

	IngestionWarningsList Op = "ingestion_warnings.list"

	ActivityLog Op = "activity_log.list"

	Query Op = "query.run"

	DataDeletionsList    Op = "data_deletions.list"
	DataDeletionsCreate  Op = "data_deletions.create"
	DataDeletionsGet     Op = "data_deletions.get"
	DataDeletionsPreview Op = "data_deletions.preview"

	// Methods that make several calls; each call has its own name. Wait stands for Watch and WaitAll too.
	BatchExportsCoverage   Op = "batch_exports.coverage"
	BatchExportsPlanRepair Op = "batch_exports.plan_repair"
	BatchExportsRepair     Op = "batch_exports.repair"
	BackfillsWait          Op = "backfills.wait"
	RunsWait               Op = "runs.wait"
	FileDownloadsWait      Op = "file_downloads.wait"
	FileDownloadsRange     Op = "file_downloads.range"

	Capture   Op = "capture.batch"
	Preflight Op = "capture.preflight"
	Protocol  Op = "capture.protocol" // which protocol the server takes, asked once before the first event
	Import    Op = "import"           // options and sources of an import: no request of its own
	Verify    Op = "verify"           // options and files of history.Verify: its requests have their own names
	Do        Op = "do"
)
