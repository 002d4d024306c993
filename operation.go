package hogapi

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/ops"
)

// Op names an operation in errors, hooks and logs, for example "batch_exports.get". Package
// [github.com/hogapi/hogapi/ops] has a constant for each.
type Op = ops.Op

// Replay says whether a call may be sent again after a try whose outcome is not known.
type Replay uint8

const (
	// ReplayDefault is the operation's own class; for [Client.Do] it is ReplaySafe for GET and
	// HEAD, ReplayNever for everything else.
	ReplayDefault Replay = iota
	// ReplaySafe is for calls that change nothing.
	ReplaySafe
	// ReplayIdempotent is for calls that leave the same state no matter how often they are carried
	// out.
	ReplayIdempotent
	// ReplayNever is for calls that act again each time. They are sent again only when the service
	// provably did not act on them: nothing was written to the network, or the answer was the
	// service's own 429 "throttled".
	ReplayNever
)

// operation is one row of the table of endpoints.
type operation struct {
	name   Op
	method string
	path   string // below the project's prefix, with {parameters} and the trailing slash
	scope  string // of the personal API key; empty where the service does not say
	replay Replay
}

// info names a call of the operation, after so many tries.
func (o operation) info(tries int) CallInfo {
	return CallInfo{Op: o.name, Method: o.method, Route: o.path, Tries: tries}
}

