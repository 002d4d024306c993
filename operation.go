package hogapi

import (
	"net/http"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hogapi/hogapi/internal/mask"
)

// Op names an operation in errors, hooks and logs, for example "batch_exports.get".
// It never holds an id, so it is safe as a metric label.
type Op string

// The operations of this package. OpDo stands for every call through [Client.Do].
const (
	OpBatchExportsList     Op = "batch_exports.list"
	OpBatchExportsCreate   Op = "batch_exports.create"
	OpBatchExportsGet      Op = "batch_exports.get"
	OpBatchExportsUpdate   Op = "batch_exports.update"
	OpBatchExportsDelete   Op = "batch_exports.delete"
	OpBatchExportsBackfill Op = "batch_exports.backfill"
	OpBatchExportsLogs     Op = "batch_exports.logs"
	OpBatchExportsPause    Op = "batch_exports.pause"
	OpBatchExportsUnpause  Op = "batch_exports.unpause"

	OpBackfillsList   Op = "backfills.list"
	OpBackfillsCreate Op = "backfills.create"
	OpBackfillsGet    Op = "backfills.get"
	OpBackfillsCancel Op = "backfills.cancel"

	OpRunsList   Op = "runs.list"
	OpRunsGet    Op = "runs.get"
	OpRunsCancel Op = "runs.cancel"
	OpRunsLogs   Op = "runs.logs"
	OpRunsRetry  Op = "runs.retry"

	OpAppMetricsGet               Op = "app_metrics.get"
	OpAppMetricsErrorDetails      Op = "app_metrics.error_details"
	OpAppMetricsHistoricalExports Op = "app_metrics.historical_exports"
	OpAppMetricsHistoricalExport  Op = "app_metrics.historical_export"

	OpBatchExportsTest        Op = "batch_exports.test"
	OpBatchExportsRunTestStep Op = "batch_exports.run_test_step"

	OpIntegrationsList   Op = "integrations.list"
	OpIntegrationsCreate Op = "integrations.create"
	OpIntegrationsGet    Op = "integrations.get"
	OpIntegrationsDelete Op = "integrations.delete"

	OpDashboardsList Op = "dashboards.list"
	OpDashboardsGet  Op = "dashboards.get"

	OpFileDownloadsList      Op = "file_downloads.list"
	OpFileDownloadsCreate    Op = "file_downloads.create"
	OpFileDownloadsGet       Op = "file_downloads.get"
	OpFileDownloadsCancel    Op = "file_downloads.cancel"
	OpFileDownloadsDownload  Op = "file_downloads.download"
	OpFileDownloadsCountRows Op = "file_downloads.count_rows"

	OpIngestionWarningsList Op = "ingestion_warnings.list"

	OpCapture   Op = "capture.batch"
	OpPreflight Op = "capture.preflight"
	OpImport    Op = "import" // options and sources of an import or a Capture: no request of its own
	OpDo        Op = "do"
)

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

