package configs

import (
	"encoding/json"

	"github.com/hogapi/hogapi/internal/outgoing"
)

// Prefix returns the prefix of the objects of a config, or "".
func Prefix(config any) (prefix string) {
	_, keys, _ := Encode(config)
	_ = json.Unmarshal(keys["prefix"], &prefix) // "" where it is null
	return prefix
}

// WithPrefix returns the keys of configs, of which the last counts, with another prefix.
func WithPrefix(prefix string, configs ...any) (json.RawMessage, *outgoing.Refusal) {
	keys := Keys{}
	for _, config := range configs {
		_, more, refusal := Encode(config)
		if refusal != nil {
			return nil, refusal
		}
		keys = Overlay(keys, more)
	}
	keys["prefix"], _ = json.Marshal(prefix) //nolint:errchkjson // a text
	text, err := json.Marshal(keys)
	return text, outgoing.If(err != nil, "Destination.Config", "", "a config that is a JSON object")
}
