package queries

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hogapi/hogapi/internal/httptry"
	"github.com/hogapi/hogapi/internal/jsonb"
)

// MaxRows is the service's limit for the rows of an answer: a larger LIMIT is cut to it silently.
const MaxRows = 50_000

// ErrFull is the error for an answer that may lack rows.
var ErrFull = errors.New("the answer may lack rows: it is full, or says that there are more")

var errCached = errors.New("the answer comes from a cache")

// Answer is the answer to a query. Each row decodes itself from a list of columns.
type Answer[T any] struct {
	Rows     []T
	IsCached bool
	HasMore  bool // more rows exist
}

// Decode refuses a body that is not one complete answer.
func (a *Answer[T]) Decode(ctx context.Context, body []byte) error {
	if !bytes.HasPrefix(bytes.TrimSpace(body), []byte{'{'}) {
		return errors.New("not a JSON object")
	}
	keys := map[string][]byte{}
	if err := jsonb.Object(body, func(key, value []byte) { keys[string(key)] = value }); err != nil {
		return err
	}
	for key, into := range map[string]*bool{"is_cached": &a.IsCached, "hasMore": &a.HasMore} {
		if value, sent := keys[key]; sent {
			if err := json.Unmarshal(value, into); err != nil {
				return err
			}
		}
	}
	if failed, sent := keys["error"]; sent && string(failed) != "null" {
		return errors.New("the answer has an error of its own")
	}
	switch results, sent := keys["results"]; {
	case !sent:
		return errors.New("results missing")
	case results[0] != '[':
		return errors.New("results are not a list")
	default:
		return a.readRows(ctx, results)
	}
}

func (a *Answer[T]) readRows(ctx context.Context, list []byte) (err error) {
	_ = jsonb.Array(list, func(raw []byte) { // valid: it was read
		var row T
		switch {
		case err != nil:
		case ctx.Err() != nil:
			err = httptry.ContextError(ctx)
		case len(a.Rows) == MaxRows: // the caller refuses it
			err = fmt.Errorf("%w: over %d rows", httptry.ErrTooBig, MaxRows)
		case json.Unmarshal(raw, &row) != nil:
			err = fmt.Errorf("row %d does not match the query", len(a.Rows))
		default:
			a.Rows = append(a.Rows, row)
		}
	})
	return err
}

// Columns decodes a row, which is a list of columns.
func Columns(b []byte, into ...any) error {
	var list []json.RawMessage
	if err := json.Unmarshal(b, &list); err != nil {
		return err
	}
	if len(list) != len(into) {
		return errors.New("another number of columns")
	}
	for i, value := range into {
		if string(list[i]) == "null" {
			return errors.New("a column is null")
		}
		if err := json.Unmarshal(list[i], value); err != nil {
			return err
		}
	}
	return nil
}

// whole refuses an answer that is not current, or may lack rows: it must have fewer than limit.
func (a *Answer[T]) whole(limit int) error {
	switch {
	case a.IsCached:
		return errCached
	case len(a.Rows) >= limit, a.HasMore && len(a.Rows) < limit-1: // a full list of uuids has a next page
		return ErrFull
	}
	return nil
}

// NumberRow is a row with one number.
type NumberRow struct{ N int64 }

// UnmarshalJSON decodes a list of one column.
func (r *NumberRow) UnmarshalJSON(b []byte) error { return Columns(b, &r.N) }

// DayRow is a row with a day, or another text, and a number.
type DayRow struct {
	Day string
	N   int64
}

// UnmarshalJSON decodes a list of two columns.
func (r *DayRow) UnmarshalJSON(b []byte) error { return Columns(b, &r.Day, &r.N) }
