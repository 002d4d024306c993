package queries

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"

	"github.com/hogapi/hogapi/internal/httptry"
)

// Kind is the meaning of an error of a query for the next one.
type Kind uint8

// The kinds. The ones after Refused end within [Ask].
const (
	Failed      Kind = iota // without a known reason
	TooMuch                 // a smaller query may succeed
	Doubtful                // there is an answer, and it cannot be trusted
	Hopeless                // every query fails until the caller corrects something
	Unreachable             // every query fails for now
	Refused                 // the service rejects the text of the query
	Busy                    // the same query may succeed later
	loaded                  // the same query may succeed later, or else a smaller one
	spent                   // the project's budget of bytes to read is spent
	cached                  // the answer is that of an equal query
	unnamed                 // the server is older than the names of queries
)

// Error is the error of a query with its kind.
type Error struct {
	Kind     Kind
	Function string // that the server does not have, if it is refused for one
	Err      error
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of an error of [Ask], and Failed for any other.
func KindOf(err error) Kind {
	if of, ok := errors.AsType[*Error](err); ok {
		return of.Kind
	}
	return Failed
}

// IsTooMuch reports whether a smaller query may succeed.
func IsTooMuch(err error) bool { return KindOf(err) == TooMuch }

// Lacks reports whether the server does not have a function.
func Lacks(err error, function string) bool {
	of, ok := errors.AsType[*Error](err)
	return ok && of.Function == function
}

var unsupported = regexp.MustCompile(`Unsupported function call '(\w+)\(`)

// The service's words. They are nowhere else.
const (
	codeSpent  = "api_queries_budget_exceeded"
	codeBytes  = "too_many_bytes"
	codeParse  = "parse_error"
	extraField = "Extra inputs are not permitted"
	heavyLoad  = "heavy load"

	statusTooMuchMemory = 513
)

// classify returns the error of a reply, nil for an answer that is whole.
func classify(ctx context.Context, r Reply, err error) *Error {
	e := &Error{Kind: Failed, Err: err}
	if f := unsupported.FindStringSubmatch(r.Detail); r.Status == http.StatusBadRequest && f != nil {
		e.Function = f[1]
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
	case errors.Is(err, errCached):
		e.Kind = cached
	case errors.Is(err, ErrFull), errors.Is(err, httptry.ErrTooBig), errors.Is(err, httptry.ErrTimeout):
		e.Kind = TooMuch
	case r.Status == statusTooMuchMemory && strings.Contains(strings.ToLower(r.Detail), heavyLoad):
		e.Kind = loaded
	case httptry.TookTooMuch(r.Status), r.Code == codeBytes, r.Status >= 500 && strings.Contains(strings.ToLower(r.Detail), "memory"):
		e.Kind = TooMuch
	case r.Status == http.StatusTooManyRequests && r.Code == codeSpent:
		e.Kind = spent
	case r.Status == http.StatusTooManyRequests, r.Status == http.StatusServiceUnavailable:
		e.Kind = Busy
	case r.IsHopeless, r.Status == http.StatusPaymentRequired:
		e.Kind = Hopeless
	case r.Status == http.StatusBadRequest && r.Code == codeParse && strings.Contains(r.Detail, extraField) && strings.Contains(r.Detail, "name"):
		e.Kind = unnamed
	case r.IsRefused:
		e.Kind = Refused
	case r.Err == nil, r.IsUnreadable, r.Status >= http.StatusInternalServerError:
		e.Kind = Doubtful
	case r.IsUnsent:
		e.Kind = Unreachable
	}
	return e
}
