package hogapitest

import (
	"fmt"
	"strconv"
	"time"
)

// stamp writes a time as the service does: UTC, microseconds, no fraction where it is zero.
func stamp(t time.Time) string {
	t = t.UTC().Truncate(time.Microsecond)
	if t.Nanosecond() == 0 {
		return t.Format("2006-01-02T15:04:05Z")
	}
	return t.Format("2006-01-02T15:04:05.000000Z")
}

// stampOrNil is null for the zero time.
func stampOrNil(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return stamp(t)
}

// time reads a time of the query, if it is there.
func (r *request) time(name string, to *time.Time) {
	if text := r.query.Get(name); text != "" {
		at, ok := readISO(text)
		if !ok {
			refuse(invalid(name, "invalid_input", "Enter a valid date/time."))
		}
		*to = at
	}
}

// number reads a number of the query from 1 to most, if it is there.
func (r *request) number(name string, to *int, most int) {
	if text := r.query.Get(name); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > most {
			refuse(invalid(name, "invalid_input", fmt.Sprintf("Ensure this value is from 1 to %d.", most)))
		}
		*to = n
	}
}

// isoLayouts are the forms that are read as UTC where they have no offset.
var isoLayouts = []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02"}

func readISO(s string) (time.Time, bool) {
	for _, layout := range isoLayouts {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}
