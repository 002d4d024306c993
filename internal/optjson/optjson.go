// Package optjson is the codec of configs: structs whose fields are absent, null or set, some of
// them credentials, with a map named Extra for the keys that they do not know. It knows types by
// their form only. An optional field has IsZero, IsNull, Get and the methods of encoding/json; a
// credential has Reveal, and prints redacted by itself. A union is a struct of which one field is
// set.
package optjson

import (
	"encoding/json"
	"maps"
	"reflect"
	"strings"
	"sync"
)

// Keys are the keys of a JSON object, each value as JSON.
type Keys = map[string]json.RawMessage

// Overlay returns an object with the changed keys over it, at every depth.
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

// fieldNames are the JSON names of a config's fields in their order, Extra included.
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
