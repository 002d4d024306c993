package hogapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/hogapi/hogapi/internal/destination"
	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/internal/optjson"
	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/ops"
)

// Destinations as JSON: the form for print, with credentials redacted, and the wire form, which only
// ever goes into the body of a request. How a config is written and read: internal/optjson.

// UnmarshalJSON reads what the service sends. A config that does not fit its kind becomes a
// [RawConfig].
func (d *Destination) UnmarshalJSON(b []byte) error {
	var sent struct {
		Type        DestinationType `json:"type"`
		Config      json.RawMessage `json:"config"`
		Integration json.RawMessage `json:"integration"`
	}
	if err := json.Unmarshal(b, &sent); err != nil {
		return err
	}
	*d = Destination{Type: sent.Type}
	if len(sent.Config) > 0 && string(sent.Config) != "null" {
		d.raw = &sealed{&sent.Config}
		d.Config = readConfig(sent.Type, sent.Config)
	}
	if len(sent.Integration) > 0 {
		_ = optjson.Loose(sent.Integration, &d.Integration) // of another shape: not ours to send again
	}
	return nil
}

// MarshalJSON writes the destination with its credentials redacted.
func (d Destination) MarshalJSON() ([]byte, error) {
	config := []byte("null")
	if !isNil(d.Config) {
		var err error
		if config, err = optjson.Redacted(d.Config); err != nil {
			return nil, err
		}
	}
	return json.Marshal(wireDestination{d.Type, config, d.Integration})
}

// wireDestination is the form of a destination, in print and on the wire.
type wireDestination struct {
	Type        DestinationType `json:"type"`
	Config      json.RawMessage `json:"config"`
	Integration Opt[int64]      `json:"integration,omitzero"`
}

// wire is the destination in the form that is sent, with its credentials.
func (d Destination) wire(op Op) (w wireDestination, err error) {
	if err := d.check(op); err != nil {
		return w, err
	}
	config, keys, err := d.encode(op)
	if err != nil {
		return w, err
	}
	if err := checkConfigValues(op, keys); err != nil {
		return w, err
	}
	whole := keys
	if d.over != nil {
		if config, whole, err = d.completed(op, keys); err != nil {
			return w, err
		}
	}
	if err := d.checkRules(op, whole); err != nil {
		return w, err
	}
	return wireDestination{d.Type, config, d.Integration}, nil
}

// encode is the config with its credentials, as JSON and as its keys.
func (d Destination) encode(op Op) (config []byte, keys configKeys, err error) {
	config, err = optjson.Revealed(d.Config)
	if err == nil && outgoing.HasBadText(config) {
		err = errors.New("it has invalid UTF-8")
	}
	if err == nil {
		err = json.Unmarshal(config, &keys)
	}
	if err != nil || keys == nil {
		return nil, nil, &InputError{
			Op: op, Field: "Destination.Config", Want: "a config that is a JSON object" + reason(err),
		}
	}
	return config, keys, nil
}

func reason(err error) string {
	if err == nil {
		return ""
	}
	return ": " + mask.Clean(err.Error())
}

// knownConfigs has one config of each type, to find the type that fits a kind.
var knownConfigs = []DestinationConfig{
	S3Config{}, SnowflakeConfig{}, PostgresConfig{}, RedshiftConfig{}, BigQueryConfig{}, DatabricksConfig{},
	AzureBlobConfig{}, HTTPConfig{}, WorkflowsConfig{}, FileDownloadConfig{}, NoOpConfig{},
}

func readConfig(t DestinationType, b json.RawMessage) DestinationConfig {
	for _, known := range knownConfigs {
		if !known.fits(t) {
			continue
		}
		config := reflect.New(reflect.TypeOf(known))
		if optjson.Decode(b, config.Interface()) == nil {
			return config.Elem().Interface().(DestinationConfig)
		}
	}
	return RawConfig(b)
}

// MarshalJSON writes the fields that are not absent and Extra, with credentials redacted.
func (c S3Config) MarshalJSON() ([]byte, error) { return optjson.Redacted(c) }

// UnmarshalJSON reads the fields, and puts all else into Extra.
func (c *S3Config) UnmarshalJSON(b []byte) error { return optjson.Decode(b, c) }

// MarshalJSON writes the fields that are not absent and Extra, with credentials redacted.
func (c SnowflakeConfig) MarshalJSON() ([]byte, error) { return optjson.Redacted(c) }

