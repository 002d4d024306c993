// Package loosetime parses times in several formats.
package loosetime

import (
	"encoding/json"
	"errors"
	"time"
)

// Time parses times in answers that are less strict than RFC 3339: without a zone, which means UTC,
// with a blank for the T, or a date alone. Null and "" are the zero time.
type Time struct{ time.Time }

var layouts = []string{time.RFC3339, "2006-01-02T15:04:05", time.DateOnly}

// UnmarshalJSON accepts all these formats.
func (lt *Time) UnmarshalJSON(b []byte) error {
	var text *string
	if err := json.Unmarshal(b, &text); err != nil {
		return err
	}
	if text == nil || *text == "" {
		*lt = Time{}
		return nil
	}
	const date = len(time.DateOnly)
	if len(*text) > date && (*text)[date] == ' ' {
		*text = (*text)[:date] + "T" + (*text)[date+1:] // a blank in a layout would match several
	}
	for _, layout := range layouts {
		if t, err := time.Parse(layout, *text); err == nil {
			lt.Time = t.UTC()
			return nil
		}
	}
	return errors.New("a time of the answer cannot be read")
}
