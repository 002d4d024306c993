// Package configs encodes and decodes the configs of destinations and integrations, and has their rules: which keys an
// update must send to lose nothing, and which values no server can store. It knows kinds by name.
//
// A config is a struct with fields that are absent, null or set, some of them credentials, and with a map named Extra
// for unknown keys. Types are recognized by their methods: an optional field has IsZero, IsNull, Get and the methods of
// encoding/json; a credential has Reveal, and masks itself in print. A union is a struct with one field set.
package configs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/hogapi/hogapi/internal/mask"
)

// Keys are the keys of a config with raw values.
type Keys = map[string]json.RawMessage

// Overlay merges changed over below, at every depth.
func Overlay(below, changed Keys) Keys {
	whole := Keys{}
	maps.Copy(whole, below)
	for name, value := range changed {
		var was, is Keys
		if json.Unmarshal(below[name], &was) == nil && was != nil && json.Unmarshal(value, &is) == nil && is != nil {
			value, _ = json.Marshal(Overlay(was, is)) //nolint:errchkjson // was valid JSON
		}
		whole[name] = value
	}
	return whole
}

const extraField = "Extra"

var fieldCache sync.Map

// fieldNames returns the JSON names of a config's fields in order, including Extra.
func fieldNames(t reflect.Type) []string {
	if names, ok := fieldCache.Load(t); ok {
		return names.([]string)
	}
	names := make([]string, t.NumField())
	for i := range names {
		names[i] = t.Field(i).Name
		if tag, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); tag != "" && tag != "-" {
			names[i] = tag
		}
	}
	fieldCache.Store(t, names)
	return names
}

// Redacted encodes a config for printing: the fields that are not absent, and Extra, with
// credentials masked.
func Redacted(config any) ([]byte, error) { return encode(config, false) }

// Revealed encodes a config with its credentials. Use it only for the body of a request.
func Revealed(config any) ([]byte, error) { return encode(config, true) }

// RedactedUnion encodes the first field of a union that is set, or else the last, with credentials
// masked.
func RedactedUnion(union any) ([]byte, error) { return encodeUnion(reflect.ValueOf(union), false) }

// RedactedKeys encodes keys, and masks the values of keys that look like credentials.
func RedactedKeys(keys Keys) []byte {
	if len(keys) == 0 {
		return []byte("{}")
	}
	b, err := json.Marshal(keys)
	if err != nil {
		return []byte(mask.Redacted)
	}
	return mask.JSON(b)
}

type optional interface {
	json.Marshaler
	IsZero() bool
	IsNull() bool
}

func encode(config any, reveal bool) ([]byte, error) {
	v := reflect.Indirect(reflect.ValueOf(config))
	if v.Kind() == reflect.Slice {
		if reveal {
			return v.Bytes(), nil
		}
		return mask.JSON(v.Bytes()), nil
	}
	out, names := Keys{}, fieldNames(v.Type())
	for i, name := range names {
		field, ok := reflect.TypeAssert[optional](v.Field(i))
		if !ok && name != extraField {
			return nil, fmt.Errorf("%T is not a config of this package", config)
		}
		if !ok || field.IsZero() {
			continue
		}
		b, err := encodeField(field, reveal)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out[name] = b
	}
	extra := v.FieldByName(extraField).MapRange()
	for extra.Next() {
		name, value := extra.Key().String(), extra.Value().Bytes()
		if slices.Contains(names, name) {
			return nil, fmt.Errorf("%s has a field of its own and cannot be in Extra", name)
		}
		if !reveal {
			value = mask.Member(name, value)
		}
		out[name] = value
	}
	return json.Marshal(out)
}

// encodeField encodes a field that is not absent. Its own encoding masks credentials; reveal undoes
// that.
func encodeField(field optional, reveal bool) ([]byte, error) {
	if !reveal || field.IsNull() {
		return field.MarshalJSON()
	}
	value := reflect.ValueOf(field).MethodByName("Get").Call(nil)[0]
	secret, isSecret := reflect.TypeAssert[interface{ Reveal() string }](value)
	switch {
	case isSecret:
		return json.Marshal(secret.Reveal())
	case value.Kind() != reflect.Struct:
		return field.MarshalJSON()
	case value.FieldByName(extraField).IsValid():
		return encode(value.Interface(), true)
	default:
		return encodeUnion(value, true)
	}
}

func encodeUnion(v reflect.Value, reveal bool) ([]byte, error) {
	field := v.Field(0)
	for i := 1; i < v.NumField() && field.IsZero(); i++ {
		field = v.Field(i)
	}
	if field.Kind() == reflect.Struct {
		return encode(field.Interface(), reveal)
	}
	return json.Marshal(field.Interface())
}

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
