package hogapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// failure turns the last try of a call that failed into one typed error, or into nil where that says the call is done.
func (x *exchange) failure(ctx context.Context) error {
	if x.op.Method == http.MethodDelete && x.MayHaveActedBefore && x.SaysGone() {
		return nil // an earlier try has deleted it, and its answer was lost
	}
	var err error
	if x.Status == 0 {
		err = x.transportError(x.Err, x.EverSent)
	} else {
		err = x.apiError()
	}
	err = x.Explain(ctx, err)
	if x.MayHaveActed {
		err = x.outcomeUnknown(err, x.SaysDone())
	}
	return err
}

// outcomeUnknown returns the error of a call that may have taken effect: an OutcomeUnknownError, unless the call may be
// repeated.
func (x *exchange) outcomeUnknown(err error, done bool) error {
	if !x.ActsEachTime {
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
	if one, isOne := out.(identified); err == nil && (isOne || x.matches != nil) {
		err = x.checkIdentity(one, out)
	}
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		x.Canceled = true
		err = fmt.Errorf("the answer was not read to its end: %w", httptry.ContextError(ctx))
		return x.outcomeUnknown(x.transportError(err, true), !page)
	}
	if faults, ok := errors.AsType[httptry.RowFaults](err); ok {
		return x.outcomeUnknown(x.rowErrorsOf(faults, body), false)
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
	return x.outcomeUnknown(&DecodeError{
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

// checkIdentity refuses an answer about something else than the request: an object with another id, or what matches refuses.
func (x *exchange) checkIdentity(one identified, answer any) error {
	if x.matches != nil {
		return x.matches(answer)
	}
	if !strings.HasSuffix(x.op.Path, "}/") || one.identity() == "" {
		return nil
	}
	return isAskedFor("id", one.identity(), x.ids[len(x.ids)-1])
}

// tried reports one try.
func (x *exchange) tried(ctx context.Context, t *httptry.Try) {
	r := CallRecord{CallInfo: x.info(t.Number), StatusCode: t.Status, Err: t.Err, Duration: t.Duration}
	if _, says := t.Header[queries.CostHeader]; says {
		r.Cost = QueryCost(queries.CostOf(t.Header))
	}
	if t.Retry {
		r.Retry, r.Wait = "no answer", t.Wait
		if t.Status != 0 {
			r.Retry = fmt.Sprintf("status %d", t.Status)
		}
	}
	x.core.observe(ctx, r)
}

// observe reports a try, with the retry that follows, or the end of a call to the logger and the hook.
func (c *core) observe(ctx context.Context, r CallRecord) {
	if c.hooks.OnCall != nil {
		defer c.Hook(ctx, func() { c.hooks.OnCall(ctx, r) })
	}
	isLogged := c.logger.Enabled(ctx, slog.LevelDebug) || c.logger.Enabled(ctx, slog.LevelWarn)
	if !isLogged || r.Ended && r.Err == nil {
		return
	}
	text, attrs := "hogapi: try", []slog.Attr{slog.Int("status", r.StatusCode), slog.Duration("duration", r.Duration)}
	if r.Ended { // at level debug: the caller gets the error and decides
		text = "hogapi: failed"
	}
	if r.Cost.IsKnown {
		attrs = append(attrs, slog.Int64("bytes_read", r.Cost.BytesRead), slog.Int64("budget_left", r.Cost.BudgetLeft))
	}
	c.log(ctx, slog.LevelDebug, text, r.CallInfo, r.Err, attrs...)
	if r.Retry != "" {
		c.log(ctx, slog.LevelWarn, "hogapi: retry", r.CallInfo, nil, slog.String("reason", r.Retry), slog.Duration("wait", r.Wait))
	}
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
	if answer, ok := out.(completed); ok {
		err = cmp.Or(answer.complete(), err)
	}
	return err
}

func allComplete[T any, P interface {
	*T
	completed
}](rows []T) error {
	for i := range rows {
		if err := P(&rows[i]).complete(); err != nil {
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
// [httptry.RowFaults], the rows are there: each other row is complete. An answer without the list is an error, because as
// an empty list it would end a walk early.
func rowsOf[T any](ctx context.Context, body []byte, list string, others map[string]any) (rows []T, err error) {
	d := json.NewDecoder(bytes.NewReader(body))
	if err := expect(d, json.Delim('{'), "not a JSON object"); err != nil {
		return nil, err
	}
	var faults httptry.RowFaults
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		switch place := others[key.(string)]; {
		case key == list && rows != nil:
			err = fmt.Errorf("%s twice", list)
		case key == list:
			rows, faults, err = listOf[T](ctx, d, body)
		case place != nil:
			if err = d.Decode(place); err != nil {
				err = httptry.Shortened(err)
			}
		default:
			err = d.Decode(new(json.RawMessage))
		}
		if err != nil {
			return nil, err
		}
	}
	if rows == nil {
		return nil, fmt.Errorf("%s missing", list)
	}
	if err := cmp.Or(expect(d, json.Delim('}'), "the end is missing"), expect(d, nil, "unexpected data after the end")); err != nil {
		return nil, err
	}
	if len(faults) > 0 {
		return rows, faults
	}
	return rows, nil
}

// listOf reads a list, each row with its check, and notes the rows that cannot be read.
func listOf[T any](ctx context.Context, d *json.Decoder, body []byte) (rows []T, faults httptry.RowFaults, _ error) {
	if err := expect(d, json.Delim('['), "the list of rows is missing"); err != nil {
		return nil, nil, err
	}
	rows = []T{}
	for d.More() {
		if ctx.Err() != nil {
			return nil, nil, httptry.ContextError(ctx)
		}
		if len(rows) == maxRows {
			return nil, nil, fmt.Errorf("%w: over %d rows on one page", httptry.ErrTooBig, maxRows)
		}
		var row T
		from := d.InputOffset()
		err := d.Decode(&row)
		raw, field := bytes.TrimLeft(body[from:d.InputOffset()], ", \t\r\n"), ""
		switch {
		case err == nil:
			if row, ok := any(&row).(completed); ok {
				err = row.complete()
			}
		case !json.Valid(raw):
			return nil, nil, fmt.Errorf("row %d: %w", len(rows), httptry.Shortened(err))
		default:
			field, err = httptry.Salvage(raw, &row, httptry.Shortened(err))
		}
		if err != nil {
			faults = append(faults, httptry.RowFault{Index: len(rows), Field: field, Raw: raw, Err: err})
		}
		rows = append(rows, row)
	}
	return rows, faults, expect(d, json.Delim(']'), "the list has no end")
}

// maxRows is the most rows of one page. The service returns at most 500, unless it is asked for more.
const maxRows = 10_000

// expect reads the next token; nil stands for the end of the text.
func expect(d *json.Decoder, want json.Token, otherwise string) error {
	token, err := d.Token()
	switch {
	case want == nil && errors.Is(err, io.EOF):
		return nil
	case want == nil || err == nil && token != want:
		return errors.New(otherwise)
	}
	return err
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

// has refuses an answer without a value, such as its id.
func has[T comparable](key string, value T) error {
	var none T
	if value == none {
		return errors.New(key + " is missing")
	}
	return nil
}

// isAskedFor refuses an answer about something else than the request.
func isAskedFor[T comparable](key string, got, want T) error {
	if got != want {
		return fmt.Errorf("the answer has the %s %v, not %v as requested", key, got, want)
	}
	return nil
}
