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
func (d Destination) wire(op Op) (w wireDestination, refusal *outgoing.Refusal) {
	if refusal := d.check(); refusal != nil {
		return w, refusal
	}
	config, keys, refusal := destination.Encode(d.Config)
	if refusal == nil {
		refusal = destination.CheckValues(keys)
	}
	if refusal == nil && d.over != nil {
		config, keys, refusal = d.completed(keys)
	}
	if refusal == nil {
		id, hasID := d.Integration.Get()
		refusal = destination.Check(string(d.Type), id, hasID, keys, op != ops.BatchExportsUpdate)
	}
	return wireDestination{d.Type, config, d.Integration}, refusal
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

// completed is the config to send for the keys that d changes, and the whole config that they make.
func (d Destination) completed(changed destination.Keys) (config []byte, whole destination.Keys, refusal *outgoing.Refusal) {
	read := d.over()
	for ; read.over != nil; read = read.over() {
		_, below, refusal := destination.Encode(read.Config)
		if refusal != nil {
			return nil, nil, refusal
		}
		changed = optjson.Overlay(below, changed)
	}
	var stored destination.Keys
	if !isNil(read.Config) {
		if _, stored, refusal = destination.Encode(read.Config); refusal != nil {
			return nil, nil, refusal
		}
	}
	sent, whole, refusal := destination.Update(string(read.Type), stored, changed, read.isReplaced())
	config, _ = json.Marshal(sent) //nolint:errchkjson // was valid JSON
	return config, whole, refusal
}

// withReplacement names, in the refusal of a destination that newer servers no longer take, what they
// take instead.
func withReplacement(err error, d Destination) error {
	api, ok := errors.AsType[*APIError](err)
	if !ok || api.StatusCode != http.StatusBadRequest {
		return err
	}
	if other := destination.Replacement(string(d.Type), api.Attr, api.Detail, d.Config); other != "" {
		api.Alternative = other
	}
	return err
}
