package hogapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/hogapi/hogapi/internal/delivery"
	"github.com/hogapi/hogapi/ops"
)

// Hooks are functions that are called with what happens. Each may be nil. They must be safe for
// concurrent use. Hooks of calls run between tries, on the goroutine of the call; with Prefetch there
// are several. Hooks of an import run on the goroutines that send, which wait for them: they must be
// fast. A panic in a hook is caught and logged.
type Hooks struct {
	OnTry    func(context.Context, TryInfo)    // after each try of a call
	OnRetry  func(context.Context, RetryInfo)  // before the wait for the next try
	OnResult func(context.Context, ResultInfo) // once, at the end of a call that was not refused before its first try

	OnBatch      func(BatchInfo)      // after each batch of events was answered
	OnCheckpoint func(CheckpointInfo) // after each checkpoint was saved
}

// CallInfo names a call. The errors and hooks of a call hold it, and it is in the context of each of its
// requests, for transports that trace or count.
type CallInfo struct {
	Op     Op     // for example "batch_exports.get"
	Method string // of HTTP
	Route  string // path template, fit as a label, never the URL; for Client.Do the path as given
	Tries  int    // made so far, this one included
}

type callInfoKey struct{}

func (i CallInfo) in(ctx context.Context) context.Context {
	return context.WithValue(ctx, callInfoKey{}, i)
}

// CallInfoFrom returns the call that the request with this context belongs to.
func CallInfoFrom(ctx context.Context) (CallInfo, bool) {
	info, ok := ctx.Value(callInfoKey{}).(CallInfo)
	return info, ok
}

// TryInfo is one try of a call.
type TryInfo struct {
	CallInfo

	StatusCode int           // 0 where no answer came
	Err        error         // why none came
	Duration   time.Duration // of this try
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
	StatusCode int // 0 where no answer came
	Try        int // from 1
	Err        error
	Duration   time.Duration
}

// CheckpointInfo is one saved checkpoint.
type CheckpointInfo struct {
	Position Position
	Duration time.Duration
}

// observeTry tells logger and hooks of one try, and of the retry that follows.
func (x *exchange) observeTry(ctx context.Context) {
	c, info := x.core, x.op.info(x.Tries)
	c.log(ctx, slog.LevelDebug, "hogapi: try", info, x.Last.Err, slog.Int("status", x.Last.Status), slog.Duration("duration", x.Facts.Duration))
	c.hook(ctx, c.hooks.OnTry != nil, func() {
		c.hooks.OnTry(ctx, TryInfo{CallInfo: info, StatusCode: x.Last.Status, Err: x.Last.Err, Duration: x.Facts.Duration})
	})
	if !x.Verdict.Retry {
		return
	}
	reason := "no answer"
	if x.Last.Status != 0 {
		reason = fmt.Sprintf("status %d", x.Last.Status)
	}
	c.log(ctx, slog.LevelWarn, "hogapi: retry", info, nil, slog.String("reason", reason), slog.Duration("wait", x.Verdict.Wait))
	c.hook(ctx, c.hooks.OnRetry != nil, func() {
		c.hooks.OnRetry(ctx, RetryInfo{CallInfo: info, StatusCode: x.Last.Status, Reason: reason, Wait: x.Verdict.Wait})
	})
}

func (x *exchange) observeResult(ctx context.Context, err error) {
	c, info := x.core, x.op.info(x.Tries)
	took := time.Since(x.started)
	level := slog.LevelError
	if x.Last.Canceled && errors.Is(ctx.Err(), context.Canceled) {
		level = slog.LevelDebug // the caller's wish, as when a walk with prefetch is broken off
	}
	if err != nil {
		c.log(ctx, level, "hogapi: failed", info, err, slog.Int("status", x.Last.Status), slog.Duration("duration", took))
	}
	c.hook(ctx, c.hooks.OnResult != nil, func() {
		c.hooks.OnResult(ctx, ResultInfo{CallInfo: info, StatusCode: x.Last.Status, Err: err, Duration: took})
	})
}

// log writes one line about a call: its names, never its URL, headers or bodies.
func (c *core) log(ctx context.Context, level slog.Level, text string, info CallInfo, err error, attrs ...slog.Attr) {
	if !c.logger.Enabled(ctx, level) {
		return
	}
	attrs = append([]slog.Attr{slog.String("op", string(info.Op)), slog.String("route", info.Route), slog.Int("try", info.Tries)}, attrs...)
	if err != nil {
		attrs = append(attrs, slog.Any("error", err))
	}
	c.logger.LogAttrs(ctx, level, text, attrs...)
}

// hook runs a user's function and survives its panic.
func (c *core) hook(ctx context.Context, set bool, f func()) {
	if !set {
		return
	}
	defer func() {
		if r := recover(); r != nil {
			c.logger.ErrorContext(ctx, "hogapi: a hook panicked", "panic", fmt.Sprintf("%T", r))
		}
	}()
	f()
}

// guard runs a user's function whose word counts: its panic is an error.
func (c *core) guard(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			c.logger.Error("hogapi: a function of the caller panicked", "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return f()
}

// observeBatch tells logger and hooks of one request of an import.
func (c *core) observeBatch(ctx context.Context, path string, t delivery.Try) {
	status, took, failure := t.Answer.Status, t.Answer.Duration, error(nil)
	if status == 0 {
		failure = t.Answer.Err
	}
	level, text := slog.LevelDebug, "hogapi: batch"
	if t.Answer.Verdict == delivery.Wait {
		level, text = slog.LevelWarn, "hogapi: batch failed, will be sent again"
	}
	info := CallInfo{Op: ops.Capture, Method: http.MethodPost, Route: path, Tries: t.Number}
	c.log(ctx, level, text, info, failure, slog.Int("lane", t.Lane), slog.Int("events", t.Items), slog.Int("status", status), slog.Duration("duration", took))
	c.hook(ctx, c.hooks.OnBatch != nil, func() {
		c.hooks.OnBatch(BatchInfo{
			Lane: t.Lane, Events: t.Items, Bytes: t.Plain, WireBytes: t.Wire, StatusCode: status, Try: t.Number, Err: failure, Duration: took,
		})
	})
}
