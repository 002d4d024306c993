package hogapi

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/endpoints"
	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/internal/httptry"
	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/ops"
)

// Sentinels for errors.Is. To read the fields of an error, use errors.As with its type.
var (
	ErrUnauthorized   = errtext.ErrUnauthorized                                         // status 401
	ErrForbidden      = errtext.ErrForbidden                                            // status 403
	ErrNotFound       = errtext.ErrNotFound                                             // a 404 of the service, not of a proxy: no such item or project
	ErrUnsupported    = errors.New("hogapi: not supported by this server")              // too old, too new, or closed to personal keys: see APIError.Alternative
	ErrInvalid        = errtext.ErrInvalid                                              // status 400 or 422, a cursor that the service refuses, and every *InputError
	ErrRateLimited    = errors.New("hogapi: rate limited")                              // status 429: APIError.Code says of what there is too much
	ErrQuota          = errtext.ErrQuota                                                // status 402
	ErrOutcomeUnknown = errors.New("hogapi: the call may or may not have taken effect") // every *OutcomeUnknownError
	ErrFull           = event.ErrFull                                                   // of Capture.TryEnqueue: no room, or the server has not yet answered how it takes events
	ErrClosed         = event.ErrClosed                                                 // of a Capture after Close
	ErrHeld           = errors.New("hogapi: in use by another import or download")      // the checkpoint, the reject file or the folder
	ErrListCut        = errors.New("hogapi: the list may be incomplete")                // with a list that has no pages and may be incomplete
	ErrRunFailed      = errors.New("hogapi: the run failed")                            // FailedBilling, TimedOut, Terminated, and Completed with failed records
	ErrRunCancelled   = errors.New("hogapi: the run was cancelled")                     // by request
)

// Codes of a 429 that matches [ErrRateLimited]: one of them must end before another begins.
const (
	CodeTooManyBackfills     = httptry.CodeTooManyBackfills
	CodeTooManyFileDownloads = httptry.CodeTooManyFileDownloads
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

func (e *APIError) Error() string { return "hogapi: " + e.failure().String() }

// failure returns the error without its body.
func (e *APIError) failure() endpoints.Failure {
	return endpoints.Failure{
		Op: e.Op, Method: e.Method, Route: e.Route, Project: e.project, Tries: e.Tries, Status: e.StatusCode, Type: e.Type, Code: e.Code, Detail: e.Detail, Attr: e.Attr,
		RequestID: e.RequestID, RetryAfter: e.RetryAfter, Alternative: e.Alternative,
		Scope: e.scope, IDs: e.ids, IsForeign: e.isForeign,
	}
}

func (e *APIError) Is(target error) bool {
	switch {
	case target == ErrUnsupported:
		return e.failure().IsUnsupported()
	case e.failure().IsBadCursor():
		return target == ErrInvalid
	case e.StatusCode == http.StatusNotFound:
		return target == ErrNotFound && !e.isForeign && !e.failure().IsUnsupported()
	}
	return target != nil && target == statusSentinels[e.StatusCode]
}

// statusSentinels are the sentinels of other answers by their status.
var statusSentinels = map[int]error{
	http.StatusUnauthorized: ErrUnauthorized, http.StatusForbidden: ErrForbidden, http.StatusTooManyRequests: ErrRateLimited,
	http.StatusPaymentRequired: ErrQuota, http.StatusBadRequest: ErrInvalid, http.StatusUnprocessableEntity: ErrInvalid,
}

func (e *APIError) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("op", string(e.Op)), slog.String("route", e.Route), slog.Int("status", e.StatusCode),
		slog.String("code", e.Code), slog.String("detail", e.Detail), slog.String("request_id", e.RequestID),
		slog.Int("tries", e.Tries))
}

// InputError is bad input, refused before a request with it was sent; it matches [ErrInvalid].
type InputError = ops.InputError

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
	b.Add("hogapi: %s: the answer (status %d) cannot be decoded: %v", e.name(), e.StatusCode, e.Err)
	b.AddIf(e.hint != "", "; %s", e.hint)
	return b.String()
}

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
	what := "outcome unknown: the call may have taken effect"
	if e.Done {
		what = "the call was carried out, but its answer could not be read"
	}
	return fmt.Sprintf("hogapi: %s: %s: %s: %s", e.name(), what, endpoints.CheckAdvice(e.Op), errtext.WithoutOp(e.name(), e.Err))
}

func (e *OutcomeUnknownError) Unwrap() error { return e.Err }

func (e *OutcomeUnknownError) Is(target error) bool { return target == ErrOutcomeUnknown }

// PageError is the error of a walk over a list. The items before it are valid, except for items with a [*RowError]. To
// resume, list again with the same options but from its Offset, Cursor or Before.
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
	return fmt.Sprintf("hogapi: %s: page %d: %s; resume at %s", e.Op, e.Page, errtext.WithoutOp(e.Op, e.Err), where)
}

func (e *PageError) Unwrap() error { return e.Err }

// isServerError reports whether the service failed.
func isServerError(err error) bool {
	api, ok := errors.AsType[*APIError](err)
	return ok && api.StatusCode >= http.StatusInternalServerError
}

// isUnknownEndpoint reports whether the server does not have the route. A missing export is another error.
func isUnknownEndpoint(err error) bool {
	api, ok := errors.AsType[*APIError](err)
	return ok && api.StatusCode == http.StatusNotFound && api.Detail == httptry.NoEndpoint
}
