package hogapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/durable"
	"github.com/hogapi/hogapi/internal/endpoints"
	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/internal/httptry"
	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/ops"
)

// Sentinels for errors.Is. To read the fields of an error, use errors.As with its type.
var (
	// ErrUnauthorized matches an answer with status 401.
	ErrUnauthorized = errtext.ErrUnauthorized
	// ErrForbidden matches an answer with status 403.
	ErrForbidden = errtext.ErrForbidden
	// ErrNotFound matches a 404 of the service: the item, or the project, does not exist. A page of a proxy
	// does not match, and neither does ErrUnsupported.
	ErrNotFound = errtext.ErrNotFound
	// ErrUnsupported means that the server does not have the operation, because it is too old or too new, or that
	// it refuses the operation to every personal API key. [APIError.Alternative] names another way, if there is
	// one.
	ErrUnsupported = errors.New("hogapi: not supported by this server")
	// ErrInvalid matches a 400, a 422, a cursor that the service refuses, and every *InputError.
	ErrInvalid = errtext.ErrInvalid
	// ErrConflict matches a 409.
	ErrConflict = errors.New("hogapi: conflict")
	// ErrRateLimited matches a 429, except for too many backfills or file downloads.
	ErrRateLimited = errors.New("hogapi: rate limited")
	// ErrQuota matches a 402.
	ErrQuota = errtext.ErrQuota
	// ErrTooManyBackfills matches a 429 with the code too_many_concurrent_backfills.
	ErrTooManyBackfills = errors.New("hogapi: too many backfills run at the same time")
	// ErrTooManyFileDownloads matches a 429 with the code too_many_concurrent_file_downloads.
	ErrTooManyFileDownloads = errors.New("hogapi: too many file downloads run at the same time")
	// ErrServer matches a 5xx.
	ErrServer = errors.New("hogapi: the service failed")
	// ErrOutcomeUnknown matches every *OutcomeUnknownError.
	ErrOutcomeUnknown = errors.New("hogapi: the call may or may not have taken effect")
	// ErrFull is returned by Capture.TryEnqueue if there is no room for the record.
	ErrFull = event.ErrFull
	// ErrNotReady is returned by Capture.TryEnqueue until the server has answered which protocol it has, for events
	// that only /batch/ takes.
	ErrNotReady = event.ErrNotReady
	// ErrClosed is returned by a Capture after Close.
	ErrClosed = event.ErrClosed
	// ErrHeld means that another import or another Verify uses the checkpoint, the reject file or the folder.
	ErrHeld = errors.New("hogapi: another import is using it")
	// ErrNoDestinationTest is returned by BatchExports.TestDestination for a type without a test.
	ErrNoDestinationTest = errors.New("hogapi: the service has no test for this type of destination")
	// ErrListCut is returned with a list that has no pages and may be incomplete.
	ErrListCut = errors.New("hogapi: the list may be cut")
	// ErrNoRuns is returned by Backfills.Wait if nothing ran.
	ErrNoRuns = errors.New("hogapi: no run of the backfill began")
	// ErrNotCancelled is returned by Runs.Cancel for a run that ended in another way before the cancel had an effect.
	ErrNotCancelled = errors.New("hogapi: not cancelled")
	// ErrLeftOut is returned by Backfills.Wait if the service began a backfill of events later than asked, and rows that
	// arrived before may be missing.
	ErrLeftOut = errors.New("hogapi: the backfill left out a part of its range")
)

// APIError is an answer of the service that is not a success. Match its kind with errors.Is and the sentinels
// of this package.
type APIError struct {
	CallInfo

	StatusCode int           // of HTTP
	Type       string        // the service's error type, such as "validation_error"; may be empty
	Code       string        // the service's error code, such as "required"; may be empty
	Detail     string        // the service's text; may be empty
	Attr       string        // the field it complains about; may be empty
	RequestID  string        // of the answer, if a proxy or the service sets one
	RetryAfter time.Duration // how long the service asks to wait; 0 if it does not say

	// Alternative names another way if the server does not have the operation, or no longer takes this form of
	// destination. It is empty for all other errors, and if there is no other way.
	Alternative string

	scope     string
	project   string   // of the call
	ids       []string // in the route
	isForeign bool     // the body is not JSON, so it is not the service's
	body      []byte
}

// Body returns the answer's body, cut at 64 KiB, with keys redacted.
func (e *APIError) Body() []byte { return e.body }

// Error names the operation, the status, the service's own text and a remedy.
func (e *APIError) Error() string { return "hogapi: " + e.failure().String() }

// failure returns the error without its body.
func (e *APIError) failure() endpoints.Failure {
	return endpoints.Failure{
		Op: e.Op, Method: e.Method, Route: e.Route, Project: e.project, Tries: e.Tries, Status: e.StatusCode, Type: e.Type, Code: e.Code, Detail: e.Detail, Attr: e.Attr,
		RequestID: e.RequestID, RetryAfter: e.RetryAfter, Alternative: e.Alternative,
		Scope: e.scope, IDs: e.ids, IsForeign: e.isForeign,
	}
}

// Is matches the sentinels by status and code.
func (e *APIError) Is(target error) bool {
	switch {
	case target == ErrUnsupported:
		return e.failure().IsUnsupported()
	case target == ErrServer:
		return e.StatusCode >= 500
	case e.failure().IsBadCursor():
		return target == ErrInvalid
	case e.StatusCode == http.StatusNotFound:
		return target == ErrNotFound && !e.isForeign && !e.failure().IsUnsupported()
	case e.StatusCode == http.StatusTooManyRequests:
		return target == cmp.Or(fullSentinels[e.Code], ErrRateLimited)
	}
	return target != nil && target == statusSentinels[e.StatusCode]
}