// operations is every endpoint of the package, in the order of PostHog's API reference.
// Logs and error details: older servers declare no scope there and refuse every personal key.
var operations = table(
	operation{ops.AppMetricsGet, http.MethodGet, "/app_metrics/{id}/", "plugin:read", ReplaySafe},
	operation{ops.AppMetricsErrorDetails, http.MethodGet, "/app_metrics/{id}/error_details/", "plugin:read", ReplaySafe},
	operation{ops.AppMetricsHistoricalExports, http.MethodGet, "/app_metrics/{plugin_config_id}/historical_exports/", "plugin:read", ReplaySafe},
	operation{ops.AppMetricsHistoricalExport, http.MethodGet, "/app_metrics/{plugin_config_id}/historical_exports/{id}/", "plugin:read", ReplaySafe},

	operation{ops.BatchExportsList, http.MethodGet, "/batch_exports/", "batch_export:read", ReplaySafe},
	operation{ops.BatchExportsCreate, http.MethodPost, "/batch_exports/", "batch_export:write", ReplayNever},
	operation{ops.BatchExportsGet, http.MethodGet, "/batch_exports/{id}/", "batch_export:read", ReplaySafe},
	operation{ops.BatchExportsUpdate, http.MethodPatch, "/batch_exports/{id}/", "batch_export:write", ReplayIdempotent},
	operation{ops.BatchExportsDelete, http.MethodDelete, "/batch_exports/{id}/", "batch_export:write", ReplayIdempotent},
	operation{ops.BatchExportsBackfill, http.MethodPost, "/batch_exports/{id}/backfill/", "batch_export:write", ReplayNever},
	operation{ops.BatchExportsLogs, http.MethodGet, "/batch_exports/{id}/logs/", "batch_export:read", ReplaySafe},
	operation{ops.BatchExportsPause, http.MethodPost, "/batch_exports/{id}/pause/", "batch_export:write", ReplayIdempotent},
	operation{ops.BatchExportsUnpause, http.MethodPost, "/batch_exports/{id}/unpause/", "batch_export:write", ReplayIdempotent},

	operation{ops.RunsList, http.MethodGet, "/batch_exports/{batch_export_id}/runs/", "batch_export:read", ReplaySafe},
	operation{ops.RunsGet, http.MethodGet, "/batch_exports/{batch_export_id}/runs/{id}/", "batch_export:read", ReplaySafe},
	operation{ops.RunsCancel, http.MethodPost, "/batch_exports/{batch_export_id}/runs/{id}/cancel/", "batch_export:write", ReplayNever},
	operation{ops.RunsLogs, http.MethodGet, "/batch_exports/{batch_export_id}/runs/{id}/logs/", "batch_export:read", ReplaySafe},
	operation{ops.RunsRetry, http.MethodPost, "/batch_exports/{batch_export_id}/runs/{id}/retry/", "batch_export:write", ReplayNever},

	operation{ops.DashboardsList, http.MethodGet, "/dashboards/", "dashboard:read", ReplaySafe},
	operation{ops.DashboardsGet, http.MethodGet, "/dashboards/{id}/", "dashboard:read", ReplaySafe},

	// The newer resource, which PostHog's API reference of that age does not list.
	operation{ops.BackfillsList, http.MethodGet, "/batch_exports/{batch_export_id}/backfills/", "batch_export:read", ReplaySafe},
	operation{ops.BackfillsCreate, http.MethodPost, "/batch_exports/{batch_export_id}/backfills/", "batch_export:write", ReplayNever},
	operation{ops.BackfillsGet, http.MethodGet, "/batch_exports/{batch_export_id}/backfills/{id}/", "batch_export:read", ReplaySafe},
	operation{ops.BackfillsCancel, http.MethodPost, "/batch_exports/{batch_export_id}/backfills/{id}/cancel/", "batch_export:write", ReplayNever},

	// On-demand exports and warnings: servers from May 2026.
	operation{ops.FileDownloadsList, http.MethodGet, "/file_download_batch_exports/", "batch_export:read", ReplaySafe},
	operation{ops.FileDownloadsCreate, http.MethodPost, "/file_download_batch_exports/", "batch_export:write", ReplayNever},
	operation{ops.FileDownloadsGet, http.MethodGet, "/file_download_batch_exports/{id}/", "batch_export:read", ReplaySafe},
	operation{ops.FileDownloadsCancel, http.MethodPost, "/file_download_batch_exports/{id}/cancel/", "batch_export:write", ReplayNever},
	operation{ops.FileDownloadsDownload, http.MethodGet, "/file_download_batch_exports/{id}/download/{part}/", "batch_export:read", ReplaySafe},
	operation{ops.FileDownloadsCountRows, http.MethodPost, "/file_download_batch_exports/count_rows/", "batch_export:write", ReplaySafe},
	operation{ops.IngestionWarningsList, http.MethodGet, "/ingestion_warnings_v2/", "ingestion_warning:read", ReplaySafe},

	operation{ops.Query, http.MethodPost, "/query/", "query:read", ReplaySafe},

	// A create is told apart by its submission_id.
	operation{ops.DataDeletionsList, http.MethodGet, "/data_deletion_requests/", "data_deletion:read", ReplaySafe},
	operation{ops.DataDeletionsCreate, http.MethodPost, "/data_deletion_requests/", "data_deletion:write", ReplayIdempotent},
	operation{ops.DataDeletionsGet, http.MethodGet, "/data_deletion_requests/{id}/", "data_deletion:read", ReplaySafe},
	operation{ops.DataDeletionsPreview, http.MethodPost, "/data_deletion_requests/preview/", "data_deletion:write", ReplaySafe},

	operation{ops.BatchExportsTest, http.MethodGet, "/batch_exports/test/", "batch_export:read", ReplaySafe},
	operation{ops.BatchExportsRunTestStep, http.MethodPost, "/batch_exports/run_test_step_new/", "batch_export:write", ReplayNever},

	operation{ops.IntegrationsList, http.MethodGet, "/integrations/", "integration:read", ReplaySafe},
	operation{ops.IntegrationsCreate, http.MethodPost, "/integrations/", "integration:write", ReplayNever},
	operation{ops.IntegrationsGet, http.MethodGet, "/integrations/{id}/", "integration:read", ReplaySafe},
	operation{ops.IntegrationsDelete, http.MethodDelete, "/integrations/{id}/", "integration:write", ReplayIdempotent},
)

