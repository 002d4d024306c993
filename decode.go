package hogapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/hogapi/hogapi/internal/endpoints"
	"github.com/hogapi/hogapi/internal/httptry"
	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/internal/queries"
	"github.com/hogapi/hogapi/ops"
)

// exchange is one call of an operation, with its last try.
type exchange struct {
	httptry.Call
	*httptry.Try
	request

	core    *core
	project string
	started time.Time
}

// finish turns the last try into a result or one typed error.
func (x *exchange) finish(ctx context.Context, out any) error {
	if x.OK {
		return x.read(ctx, out)
	}
	if x.op.Method == http.MethodDelete && x.MayHaveActedBefore && x.SaysGone() {
		return nil // an earlier try has deleted it, and its answer was lost
	}
	err := error(x.transportError(x.Err, x.EverSent))
	if x.Status != 0 {
		err = x.apiError()
	}
	err = x.Explain(ctx, err)
	if x.MayHaveActed {
		err = x.unlessRepeatable(err, x.SaysDone())
	}
	return err
}

// unlessRepeatable returns the error of a call that may have taken effect. If the call may not be repeated,
// that is an OutcomeUnknownError.
func (x *exchange) unlessRepeatable(err error, done bool) error {
	if !x.Once {
		return err
	}
	return &OutcomeUnknownError{CallInfo: x.info(x.Number), Done: done, Err: err}
}

func (x *exchange) apiError() *APIError {
	header, body, text := x.Try.Header, x.Try.Body, x.Problem
	if x.op.Name == ops.BatchExportsTest && x.Status == http.StatusNotFound && len(body) == 0 {
		text.IsForeign = header.Get("Allow") == "" // the service sends Allow with an empty body too
	}
	err := &APIError{
		CallInfo: x.info(x.Number), StatusCode: x.Status,
		Type: text.Type, Code: text.Code, Detail: text.Detail, Attr: text.Attr,
		RequestID: httptry.RequestID(header), RetryAfter: x.RetryAfter,
		scope: x.op.Scope, project: x.project, ids: x.ids, isForeign: text.IsForeign, body: body,
	}
	if err.failure().IsUnsupported() {
		err.Alternative = endpoints.Alternative(x.op.Name)
	}
	return err
}

func (x *exchange) transportError(err error, sent bool) *TransportError {
	return &TransportError{CallInfo: x.info(x.Number), Sent: sent, Err: err}
}

// read decodes a success into out. If the answer cannot be read and the call may not be repeated, its outcome
// is unknown.
func (x *exchange) read(ctx context.Context, out any) error {
	body := bytes.TrimSpace(x.Try.Body)
	page := httptry.IsPage(x.Try.Header.Get("Content-Type"), body)
	if out == nil && (x.op.Name == ops.Do || !page) || len(body) == 0 && x.lenient {
		return nil
	}
	err := errors.New("empty body")
	switch {
	case page:
		err = errors.New("got an HTML page, not JSON")
	case len(body) > 0:
		err = decodeAnswer(ctx, body, out)
	}
	if err == nil {
		err = x.isAsked(out)
	}
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		x.Canceled = true
		err = fmt.Errorf("the answer was not read to its end: %w", httptry.ContextError(ctx))
		return x.unlessRepeatable(x.transportError(err, true), !page)
	}
	if faults, ok := errors.AsType[httptry.RowFaults](err); ok {
		return x.unlessRepeatable(x.rowErrors(faults, body), false)
	}
	hint := ""
	switch {
	case errors.Is(err, httptry.ErrTooBig):
		hint = "ask for less, for example with a smaller Limit"
	case page || len(body) == 0:
		hint = "is the base URL the service's?"
	case x.op.Name == ops.Do && errors.As(err, new(*json.UnmarshalTypeError)):
		hint = fmt.Sprintf("does %T, the type of out, fit the answer?", out)
	}
	if !errors.Is(err, httptry.ErrTooBig) { // ErrTooBig quotes nothing from the answer
		err = x.masked(err)
	}
	return x.unlessRepeatable(&DecodeError{
		CallInfo: x.info(x.Number), StatusCode: x.Status, Err: err, hint: hint, body: x.shown(body),
	}, false)
}

// masked is an error that quotes an answer, as a text without keys.
func (x *exchange) masked(err error) error {
	return errors.New(mask.Clean(mask.Text(mask.Brief(err), x.Keys)))
}

// shown is the part of an answer that an error keeps.
func (x *exchange) shown(body []byte) []byte {
	return mask.Bytes(body[:min(len(body), httptry.MaxErrorBody)], x.Keys)
}

