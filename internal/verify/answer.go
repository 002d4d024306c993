package verify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/httptry"
	"github.com/hogapi/hogapi/internal/jsonb"
)

// Limits for the rows of an answer; the queries ask for as many.
const (
	MostCounts = 50_000
	MostUUIDs  = 10_000
)

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
		return errors.New("it is not a JSON object")
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
		return errors.New("it has an error of its own")
	}
	switch results, sent := keys["results"]; {
	case !sent:
		return errors.New("it has no results")
	case results[0] != '[':
		return errors.New("its results are not a list")
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
		case len(a.Rows) == MostCounts: // the caller refuses it
			err = fmt.Errorf("%w: over %d rows", httptry.ErrTooBig, MostCounts)
		case json.Unmarshal(raw, &row) != nil:
			err = fmt.Errorf("row %d: it does not match the query", len(a.Rows))
		default:
			a.Rows = append(a.Rows, row)
		}
	})
	return err
}

func columns(b []byte, into ...any) error {
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

// Whole returns the rows of a current answer, which must have fewer than most.
func (a *Answer[T]) Whole(most int) ([]T, error) {
	switch {
	case a.IsCached:
		return nil, errCached
	case len(a.Rows) >= most, a.HasMore && len(a.Rows) < most-1: // a full list of uuids has a next page
		return nil, ErrFull
	}
	return a.Rows, nil
}

// CountRow is a row of a count by day and name.
type CountRow struct {
	Day   time.Time
	Event string
	Counts
}

// UnmarshalJSON decodes a list of columns.
func (r *CountRow) UnmarshalJSON(b []byte) error {
	var day string
	values := []any{&day, &r.Event, &r.Copies, &r.Seen, &r.Sum.High, &r.Sum.Low}
	err := columns(b, values...)
	if err == nil {
		r.Sum.N = r.Seen
	} else if err = columns(b, values[:4]...); err != nil { // requested without sums
		return err
	}
	at, err := time.Parse(time.DateOnly, day[:min(len(day), len(time.DateOnly))])
	r.Day = at
	if err == nil && (r.Seen < 1 || r.Copies < r.Seen) {
		err = errors.New("counts that contradict each other")
	}
	return err
}

// NumberRow is a row with one number.
type NumberRow struct{ N int64 }

// UnmarshalJSON decodes a list of one column.
func (r *NumberRow) UnmarshalJSON(b []byte) error { return columns(b, &r.N) }

// UUIDRow is a row of a list of uuids.
type UUIDRow struct{ ID uuid.UUID }

// UnmarshalJSON decodes a list of one column.
func (r *UUIDRow) UnmarshalJSON(b []byte) error {
	var text string
	if err := columns(b, &text); err != nil {
		return err
	}
	id, err := uuid.Parse(text)
	if err == nil && id.String() != text {
		err = errors.New("a uuid in another form")
	}
	r.ID = id
	return err
}
