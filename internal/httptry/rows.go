package httptry

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Unmarshal is json.Unmarshal with an error that is cheap to print and names the field.
func Unmarshal(body []byte, out any) error {
	err := json.Unmarshal(body, out)
	if err != nil {
		err = named(body, reflect.TypeOf(out), Shortened(err))
	}
	return err
}

// named names the field of the first value in a body that a type cannot read, and the value. Where no field is the
// reason, it returns err.
func named(body []byte, t reflect.Type, err error) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	var members map[string]json.RawMessage
	if t.Kind() != reflect.Struct || json.NewDecoder(bytes.NewReader(body)).Decode(&members) != nil {
		return err
	}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		value := members[name]
		if name == "" || !f.IsExported() || json.Unmarshal(value, reflect.New(f.Type).Interface()) == nil || value == nil {
			continue
		}
		if below, ok := errors.AsType[*fieldError](named(value, f.Type, err)); ok {
			return &fieldError{name + ": " + below.text, err}
		}
		return &fieldError{name + ": " + shown(value) + " is not " + kindOf(f.Type), err}
	}
	return err
}

// fieldError is the error of a field that cannot be read.
type fieldError struct {
	text  string
	cause error
}

func (e *fieldError) Error() string { return e.text }

func (e *fieldError) Unwrap() error { return e.cause }

// shown is a value as an error shows it.
func shown(value json.RawMessage) string {
	switch {
	case value[0] == '{':
		return "an object"
	case value[0] == '[':
		return "a list"
	case len(value) > maxShown:
		return string(value[:maxShown]) + "…"
	}
	return string(value)
}

const maxShown = 40 // bytes of a value that an error shows

// kindOf says which values a type reads.
func kindOf(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	kinds := map[reflect.Kind]string{
		reflect.String: "a text", reflect.Bool: "a boolean", reflect.Int: "a whole number", reflect.Int64: "a whole number", reflect.Float64: "a number",
		reflect.Slice: "a list of the expected values", reflect.Map: "an object", reflect.Struct: "an object of the expected values",
	}
	switch t {
	case reflect.TypeFor[time.Time]():
		return "a time with a zone"
	case reflect.TypeFor[uuid.UUID]():
		return "a uuid"
	}
	return cmp.Or(kinds[t.Kind()], "of the type "+t.String())
}

// Shortened shortens the value that a decoding error quotes: a long value costs gigabytes to print.
func Shortened(err error) error {
	if _, ok := errors.AsType[*time.ParseError](err); ok {
		return errors.New("invalid time")
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		wrong.Value = wrong.Value[:min(len(wrong.Value), 40)]
	}
	return err
}

// RowFault is a row that cannot be read as a whole. Its other fields are set.
type RowFault struct {
	Index int
	Field string // the first that stays empty; "" if another thing than a field is the reason
	Raw   json.RawMessage
	Err   error
}

// RowFaults is the error of a page that can be read except for some rows.
type RowFaults []RowFault

func (f RowFaults) Error() string { return fmt.Sprintf("row %d: %v", f[0].Index, f[0].Err) }

// Salvage decodes again a row that could not be decoded: it leaves out the members that cannot be decoded on their own,
// and names them. If it finds no such member, the row stays empty and the error is err.
func Salvage[T any](raw []byte, row *T, err error) (field string, _ error) {
	var none T
	*row = none
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return "", err
	}
	var says []string
	for _, name := range slices.Sorted(maps.Keys(members)) {
		alone, _ := json.Marshal(map[string]json.RawMessage{name: members[name]}) //nolint:errchkjson // valid: it was read
		if cause := Unmarshal(alone, new(T)); cause != nil {
			delete(members, name)
			if len(says) == 0 {
				field = name
			}
			says = append(says, cause.Error())
		}
	}
	if len(says) == 0 {
		return "", err
	}
	rest, _ := json.Marshal(members) //nolint:errchkjson // valid, too
	if json.Unmarshal(rest, row) != nil {
		*row = none
	}
	return field, errors.New(strings.Join(says, "; "))
}
