package configs

import (
	"encoding/json"

	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/ops"
)

// Prefix returns the prefix of the objects of a config, or "".
func Prefix(config any) (prefix string) {
	_, keys, _ := Encode(config)
	_ = json.Unmarshal(keys["prefix"], &prefix) // "" where it is null
	return prefix
}

// HasOldNames reports whether an export names its Parquet files by their codec too, as a new export cannot.
func HasOldNames(config any) bool {
	_, keys, _ := Encode(config)
	return string(keys["legacy_parquet_extension"]) == "true"
}

// forNew returns a config that an export has as a new export may have it: without the old names of Parquet files, which only
// the exports that write them keep, and without keys that are null.
func forNew(keys Keys) Keys {
	rest := Keys{}
	for name, value := range keys {
		if name != "legacy_parquet_extension" && string(value) != "null" {
			rest[name] = value
		}
	}
	return rest
}

// Tested returns a config as a test of the destination needs it: BigQuery's does not know the table that exports write by
// default.
func Tested(kind string, config json.RawMessage) json.RawMessage {
	var keys Keys
	if kind != "BigQuery" || json.Unmarshal(config, &keys) != nil || keys["table_id"] != nil {
		return config
	}
	keys["table_id"] = json.RawMessage(`"events"`)
	config, _ = json.Marshal(keys) //nolint:errchkjson // was JSON
	return config
}

// WithPrefix returns the keys of configs for a new export, of which the last counts, with another prefix.
func WithPrefix(prefix string, configs ...any) (json.RawMessage, *ops.InputError) {
	keys := Keys{}
	for _, config := range configs {
		_, more, refusal := Encode(config)
		if refusal != nil {
			return nil, refusal
		}
		keys = Overlay(keys, more)
	}
	keys = forNew(keys)
	keys["prefix"], _ = json.Marshal(prefix) //nolint:errchkjson // a text
	text, err := json.Marshal(keys)
	return text, outgoing.If(err != nil, "Destination.Config", "", "a config that is a JSON object")
}
