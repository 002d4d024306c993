package hogapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/hogapi/hogapi/internal/coverage"
)

// Timestamp is one bound of a backfill: a date, an instant or the beginning of time. Exports that
// run by day or week take dates, all others instants; [BatchExport.BackfillRange] makes the right
// form. The zero value is unset and is refused.
type Timestamp struct {
	form timestampForm
	t    time.Time // in UTC, of a date its midnight; comparable
}

type timestampForm uint8

const (
	formUnset timestampForm = iota
	formDate
	formInstant
	formBeginning
)

// Date is a calendar date, in the export's timezone. Days and months out of range are normalised as
// [time.Date] does.
func Date(year int, month time.Month, day int) Timestamp {
	return Timestamp{formDate, time.Date(year, month, day, 0, 0, 0, 0, time.UTC)}
}

// At is an instant. It is sent in UTC. The zero time gives an unset Timestamp.
func At(t time.Time) Timestamp {
	if t.IsZero() {
		return Timestamp{}
	}
	return Timestamp{formInstant, t.UTC().Round(0)}
}

// Beginning is the start of a backfill that takes in the oldest data there is. It is sent as null.
func Beginning() Timestamp { return Timestamp{form: formBeginning} }

// IsZero reports whether the Timestamp is unset.
func (ts Timestamp) IsZero() bool { return ts.form == formUnset }

// IsDate reports whether the Timestamp is a date.
func (ts Timestamp) IsDate() bool { return ts.form == formDate }

// IsBeginning reports whether the Timestamp is [Beginning].
func (ts Timestamp) IsBeginning() bool { return ts.form == formBeginning }

// Time returns the instant; for a date, its midnight in UTC. It is the zero time for Beginning and
// when unset.
func (ts Timestamp) Time() time.Time { return ts.t }

// String is the form that is sent, or "beginning", or "" when unset.
func (ts Timestamp) String() string {
	switch ts.form {
	case formDate:
		return ts.t.Format(time.DateOnly)
	case formInstant:
		return ts.t.Format(time.RFC3339Nano)
	case formBeginning:
		return "beginning"
	default:
		return ""
	}
}

// MarshalJSON writes a date, an RFC 3339 time in UTC, or null for Beginning. An unset Timestamp is
// an error: its field has the tag option omitzero.
func (ts Timestamp) MarshalJSON() ([]byte, error) {
	switch ts.form {
	case formUnset:
		return nil, errors.New("hogapi: an unset Timestamp cannot be marshalled")
	case formBeginning:
		return []byte("null"), nil
	default:
		if y := ts.t.Year(); y < 0 || y > 9999 {
			return nil, errors.New("hogapi: the year of a Timestamp must have four digits")
		}
		return json.Marshal(ts.String())
	}
}

// UnmarshalJSON reads what MarshalJSON writes.
func (ts *Timestamp) UnmarshalJSON(b []byte) error {
	var text *string
	if err := json.Unmarshal(b, &text); err != nil {
		return err
	}
	if text == nil {
		*ts = Beginning()
		return nil
	}
	if t, err := time.Parse(time.DateOnly, *text); err == nil {
		*ts = Timestamp{formDate, t}
		return nil
	}
	t, err := time.Parse(time.RFC3339, *text)
	if err != nil {
		return errors.New("hogapi: a Timestamp must be a date, an RFC 3339 time or null")
	}
	*ts = At(t)
	return nil
}

// BackfillRange is what a backfill covers: from Start up to, but not including, End. Both are dates
// or both are instants; only Start may be [Beginning].
type BackfillRange struct {
	Start Timestamp `json:"start_at,omitzero"`
	End   Timestamp `json:"end_at,omitzero"`
}

// check refuses a range that can mean nothing, whatever the export.
func (r BackfillRange) check(op Op) error {
	switch {
	case r.Start.IsZero():
		return &InputError{Op: op, Field: "Start", Want: "a Date, an At, or Beginning, which is never implied"}
	case r.End.IsZero(), r.End.IsBeginning():
		return &InputError{Op: op, Field: "End", Value: r.End.String(), Want: "a Date or an At"}
	case r.Start.IsBeginning():
		return nil
	case r.Start.IsDate() != r.End.IsDate():
		return &InputError{Op: op, Field: "End", Value: r.End.String(), Want: "the same form as Start: two dates for exports by day or week, two instants for all others"}
	case !r.Start.t.Before(r.End.t):
		return &InputError{Op: op, Field: "End", Value: r.End.String(), Want: "later than Start, which is " + r.Start.String() + "; End itself is not covered"}
	}
	return nil
}

// BackfillRange makes the range from one time up to another in the form that this export takes. For
// daily and weekly exports with a timezone that is two dates, and both times must be where a day or
// a week of the export begins. For all others it is two instants a whole number of intervals apart:
// the service silently drops a rest that is shorter than one.
func (e *BatchExport) BackfillRange(from, to time.Time) (BackfillRange, error) {
	switch {
	case from.IsZero():
		return BackfillRange{}, &InputError{Field: "from", Want: "a time; the oldest data there is must be asked for by BackfillRange{Start: Beginning(), …}"}
	case to.IsZero():
		return BackfillRange{}, &InputError{Field: "to", Want: "a time"}
	case !from.Before(to):
		return BackfillRange{}, &InputError{Field: "to", Value: formatTime(to), Want: "later than from, which is " + formatTime(from) + "; to itself is not covered"}
	case e.takesDates():
		return e.dateRange(from, to)
	}
	step, ok := coverage.Step(string(e.Interval))
	if !ok {
		return BackfillRange{}, &InputError{Field: "Interval", Value: string(e.Interval), Want: "an interval whose length is known; else write the BackfillRange yourself"}
	}
	start, end := At(from), At(to)
	if rest := end.t.Sub(start.t) % step; rest != 0 {
		return BackfillRange{}, &InputError{Field: "to", Value: formatTime(to), Want: fmt.Sprintf(
			"a whole number of intervals of %v after from, such as %s or %s: the service drops a shorter rest", step, formatTime(to.Add(-rest)), formatTime(to.Add(step-rest)))}
	}
	return BackfillRange{start, end}, nil
}

// takesDates: servers that show a timezone want plain dates where older ones want instants.
func (e *BatchExport) takesDates() bool {
	return e.Timezone != "" && (e.Interval == IntervalDay || e.Interval == IntervalWeek)
}

// days are where the days or the weeks of an export with a timezone begin.
func (e *BatchExport) days() (coverage.Days, error) {
	zone, err := time.LoadLocation(e.Timezone)
	return coverage.Days{
		Zone: zone, Hour: orDefault(e.OffsetHour), Weekday: time.Weekday(orDefault(e.OffsetDay)), Weekly: e.Interval == IntervalWeek,
	}, err
}

func (e *BatchExport) dateRange(from, to time.Time) (r BackfillRange, err error) {
	days, err := e.days()
	if err != nil {
		return r, &InputError{Field: "Timezone", Value: e.Timezone, Want: "a time zone that this machine knows (import _ \"time/tzdata\"); else write the BackfillRange yourself"}
	}
	start, isStart := days.DateOf(from)
	end, isEnd := days.DateOf(to)
	field, bad := "to", to
	if !isStart {
		field, bad = "from", from
	}
	if !isStart || !isEnd {
		return r, &InputError{Field: field, Value: bad.In(days.Zone).Format("2006-01-02T15:04:05.999999999Z07:00 Mon"), Want: days.String()}
	}
	return BackfillRange{Timestamp{formDate, start}, Timestamp{formDate, end}}, nil
}
