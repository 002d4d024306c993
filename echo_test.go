package hogapi

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A server that echoes a key is not helped to print it, wherever the echo is cut.
func TestRedact(t *testing.T) {
	keys := []string{testPersonalKey, testProjectKey}
	for _, tt := range [][2]string{
		{"", ""},
		{"plain", "plain"},
		{testPersonalKey, redacted},
		{"a" + testPersonalKey + testProjectKey + "b", "a" + redacted + redacted + "b"},
		{"cut " + testPersonalKey[:len(testPersonalKey)-1], "cut " + redacted},
		{"cut " + testProjectKey[:leastOfKey], "cut " + redacted},
		{"cut " + testProjectKey[:leastOfKey-1], "cut " + testProjectKey[:leastOfKey-1]},
		{"phx_", "phx_"},
		{`{"a":{"b":"` + escaped(testPersonalKey) + `"}}`, `{"a":{"b":"` + redacted + `"}}`},
		{"x" + escaped(testProjectKey[:leastOfKey]), "x" + redacted},
		{strings.ToUpper(escaped("_")), strings.ToUpper(escaped("_"))},
		{`p\u0068` + testPersonalKey[2:] + "!", redacted + "!"},
	} {
		in := []byte(tt[0])
		require.Equal(t, tt[1], string(redact(in, keys)))
		require.Equal(t, tt[0], string(in), "what was given is not changed")
	}
	require.Equal(t, redacted+" aXb", redactText("a.b aXb", []string{"a.b"}), "a key is not a pattern")
	require.Equal(t, "plain", redactText("plain", []string{""}))
	secret := "p+/\"ä\n\\s=="
	for _, said := range []string{secret, `p+\/\"ä\n\\s==`, `p\u002b\u002F\u0022\u00e4\u000a\u005cs==`, url.QueryEscape(secret), url.PathEscape(secret)} {
		require.Equal(t, "a "+redacted+" b", redactText("a "+said+" b", []string{secret}), said)
	}
	for cut := range len(testPersonalKey) {
		body := bytes.Repeat([]byte(testPersonalKey), 3)[:2*len(testPersonalKey)+cut]
		require.NotContains(t, string(redact(body, keys)), testPersonalKey[:leastOfKey])
	}
}

// Of an answer that is used only whole keys are taken out, and no words that a test has for a key.
func TestRedactWhole(t *testing.T) {
	keys := []string{testPersonalKey, "monkey"}
	for text, want := range map[string]string{
		`{"a":"` + testPersonalKey + `"}`:                          `{"a":"` + redacted + `"}`,
		`{"a":"` + escaped(testPersonalKey) + `"}`:                 `{"a":"` + redacted + `"}`,
		`{"a":"` + testPersonalKey[:len(testPersonalKey)-1] + `"}`: `{"a":"` + testPersonalKey[:len(testPersonalKey)-1] + `"}`,
		`{"a":"monkey"}`: `{"a":"monkey"}`,
	} {
		require.Equal(t, want, string(redactWhole([]byte(text), keys)))
	}
}

// Hiding keys costs little, whatever a server sends: long bodies and many headers that look like the beginning of an escaped key.
// A call whose context ends is over soon after.
func TestHidingKeysIsCheap(t *testing.T) {
	const size = 1 << 20
	for name, begins := range map[string]string{"escapes": `\u00`, "percents": "%70%68", "half keys": testPersonalKey[:leastOfKey-1], "keys": testPersonalKey} {
		many := make([]string, size/64)
		for i := range many {
			many[i] = strings.Repeat(begins, 64)[:64]
		}
		for _, status := range []int{200, 400} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			begin := time.Now()
			var reply Reply
			client := newFakeClient(t, newScript(func(r *http.Request) (*http.Response, error) {
				resp := answer(r, status, `"`+strings.Repeat(begins, size/len(begins))+`"`)
				resp.Header["X-Many"] = many
				resp.Header["X-Request-Id"] = many
				return resp, nil
			}))
			for _, err := range client.BatchExports.All(ctx, nil, WithReply(&reply)) {
				require.Error(t, err)
			}
			cancel()
			require.Less(t, time.Since(begin), 3*time.Second, "%s, %d", name, status) // on a busy machine
			if status != 200 {
				require.LessOrEqual(t, len(fmt.Sprint(reply.Header)), mostHeader+mostHeader/8)
				require.NotContains(t, fmt.Sprint(reply), testPersonalKey[:leastOfKey])
			}
		}
	}
}

// escaped writes every character as a JSON escape.
func escaped(s string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, `\u%04X`, s[i])
	}
	return b.String()
}
