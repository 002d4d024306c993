// Package configs encodes and decodes the configs of destinations and integrations, and has their rules: which keys an
// update must send to lose nothing, and which values no server can store. It knows kinds by name.
//
// A config is a struct with fields that are absent, null or set, some of them credentials, and with a map named Extra
// for unknown keys. Types are recognized by their methods: an optional field has IsZero, IsNull, Get and the methods of
// encoding/json; a credential has Reveal, and masks itself in print. A union is a struct with one field set.
package configs

import (
	"encoding/json"
	"maps"
	"reflect"
	"strings"
	"sync"
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
