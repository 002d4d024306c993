package coverage

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Bound is one end of the range of a backfill: a date, an instant, the beginning of time, or an open end. The
// zero value is unset.
type Bound struct {
	form boundForm
	t    time.Time // in UTC, of a date its midnight; comparable

	notInCalendar string // a date that does not exist, as it was given
}

type boundForm uint8

const (
	formUnset boundForm = iota
	formDate
	formInstant
	formBeginning
	formCaughtUp
)

const caughtUp = "caught_up" // the text of CaughtUp; the service takes null

// Date returns a date, given its midnight in UTC.
func Date(midnight time.Time) Bound { return Bound{form: formDate, t: midnight} }

// CalendarDate returns a date. [Range.Check] refuses one that does not exist.
func CalendarDate(year int, month time.Month, day int) Bound {
	b := Date(time.Date(year, month, day, 0, 0, 0, 0, time.UTC))
	if y, m, d := b.t.Date(); y != year || m != month || d != day {
		b.notInCalendar = fmt.Sprintf("%04d-%02d-%02d", year, month, day)
	}
	return b
}

// Instant returns a time. The zero time gives an unset Bound.
func Instant(t time.Time) Bound {
	if t.IsZero() {
		return Bound{}
	}
	return Bound{form: formInstant, t: t.UTC().Round(0)}
}

// Beginning is before the oldest data.
func Beginning() Bound { return Bound{form: formBeginning} }

// CaughtUp is the end of a range without an end: the time when the backfill has caught up with the schedule.
func CaughtUp() Bound { return Bound{form: formCaughtUp} }

// IsUnset reports whether the bound is unset.
func (b Bound) IsUnset() bool { return b.form == formUnset }

// IsDate reports whether the bound is a date.
func (b Bound) IsDate() bool { return b.form == formDate }

// IsBeginning reports whether the bound is [AtBeginning].
func (b Bound) IsBeginning() bool { return b.form == formBeginning }

// IsCaughtUp reports whether the bound is [CaughtUp].
func (b Bound) IsCaughtUp() bool { return b.form == formCaughtUp }

// Time returns the instant, the midnight of a date, or the zero time.
func (b Bound) Time() time.Time { return b.t }

// String is the form that is sent, or "beginning", "caught_up", or "" when unset.
func (b Bound) String() string {
	if b.notInCalendar != "" {
		return b.notInCalendar
	}
	switch b.form {
	case formDate:
		return b.t.Format(time.DateOnly)
	case formInstant:
		return b.t.Format(time.RFC3339Nano)
	case formBeginning:
		return "beginning"
	case formCaughtUp:
		return caughtUp
	default:
		return ""
	}
}

// MarshalJSON writes a date, an RFC 3339 time in UTC, null for Beginning, or "caught_up" for CaughtUp.
func (b Bound) MarshalJSON() ([]byte, error) {
	if b.notInCalendar != "" {
		return nil, fmt.Errorf("hogapi: the calendar has no %s", b.notInCalendar)
	}
	switch b.form {
	case formUnset:
		return nil, errors.New("hogapi: an unset Timestamp cannot be marshalled")
	case formBeginning:
		return []byte("null"), nil
	default:
		if y := b.t.Year(); y < 0 || y > 9999 {
			return nil, errors.New("hogapi: the year of a Timestamp must have four digits")
		}
		return json.Marshal(b.String())
	}
}

// UnmarshalJSON reads the output of MarshalJSON.
func (b *Bound) UnmarshalJSON(text []byte) error {
	var sent *string
	if err := json.Unmarshal(text, &sent); err != nil {
		return err
	}
	if sent == nil {
		*b = Beginning()
		return nil
	}
	if *sent == caughtUp {
		*b = CaughtUp()
		return nil
	}
	if t, err := time.Parse(time.DateOnly, *sent); err == nil {
		*b = Date(t)
		return nil
	}
	t, err := time.Parse(time.RFC3339, *sent)
	if err != nil {
		return errors.New("hogapi: a Timestamp must be a date, an RFC 3339 time or null, or caught_up")
	}
	*b = Instant(t)
	return nil
}
