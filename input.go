package hogapi

import (
	"net/url"
	"reflect"
	"slices"
	"strings"
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

// isNil reports whether an interface holds nothing, or a pointer or a function that is nil.
func isNil(value any) bool {
	v := reflect.ValueOf(value)
	return !v.IsValid() || (v.Kind() == reflect.Pointer || v.Kind() == reflect.Func) && v.IsNil()
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

// checkSpelling refuses a value that differs from a known one only by case, blanks or dashes. Other unknown values pass: the
// service may know them.
func checkSpelling[T ~string](op Op, field string, value T, known []T) error {
	if value == "" {
		return &InputError{Op: op, Field: field, Want: "a value, not an empty text"}
	}
	for _, k := range known {
		if value != k && lettersOnly(value) == lettersOnly(k) {
			return &InputError{Op: op, Field: field, Value: string(value), Want: `"` + string(k) + `"`}
		}
	}
	return nil
}

func lettersOnly[T ~string](s T) string {
	return strings.NewReplacer(" ", "", "_", "", "-", "").Replace(strings.ToLower(string(s)))
}