// UnmarshalJSON reads the fields, and puts all else into Extra.
func (c *SnowflakeConfig) UnmarshalJSON(b []byte) error { return optjson.Decode(b, c) }

// MarshalJSON writes the fields that are not absent and Extra, with credentials redacted.
func (c PostgresConfig) MarshalJSON() ([]byte, error) { return optjson.Redacted(c) }

// UnmarshalJSON reads the fields, and puts all else into Extra.
func (c *PostgresConfig) UnmarshalJSON(b []byte) error { return optjson.Decode(b, c) }

// MarshalJSON writes the fields that are not absent and Extra, with credentials redacted.
func (c RedshiftConfig) MarshalJSON() ([]byte, error) { return optjson.Redacted(c) }

// UnmarshalJSON reads the fields, and puts all else into Extra.
func (c *RedshiftConfig) UnmarshalJSON(b []byte) error { return optjson.Decode(b, c) }

// MarshalJSON writes the fields that are not absent and Extra, with credentials redacted.
func (c RedshiftCopyInputs) MarshalJSON() ([]byte, error) { return optjson.Redacted(c) }

// UnmarshalJSON reads the fields, and puts all else into Extra.
func (c *RedshiftCopyInputs) UnmarshalJSON(b []byte) error { return optjson.Decode(b, c) }

// MarshalJSON writes the fields that are not absent and Extra, with credentials redacted.
func (c AWSCredentials) MarshalJSON() ([]byte, error) { return optjson.Redacted(c) }

// UnmarshalJSON reads the fields, and puts all else into Extra.
func (c *AWSCredentials) UnmarshalJSON(b []byte) error { return optjson.Decode(b, c) }

// MarshalJSON writes the fields that are not absent and Extra, with credentials redacted.
func (c BigQueryConfig) MarshalJSON() ([]byte, error) { return optjson.Redacted(c) }

// UnmarshalJSON reads the fields, and puts all else into Extra.
func (c *BigQueryConfig) UnmarshalJSON(b []byte) error { return optjson.Decode(b, c) }

// MarshalJSON writes the fields that are not absent and Extra, with credentials redacted.
func (c DatabricksConfig) MarshalJSON() ([]byte, error) { return optjson.Redacted(c) }

// UnmarshalJSON reads the fields, and puts all else into Extra.
func (c *DatabricksConfig) UnmarshalJSON(b []byte) error { return optjson.Decode(b, c) }

// MarshalJSON writes the fields that are not absent and Extra, with credentials redacted.
func (c AzureBlobConfig) MarshalJSON() ([]byte, error) { return optjson.Redacted(c) }

// UnmarshalJSON reads the fields, and puts all else into Extra.
func (c *AzureBlobConfig) UnmarshalJSON(b []byte) error { return optjson.Decode(b, c) }

// MarshalJSON writes the fields that are not absent and Extra, with credentials redacted.
func (c HTTPConfig) MarshalJSON() ([]byte, error) { return optjson.Redacted(c) }

// UnmarshalJSON reads the fields, and puts all else into Extra.
func (c *HTTPConfig) UnmarshalJSON(b []byte) error { return optjson.Decode(b, c) }

// MarshalJSON writes the fields that are not absent and Extra, with credentials redacted.
func (c WorkflowsConfig) MarshalJSON() ([]byte, error) { return optjson.Redacted(c) }

// UnmarshalJSON reads the fields, and puts all else into Extra.
func (c *WorkflowsConfig) UnmarshalJSON(b []byte) error { return optjson.Decode(b, c) }

// MarshalJSON writes the fields that are not absent and Extra, with credentials redacted.
func (c FileDownloadConfig) MarshalJSON() ([]byte, error) { return optjson.Redacted(c) }

// UnmarshalJSON reads the fields, and puts all else into Extra.
func (c *FileDownloadConfig) UnmarshalJSON(b []byte) error { return optjson.Decode(b, c) }

// MarshalJSON writes the fields that are not absent and Extra, with credentials redacted.
func (c NoOpConfig) MarshalJSON() ([]byte, error) { return optjson.Redacted(c) }

// UnmarshalJSON reads the fields, and puts all else into Extra.
func (c *NoOpConfig) UnmarshalJSON(b []byte) error { return optjson.Decode(b, c) }

// MarshalJSON writes the id, the role, or the credentials redacted.
func (a RedshiftAuthorization) MarshalJSON() ([]byte, error) { return optjson.RedactedUnion(a) }

