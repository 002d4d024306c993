// Package endpoints knows the endpoints of the service: their methods and paths, whether their
// calls may be repeated, and advice for unsuccessful answers.
package endpoints

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/ops"
)

// Replay says whether to repeat a call with an unknown outcome.
type Replay uint8

// Classes of calls.
const (
	Default    Replay = iota // by method, for custom calls
	Safe                     // changes nothing
	Idempotent               // repeating it leaves the same state
	Never                    // acts again each time
)

// Row is one endpoint.
type Row struct {
	Name   ops.Op
	Method string
	Path   string // below the project's prefix, with {parameters} and trailing slash
	Scope  string // of the personal API key; empty if the service declares no scope
	Replay Replay
}

// Of returns the row of an operation.
func Of(op ops.Op) Row {
	i := slices.IndexFunc(rows, func(row Row) bool { return row.Name == op })
	if i < 0 {
		return Row{}
	}
	return rows[i]
}

// All returns the rows of all operations.
func All() []Row { return slices.Clone(rows) }

// rows are the endpoints of the management API that this module calls, in the order of PostHog's
// API reference. For logs and error details, older servers declare no scope and refuse all personal
// keys.
var rows = []Row{
	{ops.AppMetricsGet, http.MethodGet, "/app_metrics/{id}/", "plugin:read", Safe},
	{ops.AppMetricsErrorDetails, http.MethodGet, "/app_metrics/{id}/error_details/", "plugin:read", Safe},
	{ops.AppMetricsHistoricalExports, http.MethodGet, "/app_metrics/{plugin_config_id}/historical_exports/", "plugin:read", Safe},
	{ops.AppMetricsHistoricalExport, http.MethodGet, "/app_metrics/{plugin_config_id}/historical_exports/{id}/", "plugin:read", Safe},

	{ops.BatchExportsList, http.MethodGet, "/batch_exports/", "batch_export:read", Safe},
	{ops.BatchExportsCreate, http.MethodPost, "/batch_exports/", "batch_export:write", Never},
	{ops.BatchExportsGet, http.MethodGet, "/batch_exports/{id}/", "batch_export:read", Safe},
	{ops.BatchExportsUpdate, http.MethodPatch, "/batch_exports/{id}/", "batch_export:write", Idempotent},
	{ops.BatchExportsDelete, http.MethodDelete, "/batch_exports/{id}/", "batch_export:write", Idempotent},
	{ops.BatchExportsBackfill, http.MethodPost, "/batch_exports/{id}/backfill/", "batch_export:write", Never},
	{ops.BatchExportsLogs, http.MethodGet, "/batch_exports/{id}/logs/", "batch_export:read", Safe},
	{ops.BatchExportsPause, http.MethodPost, "/batch_exports/{id}/pause/", "batch_export:write", Idempotent},
	{ops.BatchExportsUnpause, http.MethodPost, "/batch_exports/{id}/unpause/", "batch_export:write", Idempotent},

	{ops.RunsList, http.MethodGet, "/batch_exports/{batch_export_id}/runs/", "batch_export:read", Safe},
	{ops.RunsGet, http.MethodGet, "/batch_exports/{batch_export_id}/runs/{id}/", "batch_export:read", Safe},
	{ops.RunsCancel, http.MethodPost, "/batch_exports/{batch_export_id}/runs/{id}/cancel/", "batch_export:write", Never},
	{ops.RunsLogs, http.MethodGet, "/batch_exports/{batch_export_id}/runs/{id}/logs/", "batch_export:read", Safe},
	{ops.RunsRetry, http.MethodPost, "/batch_exports/{batch_export_id}/runs/{id}/retry/", "batch_export:write", Never},

	{ops.DashboardsList, http.MethodGet, "/dashboards/", "dashboard:read", Safe},
	{ops.DashboardsGet, http.MethodGet, "/dashboards/{id}/", "dashboard:read", Safe},

	// The newer resource; PostHog's API reference of that time does not list it.
	{ops.BackfillsList, http.MethodGet, "/batch_exports/{batch_export_id}/backfills/", "batch_export:read", Safe},
	{ops.BackfillsCreate, http.MethodPost, "/batch_exports/{batch_export_id}/backfills/", "batch_export:write", Never},
	{ops.BackfillsGet, http.MethodGet, "/batch_exports/{batch_export_id}/backfills/{id}/", "batch_export:read", Safe},
	{ops.BackfillsCancel, http.MethodPost, "/batch_exports/{batch_export_id}/backfills/{id}/cancel/", "batch_export:write", Never},

	// On-demand exports and warnings: servers from May 2026.
	{ops.FileDownloadsList, http.MethodGet, "/file_download_batch_exports/", "batch_export:read", Safe},
	{ops.FileDownloadsCreate, http.MethodPost, "/file_download_batch_exports/", "batch_export:write", Never},
	{ops.FileDownloadsGet, http.MethodGet, "/file_download_batch_exports/{id}/", "batch_export:read", Safe},
	{ops.FileDownloadsCancel, http.MethodPost, "/file_download_batch_exports/{id}/cancel/", "batch_export:write", Never},
	{ops.FileDownloadsDownload, http.MethodGet, "/file_download_batch_exports/{id}/download/{part}/", "batch_export:read", Safe},
	{ops.FileDownloadsLogs, http.MethodGet, "/file_download_batch_exports/{id}/logs/", "batch_export:read", Safe},
	{ops.FileDownloadsCountRows, http.MethodPost, "/file_download_batch_exports/count_rows/", "batch_export:write", Safe},
	{ops.ActivityLog, http.MethodGet, "/activity_log/", "activity_log:read", Safe},
	{ops.IngestionWarningsList, http.MethodGet, "/ingestion_warnings_v2/", "ingestion_warning:read", Safe},

	{ops.Query, http.MethodPost, "/query/", "query:read", Safe},

	// submission_id identifies a create.
	{ops.DataDeletionsList, http.MethodGet, "/data_deletion_requests/", "data_deletion:read", Safe},
	{ops.DataDeletionsCreate, http.MethodPost, "/data_deletion_requests/", "data_deletion:write", Idempotent},
	{ops.DataDeletionsGet, http.MethodGet, "/data_deletion_requests/{id}/", "data_deletion:read", Safe},
	{ops.DataDeletionsPreview, http.MethodPost, "/data_deletion_requests/preview/", "data_deletion:write", Safe},

	{ops.BatchExportsTest, http.MethodGet, "/batch_exports/test/", "batch_export:read", Safe},
	{ops.BatchExportsRunTestStep, http.MethodPost, "/batch_exports/run_test_step_new/", "batch_export:write", Never},
	{ops.BatchExportsRunTestStepOf, http.MethodPost, "/batch_exports/{id}/run_test_step/", "batch_export:write", Never},

	{ops.IntegrationsList, http.MethodGet, "/integrations/", "integration:read", Safe},
	{ops.IntegrationsCreate, http.MethodPost, "/integrations/", "integration:write", Never},
	{ops.IntegrationsGet, http.MethodGet, "/integrations/{id}/", "integration:read", Safe},
	{ops.IntegrationsDelete, http.MethodDelete, "/integrations/{id}/", "integration:write", Idempotent},
}

