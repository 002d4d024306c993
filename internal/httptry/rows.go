package httptry

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// MaxRows is the most rows of one page. The service returns at most 500, unless it is asked for more.
const MaxRows = 10_000

// Rows reads an answer that is an object: the rows of its list, and the requested other members. Rows that cannot be
// decoded or do not pass check are returned with an error of type RowFaults. An answer without the list is an error,
// because as an empty list it would end a walk early.
func Rows[T any](
	ctx context.Context, body []byte, list string, others map[string]any, check func(*T) error,
) (rows []T, err error) {
	d := json.NewDecoder(bytes.NewReader(body))
	if err := expect(d, '{', "it is not a JSON object"); err != nil {
		return nil, err
	}
	var faults RowFaults
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		switch place := others[key.(string)]; {
		case key != list && place != nil:
			if err = d.Decode(place); err != nil {
				err = shortened(err)
			}
		case key != list:
			err = d.Decode(new(json.RawMessage))
		case rows != nil:
			err = fmt.Errorf("it has %s twice", list)
		default:
			rows, faults, err = listOf(ctx, d, body, check)
		}
		if err != nil {
			return nil, err
		}
	}
	if rows == nil {
		return nil, fmt.Errorf("it has no %s", list)
	}
	if err := expect(d, '}', "it has no end"); err != nil {
		return nil, err
	}
	if err := atEnd(d); err != nil {
		return nil, err
	}
	if len(faults) > 0 {
		return rows, faults
	}
	return rows, nil
}

// List is Rows for an answer that is a list.
func List[T any](ctx context.Context, body []byte, check func(*T) error) ([]T, error) {
	d := json.NewDecoder(bytes.NewReader(body))
	rows, faults, err := listOf(ctx, d, body, check)
	if err == nil {
		err = atEnd(d)
	}
	if err != nil {
		return nil, err
	}
	if len(faults) > 0 {
		return rows, faults
	}
	return rows, nil
}

func listOf[T any](ctx context.Context, d *json.Decoder, body []byte, check func(*T) error) (rows []T, faults RowFaults, _ error) {
	if err := expect(d, '[', "it has no list of rows where one belongs"); err != nil {
		return nil, nil, err
	}
	rows = []T{}
	for d.More() {
		if ctx.Err() != nil {
			return nil, nil, ContextError(ctx)
		}
		if len(rows) == MaxRows {
			return nil, nil, fmt.Errorf("%w: over %d rows on one page", ErrTooBig, MaxRows)
		}
		var row T
		from := d.InputOffset()
		err, field := d.Decode(&row), ""
		raw := bytes.TrimLeft(body[from:d.InputOffset()], ", \t\r\n")
		switch {
		case err == nil:
			err = check(&row)
		case !json.Valid(raw):
			return nil, nil, fmt.Errorf("row %d: %w", len(rows), shortened(err))
		default:
			field, err = salvage(raw, &row, shortened(err))
		}
		if err != nil {
			faults = append(faults, RowFault{len(rows), field, raw, err})
		}
		rows = append(rows, row)
	}
	return rows, faults, expect(d, ']', "its list has no end")
}

func expect(d *json.Decoder, want json.Delim, otherwise string) error {
	token, err := d.Token()
	if err == nil && token != want {
		err = errors.New(otherwise)
	}
	return err
}

func atEnd(d *json.Decoder) error {
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more after its end")
	}
	return nil
}

// Has refuses an answer without a value, such as its id.
func Has[T comparable](key string, value T) error {
	var none T
	if value == none {
		return errors.New("it has no " + key)
	}
	return nil
}

// IsAskedFor refuses an answer about something else than the request.
func IsAskedFor[T comparable](key string, got, want T) error {
	if got != want {
		return fmt.Errorf("it has the %s %v, not %v, which was asked for", key, got, want)
	}
	return nil
}

// Unmarshal is json.Unmarshal with an error that is cheap to print and names the field.
func Unmarshal(body []byte, out any) error {
	err := json.Unmarshal(body, out)
	if err != nil {
		err = named(body, reflect.TypeOf(out), shortened(err))
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

// shortened shortens the value that a decoding error quotes: a long value costs gigabytes to print.
func shortened(err error) error {
	if _, ok := errors.AsType[*time.ParseError](err); ok {
		return errors.New("it has a time that cannot be read")
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

// salvage decodes again a row that could not be decoded: it leaves out the members that cannot be decoded on their own,
// and names them. If it finds no such member, the row stays empty and the error is err.
func salvage[T any](raw []byte, row *T, err error) (field string, _ error) {
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
