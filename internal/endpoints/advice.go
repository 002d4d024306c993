package endpoints

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/internal/httptry"
	"github.com/hogapi/hogapi/ops"
)

// alternatives are for servers that lack an operation.
var alternatives = map[ops.Op]string{
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

	ops.BatchExportsTest:          "create the export and read the LatestError of its first runs",
	ops.BatchExportsRunTestStep:   "create the export and read the LatestError of its first runs",
	ops.BatchExportsRunTestStepOf: "Run.LatestError says why a run failed",
	ops.IntegrationsList:          inlineCredentials,
	ops.IntegrationsCreate:        inlineCredentials,
	ops.IntegrationsGet:           inlineCredentials,
	ops.IntegrationsDelete:        inlineCredentials,

	ops.FileDownloadsList:      onlyScheduled,
	ops.FileDownloadsCreate:    onlyScheduled,
	ops.FileDownloadsGet:       onlyScheduled,
	ops.FileDownloadsCancel:    onlyScheduled,
	ops.FileDownloadsLogs:      onlyScheduled,
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

const inlineCredentials = "the credentials in the config of the destination, such as the Password of destination.Postgres"

// Alternative names an alternative to an operation for servers that lack it, or returns "".
func Alternative(op ops.Op) string { return alternatives[op] }

// Failure is an unsuccessful answer.
type Failure struct {
	Op          ops.Op
	Method      string
	Route       string
	Project     string // of the call; may be empty
	Tries       int
	Status      int
	Type        string // of the service's error, like Code and Detail
	Code        string
	Detail      string
	Attr        string // the field in the service's error
	RequestID   string
	RetryAfter  time.Duration
	Scope       string   // required by the operation
	Alternative string   // for the operation
	IDs         []string // in the route
	IsForeign   bool     // the answer is not from the service
}

// NameOf names a call in an error: its operation or, for a call that is not in the table, its method and path.
func NameOf(op ops.Op, method, path string) string {
	if op == ops.Do && path != "" {
		return method + " " + path
	}
	return string(op)
}

// String names the operation, the status, the service's text and advice.
func (f Failure) String() string {
	var b errtext.Text
	name, hint := cmp.Or(f.Code, http.StatusText(f.Status)), f.Hint()
	b.Add("%s: %d", NameOf(f.Op, f.Method, f.Route), f.Status)
	b.AddIf(name != "", " %s", name)
	b.AddIf(f.Detail != "", ": %s", f.Detail)
	b.AddIf(f.Attr != "", " (field %s)", f.Attr)
	b.AddIf(hint != "", "; %s", hint)
	b.AddIf(f.RequestID != "", " [request %s]", f.RequestID)
	b.AddIf(f.Tries > 1, " [%d tries]", f.Tries)
	return b.String()
}

// Hint returns advice for the caller, or "".
func (f Failure) Hint() string {
	switch s := f.Status; {
	case s == http.StatusUnauthorized && (f.Op == ops.Capture || f.Op == ops.Preflight):
		return "check the project API key (phc_…)"
	case s == http.StatusUnauthorized && f.Op == ops.BatchExportsUnpause:
		return "the service unpauses only for a key whose user has chosen a project: log in as that user and open a project, or check the key"
	case s == http.StatusUnauthorized:
		return "check the personal API key (phx_…) and that it belongs to this region"
	case f.lacksSlash():
		return "the path has no final slash, and PostHog's paths end with one"
	case f.IsUnsupported():
		return f.unsupportedHint()
	case f.Alternative != "":
		return "instead: " + f.Alternative
	case s == http.StatusForbidden && strings.HasSuffix(f.Detail, httptry.NotEnabled):
		return "the feature is not enabled for this project: ask PostHog's support"
	case s == http.StatusForbidden && strings.HasSuffix(f.Detail, httptry.NotEnabledForProject):
		return "no key can change that; instead: " + askSupport
	case s == http.StatusForbidden && strings.Contains(f.Detail, httptry.NoKeysAllowed):
		return "no scope changes that: an admin of the organization must allow personal API keys"
	case s == http.StatusForbidden && (strings.Contains(f.Detail, httptry.AdminOnly) || strings.HasPrefix(f.Detail, httptry.NoPermission)):
		return "no scope changes that: use the personal API key of an admin of the project"
	case s == http.StatusForbidden && strings.Contains(f.Detail, httptry.NoAccess):
		return "no scope changes that: the user of the personal API key lacks the access, or the key is bound to other projects"
	case s == http.StatusForbidden && f.Scope != "":
		return fmt.Sprintf("the personal API key needs the scope %s and access to this project", f.Scope)
	case s == http.StatusNotFound && f.IsForeign:
		return "this is not the service's own answer: check the base URL and its path, and proxies"
	case s == http.StatusNotFound && f.Detail == httptry.NoProject && f.Project != "":
		return "asked for project " + f.Project + ": its number is in the project's settings and in the address of its pages; " +
			"the key must be of the same region and have access to it"
	case f.IsBadCursor():
		return "the cursor is not one of this list: begin again without it"
	case s == http.StatusNotFound && len(f.IDs) > 1:
		return "asked for " + strings.Join(f.IDs, ", ") + ": are they swapped, or of another project?"
	case s == http.StatusNotFound && len(f.IDs) == 1:
		return "asked for " + f.IDs[0] + ": is it of another project?"
	case s == http.StatusTooManyRequests && f.Code == httptry.CodeTooManyBackfills:
		return "wait until a running backfill has ended, or cancel one"
	case s == http.StatusTooManyRequests && f.Code == httptry.CodeTooManyFileDownloads:
		return "wait until a running file download has ended, or cancel one"
	case s == http.StatusTooManyRequests && f.RetryAfter > 0:
		return "the service asks to wait " + f.RetryAfter.String()
	case s == http.StatusSeeOther:
		return "the service carried out the call; the redirect to its result is not followed"
	case s >= 300 && s < 400:
		return "redirects are not followed: check the base URL"
	}
	return ""
}

// IsBadCursor reports whether the service refuses a cursor, which it does with a 404.
func (f Failure) IsBadCursor() bool {
	return f.Status == http.StatusNotFound && strings.HasPrefix(f.Detail, httptry.BadCursor)
}

// IsUnsupported reports whether the service says that it lacks the operation.
func (f Failure) IsUnsupported() bool {
	switch f.Status {
	case http.StatusNotFound:
		// A server without this route takes "test" for the id of an export.
		return f.Detail == httptry.NoEndpoint || f.Op == ops.BatchExportsTest && f.Code != "" && f.Detail != httptry.NoProject
	case http.StatusMethodNotAllowed:
		return f.Type != "" || f.Code != "" // not from a proxy
	case http.StatusForbidden:
		return strings.Contains(strings.ToLower(f.Detail), httptry.NoKeyCan)
	}
	return false
}

func (f Failure) unsupportedHint() string {
	hint := "this server does not have the operation"
	if f.Status == http.StatusForbidden {
		hint = "on this server no personal API key can do this"
	}
	if f.Alternative != "" {
		hint += "; instead: " + f.Alternative
	}
	return hint
}

// lacksSlash reports whether a custom call may have failed because its path lacks the trailing
// slash.
func (f Failure) lacksSlash() bool {
	isElsewhere := f.Status == http.StatusNotFound || f.Status >= 300 && f.Status < 400
	return f.Op == ops.Do && isElsewhere && !strings.HasSuffix(f.Route, "/")
}

// CheckAdvice says where to check the outcome of a call.
func CheckAdvice(op ops.Op) string {
	const look = "check before you try again"
	switch op {
	case ops.RunsRetry, ops.BatchExportsBackfill, ops.BackfillsCreate:
		return look + " (Backfills.Wait follows the ticket that came with this error)"
	case ops.FileDownloadsCreate:
		return look + " (FileDownloads.List shows the newest first)"
	case ops.IntegrationsCreate:
		return look + " (Integrations.List with its kind)"
	default:
		return look
	}
}