// Expand replaces the {parameters} of the path with escaped ids, in order. It refuses ids that
// would leave their segment, the nil UUID, and keys.
func (r Row) Expand(ids []string) (string, *ops.InputError) {
	var b strings.Builder
	rest := r.Path
	for i, id := range ids {
		before, after, _ := strings.Cut(rest, "{")
		name, tail, _ := strings.Cut(after, "}")
		fits, want := outgoing.IsPathSegment, "letters, digits, '_', '@' or '-'"
		if r.Name == ops.AppMetricsHistoricalExport && i > 0 { // job ids have no fixed form
			fits, want = outgoing.IsOneSegment, "an id as HistoricalExports returns it"
		}
		if id == uuid.Nil.String() {
			return "", outgoing.Refuse("{"+name+"}", id, "an id, not the nil UUID")
		}
		if !fits(id) || outgoing.HasKey(id) {
			return "", outgoing.Refuse(name, id, want)
		}
		b.WriteString(before)
		b.WriteString(url.PathEscape(id))
		rest = tail
	}
	b.WriteString(rest)
	return b.String(), nil
}

// Custom returns the row of a call that is not in the table, with the caller's method and path.
func Custom(method, path string, replay Replay) (Row, *ops.InputError) {
	row := Row{Name: ops.Do, Method: method, Path: path, Replay: replay}
	ownClass := Never
	switch method {
	case http.MethodGet, http.MethodHead:
		ownClass = Safe
	case http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
	default:
		return row, outgoing.Refuse("Method", method, "GET, HEAD, POST, PUT, PATCH or DELETE")
	}
	if replay == Default {
		row.Replay = ownClass
	}
	if replay > Never {
		return row, outgoing.Refuse("Replay", strconv.Itoa(int(replay)), "one of the classes of this package")
	}
	if below := strings.TrimPrefix(path, "/"); below == "api" || strings.HasPrefix(below, "api/") {
		return row, outgoing.Refuse("Path", "", `a path below the project, such as "/insights/": `+
			"paths begin below the project, after /api/projects/{project_id}")
	}
	if path, _, hasQuery := strings.Cut(path, "?"); hasQuery {
		return row, outgoing.Refuse("Path", path+"?…", "a path without a query, which goes into Query") // the query may be secret
	}
	below, slashed := strings.CutPrefix(path, "/")
	for segment := range strings.SplitSeq(strings.TrimSuffix(below, "/"), "/") {
		if !slashed || !outgoing.IsPathSegment(segment) || outgoing.HasKey(segment) {
			return row, outgoing.Refuse("Path", path, `a path below the project that begins with a slash, such as "/insights/", `+
				`of letters, digits, '_', '@' and '-'`)
		}
	}
	return row, nil
}

// Absent remembers which routes a server does not have, for the clients that share it. It forgets a route after an hour,
// since servers are updated. Its zero value is empty.
type Absent struct {
	mu    sync.Mutex
	found map[string]time.Time // by path, from the API's path on
}

const absentFor = time.Hour

// Add remembers a route that is absent.
func (a *Absent) Add(path string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.found == nil {
		a.found = map[string]time.Time{}
	}
	a.found[path] = time.Now()
}

// Has reports whether a route was absent within the last hour.
func (a *Absent) Has(path string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	found, ok := a.found[path]
	return ok && time.Since(found) < absentFor
}
