package configs

import "encoding/json"

// WritesInParts reports whether a run writes events to the final table in several transactions: then a run that failed
// leaves a part of its rows there, and one that needed a second attempt has begun at the first row again.
func WritesInParts(kind string, config any) bool {
	return kind == "Postgres" || kind == "Redshift" && !MergesByUUID(kind, config) && valueOf(config, "mode") != "COPY"
}

// MergesByUUID reports whether a table keeps one row of events for each uuid, the newest.
func MergesByUUID(kind string, config any) bool {
	asked := valueOf(config, "properties_data_type")
	return kind == "Redshift" && asked != "" && asked != "varchar"
}

func valueOf(config any, name string) (value string) {
	if config != nil {
		_, keys, _ := Encode(config)
		_ = json.Unmarshal(keys[name], &value) // "" where it is null
	}
	return value
}
