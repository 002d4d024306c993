package destination

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
