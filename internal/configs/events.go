package configs

import (
	"cmp"
	"encoding/json"
	"errors"
)

// Events returns the names of the events that an export with a config and filters sends, if not all, and the names of
// the excluded events. isAll is false if it leaves out more, or if the names cannot be read: the oldest servers return
// them as text.
func Events(config any, filters json.RawMessage) (include, exclude []string, isAll bool) {
	read := func(raw json.RawMessage, list any) error {
		return json.Unmarshal([]byte(cmp.Or(string(raw), "null")), list)
	}
	var keys map[string]json.RawMessage
	if config != nil {
		_, keys, _ = Encode(config)
	}
	if err := errors.Join(read(keys["include_events"], &include), read(keys["exclude_events"], &exclude)); err != nil {
		return nil, nil, false
	}
	var others []json.RawMessage
	err := read(filters, &others)
	return include, exclude, err == nil && len(others) == 0
}
