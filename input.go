package hogapi

import (
	"net/url"
	"slices"
	"time"
)

// What service methods do with their input before a call.

// orDefault is what an options pointer points to; nil means the defaults.
func orDefault[T any](o *T) T {
	if o == nil {
		var none T
		return none
	}
	return *o
}

// setText sets a query parameter unless the value is empty.
func setText(q url.Values, name, value string) {
	if value != "" {
		q.Set(name, value)
	}
}

// setTime sets a query parameter unless the time is zero.
func setTime(q url.Values, name string, t time.Time) {
	if !t.IsZero() {
		q.Set(name, formatTime(t))
	}
}

// formatTime is how every time is sent: in UTC, since some servers drop a zone without converting.
func formatTime(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

func isKnown[T ~string](value T, known []T) bool { return slices.Contains(known, value) }
