package hogapitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// fields is the JSON object of a request, with each value as it came.
type fields map[string]json.RawMessage

// checker reads the fields of an object one after another. The first problem refuses the request.
type checker struct {
	fields

	prefix string // of the names of nested fields, such as "destination__"
}

// readFields reads a request's body. An empty body is an empty object.
func readFields(body []byte) checker {
	f := fields{}
	if len(bytes.TrimSpace(body)) == 0 {
		return checker{fields: f}
	}
	if err := json.Unmarshal(body, &f); err != nil || f == nil {
		if json.Valid(body) {
			refuse(invalid("", "invalid_input", "Invalid data. Expected a dictionary."))
		}
		refuse(failure(400, "invalid_request", "parse_error", "JSON parse error - Expecting value: line 1 column 1 (char 0)", ""))
	}
	return checker{fields: f}
}

func isNull(raw json.RawMessage) bool { return string(raw) == "null" }

func absent(raw json.RawMessage) bool { return len(raw) == 0 || isNull(raw) }

func (c checker) fail(attr, code, detail string) { refuse(invalid(c.prefix+attr, code, detail)) }

func (c checker) has(name string) bool { _, ok := c.fields[name]; return ok }

func (c checker) require(names ...string) {
	for _, name := range names {
		if !c.has(name) {
			c.fail(name, "required", "This field is required.")
		}
	}
}

// value decodes a field that may be absent; null fails.
func (c checker) value(name string, to any, kind string) bool {
	raw, ok := c.fields[name]
	if !ok {
		return false
	}
	if isNull(raw) {
		c.fail(name, "null", "This field may not be null.")
	}
	if err := json.Unmarshal(raw, to); err != nil {
		c.fail(name, "invalid_input", kind)
	}
	return true
}

func (c checker) text(name string, to *string) {
	if c.value(name, to, "Not a valid string.") && strings.TrimSpace(*to) == "" {
		c.fail(name, "blank", "This field may not be blank.")
	}
}

func choice[T ~string](c checker, name string, to *T, choices ...T) {
	var v any
	if !c.value(name, &v, "") {
		return
	}
	s, _ := v.(string)
	if !slices.Contains(choices, T(s)) {
		c.fail(name, "invalid_choice", fmt.Sprintf("%q is not a valid choice.", fmt.Sprint(v)))
	}
	*to = T(s)
}

func (c checker) boolean(name string, to *bool) { c.value(name, to, "Must be a valid boolean.") }

// when reads a time; null is the zero time, and a time without an offset is UTC.
func (c checker) when(name string, to *time.Time) {
	raw, ok := c.fields[name]
	if !ok {
		return
	}
	if isNull(raw) {
		*to = time.Time{}
		return
	}
	s, _ := asString(raw)
	if *to, ok = readISO(s); !ok {
		c.fail(name, "invalid_input", "Datetime has wrong format. Use one of these formats instead: YYYY-MM-DDThh:mm[:ss[.uuuuuu]][+HH:MM|-HH:MM|Z].")
	}
}

// dictionary reads an object and keeps the digits of its numbers.
func (c checker) dictionary(name string) map[string]any {
	var config map[string]any
	dec := json.NewDecoder(bytes.NewReader(c.fields[name]))
	dec.UseNumber()
	if dec.Decode(&config) != nil || config == nil {
		c.fail(name, "invalid_input", "Expected a dictionary of items.")
	}
	return config
}

// smallInt reads a whole number of a range, or null.
func (c checker) smallInt(name string, to **int, low, high int) {
	raw, ok := c.fields[name]
	if !ok {
		return
	}
	var n *int
	if json.Unmarshal(raw, &n) != nil || n != nil && (*n < low || *n > high) {
		c.fail(name, "invalid_input", fmt.Sprintf("Must be a whole number from %d to %d.", low, high))
	}
	*to = n
}

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

var relative = regexp.MustCompile(`^-(\d{1,4})([hdwmy])$`)

// time reads a time of the query, if it is there: as it is, or relative to now, such as -7d.
func (r *request) time(name string, to *time.Time) {
	if m := relative.FindStringSubmatch(r.query.Get(name)); m != nil {
		n, _ := strconv.Atoi(m[1])
		*to = map[string]time.Time{
			"h": r.now.Add(-time.Duration(n) * time.Hour), "d": r.now.AddDate(0, 0, -n), "w": r.now.AddDate(0, 0, -7*n),
			"m": r.now.AddDate(0, -n, 0), "y": r.now.AddDate(-n, 0, 0),
		}[m[2]]
		return
	}
	r.instant(name, to)
}

// instant reads a time of the query that must not be relative, if it is there.
func (r *request) instant(name string, to *time.Time) {
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
