package verify

import (
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/queries"
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