// operations is every endpoint of the package, in the order of PostHog's API reference.
// Logs and error details: older servers declare no scope there and refuse every personal key.
var operations = table(
	operation{OpAppMetricsGet, http.MethodGet, "/app_metrics/{id}/", "plugin:read", ReplaySafe},
	operation{OpAppMetricsErrorDetails, http.MethodGet, "/app_metrics/{id}/error_details/", "plugin:read", ReplaySafe},
	operation{OpAppMetricsHistoricalExports, http.MethodGet, "/app_metrics/{plugin_config_id}/historical_exports/", "plugin:read", ReplaySafe},
	operation{OpAppMetricsHistoricalExport, http.MethodGet, "/app_metrics/{plugin_config_id}/historical_exports/{id}/", "plugin:read", ReplaySafe},

	operation{OpBatchExportsList, http.MethodGet, "/batch_exports/", "batch_export:read", ReplaySafe},
	operation{OpBatchExportsCreate, http.MethodPost, "/batch_exports/", "batch_export:write", ReplayNever},
	operation{OpBatchExportsGet, http.MethodGet, "/batch_exports/{id}/", "batch_export:read", ReplaySafe},
	operation{OpBatchExportsUpdate, http.MethodPatch, "/batch_exports/{id}/", "batch_export:write", ReplayIdempotent},
	operation{OpBatchExportsDelete, http.MethodDelete, "/batch_exports/{id}/", "batch_export:write", ReplayIdempotent},
	operation{OpBatchExportsBackfill, http.MethodPost, "/batch_exports/{id}/backfill/", "batch_export:write", ReplayNever},
	operation{OpBatchExportsLogs, http.MethodGet, "/batch_exports/{id}/logs/", "batch_export:read", ReplaySafe},
	operation{OpBatchExportsPause, http.MethodPost, "/batch_exports/{id}/pause/", "batch_export:write", ReplayIdempotent},
	operation{OpBatchExportsUnpause, http.MethodPost, "/batch_exports/{id}/unpause/", "batch_export:write", ReplayIdempotent},

	operation{OpRunsList, http.MethodGet, "/batch_exports/{batch_export_id}/runs/", "batch_export:read", ReplaySafe},
	operation{OpRunsGet, http.MethodGet, "/batch_exports/{batch_export_id}/runs/{id}/", "batch_export:read", ReplaySafe},
	operation{OpRunsCancel, http.MethodPost, "/batch_exports/{batch_export_id}/runs/{id}/cancel/", "batch_export:write", ReplayNever},
	operation{OpRunsLogs, http.MethodGet, "/batch_exports/{batch_export_id}/runs/{id}/logs/", "batch_export:read", ReplaySafe},
	operation{OpRunsRetry, http.MethodPost, "/batch_exports/{batch_export_id}/runs/{id}/retry/", "batch_export:write", ReplayNever},

	operation{OpDashboardsList, http.MethodGet, "/dashboards/", "dashboard:read", ReplaySafe},
	operation{OpDashboardsGet, http.MethodGet, "/dashboards/{id}/", "dashboard:read", ReplaySafe},

	// The newer resource, which PostHog's API reference of that age does not list.
	operation{OpBackfillsList, http.MethodGet, "/batch_exports/{batch_export_id}/backfills/", "batch_export:read", ReplaySafe},
	operation{OpBackfillsCreate, http.MethodPost, "/batch_exports/{batch_export_id}/backfills/", "batch_export:write", ReplayNever},
	operation{OpBackfillsGet, http.MethodGet, "/batch_exports/{batch_export_id}/backfills/{id}/", "batch_export:read", ReplaySafe},
	operation{OpBackfillsCancel, http.MethodPost, "/batch_exports/{batch_export_id}/backfills/{id}/cancel/", "batch_export:write", ReplayNever},

	// On-demand exports and warnings: servers from May 2026.
	operation{OpFileDownloadsList, http.MethodGet, "/file_download_batch_exports/", "batch_export:read", ReplaySafe},
	operation{OpFileDownloadsCreate, http.MethodPost, "/file_download_batch_exports/", "batch_export:write", ReplayNever},
	operation{OpFileDownloadsGet, http.MethodGet, "/file_download_batch_exports/{id}/", "batch_export:read", ReplaySafe},
	operation{OpFileDownloadsCancel, http.MethodPost, "/file_download_batch_exports/{id}/cancel/", "batch_export:write", ReplayNever},
	operation{OpFileDownloadsDownload, http.MethodGet, "/file_download_batch_exports/{id}/download/{part}/", "batch_export:read", ReplaySafe},
	operation{OpFileDownloadsCountRows, http.MethodPost, "/file_download_batch_exports/count_rows/", "batch_export:write", ReplaySafe},
	operation{OpIngestionWarningsList, http.MethodGet, "/ingestion_warnings_v2/", "ingestion_warning:read", ReplaySafe},

	operation{OpBatchExportsTest, http.MethodGet, "/batch_exports/test/", "batch_export:read", ReplaySafe},
	operation{OpBatchExportsRunTestStep, http.MethodPost, "/batch_exports/run_test_step_new/", "batch_export:write", ReplayNever},

	operation{OpIntegrationsList, http.MethodGet, "/integrations/", "integration:read", ReplaySafe},
	operation{OpIntegrationsCreate, http.MethodPost, "/integrations/", "integration:write", ReplayNever},
	operation{OpIntegrationsGet, http.MethodGet, "/integrations/{id}/", "integration:read", ReplaySafe},
	operation{OpIntegrationsDelete, http.MethodDelete, "/integrations/{id}/", "integration:write", ReplayIdempotent},
)

