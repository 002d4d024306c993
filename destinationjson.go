package hogapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/hogapi/hogapi/internal/mask"
)

// How destinations become JSON and come back. Configs go both ways through their own fields and
// Extra. Two forms are written: one for print, with credentials redacted, and the wire form, which
// only ever goes into the body of a request.

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
		_ = d.Integration.readLoose(sent.Integration) // of another shape: not ours to send again
	}
	return nil
}

// MarshalJSON writes the destination with its credentials redacted.
func (d Destination) MarshalJSON() ([]byte, error) {
	config := []byte("null")
	if !isNil(d.Config) {
		var err error
		if config, err = encodeConfig(d.Config, false); err != nil {
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
	config, err = encodeConfig(d.Config, true)
	if err == nil && badText.Match(config) {
		err = errors.New("it has invalid UTF-8")
	}
	if err == nil {
		err = json.Unmarshal(config, &keys)
	}
	if err != nil || keys == nil {
		return nil, nil, &InputError{Op: op, Field: "Destination.Config", Want: "a config that is a JSON object" + reason(err)}
	}
	return config, keys, nil
}

func reason(err error) string {
	if err == nil {
		return ""
	}
	return ": " + mask.Clean(err.Error())
}

// configValues are the config keys with a known set of values.
var configValues = map[string][]string{
	"compression":          {"zstd", "lz4", "snappy", "gzip", "brotli"},
	"file_format":          {"JSONLines", "Parquet"},
	"authentication_type":  {"password", "keypair"},
	"properties_data_type": {"varchar", "super"},
	"mode":                 {"INSERT", "COPY"},
}

func checkConfigValues(op Op, keys map[string]json.RawMessage) error {
	for name, known := range configValues {
		var value string
		if json.Unmarshal(keys[name], &value) != nil || value == "" {
			continue
		}
		if err := checkSpelling(op, "Destination.Config: "+name, value, known); err != nil {
			return err
		}
	}
	return nil
}

// configReaders read the config of each known kind.
var configReaders = map[DestinationType]func([]byte) (DestinationConfig, error){
	DestinationS3:           readAs[S3Config],
	DestinationAwsS3:        readAs[S3Config],
	DestinationS3Compatible: readAs[S3Config],
	DestinationSnowflake:    readAs[SnowflakeConfig],
	DestinationPostgres:     readAs[PostgresConfig],
	DestinationRedshift:     readAs[RedshiftConfig],
	DestinationBigQuery:     readAs[BigQueryConfig],
	DestinationDatabricks:   readAs[DatabricksConfig],
	DestinationAzureBlob:    readAs[AzureBlobConfig],
	DestinationHTTP:         readAs[HTTPConfig],
	DestinationWorkflows:    readAs[WorkflowsConfig],
	DestinationFileDownload: readAs[FileDownloadConfig],
	DestinationNoOp:         readAs[NoOpConfig],
}

func readAs[C DestinationConfig](b []byte) (DestinationConfig, error) {
	var config C
	err := decodeConfig(b, &config)
	return config, err
}

func readConfig(t DestinationType, b json.RawMessage) DestinationConfig {
	if reader, ok := configReaders[t]; ok {
		if config, err := reader(b); err == nil {
			return config
		}
	}
	return RawConfig(b)
}

// optional is what the codec asks of an Opt.
type optional interface {
	IsZero() bool
	encode(reveal bool) ([]byte, error)
}

// revealer is a value with another form on the wire than in print.
type revealer interface{ wireJSON() ([]byte, error) }

func (o Opt[T]) encode(reveal bool) ([]byte, error) {
	if v, ok := any(o.v).(revealer); ok && reveal && o.state == optValue {
		return v.wireJSON()
	}
	return o.MarshalJSON()
}

// readLoose also reads numbers and booleans that the service has turned into strings.
func (o *Opt[T]) readLoose(b []byte) error {
	err := json.Unmarshal(b, o)
	var text string
	if err == nil || json.Unmarshal(b, &text) != nil {
		return err
	}
	text = strings.TrimSpace(text)
	read := Opt[T]{state: optValue}
	var failed error // it quotes the text; err does not
	switch v := any(&read.v).(type) {
	case *int:
		*v, failed = strconv.Atoi(text)
	case *int64:
		*v, failed = strconv.ParseInt(text, 10, 64)
	case *bool:
		*v, failed = strconv.ParseBool(text)
	default:
		return err
	}
	if text == "None" || text == "" {
		read, failed = Null[T](), nil
	}
	if failed != nil {
		return err
	}
	*o = read
	return nil
}

// encodeConfig writes a config, or a part of one: its fields that are not absent, and Extra.
func encodeConfig(config any, reveal bool) ([]byte, error) {
	v := reflect.Indirect(reflect.ValueOf(config))
	if raw, ok := reflect.TypeAssert[RawConfig](v); ok {
		return raw.encode(reveal), nil
	}
	out := map[string]json.RawMessage{}
	for i, name := range configFields(v.Type()) {
		field, ok := reflect.TypeAssert[optional](v.Field(i))
		if !ok && name != extraField {
			return nil, fmt.Errorf("%T is not a config of this package", config)
		}
		if !ok || field.IsZero() {
			continue
		}
		b, err := field.encode(reveal)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out[name] = b
	}
	extra, _ := reflect.TypeAssert[ExtraKeys](v.FieldByName(extraField))
	for name, value := range extra {
		if slices.Contains(configFields(v.Type()), name) {
			return nil, fmt.Errorf("%s has a field of its own and cannot be in Extra", name)
		}
		if !reveal {
			value = mask.Member(name, value)
		}
		out[name] = value
	}
	return json.Marshal(out)
}

// decodeConfig fills *into with the keys of a JSON object; those that it does not know go into
// Extra.
func decodeConfig(b []byte, into any) error {
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(b, &keys); err != nil {
		return err
	}
	v := reflect.ValueOf(into).Elem()
	v.SetZero()
	for i, name := range configFields(v.Type()) {
		value, sent := keys[name]
		if name == extraField || !sent {
			continue
		}
		field := v.Field(i).Addr().Interface().(interface{ readLoose(b []byte) error })
		if err := field.readLoose(value); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		delete(keys, name)
	}
	if len(keys) > 0 {
		v.FieldByName(extraField).Set(reflect.ValueOf(ExtraKeys(keys)))
	}
	return nil
}

const extraField = "Extra"

// configFields are the JSON names of a config's fields in their order, Extra included.
func configFields(t reflect.Type) []string {
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

var fieldCache sync.Map

// isNil reports whether an interface holds nothing, or a pointer or a function that is nil.
func isNil(value any) bool {
	v := reflect.ValueOf(value)
	return !v.IsValid() || (v.Kind() == reflect.Pointer || v.Kind() == reflect.Func) && v.IsNil()
}

func (s Secret) wireJSON() ([]byte, error) { return json.Marshal(s.Reveal()) }

// MarshalJSON writes the id, the role, or the credentials redacted.
func (a RedshiftAuthorization) MarshalJSON() ([]byte, error) { return a.encode(false) }

func (a RedshiftAuthorization) wireJSON() ([]byte, error) { return a.encode(true) }

func (a RedshiftAuthorization) encode(reveal bool) ([]byte, error) {
	if a.Integration != 0 || a.Role == "" {
		return RedshiftBucketAccess{a.Integration, a.Credentials}.encode(reveal)
	}
	return json.Marshal(a.Role)
}

// UnmarshalJSON reads an id, a role or credentials. A text of digits is an id.
func (a *RedshiftAuthorization) UnmarshalJSON(b []byte) error {
	*a = RedshiftAuthorization{}
	var access RedshiftBucketAccess
	err := access.UnmarshalJSON(b)
	if err != nil && bytes.HasPrefix(b, []byte(`"`)) {
		return json.Unmarshal(b, &a.Role)
	}
	a.Integration, a.Credentials = access.Integration, access.Credentials
	return err
}

// MarshalJSON writes the id, or the credentials redacted.
func (a RedshiftBucketAccess) MarshalJSON() ([]byte, error) { return a.encode(false) }

func (a RedshiftBucketAccess) wireJSON() ([]byte, error) { return a.encode(true) }

func (a RedshiftBucketAccess) encode(reveal bool) ([]byte, error) {
	if a.Integration != 0 {
		return json.Marshal(a.Integration)
	}
	return encodeConfig(a.Credentials, reveal)
}

// UnmarshalJSON reads an id or credentials. A text of digits is an id.
func (a *RedshiftBucketAccess) UnmarshalJSON(b []byte) error {
	*a = RedshiftBucketAccess{}
	if bytes.HasPrefix(b, []byte(`{`)) {
		return json.Unmarshal(b, &a.Credentials)
	}
	var id Opt[int64]
	err := id.readLoose(b)
	a.Integration = id.Or(0)
	return err
}

func (c AWSCredentials) wireJSON() ([]byte, error)     { return encodeConfig(c, true) }
func (c RedshiftCopyInputs) wireJSON() ([]byte, error) { return encodeConfig(c, true) }

func (c RawConfig) encode(reveal bool) []byte {
	if reveal {
		return c
	}
	return mask.JSON(json.RawMessage(c))
}

// MarshalJSON writes the config with credentials redacted.
func (c RawConfig) MarshalJSON() ([]byte, error) { return c.encode(false), nil }

// UnmarshalJSON keeps the bytes.
func (c *RawConfig) UnmarshalJSON(b []byte) error {
	*c = slices.Clone(b)
	return nil
}

// String is the config with credentials redacted.
func (c RawConfig) String() string { return string(c.encode(false)) }

// Format writes String under every verb.
func (c RawConfig) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.String()) }

// LogValue is String for slog.
func (c RawConfig) LogValue() slog.Value { return slog.StringValue(c.String()) }

func (e ExtraKeys) encode() []byte {
	if len(e) == 0 {
		return []byte("{}")
	}
	b, err := json.Marshal(map[string]json.RawMessage(e))
	if err != nil {
		return []byte(redacted)
	}
	return mask.JSON(b)
}

// MarshalJSON writes the keys with credentials redacted.
func (e ExtraKeys) MarshalJSON() ([]byte, error) { return e.encode(), nil }

// String is the keys as JSON with credentials redacted.
func (e ExtraKeys) String() string { return string(e.encode()) }

// Format writes String under every verb.
func (e ExtraKeys) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, e.String()) }

// LogValue is String for slog.
func (e ExtraKeys) LogValue() slog.Value { return slog.StringValue(e.String()) }