// alternatives are what to use on servers that do not have an operation.
var alternatives = map[Op]string{
	ops.AppMetricsGet: "Runs.Counts counts the runs of a batch export; functions and workflows have " +
		"/hog_functions/{id}/metrics/ and /hog_flows/{id}/metrics/, through Client.Do",
	ops.AppMetricsErrorDetails:      "Runs.LatestFailed yields the failed runs of a batch export with their errors, and BatchExports.Logs its log",
	ops.AppMetricsHistoricalExports: "Backfills.List lists the backfills of a batch export",
	ops.AppMetricsHistoricalExport:  "Backfills.Get returns a backfill of a batch export",

	ops.BatchExportsLogs:     "Run.LatestError says why a run failed",
	ops.RunsLogs:             "Run.LatestError says why the run failed, and BatchExports.Logs may hold its log",
	ops.BatchExportsBackfill: "Backfills.Create",
	ops.BackfillsList:        "Runs.List shows the runs of backfills among the others",
	ops.BackfillsCreate:      "BatchExports.Backfill, which also knows the endpoint of older servers",
	ops.BackfillsGet:         "Backfills.Wait, which follows the runs of a backfill where the server keeps no record of it",
	ops.BackfillsCancel:      "Runs.Cancel ends the run that is under way",

	ops.BatchExportsTest:        "create the export and read the LatestError of its first runs",
	ops.BatchExportsRunTestStep: "create the export and read the LatestError of its first runs",
	ops.IntegrationsList:        inlineCredentials,
	ops.IntegrationsCreate:      inlineCredentials,
	ops.IntegrationsGet:         inlineCredentials,
	ops.IntegrationsDelete:      inlineCredentials,

	ops.FileDownloadsList:      onlyScheduled,
	ops.FileDownloadsCreate:    onlyScheduled,
	ops.FileDownloadsGet:       onlyScheduled,
	ops.FileDownloadsCancel:    onlyScheduled,
	ops.FileDownloadsDownload:  onlyScheduled,
	ops.FileDownloadsCountRows: "POST /query/ with a SELECT count() through Client.Do",
	ops.DataDeletionsList:      askSupport,
	ops.DataDeletionsCreate:    askSupport,
	ops.DataDeletionsGet:       askSupport,
	ops.DataDeletionsPreview:   askSupport,
	ops.IngestionWarningsList:  "the page of ingestion warnings of the project in PostHog itself",
}

const askSupport = "PostHog's support deletes events on request: name the import's ID, the project and the range of time"

const onlyScheduled = "a batch export to a destination of your own, with BatchExports.Backfill for the range"

const inlineCredentials = "the credentials in the config of the destination, such as PostgresConfig.Password"

func table(rows ...operation) map[Op]operation {
	m := make(map[Op]operation, len(rows))
	for _, row := range rows {
		m[row.name] = row
	}
	return m
}

// expand puts ids into the {parameters} of a path, in order, escaped. It refuses an id that would
// leave its segment, and one that is a key.
func (o operation) expand(ids []string) (string, error) {
	var b strings.Builder
	rest := o.path
	for i, id := range ids {
		before, after, _ := strings.Cut(rest, "{")
		name, tail, _ := strings.Cut(after, "}")
		fits, want := outgoing.IsPathSegment, "letters, digits, '_', '@' or '-'"
		if o.name == ops.AppMetricsHistoricalExport && i > 0 { // a job's id has no form of its own
			fits, want = outgoing.IsOneSegment, "an id as HistoricalExports returns it"
		}
		if !fits(id) || mask.HasKey(id) {
			return "", &InputError{Op: o.name, Field: name, Value: mask.UnlessKey(id), Want: want}
		}
		b.WriteString(before)
		b.WriteString(url.PathEscape(id))
		rest = tail
	}
	b.WriteString(rest)
	return b.String(), nil
}
