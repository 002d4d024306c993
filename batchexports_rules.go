package hogapi

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/internal/optjson"
	"github.com/hogapi/hogapi/ops"
)

// What is refused before it is sent, since every server that knows the fields refuses it, fails at
// it or stores something else.

// checkRules refuses the combinations of a new export that no server can store.
func (c BatchExportRequest) checkRules(op Op) error {
	bad := func(field, want string) error { return &InputError{Op: op, Field: field, Want: want} }
	isHogQL := c.Model == ModelHogQL
	switch {
	case isHogQL && c.HogQLQuery == "":
		return bad("HogQLQuery", "a query: the model hogql needs one")
	case !isHogQL && len(c.HogQLModifiers) > 0 && string(c.HogQLModifiers) != "null":
		return bad("HogQLModifiers", "the model hogql, or no modifiers")
	case !isHogQL && c.PrimaryKey != nil:
		return bad("PrimaryKey", "the model hogql, or no key")
	case !isHogQL && c.VersionKey != nil:
		return bad("VersionKey", "the model hogql, or no key")
	case c.IncrementalMode == IncrementalModeMerge && len(c.PrimaryKey) == 0:
		return bad("PrimaryKey", "the columns of the key: IncrementalModeMerge needs them")
	}
	return checkOffsets(op, c.Interval, c.OffsetDay != nil, c.OffsetHour != nil)
}

// checkOffsets refuses offsets that the interval does not have.
func checkOffsets(op Op, interval Interval, hasDay, hasHour bool) error {
	bad := func(field, want string) error {
		return &InputError{Op: op, Field: field, Want: want + ", or no offset"}
	}
	switch {
	case !isKnown(interval, intervals) || interval == IntervalWeek:
		return nil
	case hasDay:
		return bad("OffsetDay", "IntervalWeek")
	case hasHour && interval != IntervalDay:
		return bad("OffsetHour", "IntervalDay or IntervalWeek")
	}
	return nil
}

// checkOffsets refuses offsets without the interval that they are of, which the service fails at, and
// one offset of a weekly export without the other, which the service would set to 0.
func (u BatchExportUpdateRequest) checkOffsets(op Op) error {
	hasDay, hasHour := !u.OffsetDay.IsZero(), !u.OffsetHour.IsZero()
	interval, hasInterval := u.Interval.Get()
	switch {
	case (hasDay || hasHour) && !hasInterval:
		return &InputError{Op: op, Field: "Interval", Want: "the interval of the offset, even if it stays the same: the service fails without it"}
	case interval == IntervalWeek && hasDay != hasHour:
		return &InputError{Op: op, Field: "OffsetDay", Want: "OffsetDay and OffsetHour together: the service sets the absent one to 0"}
	}
	_, hasDay = u.OffsetDay.Get()
	_, hasHour = u.OffsetHour.Get()
	return checkOffsets(op, interval, hasDay, hasHour)
}

// checkRules refuses a destination that no server can store. Keys is the whole config, or what an
// update sends of it.
func (d Destination) checkRules(op Op, keys configKeys) error {
	isNew := op != ops.BatchExportsUpdate
	bad := func(field, want string) error {
		return &InputError{Op: op, Field: "Destination." + field, Want: want}
	}
	id, hasID := d.Integration.Get()
	switch {
	case isNew && d.Type == DestinationFileDownload:
		return bad("Type", "another type: downloads have no schedule, so they are no batch exports")
	case (d.Type == DestinationDatabricks || d.Type == DestinationAzureBlob) && !hasID:
		return bad("Integration", "the id of an integration of the project, which "+string(d.Type)+" needs in every write")
	case hasID && id <= 0:
		return bad("Integration", "an id, a number above 0")
	case isNew && string(keys["legacy_parquet_extension"]) == "true":
		return bad("Config: legacy_parquet_extension", "false or absent: only an older export that writes such names can keep them")
	}
	return d.checkCompression(op, keys, isNew)
}

// checkCompression refuses a codec that the file format cannot have. Without a format a new export
// has JSONLines, and an update the stored one.
func (d Destination) checkCompression(op Op, keys configKeys, isNew bool) error {
	if !(S3Config{}).fits(d.Type) && d.Type != DestinationAzureBlob {
		return nil
	}
	var format, codec string
	_ = json.Unmarshal(keys["file_format"], &format) // of another type: the service's to judge
	_ = json.Unmarshal(keys["compression"], &codec)
	if format == "" && isNew {
		format = "JSONLines"
	}
	if format == "JSONLines" && slices.Contains([]string{"zstd", "lz4", "snappy"}, codec) {
		return &InputError{
			Op: op, Field: "Destination.Config: compression", Value: codec, Want: "gzip or brotli, or the file_format Parquet",
		}
	}
	return nil
}

// withReplacement names, in the refusal of a destination that newer servers no longer take, what they
// take instead.
func withReplacement(err error, d Destination) error {
	api, ok := errors.AsType[*APIError](err)
	if !ok || api.StatusCode != http.StatusBadRequest {
		return err
	}
	switch {
	case d.Type == DestinationS3 && (strings.HasSuffix(api.Attr, "__type") || strings.Contains(api.Detail, "deprecated")):
		api.Alternative = "DestinationAwsS3 or DestinationS3Compatible, with the id of an integration in Destination.Integration"
	case strings.HasPrefix(api.Detail, "Integration is required"),
		strings.HasPrefix(api.Detail, "Configuration has unknown field") && d.holdsCredentials():
		api.Alternative = "credentials in an integration of the project: Integrations.Create, and its id in Destination.Integration"
	}
	return err
}

// holdsCredentials reports whether the config has credentials of its own.
func (d Destination) holdsCredentials() bool {
	config, err := optjson.Revealed(d.Config)
	return err == nil && len(mask.Credentials(config)) > 0
}
