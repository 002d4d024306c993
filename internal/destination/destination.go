// Package destination has the rules for the configs of destinations, as keys and JSON values: what an
// update must send so that nothing is lost, and which values no server can store. Kinds of destinations
// are known by their names.
package destination

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hogapi/hogapi/internal/optjson"
)

// Keys are those of a config.
type Keys = optjson.Keys

// Refusal is why a destination is not sent.
type Refusal struct{ Field, Value, Want string }

// unreturned are the keys that servers which replace a config store and never return.
var unreturned = map[string][]string{
	"S3":        {"aws_access_key_id", "aws_secret_access_key"},
	"Snowflake": {"password", "private_key", "private_key_passphrase", "user"},
	"Postgres":  {"password", "user"},
	"Redshift":  {"password", "user"},
	"BigQuery":  {"client_email", "private_key", "private_key_id", "token_uri"},
	"HTTP":      {"token"},
	"NoOp":      nil,
}

// IsReplacedKind reports whether a kind of destination is known to servers that replace a config
// instead of merging it.
func IsReplacedKind(kind string) bool {
	_, isOld := unreturned[kind]
	return isOld
}

// Update is the config to send for changed keys over the stored ones, and the whole config that they
// make. A server that merges is sent the changed keys only, one that replaces all of them. stored is nil
// where it is not known.
func Update(kind string, stored, changed Keys, isReplaced bool) (sent, whole Keys, refusal *Refusal) {
	whole = optjson.Overlay(stored, changed)
	if isReplaced {
		return whole, whole, checkReplacement(kind, stored, whole)
	}
	sent = Keys{}
	for name := range changed {
		sent[name] = whole[name]
	}
	return sent, whole, refuseLoss(lostInside(sent), "some servers replace the whole key")
}

// checkReplacement refuses to replace the stored config, of which only a part is read, by a whole one
// that would lose some of it.
func checkReplacement(kind string, stored, whole Keys) *Refusal {
	names, isKnown := unreturned[kind]
	if stored == nil || !isKnown {
		return &Refusal{
			Field: "Destination",
			Want: "With on a destination that was read from the service and is of a known type: the server may replace " +
				"the whole config, and what it stores is not known; write the whole Destination without With",
		}
	}
	lost := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return whole[name] != nil })
	return refuseLoss(append(lost, lostInside(whole)...), "the server may replace the whole config")
}

// refuseLoss refuses to send a config without keys that the server stores.
func refuseLoss(lost []string, why string) *Refusal {
	if len(lost) == 0 {
		return nil
	}
	return &Refusal{
		Field: "Destination.Config",
		Want: fmt.Sprintf("%s to be set too, or to be null if the export has none: %s and never returns them, so this "+
			"change would lose them (a Destination written without With is sent as it is)", strings.Join(lost, ", "), why),
	}
}

// lostInside are the credentials inside copy_inputs that would be lost with it.
func lostInside(keys Keys) (lost []string) {
	var inputs Keys
	if json.Unmarshal(keys["copy_inputs"], &inputs) != nil || inputs == nil {
		return nil
	}
	for _, name := range []string{"authorization", "bucket_credentials"} {
		var pair Keys
		value, isSent := inputs[name]
		if json.Unmarshal(value, &pair) == nil && pair != nil {
			_, isSent = pair["aws_secret_access_key"]
		}
		if !isSent {
			lost = append(lost, "copy_inputs."+name)
		}
	}
	return lost
}

// CheckNew refuses what only an older export can have.
func CheckNew(keys Keys) *Refusal {
	if string(keys["legacy_parquet_extension"]) == "true" {
		const want = "false or absent: only an older export that writes such names can keep them"
		return &Refusal{Field: "Destination.Config: legacy_parquet_extension", Want: want}
	}
	return nil
}

// CheckCompression refuses a codec that the file format cannot have. Without a format a new export
// has JSONLines, and an update the stored one.
func CheckCompression(keys Keys, isNew bool) *Refusal {
	var format, codec string
	_ = json.Unmarshal(keys["file_format"], &format) // of another type: the service's to judge
	_ = json.Unmarshal(keys["compression"], &codec)
	if format == "" && isNew {
		format = "JSONLines"
	}
	if format == "JSONLines" && slices.Contains([]string{"zstd", "lz4", "snappy"}, codec) {
		return &Refusal{"Destination.Config: compression", codec, "gzip or brotli, or the file_format Parquet"}
	}
	return nil
}