// UnmarshalJSON reads an id, a role or credentials. A text of digits is an id.
func (a *RedshiftAuthorization) UnmarshalJSON(b []byte) error { return optjson.DecodeUnion(b, a) }

// MarshalJSON writes the id, or the credentials redacted.
func (a RedshiftBucketAccess) MarshalJSON() ([]byte, error) { return optjson.RedactedUnion(a) }

// UnmarshalJSON reads an id or credentials. A text of digits is an id.
func (a *RedshiftBucketAccess) UnmarshalJSON(b []byte) error { return optjson.DecodeUnion(b, a) }

// MarshalJSON writes the config with credentials redacted.
func (c RawConfig) MarshalJSON() ([]byte, error) { return mask.JSON(json.RawMessage(c)), nil }

// UnmarshalJSON keeps the bytes.
func (c *RawConfig) UnmarshalJSON(b []byte) error {
	*c = slices.Clone(b)
	return nil
}

// String is the config with credentials redacted.
func (c RawConfig) String() string { return string(mask.JSON(json.RawMessage(c))) }

// Format writes String under every verb.
func (c RawConfig) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.String()) }

// LogValue is String for slog.
func (c RawConfig) LogValue() slog.Value { return slog.StringValue(c.String()) }

// MarshalJSON writes the keys with credentials redacted.
func (e ExtraKeys) MarshalJSON() ([]byte, error) { return optjson.RedactedKeys(optjson.Keys(e)), nil }

// String is the keys as JSON with credentials redacted.
func (e ExtraKeys) String() string { return string(optjson.RedactedKeys(optjson.Keys(e))) }

// Format writes String under every verb.
func (e ExtraKeys) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, e.String()) }

// LogValue is String for slog.
func (e ExtraKeys) LogValue() slog.Value { return slog.StringValue(e.String()) }

// With returns the destination of an update that changes only the keys of config: all other keys
// keep their values. Type and integration are sent again, as the service demands. A key can be set
// or, where the service allows it, be null; it cannot be removed. With can be repeated.
//
// d must have been read from the service, since servers differ. Those that know integrations merge
// a config into the stored one: they are sent the keys of config only. Older ones replace it: they
// are sent the whole config as it was read. Credentials are never read, so an update that would
// lose some is refused with an [*InputError] that names them: config must then set them too, or set
// null if the export has none. On all servers this includes credentials inside a key that config
// changes, such as CopyInputs. A Destination that is written without With is sent as it is.
func (d Destination) With(config DestinationConfig) Destination {
	changed := Destination{Type: d.Type, Config: config, over: func() Destination { return d }}
	if id, ok := d.Integration.Get(); ok {
		changed.Integration = Set(id)
	}
	return changed
}

// isReplaced reports whether the server that this destination was read from may replace a config
// instead of merging it: it does not know integrations, which are in every answer of those that do.
// The other types came with integrations.
func (d Destination) isReplaced() bool {
	return d.Integration.IsZero() && (destination.IsReplacedKind(string(d.Type)) || !d.Type.IsKnown())
}

type configKeys = optjson.Keys

// completed is the config to send for the keys that d changes, and the whole config that they make.
func (d Destination) completed(op Op, changed configKeys) (config []byte, whole configKeys, err error) {
	read := d.over()
	for ; read.over != nil; read = read.over() {
		_, below, err := read.encode(op)
		if err != nil {
			return nil, nil, err
		}
		changed = optjson.Overlay(below, changed)
	}
	var stored configKeys
	if !isNil(read.Config) {
		if _, stored, err = read.encode(op); err != nil {
			return nil, nil, err
		}
	}
	sent, whole, refusal := destination.Update(string(read.Type), stored, changed, read.isReplaced())
	if refusal != nil {
		return nil, nil, refused(op, refusal)
	}
	config, err = json.Marshal(sent)
	return config, whole, err
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
	case isNew:
		if refusal := destination.CheckNew(keys); refusal != nil {
			return refused(op, refusal)
		}
	}
	if (S3Config{}).fits(d.Type) || d.Type == DestinationAzureBlob {
		return refused(op, destination.CheckCompression(keys, isNew))
	}
	return nil
}

// refused is a refusal as the caller gets it, or nil.
func refused(op Op, r *destination.Refusal) error {
	if r == nil {
		return nil
	}
	return &InputError{Op: op, Field: r.Field, Value: r.Value, Want: r.Want}
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