// The sentinels of other answers by their status, and of a 429 that is not about the rate by its code.
var (
	statusSentinels = map[int]error{
		http.StatusUnauthorized: ErrUnauthorized, http.StatusForbidden: ErrForbidden, http.StatusConflict: ErrConflict,
		http.StatusPaymentRequired: ErrQuota, http.StatusBadRequest: ErrInvalid, http.StatusUnprocessableEntity: ErrInvalid,
	}
	fullSentinels = map[string]error{
		httptry.CodeTooManyBackfills: ErrTooManyBackfills, httptry.CodeTooManyFileDownloads: ErrTooManyFileDownloads,
	}
)

// LogValue groups the fields for slog.
func (e *APIError) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("op", string(e.Op)), slog.String("route", e.Route), slog.Int("status", e.StatusCode),
		slog.String("code", e.Code), slog.String("detail", e.Detail), slog.String("request_id", e.RequestID),
		slog.Int("tries", e.Tries))
}

// InputError is bad input, refused before anything was sent. It matches [ErrInvalid].
type InputError = ops.InputError

func checkContext(ctx context.Context, op Op) error { return refused(op, outgoing.CheckContext(ctx)) }

// TransportError is the error of a call without a usable answer. Sent reports whether a part of the request may
// have reached the service. For an operation that must not be repeated, the error is then an
// [*OutcomeUnknownError] that wraps it.
type TransportError struct {
	CallInfo

	Sent bool
	Err  error // the cause, without URLs
}

func (e *TransportError) Error() string {
	var b errtext.Text
	b.Add("hogapi: %s: no answer: %s", e.name(), mask.Clean(fmt.Sprint(e.Err)))
	b.AddIf(!e.Sent, " (nothing was sent)")
	b.AddIf(e.Tries > 1, " [%d tries]", e.Tries)
	return b.String()
}

// Unwrap returns the cause, so that context.Canceled and net.Error are found.
func (e *TransportError) Unwrap() error { return e.Err }

// DecodeError is an answer that claims success but cannot be decoded.
type DecodeError struct {
	CallInfo

	StatusCode int
	Err        error

	hint string
	body []byte
}

// Body returns the answer, cut at 64 KiB, with keys redacted.
func (e *DecodeError) Body() []byte { return e.body }

func (e *DecodeError) Error() string {
	var b errtext.Text
	b.Add("hogapi: %s: the answer (status %d) cannot be understood: %v", e.name(), e.StatusCode, e.Err)
	b.AddIf(e.hint != "", "; %s", e.hint)
	return b.String()
}

// Unwrap returns the cause.
func (e *DecodeError) Unwrap() error { return e.Err }

// OutcomeUnknownError is the error of a call that may have taken effect: it was sent, and its answer was lost,
// could not be read, or does not exclude an effect. Before you call again, check with Get, or look for a
// created item in the list. It matches [ErrOutcomeUnknown].
type OutcomeUnknownError struct {
	CallInfo

	Done bool  // the service said that it carried out the call; only its answer could not be read
	Err  error // *APIError, *TransportError or *DecodeError
}

func (e *OutcomeUnknownError) Error() string {
	what := "outcome unknown, it may have taken effect"
	if e.Done {
		what = "it was carried out, but its answer could not be read"
	}
	return fmt.Sprintf("hogapi: %s: %s: %s: %s", e.name(), what, endpoints.Look(e.Op), errtext.Within(e.name(), e.Err))
}

// Unwrap returns the cause.
func (e *OutcomeUnknownError) Unwrap() error { return e.Err }

// Is matches ErrOutcomeUnknown.
func (e *OutcomeUnknownError) Is(target error) bool { return target == ErrOutcomeUnknown }

// PageError is the error of an iteration over a list. All items before it are valid, but for those with a [*RowError]. To
// resume, list again with the Offset, Cursor or Before of the error, and with the same other options.
type PageError struct {
	Op     Op
	Page   int       // from 1, of this walk
	Offset int       // of the page that failed; offset lists only
	Cursor string    // of the page that failed; cursor lists only, empty for the first page
	Before time.Time // of the page that failed; logs only, zero for the first page
	Err    error
}

func (e *PageError) Error() string {
	where := "the start"
	switch {
	case !e.Before.IsZero():
		where = "Before " + outgoing.Time(e.Before)
	case e.Cursor != "":
		where = "its cursor"
	case e.Offset > 0:
		where = fmt.Sprintf("offset %d", e.Offset)
	}
	return fmt.Sprintf("hogapi: %s: page %d: %s; resume at %s", e.Op, e.Page, errtext.Within(e.Op, e.Err), where)
}

// Unwrap returns the cause.
func (e *PageError) Unwrap() error { return e.Err }

// isUnknownEndpoint reports whether the server does not have the route. A missing export is another error.
func isUnknownEndpoint(err error) bool {
	api, ok := errors.AsType[*APIError](err)
	return ok && api.StatusCode == http.StatusNotFound && api.Detail == httptry.NoEndpoint
}

// stateFileError returns an error of internal/statefile as one of this package.
func stateFileError(err error) error {
	if unfit, ok := errors.AsType[*InputError](err); ok && unfit.Op == "" {
		return refused(ops.Import, unfit)
	}
	if errors.Is(err, durable.ErrLocked) {
		return fmt.Errorf("%w: %w", ErrHeld, err)
	}
	return err
}
