package hogapitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// fields is the JSON object of a request, with each value as it came.
type fields map[string]json.RawMessage

// readFields reads a request's body. An empty body is an empty object.
func readFields(body []byte) (fields, *answer) {
	if len(bytes.TrimSpace(body)) == 0 {
		return fields{}, nil
	}
	var f fields
	if err := json.Unmarshal(body, &f); err != nil || f == nil {
		a := failure(400, "invalid_request", "parse_error", "JSON parse error - Expecting value: line 1 column 1 (char 0)", "")
		if json.Valid(body) {
			a = invalid("", "invalid_input", "Invalid data. Expected a dictionary.")
		}
		return nil, &a
	}
	return f, nil
}

func isNull(raw json.RawMessage) bool { return string(raw) == "null" }

// checker reads fields one after another and keeps the first problem, as the service reports only that.
type checker struct {
	fields  fields
	prefix  string // of the names of nested fields, such as "destination__"
	problem *answer
}

func (c *checker) fail(attr, code, detail string) {
	if c.problem == nil {
		a := invalid(c.prefix+attr, code, detail)
		c.problem = &a
	}
}

// require fails for fields that are absent.
func (c *checker) require(names ...string) {
	for _, name := range names {
		if _, ok := c.fields[name]; !ok {
			c.fail(name, "required", "This field is required.")
		}
	}
}

// value decodes a field that may be absent; null fails.
func (c *checker) value(name string, to any, kind string) bool {
	raw, ok := c.fields[name]
	if !ok {
		return false
	}
	if isNull(raw) {
		c.fail(name, "null", "This field may not be null.")
		return false
	}
	if err := json.Unmarshal(raw, to); err != nil {
		c.fail(name, "invalid_input", kind)
		return false
	}
	return true
}

func (c *checker) text(name string, to *string) {
	var s string
	if !c.value(name, &s, "Not a valid string.") {
		return
	}
	if strings.TrimSpace(s) == "" {
		c.fail(name, "blank", "This field may not be blank.")
		return
	}
	*to = s
}

func (c *checker) choice(name string, to *string, choices ...string) {
	var v any
	if !c.value(name, &v, "") {
		return
	}
	if s, ok := v.(string); ok && slices.Contains(choices, s) {
		*to = s
		return
	}
	c.fail(name, "invalid_choice", fmt.Sprintf("%q is not a valid choice.", fmt.Sprint(v)))
}

func (c *checker) boolean(name string, to *bool) {
	var b bool
	if c.value(name, &b, "Must be a valid boolean.") {
		*to = b
	}
}

// when reads a time that may be null; a time without an offset is UTC.
func (c *checker) when(name string, to **time.Time) {
	raw, ok := c.fields[name]
	if !ok {
		return
	}
	if isNull(raw) {
		*to = nil
		return
	}
	var s string
	_ = json.Unmarshal(raw, &s)
	t, ok := readISO(s)
	if !ok {
		c.fail(name, "invalid_input", "Datetime has wrong format. Use one of these formats instead: YYYY-MM-DDThh:mm[:ss[.uuuuuu]][+HH:MM|-HH:MM|Z].")
		return
	}
	*to = &t
}

// dictionary reads an object and keeps the digits of its numbers.
func (c *checker) dictionary(name string) map[string]any {
	var config map[string]any
	dec := json.NewDecoder(bytes.NewReader(c.fields[name]))
	dec.UseNumber()
	if dec.Decode(&config) != nil || config == nil {
		c.fail(name, "invalid_input", "Expected a dictionary of items.")
	}
	return config
}

// raw keeps a field as it is.
func (c *checker) raw(name string, to *json.RawMessage) {
	if raw, ok := c.fields[name]; ok {
		*to = raw
	}
}

// smallInt reads a whole number of a range, or null.
func (c *checker) smallInt(name string, to **int, low, high int) {
	raw, ok := c.fields[name]
	if !ok {
		return
	}
	if isNull(raw) {
		*to = nil
		return
	}
	var n int
	if json.Unmarshal(raw, &n) != nil || n < low || n > high {
		c.fail(name, "invalid_input", fmt.Sprintf("Must be a whole number from %d to %d.", low, high))
		return
	}
	*to = &n
}
