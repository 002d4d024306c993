package configs

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/ops"
)

// unreturned are the keys that servers store and never return, for kinds with replaced configs.
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

// Update returns the config to send for changed keys, and the whole config that results. A server
// that merges gets the changed keys, a server that replaces gets all. stored is nil if not known.
func Update(kind string, stored, changed Keys, isReplaced bool) (sent, whole Keys, refusal *ops.InputError) {
	whole = Overlay(stored, changed)
	if isReplaced {
		return whole, whole, checkReplacement(kind, stored, whole)
	}
	sent = Keys{}
	for name := range changed {
		sent[name] = whole[name]
	}
	return sent, whole, refuseLoss(lostInside(sent), "some servers replace the whole key")
}

// checkReplacement refuses to replace the stored config, which is only partly readable, if that
// would lose a part of it.
func checkReplacement(kind string, stored, whole Keys) *ops.InputError {
	names, isKnown := unreturned[kind]
	if stored == nil || !isKnown {
		return &ops.InputError{
			Field: "Destination",
			Want: "With on a destination that was read from the service and is of a known type: the server may replace " +
				"the whole config, and the stored one is not known; write the whole Destination without With",
		}
	}
	lost := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return whole[name] != nil })
	return refuseLoss(append(lost, lostInside(whole)...), "the server may replace the whole config")
}

func refuseLoss(lost []string, why string) *ops.InputError {
	if len(lost) == 0 {
		return nil
	}
	return &ops.InputError{
		Field: "Destination.Config",
		Want: fmt.Sprintf("%s to be set too, or to be null if the export has none: %s and never returns them, so this "+
			"change would lose them (a Destination written without With is sent as it is)", strings.Join(lost, ", "), why),
	}
}

// lostInside returns the credentials inside copy_inputs that a replacement would lose.
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

// Encode encodes a config with its credentials, as JSON and as keys.
func Encode(config any) (text []byte, keys Keys, refusal *ops.InputError) {
	text, err := Revealed(config)
	if err == nil && outgoing.HasBadText(text) {
		err = errors.New("invalid UTF-8")
	}
	if err == nil {
		err = json.Unmarshal(text, &keys)
	}
	if err != nil || keys == nil {
		want := "a config that is a JSON object"
		if err != nil {
			want += ": " + mask.Clean(err.Error())
		}
		return nil, nil, outgoing.Refuse("Destination.Config", "", want)
	}
	return text, keys, nil
}

var values = map[string][]string{
	"compression":          {"zstd", "lz4", "snappy", "gzip", "brotli"},
	"file_format":          {"JSONLines", "Parquet"},
	"authentication_type":  {"password", "keypair"},
	"properties_data_type": {"varchar", "super"},
	"mode":                 {"INSERT", "COPY"},
}

// stored are further values that PostHog's own pages have saved. The service takes all but varchar for super.
var stored = map[string]string{"properties_data_type": "SUPER"}

// CheckValues refuses misspelt values of keys with known values.
func CheckValues(keys Keys) *ops.InputError {
	for name, known := range values {
		var value string
		if json.Unmarshal(keys[name], &value) != nil || value == "" {
			continue
		}
		if value == stored[name] {
			continue
		}
		if refusal := outgoing.Misspelt("Destination.Config: "+name, value, known); refusal != nil {
			return refusal
		}
	}
	return nil
}

// Check refuses a destination that no server can store. keys is the whole config or the part that
// an update sends; id is the integration's id, if hasID.
func Check(kind string, id int64, hasID bool, keys Keys, isNew bool) *ops.InputError {
	needsID := kind == "Databricks" || kind == "AzureBlob"
	hasFiles := slices.Contains([]string{"S3", "AwsS3", "S3Compatible", "AzureBlob"}, kind)
	isLegacy := isNew && string(keys["legacy_parquet_extension"]) == "true"
	refusal := cmp.Or(
		outgoing.If(isNew && kind == "FileDownload", "Destination.Type", "",
			"another type: downloads have no schedule, so they are no batch exports"),
		outgoing.If(needsID && !hasID, "Destination.Integration", "",
			"the id of an integration of the project, which "+kind+" needs in every write"),
		outgoing.If(hasID && id <= 0, "Destination.Integration", "", "an id, a number above 0"),
		outgoing.If(isLegacy, "Destination.Config: legacy_parquet_extension", "",
			"false or absent: only an older export that writes such names can keep them"),
	)
	if refusal == nil && hasFiles {
		refusal = checkCompression(keys, isNew)
	}
	return refusal
}

// Replacement names the successor of a destination that newer servers refuse, or returns "". It
// looks at the field and the text of the service's error.
func Replacement(kind, attr, detail string, config any) string {
	switch {
	case kind == "S3" && (strings.HasSuffix(attr, "__type") || strings.Contains(detail, "deprecated")):
		return "destination.TypeAwsS3 or destination.TypeS3Compatible, with the id of an integration in Destination.Integration"
	case strings.HasPrefix(detail, "Integration is required"),
		strings.HasPrefix(detail, "Configuration has unknown field") && holdsCredentials(config):
		return "credentials in an integration of the project: Integrations.Create, and its id in Destination.Integration"
	}
	return ""
}

func holdsCredentials(config any) bool {
	text, err := Revealed(config)
	return err == nil && len(mask.Credentials(text)) > 0
}

// checkCompression refuses a codec that the file format does not support. Without a format, a new
// export uses JSONLines, and an update keeps the stored format.
func checkCompression(keys Keys, isNew bool) *ops.InputError {
	var format, codec string
	_ = json.Unmarshal(keys["file_format"], &format) // the service judges values of other types
	_ = json.Unmarshal(keys["compression"], &codec)
	if format == "" && isNew {
		format = "JSONLines"
	}
	bad := format == "JSONLines" && slices.Contains([]string{"zstd", "lz4", "snappy"}, codec)
	return outgoing.If(bad, "Destination.Config: compression", codec, "gzip or brotli, or the file_format Parquet")
}
