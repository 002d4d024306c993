package configs

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func keysOf(t *testing.T, text string) (keys Keys) {
	t.Helper()
	if text != "" {
		require.NoError(t, json.Unmarshal([]byte(text), &keys))
	}
	return keys
}

// A server that merges gets the changes; a server that replaces gets everything, and loses no key
// that it never returns.
func TestUpdate(t *testing.T) {
	t.Parallel()
	const inputs = `"copy_inputs":{"bucket":"b","authorization":{"aws_access_key_id":"a","aws_secret_access_key":"s"},"bucket_credentials":null}`
	for name, tt := range map[string]struct {
		kind, stored, changed string
		isReplaced            bool
		sent, want            string
	}{
		"merged":                   {"S3", `{"prefix":"a","region":"r"}`, `{"prefix":"b"}`, false, `{"prefix":"b"}`, ""},
		"replaced":                 {"S3", `{"prefix":"a","region":"r"}`, `{"prefix":"b","aws_access_key_id":null,"aws_secret_access_key":"s"}`, true, `{"prefix":"b","region":"r","aws_access_key_id":null,"aws_secret_access_key":"s"}`, ""},
		"replaced, one lost":       {"S3", `{"prefix":"a"}`, `{"aws_access_key_id":"a"}`, true, "", "aws_secret_access_key to be set too"},
		"replaced, all lost":       {"Postgres", `{"host":"h"}`, `{"host":"i"}`, true, "", "password, user to be set too"},
		"replaced, nothing kept":   {"NoOp", `{}`, `{"a":1}`, true, `{"a":1}`, ""},
		"not read":                 {"S3", "", `{"prefix":"b"}`, true, "", "With on a destination that was read from the service"},
		"of an unknown kind":       {"New", `{}`, `{"prefix":"b"}`, true, "", "and is of a known type"},
		"at depth":                 {"New", `{"a":{"b":1,"c":2}}`, `{"a":{"b":3}}`, false, `{"a":{"b":3,"c":2}}`, ""},
		"credentials inside":       {"Redshift", `{}`, `{` + inputs + `}`, false, `{` + inputs + `}`, ""},
		"credentials inside, lost": {"Redshift", `{"copy_inputs":{"bucket":"b","authorization":{"aws_access_key_id":"a"}}}`, `{"copy_inputs":{"bucket":"c"}}`, false, "", "copy_inputs.authorization, copy_inputs.bucket_credentials to be set too"},
	} {
		stored := keysOf(t, tt.stored)
		sent, whole, refusal := Update(tt.kind, stored, keysOf(t, tt.changed), tt.isReplaced)
		if tt.want != "" {
			require.NotNil(t, refusal, name)
			assert.Contains(t, refusal.Want, tt.want, name)
			continue
		}
		require.Nil(t, refusal, name)
		text, err := json.Marshal(sent)
		require.NoError(t, err)
		assert.JSONEq(t, tt.sent, string(text), name)
		for key := range stored {
			assert.Contains(t, whole, key, name)
		}
	}
}

func TestValuesThatNoServerCanStore(t *testing.T) {
	t.Parallel()
	for text, refused := range map[string][2]bool{ // for a new export, for an update
		`{}`:                     {false, false},
		`{"compression":"gzip"}`: {false, false},
		`{"compression":"zstd"}`: {true, false}, // the stored format may differ
		`{"compression":"zstd","file_format":null}`:        {true, false},
		`{"compression":"lz4","file_format":"JSONLines"}`:  {true, true},
		`{"compression":"snappy","file_format":"Parquet"}`: {false, false},
		`{"compression":1}`:                                {false, false},
	} {
		assert.Equal(t, refused[0], checkCompression(keysOf(t, text), true) != nil, text)
		assert.Equal(t, refused[1], checkCompression(keysOf(t, text), false) != nil, text)
	}
	assert.NotNil(t, Check("S3", 0, false, keysOf(t, `{"legacy_parquet_extension":true}`), true))
	assert.Nil(t, Check("S3", 0, false, keysOf(t, `{"legacy_parquet_extension":false}`), true))
	assert.Nil(t, Check("S3", 0, false, keysOf(t, `{"legacy_parquet_extension":true}`), false), "an older export may keep it")
}

func TestEncode(t *testing.T) {
	t.Parallel()
	text, keys, refusal := Encode(json.RawMessage(`{"a":1}`))
	require.Nil(t, refusal)
	assert.JSONEq(t, `{"a":1}`, string(text))
	assert.Equal(t, Keys{"a": json.RawMessage("1")}, keys)
	for config, want := range map[string]string{"null": "", "[]": "", `{"a"`: "", "{\"a\":\"\\ufffd\"}": "invalid UTF-8"} {
		_, _, refusal := Encode(json.RawMessage(config))
		require.NotNil(t, refusal, config)
		assert.Contains(t, refusal.Want, "a config that is a JSON object")
		assert.Contains(t, refusal.Want, want)
		assert.Empty(t, refusal.Value, "it may hold a secret")
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	assert.NotNil(t, CheckValues(keysOf(t, `{"mode":"copy"}`)))
	assert.Nil(t, CheckValues(keysOf(t, `{"properties_data_type":"SUPER"}`)), "PostHog's own pages have stored it")
	assert.NotNil(t, CheckValues(keysOf(t, `{"properties_data_type":"VARCHAR"}`)), "the service would take it for super")
	assert.Nil(t, CheckValues(keysOf(t, `{"mode":"COPY","compression":"new","file_format":7}`)))
	for name, tt := range map[string]struct {
		kind  string
		id    int64
		hasID bool
		isNew bool
		field string
	}{
		"new":                     {"S3", 0, false, true, ""},
		"a download":              {"FileDownload", 0, false, true, "Destination.Type"},
		"a download, changed":     {"FileDownload", 0, false, false, ""},
		"without its integration": {"Databricks", 0, false, false, "Destination.Integration"},
		"with its integration":    {"Databricks", 1, true, false, ""},
		"with none":               {"AwsS3", 0, true, true, "Destination.Integration"},
	} {
		refusal := Check(tt.kind, tt.id, tt.hasID, Keys{}, tt.isNew)
		require.Equal(t, tt.field == "", refusal == nil, name)
		if refusal != nil {
			assert.Equal(t, tt.field, refusal.Field, name)
		}
	}
	assert.NotNil(t, Check("AzureBlob", 1, true, keysOf(t, `{"compression":"zstd"}`), true))
	assert.Nil(t, Check("Postgres", 0, false, keysOf(t, `{"compression":"zstd"}`), true), "no key of this kind")
}

func TestReplacement(t *testing.T) {
	t.Parallel()
	secret := json.RawMessage(`{"password":"open sesame"}`)
	assert.Contains(t, Replacement("S3", "destination__type", "", nil), "destination.TypeAwsS3")
	assert.Contains(t, Replacement("S3", "", "it is deprecated", nil), "destination.TypeAwsS3")
	assert.Contains(t, Replacement("Postgres", "", "Integration is required", nil), "Integrations.Create")
	assert.Contains(t, Replacement("Postgres", "", "Configuration has unknown field(s)", secret), "Integrations.Create")
	assert.Empty(t, Replacement("Postgres", "", "Configuration has unknown field(s)", json.RawMessage(`{"host":"h"}`)))
	assert.Empty(t, Replacement("Postgres", "destination__type", "", secret))
}
