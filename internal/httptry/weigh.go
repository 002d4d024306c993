package httptry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
)

// A few kilobytes of gzip unpack to megabytes of JSON, and the JSON to gigabytes of Go values. So Weigh
// estimates the memory of an answer before it is decoded.

// Limits of a decoded answer.
const (
	MaxDecoded = 128 << 20 // bytes of memory that an answer may become, by estimate
	maxDepth   = 10_000    // of JSON, as in encoding/json
	weighEvery = 64 << 10  // bytes between two looks at the context
)

// Weigh refuses a body that would take too much memory if it were decoded into out. It ends
// with ctx.
func Weigh(ctx context.Context, body []byte, out any) error {
	return footprintOf(reflect.TypeOf(out)).weigh(ctx, body)
}

// footprint has the most bytes of memory that each part of JSON takes when it is decoded into a type.
type footprint struct{ element, member, list, object int64 }

// anyFootprint is the footprint of values without a type, and the minimum of all others.
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

// add raises the footprint to the values that a type can hold.
func (f *footprint) add(t reflect.Type, seen map[reflect.Type]bool) {
	if seen[t] {
		return
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer: // any value may need the memory behind the pointer
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

// weigh returns an error if a decoded body would take too much memory, or is nested too deeply.
func (f footprint) weigh(ctx context.Context, body []byte) error {
	weight := int64(len(body))
	var lists []bool // of the values that are open: whether each is a list
	for i, next := 0, 0; i < len(body); i++ {
		if i >= next {
			if ctx.Err() != nil {
				return ContextError(ctx)
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
		if weight > MaxDecoded {
			return fmt.Errorf("%w: decoded it would take over %d MiB of memory", ErrTooBig, MaxDecoded>>20)
		}
		if len(lists) > maxDepth {
			return errors.New("it is nested too deeply")
		}
	}
	return nil
}

// endOfString returns the index of the quote that ends the string at i, or len(body).
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
