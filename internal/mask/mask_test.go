package mask

import (
	"encoding/json"
	"strings"
	"testing"

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

// Texts that may be a key are not printed: a known prefix, or a long run of letters and digits.
func TestUnlessKey(t *testing.T) {
	for _, text := range []string{
		"", "12345", "@current", "/api/projects", strings.Repeat("a", 32), strings.Repeat("a-", 100),
	} {
		require.Equal(t, text, UnlessKey(text))
	}
	for _, text := range []string{
		testPersonalKey, "phx_", "PHC_x", "a phs_b", "pha_", strings.Repeat("a", 33), "0123456789abcdefghijklmnopqrstuvw_xyz",
	} {
		require.Empty(t, UnlessKey(text), text)
	}
	require.True(t, HasKey("x"+testProjectKey))
	require.False(t, HasKey("phz_"))
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
