package outgoing

import (
	"net/url"
	"strings"
	"time"
)

// SetText sets a query parameter unless the value is empty.
func SetText(q url.Values, name, value string) {
	if value != "" {
		q.Set(name, value)
	}
}

// SetList sets a query parameter to comma-separated values, unless the list is empty.
func SetList[T ~string](q url.Values, name string, values []T) {
	var texts []string
	for _, value := range values {
		texts = append(texts, string(value))
	}
	SetText(q, name, strings.Join(texts, ","))
}

// SetTime sets a query parameter unless the time is zero.
func SetTime(q url.Values, name string, t time.Time) {
	if !t.IsZero() {
		q.Set(name, Time(t))
	}
}

// Time formats a time for the service: in UTC, since some servers drop a zone without converting.
func Time(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