// alternatives are what to use on servers that do not have an operation.
var alternatives = map[Op]string{
	OpAppMetricsGet: "Runs.Counts counts the runs of a batch export; functions and workflows have " +
		"/hog_functions/{id}/metrics/ and /hog_flows/{id}/metrics/, through Client.Do",
	OpAppMetricsErrorDetails:      "Runs.LatestFailed yields the failed runs of a batch export with their errors, and BatchExports.Logs its log",
	OpAppMetricsHistoricalExports: "Backfills.List lists the backfills of a batch export",
	OpAppMetricsHistoricalExport:  "Backfills.Get returns a backfill of a batch export",

	OpBatchExportsLogs:     "Run.LatestError says why a run failed",
	OpRunsLogs:             "Run.LatestError says why the run failed, and BatchExports.Logs may hold its log",
	OpBatchExportsBackfill: "Backfills.Create",
	OpBackfillsList:        "Runs.List shows the runs of backfills among the others",
	OpBackfillsCreate:      "BatchExports.Backfill, which also knows the endpoint of older servers",
	OpBackfillsGet:         "Backfills.Wait, which follows the runs of a backfill where the server keeps no record of it",
	OpBackfillsCancel:      "Runs.Cancel ends the run that is under way",

	OpBatchExportsTest:        "create the export and read the LatestError of its first runs",
	OpBatchExportsRunTestStep: "create the export and read the LatestError of its first runs",
	OpIntegrationsList:        inlineCredentials,
	OpIntegrationsCreate:      inlineCredentials,
	OpIntegrationsGet:         inlineCredentials,
	OpIntegrationsDelete:      inlineCredentials,

	OpFileDownloadsList:      onlyScheduled,
	OpFileDownloadsCreate:    onlyScheduled,
	OpFileDownloadsGet:       onlyScheduled,
	OpFileDownloadsCancel:    onlyScheduled,
	OpFileDownloadsDownload:  onlyScheduled,
	OpFileDownloadsCountRows: "POST /query/ with a SELECT count() through Client.Do",
	OpIngestionWarningsList:  "the page of ingestion warnings of the project in PostHog itself",
}

const onlyScheduled = "a batch export to a destination of your own, with BatchExports.Backfill for the range"

const inlineCredentials = "the credentials in the config of the destination, such as PostgresConfig.Password"

// The capture endpoints: other origin, no prefix, key in the body.
var (
	captureOperation   = operation{OpCapture, http.MethodPost, "/batch/", "", ReplayIdempotent}
	preflightOperation = operation{OpPreflight, http.MethodPost, "/flags/", "", ReplaySafe}
)

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
		fits, want := isPathSegment, "letters, digits, '_', '@' or '-'"
		if o.name == OpAppMetricsHistoricalExport && i > 0 { // a job's id has no form of its own
			fits, want = isOneSegment, "an id as HistoricalExports returns it"
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

// isOneSegment reports whether s, escaped, stays between two slashes of a path.
func isOneSegment(s string) bool {
	return s != "" && s != "." && s != ".." && len(s) <= 200 && utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}

// isPathSegment reports whether s can stand between two slashes of a path without escaping and has
// no meaning of its own there.
func isPathSegment(s string) bool {
	if s == "" || len(s) > 200 {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '@', c == '-':
		default:
			return false
		}
	}
	return true
}
