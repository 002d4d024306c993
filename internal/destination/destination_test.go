package destination

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

// A server that merges is sent what changes; one that replaces is sent all, and nothing that it never returns is lost.
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
	for text, refused := range map[string][2]bool{ // of a new export, of an update
		`{}`:                     {false, false},
		`{"compression":"gzip"}`: {false, false},
		`{"compression":"zstd"}`: {true, false}, // the stored format may be another one
		`{"compression":"zstd","file_format":null}`:        {true, false},
		`{"compression":"lz4","file_format":"JSONLines"}`:  {true, true},
		`{"compression":"snappy","file_format":"Parquet"}`: {false, false},
		`{"compression":1}`:                                {false, false},
	} {
		assert.Equal(t, refused[0], CheckCompression(keysOf(t, text), true) != nil, text)
		assert.Equal(t, refused[1], CheckCompression(keysOf(t, text), false) != nil, text)
	}
	assert.NotNil(t, CheckNew(keysOf(t, `{"legacy_parquet_extension":true}`)))
	assert.Nil(t, CheckNew(keysOf(t, `{"legacy_parquet_extension":false}`)))
}

func TestConfig(t *testing.T) {
	t.Parallel()
	c := NewConfig()
	c.Text("a", "")
	c.Need("B", "b", "x")
	c.Host("H", "h", "example.com")
	c.AWS("", "id", "key")
	require.Nil(t, c.Problem)
	assert.Equal(t, map[string]any{"b": "x", "h": "example.com", "aws_access_key_id": "id", "aws_secret_access_key": "key"}, c.Keys)
	for field, fill := range map[string]func(*Config){
		"B":                  func(c *Config) { c.Need("B", "b", " ") },
		"H":                  func(c *Config) { c.Host("H", "h", "https://example.com") },
		"AWSRoleARN":         func(c *Config) { c.AWS("role", "id", "key") },
		"AWSSecretAccessKey": func(c *Config) { c.AWS("", "id", "") },
	} {
		c := NewConfig()
		fill(c)
		require.NotNil(t, c.Problem, field)
		assert.Equal(t, field, c.Problem.Field)
		assert.Empty(t, c.Problem.Value, "it may be a secret")
	}
}
