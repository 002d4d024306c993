package verify

import (
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/queries"
	"github.com/hogapi/hogapi/internal/uuidsum"
)

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
	err := queries.Columns(b, values...)
	if err == nil {
		r.Sum.N = r.Seen
	} else if err = queries.Columns(b, &day, &r.Event, &r.Copies, &r.Seen, &r.Sum.Hash); err == nil {
		r.Sum.N, r.Sum.Hashed = r.Seen, r.Seen
	} else if err = queries.Columns(b, values[:4]...); err != nil { // requested without sums
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
	if err := queries.Columns(b, &text); err != nil {
		return err
	}
	id, err := uuid.Parse(text)
	if err == nil && id.String() != text {
		err = errors.New("a uuid in another form")
	}
	r.ID = id
	return err
}

// FoundRow is an event that was looked for.
type FoundRow struct {
	ID    uuid.UUID
	Day   time.Time
	Event string
}

// UnmarshalJSON decodes a list of columns.
func (r *FoundRow) UnmarshalJSON(b []byte) (err error) {
	var day string
	if err = queries.Columns(b, &r.ID, &day, &r.Event); err == nil {
		r.Day, err = time.Parse(time.DateOnly, day[:min(len(day), len(time.DateOnly))])
	}
	return err
}

// SliceRow has the uuids of a cell that end with the same digits.
type SliceRow struct {
	Slice string
	Sum   uuidsum.Sum // only of hashes
}

// UnmarshalJSON decodes a list of columns.
func (r *SliceRow) UnmarshalJSON(b []byte) error {
	err := queries.Columns(b, &r.Slice, &r.Sum.N, &r.Sum.Hash)
	r.Sum.Hashed = r.Sum.N
	return err
}
