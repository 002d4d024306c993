package httptry

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// NoNulls refuses null in a list of elements that cannot be nil: encoding/json leaves a zero value there,
// which reads as a real one.
func NoNulls(body []byte, out any) error {
	for from := 0; ; {
		i := bytes.Index(body[from:], []byte("null"))
		if i < 0 {
			return nil
		}
		before := bytes.TrimRight(body[:from+i], " \t\r\n")
		if from += i + 4; bytes.HasSuffix(before, []byte("[")) || bytes.HasSuffix(before, []byte(",")) { // in an object a name is before
			return noNulls(body, reflect.TypeOf(out), "the answer")
		}
	}
}

func noNulls(raw json.RawMessage, t reflect.Type, name string) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		var elements []json.RawMessage
		if json.Unmarshal(raw, &elements) != nil {
			return nil // the decoder reports the error
		}
		for i, element := range elements {
			if k := t.Elem().Kind(); string(element) == "null" && k != reflect.Pointer && k != reflect.Slice && k != reflect.Map && k != reflect.Interface {
				return fmt.Errorf("%s: row %d is null", name, i)
			}
			if err := noNulls(element, t.Elem(), name); err != nil {
				return err
			}
		}
	case t.Kind() == reflect.Struct:
		var members map[string]json.RawMessage
		if json.Unmarshal(raw, &members) != nil {
			return nil
		}
		for field := range t.Fields() {
			member, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			value, ok := members[member]
			if field.Anonymous && member == "" {
				value, ok, member = raw, true, name
			}
			if ok {
				if err := noNulls(value, field.Type, member); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
