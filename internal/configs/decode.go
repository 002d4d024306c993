package configs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// Decode replaces *config by the keys of a JSON object. Unknown keys go into Extra.
func Decode(b []byte, config any) error {
	var keys Keys
	if err := json.Unmarshal(b, &keys); err != nil {
		return err
	}
	v := reflect.ValueOf(config).Elem()
	v.SetZero()
	for i, name := range fieldNames(v.Type()) {
		value, sent := keys[name]
		if name == extraField || !sent {
			continue
		}
		if err := Loose(value, v.Field(i).Addr().Interface()); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		delete(keys, name)
	}
	if len(keys) > 0 {
		extra := v.FieldByName(extraField)
		extra.Set(reflect.ValueOf(keys).Convert(extra.Type()))
	}
	return nil
}

// Loose decodes JSON into *into, a value or an optional one. It accepts numbers and booleans that
// the service has turned into strings. Its errors do not quote the input.
func Loose(b []byte, into any) error {
	err := json.Unmarshal(b, into)
	var text string
	if err == nil || json.Unmarshal(b, &text) != nil {
		return err
	}
	plain := unquoted(strings.TrimSpace(text), valueType(reflect.TypeOf(into).Elem()))
	if plain == "" {
		return err
	}
	return json.Unmarshal([]byte(plain), into)
}

// unquoted returns the number, boolean or null in a string as JSON, or "".
func unquoted(text string, t reflect.Type) string {
	isNull := text == "None" || text == ""
	switch t.Kind() {
	case reflect.Int, reflect.Int64:
		if n, err := strconv.ParseInt(text, 10, t.Bits()); err == nil {
			return strconv.FormatInt(n, 10)
		}
	case reflect.Bool:
		if yes, err := strconv.ParseBool(text); err == nil {
			return strconv.FormatBool(yes)
		}
	default:
		isNull = false
	}
	if isNull {
		return "null"
	}
	return ""
}

// valueType returns the type of the value in an optional field; other types are returned unchanged.
func valueType(t reflect.Type) reflect.Type {
	if get, ok := t.MethodByName("Get"); ok && get.Type.NumOut() > 0 {
		return get.Type.Out(0)
	}
	return t
}

// DecodeUnion sets the matching field of *union: a struct for an object, a number for a number or a
// string of digits, and a string, if the union has one, for other strings.
func DecodeUnion(b []byte, union any) (err error) {
	v := reflect.ValueOf(union).Elem()
	v.SetZero()
	isObject, isText := bytes.HasPrefix(b, []byte(`{`)), bytes.HasPrefix(b, []byte(`"`))
	for _, field := range v.Fields() {
		into := field.Addr().Interface()
		switch kind := field.Kind(); {
		case isObject && kind == reflect.Struct:
			return json.Unmarshal(b, into)
		case kind == reflect.Int64:
			err = Loose(b, into)
		case isText && kind == reflect.String && err != nil:
			return json.Unmarshal(b, into)
		}
	}
	return err
}
