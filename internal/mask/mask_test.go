package mask

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestClean(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "",
		"a\tb":                         "a b",
		"a\r\nb\x1b[31m":               "a  b [31m",
		"a\xffb":                       "a\uFFFDb",
		strings.Repeat("x", 500):       strings.Repeat("x", 500),
		strings.Repeat("ä", 251):       strings.Repeat("ä", 250) + "…",
		"x" + strings.Repeat("ä", 250): "x" + strings.Repeat("ä", 249) + "…",
	} {
		require.Equal(t, want, Clean(text))
	}
}

func TestKeys(t *testing.T) {
	require.Equal(t, "for "+Redacted+" and "+Redacted+".", Keys("for "+testPersonalKey+" and "+testProjectKey+"."))
	require.Equal(t, "phx_abc", Keys("phx_abc"), "too short")
}

// Values of keys that look like credentials are masked, at any depth and in any spelling.
func TestJSON(t *testing.T) {
	for raw, want := range map[string]string{
		`{"a":1,"b":[{"Private-Key":"x"}]}`:        `{"a":1,"b":[{"Private-Key":"` + Redacted + `"}]}`,
		`{"aws access_key":{"id":7},"bucket":"b"}`: `{"aws access_key":"` + Redacted + `","bucket":"b"}`,
		`{"token_uri":"https://x","token":null}`:   `{"token":"` + Redacted + `","token_uri":"https://x"}`,
		`{"n":12345678901234567890.5}`:             `{"n":12345678901234567890.5}`,
		`{"cut":`:                                  `"` + Redacted + `"`,
	} {
		require.Equal(t, want, string(JSON(json.RawMessage(raw))))
	}
	require.Equal(t, `"`+Redacted+`"`, string(Member("Password", json.RawMessage(`"x"`))))
	require.Equal(t, `"x"`, string(Member("host", json.RawMessage(`"x"`))))
}

// Credentials are found by key names and returned line by line, longest first.
func TestCredentials(t *testing.T) {
	found := Credentials([]byte(`{"name":"n","config":{"password":"hunter22","private_key":"-----BEGIN-----\nabcdefghijklm\n",
		"secret":{"a":["deep one"]},"token":"abc"}}`))
	require.ElementsMatch(t, []string{"-----BEGIN-----", "abcdefghijklm", "hunter22", "deep one"}, found)
	require.Equal(t, "-----BEGIN-----", found[0])
	require.Empty(t, Credentials([]byte(`{"password":`)))
}

// An echoed part of a composite secret, such as the key in a connection string, is masked.
func TestPartsOfCredentials(t *testing.T) {
	const (
		key = "c2VjcmV0LWFjY291bnQta2V5LW9mLWF6dXJl=="
		sig = "q7Zk/9d+Uw1fXh3mE0s="
		sas = "sv=2022-11-02&ss=b&sig=q7Zk%2F9d%2BUw1fXh3mE0s%3D&se=2030-01-01"
		row = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcw"
		end = "Zm9vYmFyYmF6cXV4"
	)
	byKey := "DefaultEndpointsProtocol=https;AccountName=ann;AccountKey=" + key + ";EndpointSuffix=core.windows.net"
	bySAS := "BlobEndpoint=https://ann.blob.core.windows.net;SharedAccessSignature=" + sas
	for _, tt := range []struct {
		name, secret string
		echo, hide   []string
	}{
		{"connection_string", byKey, []string{"bad AccountKey: " + key, "AccountName=ann;AccountKey=" + key, byKey}, []string{key}},
		{
			"connection_string", bySAS, []string{"bad SAS: " + sas, "sig=q7Zk%2F9d%2BUw1fXh3mE0s%3D&sv=2022-11-02", "sig " + sig + " differs", bySAS},
			[]string{sig, "q7Zk%2F9d%2BUw1fXh3mE0s%3D"},
		},
		{
			"private_key", "-----BEGIN PRIVATE KEY-----\n" + row + "\n" + end + "\n-----END PRIVATE KEY-----\n",
			[]string{"line 2: " + row, "line 3: " + end, row + end}, []string{row, end},
		},
		{
			"private_key", `-----BEGIN PRIVATE KEY-----\n` + row + `\n` + end + `\n-----END PRIVATE KEY-----\n`,
			[]string{"line 2: " + row, "line 3: " + end, row + `\n` + end}, []string{row, end},
		},
	} {
		body, err := json.Marshal(map[string]any{"config": map[string]string{tt.name: tt.secret}})
		require.NoError(t, err)
		for _, echo := range tt.echo {
			for _, secret := range tt.hide {
				require.NotContains(t, Text(echo, Credentials(body)), secret, "%s: %s", tt.name, echo)
			}
		}
	}
}

func TestHoldsURL(t *testing.T) {
	for text, want := range map[string]bool{
		`{"detail":"This file download has expired"}`: false,
		`{"to":"https://storage.example/f"}`:          true,
		`{"to":"https:\/\/storage.example/f"}`:        true,
		`{"to":"/f\u003fX-Amz-Signature\u003d01"}`:    true,
		`{"a\u003db":1}`: true,
		`moved`:          true,
		``:               true,
	} {
		assert.Equal(t, want, HoldsURL([]byte(text)), text)
	}
}