// identified is an answer that says which object it is; "" if it does not.
type identified interface{ identity() string }

// isAsked refuses an answer about another object than the requested one: one with another id, or one that matches
// rejects.
func (x *exchange) isAsked(answer any) error {
	if x.matches != nil {
		return x.matches(answer)
	}
	one, ok := answer.(identified)
	if !ok || !strings.HasSuffix(x.op.Path, "}/") || one.identity() == "" {
		return nil
	}
	return httptry.IsAskedFor("id", one.identity(), x.ids[len(x.ids)-1])
}

// observeTry reports one try, and the retry that follows, to logger and hooks.
func (x *exchange) observeTry(ctx context.Context, t *httptry.Try) {
	c, info := x.core, x.info(t.Number)
	var cost queries.Cost
	attrs := []slog.Attr{slog.Int("status", t.Status), slog.Duration("duration", t.Duration)}
	if _, says := t.Header[queries.CostHeader]; says {
		cost = queries.CostOf(t.Header)
	}
	if cost.IsKnown {
		attrs = append(attrs, slog.Int64("bytes_read", cost.BytesRead), slog.Int64("budget_left", cost.BudgetLeft))
	}
	c.log(ctx, slog.LevelDebug, "hogapi: try", info, t.Err, attrs...)
	record := CallRecord{CallInfo: info, StatusCode: t.Status, Err: t.Err, Duration: t.Duration, Cost: QueryCost(cost)}
	if t.Retry {
		record.Retry, record.Wait = "no answer", t.Wait
		if t.Status != 0 {
			record.Retry = fmt.Sprintf("status %d", t.Status)
		}
		c.log(ctx, slog.LevelWarn, "hogapi: retry", info, nil, slog.String("reason", record.Retry), slog.Duration("wait", t.Wait))
	}
	c.tell(ctx, record)
}

func (x *exchange) observeResult(ctx context.Context, err error) {
	c, info := x.core, x.info(x.Number)
	took := time.Since(x.started)
	if err != nil { // the caller gets the error and decides: another endpoint may follow, or another look
		c.log(ctx, slog.LevelDebug, "hogapi: failed", info, err, slog.Int("status", x.Status), slog.Duration("duration", took))
	}
	c.tell(ctx, CallRecord{CallInfo: info, StatusCode: x.Status, Err: err, Duration: took, Ended: true})
}

func (c *core) tell(ctx context.Context, r CallRecord) {
	c.hook(ctx, c.hooks.OnCall != nil, func() { c.hooks.OnCall(ctx, r) })
}

// completed is an answer that can check itself: other JSON, such as {} or null, decodes without an error.
type completed interface{ complete() error }

type listed interface {
	decodeRows(ctx context.Context, body []byte) error
}

// decodeAnswer decodes a body. It ends with ctx.
func decodeAnswer(ctx context.Context, body []byte, out any) (err error) {
	if ctx.Err() != nil {
		return httptry.ContextError(ctx)
	}
	switch list := out.(type) {
	case listed:
		err = list.decodeRows(ctx, body)
	case queries.Decoder:
		err = list.Decode(ctx, body)
	default:
		err = httptry.Unmarshal(body, out)
	}
	if err != nil && !errors.As(err, new(httptry.RowFaults)) {
		return err
	}
	return cmp.Or(completeness(out), err)
}

func completeness(answer any) error {
	if answer, ok := answer.(completed); ok {
		return answer.complete()
	}
	return nil
}

func allComplete[T any](rows []T) error {
	for i := range rows {
		if err := completeness(&rows[i]); err != nil {
			return fmt.Errorf("row %d: %w", i, err)
		}
	}
	return nil
}

// rowList is an answer that is an object with one list.
type rowList[T any] struct {
	name string
	rows []T
}

func (l *rowList[T]) decodeRows(ctx context.Context, body []byte) (err error) {
	l.rows, err = rowsOf[T](ctx, body, l.name, nil)
	if faults, ok := errors.AsType[httptry.RowFaults](err); ok {
		l.rows, err = nil, errors.New(faults.Error())
	}
	return err
}

// rowsOf reads the list of an answer that is an object, and the other requested members. With an error of type
// [httptry.RowFaults], the rows are there: each other row is complete.
func rowsOf[T any](ctx context.Context, body []byte, list string, others map[string]any) ([]T, error) {
	return httptry.Rows(ctx, body, list, others, func(row *T) error { return completeness(row) })
}

type rowCount struct {
	Count *int64 `json:"count"`
}

func (c *rowCount) complete() error {
	if c.Count == nil || *c.Count < 0 {
		return errors.New("no count of 0 or more")
	}
	return nil
}
