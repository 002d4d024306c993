package destination

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/configs"
	"github.com/hogapi/hogapi/opt"
)

const canary = "canary-1d6"

func TestRawPrintsTheRest(t *testing.T) {
	raw := Raw(`{"host":"h","token_uri":"https://t","deep":{"access_key":"k","n":12345678901234567890}}`)
	assert.Equal(t, `{"deep":{"access_key":"[redacted]","n":12345678901234567890},"host":"h","token_uri":"https://t"}`, raw.String())
	for _, name := range []string{"accessKeyId", "private-key", "account_key", "connection_string", "AccountKey", "passwd", "pwd"} {
		assert.NotContains(t, Raw(`{"`+name+`":"canary"}`).String(), "canary", name)
	}
	assert.Equal(t, `"[redacted]"`, Raw(`{"password":`).String())
	b, err := json.Marshal(S3{Prefix: opt.Set("p"), Extra: Extra{"x": json.RawMessage(`1`), "my_secret": json.RawMessage(`"s"`)}})
	require.NoError(t, err)
	assert.Equal(t, `{"my_secret":"[redacted]","prefix":"p","x":1}`, string(b))
}

func TestConfigsDecodeFromSettings(t *testing.T) {
	var c S3
	require.NoError(t, json.Unmarshal([]byte(`{"bucket_name":"b","aws_secret_access_key":"`+canary+`","x":1}`), &c))
	secret, ok := c.AWSSecretAccessKey.Get()
	require.True(t, ok)
	assert.Equal(t, canary, secret.Reveal())
	assert.Equal(t, Extra{"x": json.RawMessage(`1`)}, c.Extra)
	require.NoError(t, json.Unmarshal([]byte(`{"region":"r"}`), &c))
	assert.Equal(t, S3{Region: opt.Set("r")}, c, "a second decode leaves nothing of the first")

	err := json.Unmarshal([]byte(`{"aws_secret_access_key":["`+canary+`"]}`), &c)
	require.Error(t, err)
	assert.NotContains(t, err.Error(), canary)
}

func TestTypes(t *testing.T) {
	for _, known := range Types() {
		assert.True(t, known.IsKnown())
	}
	Types()[0] = "x"
	assert.Equal(t, TypeS3, Types()[0], "a copy")
	assert.False(t, Type("x").IsKnown())
}

// full are configs as the service knows them.
var full = []struct {
	config any // a pointer to an empty one
	text   string
}{
	{new(S3), `{"bucket_name":"b","region":"r","prefix":"p","aws_access_key_id":"k","aws_secret_access_key":"s","compression":"gzip","encryption":"AES256","kms_key_id":null,"endpoint_url":"https://e",
	"file_format":"JSONLines","max_file_size_mb":50,"use_virtual_style_addressing":true,"legacy_parquet_extension":false,"include_events":["a"],"exclude_events":[]}`},
	{new(Snowflake), `{"account":"a","user":"u","database":"d","warehouse":"w","schema":"s","table_name":"t","authentication_type":"keypair","password":null,"private_key":"k","private_key_passphrase":"p","role":"r"}`},
	{new(Postgres), `{"user":"u","password":"p","host":"h","port":5432,"database":"d","schema":"public","table_name":"events","has_self_signed_cert":false}`},
	{new(Redshift), `{"user":"u","password":"p","host":"h","port":5439,"database":"d","schema":"s","table_name":"t","has_self_signed_cert":true,"properties_data_type":"super","mode":"COPY",
	"copy_inputs":{"s3_bucket":"b","region_name":"r","s3_key_prefix":"p","authorization":"arn:aws:iam::1:role/x","bucket_credentials":{"aws_access_key_id":"k","aws_secret_access_key":"s"}}}`},
	{new(BigQuery), `{"project_id":"p","dataset_id":"d","table_id":"t","private_key":"k","private_key_id":"i","client_email":"e@x","token_uri":"https://t","use_json_type":true}`},
	{new(Databricks), `{"http_path":"h","catalog":"c","schema":"s","table_name":"t","use_variant_type":true,"use_automatic_schema_evolution":false}`},
	{new(AzureBlob), `{"container_name":"c","prefix":"","compression":"zstd","file_format":"Parquet","max_file_size_mb":1,"legacy_parquet_extension":true}`},
	{new(HTTP), `{"url":"https://eu.i.posthog.com/batch/","token":"phc_x"}`},
	{new(Workflows), `{"hog_function_id":"f"}`},
	{new(FileDownload), `{"exclude_events":["x"]}`},
}

// Each key has its own field, and comes back as it was.
func TestKeys(t *testing.T) {
	t.Parallel()
	for _, tt := range full {
		require.NoError(t, json.Unmarshal([]byte(tt.text), tt.config)) // as a program reads it from a file
		again, err := configs.Revealed(tt.config)
		require.NoError(t, err)
		assert.JSONEq(t, tt.text, string(again))
		var sent map[string]any
		require.NoError(t, json.Unmarshal([]byte(tt.text), &sent))
		for field, value := range reflect.ValueOf(tt.config).Elem().Fields() {
			key, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if key == "-" {
				assert.Empty(t, value.Interface(), tt.text)
				continue
			}
			assert.Equal(t, strings.ToLower(field.Name), strings.ReplaceAll(key, "_", ""))
			assert.Equal(t, sent[key] == nil && key != "kms_key_id" && key != "password", value.IsZero(), "%T: %s", tt.config, key)
		}
	}
}

// Credentials of a COPY are an id, a name of a role or a key; an id is the same as a number and as digits.
func TestRedshiftCredentials(t *testing.T) {
	for sent, want := range map[string]RedshiftAuthorization{
		`7`:                         {Integration: 7},
		`"7"`:                       {Integration: 7},
		`"arn:aws:iam::1:role/x"`:   {Role: "arn:aws:iam::1:role/x"},
		`{}`:                        {},
		`{"aws_access_key_id":"k"}`: {Credentials: AWSCredentials{AWSAccessKeyID: opt.Set(opt.NewSecret("k"))}},
	} {
		var got RedshiftAuthorization
		require.NoError(t, json.Unmarshal([]byte(sent), &got), sent)
		assert.Equal(t, want.Integration, got.Integration)
		assert.Equal(t, want.Role, got.Role)
		assert.Equal(t, want.Credentials.AWSAccessKeyID.IsZero(), got.Credentials.AWSAccessKeyID.IsZero())
		wire, err := configs.Revealed(RedshiftCopyInputs{Authorization: opt.Set(got)})
		require.NoError(t, err)
		if sent == `"7"` {
			sent = `7`
		}
		assert.JSONEq(t, `{"authorization":`+sent+`}`, string(wire))
		if want.Role != "" {
			continue
		}
		var access RedshiftBucketAccess
		require.NoError(t, json.Unmarshal([]byte(sent), &access), sent)
		wire, err = configs.Revealed(RedshiftCopyInputs{BucketCredentials: opt.Set(access)})
		require.NoError(t, err)
		assert.JSONEq(t, `{"bucket_credentials":`+sent+`}`, string(wire))
	}
	for _, bad := range []string{`"arn:aws:iam::1:role/x"`, `true`, `[]`, `1.5`} {
		require.Error(t, json.Unmarshal([]byte(bad), new(RedshiftBucketAccess)), bad)
	}
}
