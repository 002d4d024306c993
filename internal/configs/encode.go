package configs

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/hogapi/hogapi/internal/mask"
)

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
