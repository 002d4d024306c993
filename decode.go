package hogapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"sync"
	"time"

	"github.com/google/uuid"
)

// A few kilobytes of gzip unpack to megabytes of JSON, and those to gigabytes of Go values. So an
// answer is weighed before it is decoded.

const (
	maxDecoded = 128 << 20 // bytes of memory that an answer may become, by estimate
	maxRows    = 10_000    // of one page; the service itself gives 500 at most where it is not asked for more
	maxDepth   = 10_000    // of JSON, as in encoding/json
	weighEvery = 64 << 10  // bytes between two looks at the context
)

// completed is an answer that knows whether it is one: JSON of something else, such as {} or null,
// decodes without an error.
type completed interface{ complete() error }

// listed is an answer that holds a list.
type listed interface {
	decodeRows(ctx context.Context, body []byte) error
}

// decodeAnswer decodes a body within the bounds of memory. It ends with ctx.
func decodeAnswer(ctx context.Context, body []byte, out any) error {
	err := footprintOf(reflect.TypeOf(out)).check(ctx, body)
	if err != nil {
		return err
	}
	if list, ok := out.(listed); ok {
		err = list.decodeRows(ctx, body)
	} else {
		err = shortened(json.Unmarshal(body, out))
	}
	if err == nil {
		err = completeness(out)
	}
	return err
}

func completeness(answer any) error {
	if answer, ok := answer.(completed); ok {
		return answer.complete()
	}
	return nil
}

// matching is an answer that must also match what was asked for.
type matching[T any] struct {
	answer  T
	matches func(*T) error
}

func (m *matching[T]) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, &m.answer) }

func (m *matching[T]) complete() error {
	if err := completeness(&m.answer); err != nil {
		return err
	}
	return m.matches(&m.answer)
}

// isAskedFor refuses an answer about another thing than the one that was asked for.
func isAskedFor[T comparable](key string, got, want T) error {
	if got != want {
		return fmt.Errorf("it has the %s %v, not %v, which was asked for", key, got, want)
	}
	return nil
}

func hasID(id uuid.UUID) error {
	if id == uuid.Nil {
		return errors.New("it has no id")
	}
	return nil
}

func hasText(text, key string) error {
	if text == "" {
		return errors.New("it has no " + key)
	}
	return nil
}

func allComplete[T any](rows []T) error {
	for i := range rows {
		if err := completeness(&rows[i]); err != nil {
			return fmt.Errorf("row %d: %w", i, err)
		}
	}
	return nil
}

// rowsOf reads an answer that is an object: the rows of its list, and the other members that are
// asked for. An answer without the list is not an empty one: taken for the end, it would cut a walk
// short.
func rowsOf[T any](ctx context.Context, body []byte, list string, others map[string]any) (rows []T, err error) {
	d := json.NewDecoder(bytes.NewReader(body))
	if err := expect(d, '{', "it is not a JSON object"); err != nil {
		return nil, err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		switch place := others[key.(string)]; {
		case key != list && place != nil:
			err = shortened(d.Decode(place))
		case key != list:
			err = d.Decode(new(json.RawMessage))
		case rows != nil:
			err = fmt.Errorf("it has %s twice", list)
		default:
			rows, err = listOf[T](ctx, d)
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
	return rows, atEnd(d)
}

// listOf reads a list row by row. Each row must be complete.
func listOf[T any](ctx context.Context, d *json.Decoder) ([]T, error) {
	if err := expect(d, '[', "it has no list of rows where one belongs"); err != nil {
		return nil, err
	}
	rows := []T{}
	for d.More() {
		if ctx.Err() != nil {
			return nil, contextError(ctx)
		}
		if len(rows) == maxRows {
			return nil, fmt.Errorf("%w: over %d rows on one page", errAnswerTooBig, maxRows)
		}
		var row T
		err := shortened(d.Decode(&row))
		if err == nil {
			err = completeness(&row)
		}
		if err != nil {
			return nil, fmt.Errorf("row %d: %w", len(rows), err)
		}
		rows = append(rows, row)
	}
	return rows, expect(d, ']', "its list has no end")
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

// shortened is an error of decoding without the long value that it may quote, which costs gigabytes
// to print.
func shortened(err error) error {
	if _, ok := errors.AsType[*time.ParseError](err); ok {
		return errors.New("it has a time that cannot be read")
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		wrong.Value = wrong.Value[:min(len(wrong.Value), 40)]
	}
	return err
}

// footprint is what the parts of JSON become in memory when they are decoded into a type: bytes, at
// most.
type footprint struct{ element, member, list, object int64 }

// anyFootprint is that of values without a type, and the least of all others.
var anyFootprint = footprint{element: 96, member: 128, list: 48, object: 400}

var footprints sync.Map // by reflect.Type

func footprintOf(t reflect.Type) footprint {
	if known, ok := footprints.Load(t); ok {
		return known.(footprint)
	}
	f := anyFootprint
	f.add(t, map[reflect.Type]bool{})
	footprints.Store(t, f)
	return f
}

// add takes in all that a type can hold.
func (f *footprint) add(t reflect.Type, seen map[reflect.Type]bool) {
	if seen[t] {
		return
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer: // any value may need what it points to
		size := int64(t.Elem().Size()) + 16
		f.element, f.member = max(f.element, size), max(f.member, size)
		f.list, f.object = max(f.list, size), max(f.object, size)
		f.add(t.Elem(), seen)
	case reflect.Slice:
		f.element = max(f.element, 5*int64(t.Elem().Size())) // growing by a quarter leaves so much garbage
		f.add(t.Elem(), seen)
	case reflect.Array:
		f.add(t.Elem(), seen)
	case reflect.Map:
		entry := int64(t.Key().Size() + t.Elem().Size())
		f.member, f.object = max(f.member, 4*entry), max(f.object, 64+8*entry) // a map grows by eights
		f.add(t.Elem(), seen)
	case reflect.Struct:
		for field := range t.Fields() {
			f.add(field.Type, seen)
		}
	default:
	}
}

// check estimates how much memory a body would become.
func (f footprint) check(ctx context.Context, body []byte) error {
	weight := int64(len(body))
	var lists []bool // of the values that are open: whether each is a list
	for i, next := 0, 0; i < len(body); i++ {
		if i >= next {
			if ctx.Err() != nil {
				return contextError(ctx)
			}
			next = i + weighEvery
		}
		switch body[i] {
		case '"':
			i = endOfString(body, i)
		case '[':
			lists = append(lists, true)
			weight += f.list + f.element
		case '{':
			lists = append(lists, false)
			weight += f.object + f.member
		case ',':
			if len(lists) > 0 && lists[len(lists)-1] {
				weight += f.element
			} else {
				weight += f.member
			}
		case ']', '}':
			lists = lists[:max(len(lists)-1, 0)]
		}
		if weight > maxDecoded {
			return fmt.Errorf("%w: decoded it would take over %d MiB of memory", errAnswerTooBig, maxDecoded>>20)
		}
		if len(lists) > maxDepth {
			return errors.New("it is nested too deeply")
		}
	}
	return nil
}

// endOfString is the place of the quote that ends the string that begins at i.
func endOfString(body []byte, i int) int {
	for i++; i < len(body); i++ {
		n := bytes.IndexByte(body[i:], '"')
		if n < 0 {
			return len(body)
		}
		i += n
		escapes := 0
		for body[i-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return i
		}
	}
	return i
}
