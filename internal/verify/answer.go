package verify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/httptry"
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
	d := json.NewDecoder(bytes.NewReader(body))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return errors.New("it is not a JSON object")
	}
	seen := map[string]bool{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return err
		}
		key, _ := token.(string)
		if seen[key] {
			return errors.New("it has a key twice")
		}
		seen[key] = true
		switch key {
		case "results":
			err = a.readRows(ctx, d)
		case "is_cached":
			var cached *bool
			err = d.Decode(&cached)
			a.IsCached = cached != nil && *cached
		case "hasMore":
			var more *bool
			err = d.Decode(&more)
			a.HasMore = more != nil && *more
		case "error":
			var failed any
			if err = d.Decode(&failed); err == nil && failed != nil {
				err = errors.New("it has an error of its own")
			}
		default:
			err = d.Decode(new(json.RawMessage))
		}
		if err != nil {
			return err
		}
	}
	if !seen["results"] {
		return errors.New("it has no results")
	}
	if _, err := d.Token(); err != nil {
		return errors.New("it has no end")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more after its end")
	}
	return nil
}

func (a *Answer[T]) readRows(ctx context.Context, d *json.Decoder) error {
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return errors.New("its results are not a list")
	}
	for d.More() {
		if ctx.Err() != nil {
			return httptry.ContextError(ctx)
		}
		if len(a.Rows) == MostCounts { // the caller refuses it
			return fmt.Errorf("%w: over %d rows", httptry.ErrTooBig, MostCounts)
		}
		var row T
		if err := d.Decode(&row); err != nil {
			return fmt.Errorf("row %d: %s", len(a.Rows), "it does not match the query")
		}
		a.Rows = append(a.Rows, row)
	}
	_, err := d.Token()
	return err
}

// columns decodes a row with a fixed number of columns.
func columns(b []byte, into ...any) error {
	var list []json.RawMessage
	if err := json.Unmarshal(b, &list); err != nil {
		return err
	}
	if len(list) != len(into) {
		return errors.New("another number of columns")
	}
	for i, place := range into {
		if string(list[i]) == "null" {
			return errors.New("a column is null")
		}
		if err := json.Unmarshal(list[i], place); err != nil {
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
	places := []any{&day, &r.Event, &r.Copies, &r.Seen, &r.Sum.High, &r.Sum.Low}
	err := columns(b, places...)
	if err == nil {
		r.Sum.N = r.Seen
	} else if err = columns(b, places[:4]...); err != nil { // requested without sums
		return err
	}
	at, err := time.Parse(time.DateOnly, day[:min(len(day), len(time.DateOnly))])
	r.Day = at
	if err == nil && (r.Seen < 1 || r.Copies < r.Seen) {
		err = errors.New("counts that contradict each other")
	}
	return err
}

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
