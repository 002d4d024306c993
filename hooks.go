package hogapi

import (
	"context"
	"time"

	"github.com/hogapi/hogapi/internal/endpoints"
)

// Hooks are functions that observe calls and imports. Each may be nil. They must be safe for concurrent use.
// Hooks of calls run between tries, on the goroutine of the call or, with Prefetch, on several goroutines.
// Hooks of an import run on the goroutines that send events and delay them, so they must be fast. A panic in a
// hook is caught and logged.
type Hooks struct {
	OnTry    func(context.Context, TryInfo)    // after each try of a call
	OnRetry  func(context.Context, RetryInfo)  // before the wait for the next try
	OnResult func(context.Context, ResultInfo) // once, at the end of a call that was not refused before its first try

	OnBatch      func(BatchInfo)      // after each batch of events was answered
	OnCheckpoint func(CheckpointInfo) // after each checkpoint was saved
}

// CallInfo names a call. The errors and hooks of a call have it. It is also in the context of each request, for
// transports that trace or count: see [CallInfoFrom].
type CallInfo struct {
	Op     Op     // for example "batch_exports.get"
	Method string // of HTTP
	Route  string // path template, fit as a label, never the URL; for Client.Do the path as given
	Tries  int    // made so far, this one included
}

// name names the call in an error.
func (i CallInfo) name() string { return endpoints.NameOf(i.Op, i.Method, i.Route) }

type callInfoKey struct{}

func (i CallInfo) in(ctx context.Context) context.Context {
	return context.WithValue(ctx, callInfoKey{}, i)
}

// CallInfoFrom returns the call to which the request with this context belongs. The bool reports whether there
// is one.
func CallInfoFrom(ctx context.Context) (CallInfo, bool) {
	info, ok := ctx.Value(callInfoKey{}).(CallInfo)
	return info, ok
}

// TryInfo is one try of a call.
type TryInfo struct {
	CallInfo

	StatusCode int           // 0 if no answer came
	Err        error         // the cause if no answer came
	Duration   time.Duration // of this try
	Cost       QueryCost     // of a query
}

// QueryCost is what the answer to a query says about its cost.
type QueryCost struct {
	BytesRead  int64 // by the query
	BudgetLeft int64 // bytes that the project's queries may read; below 0 for a debt
	IsKnown    bool  // the answer says it
}

// RetryInfo is a try that will be followed by another.
type RetryInfo struct {
	CallInfo

	StatusCode int
	Reason     string        // "status 503", "no answer", …
	Wait       time.Duration // until the next try
}

// ResultInfo is the end of a call.
type ResultInfo struct {
	CallInfo

	StatusCode int
	Err        error
	Duration   time.Duration // of the whole call, waits included
}

// BatchInfo is one answered request of an import.
type BatchInfo struct {
	Lane       int
	Events     int
	Bytes      int // before compression
	WireBytes  int // as sent
	StatusCode int // 0 if no answer came
	Try        int // from 1
	Err        error
	Duration   time.Duration
}

// CheckpointInfo is one saved checkpoint.
type CheckpointInfo struct {
	Position Position
	Duration time.Duration
}
