package mask

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	testPersonalKey = "phx_CanaryPersonalKey0123456789"
	testProjectKey  = "phc_CanaryProjectKey0123456789"
)

// A key echoed by the server is never printed, wherever the echo is cut.
func TestBytes(t *testing.T) {
	keys := []string{testPersonalKey, testProjectKey}
	for _, tt := range [][2]string{
		{"", ""},
		{"plain", "plain"},
		{testPersonalKey, Redacted},
		{"a" + testPersonalKey + testProjectKey + "b", "a" + Redacted + Redacted + "b"},
		{"cut " + testPersonalKey[:len(testPersonalKey)-1], "cut " + Redacted},
		{"cut " + testProjectKey[:MinOfKey], "cut " + Redacted},
		{"cut " + testProjectKey[:MinOfKey-1], "cut " + testProjectKey[:MinOfKey-1]},
		{"phx_", "phx_"},
		{`{"a":{"b":"` + escaped(testPersonalKey) + `"}}`, `{"a":{"b":"` + Redacted + `"}}`},
		{"x" + escaped(testProjectKey[:MinOfKey]), "x" + Redacted},
		{strings.ToUpper(escaped("_")), strings.ToUpper(escaped("_"))},
		{`p\u0068` + testPersonalKey[2:] + "!", Redacted + "!"},
	} {
		in := []byte(tt[0])
		require.Equal(t, tt[1], string(Bytes(in, keys)))
		require.Equal(t, tt[0], string(in), "what was given is not changed")
	}
	require.Equal(t, Redacted+" aXb", Text("a.b aXb", []string{"a.b"}), "a key is not a pattern")
	require.Equal(t, "plain", Text("plain", []string{""}))
	secret := "p+/\"ä\n\\s=="
	for _, said := range []string{
		secret, `p+\/\"ä\n\\s==`, `p\u002b\u002F\u0022\u00e4\u000a\u005cs==`,
		url.QueryEscape(secret), url.PathEscape(secret),
	} {
		require.Equal(t, "a "+Redacted+" b", Text("a "+said+" b", []string{secret}), said)
	}
	for said, secret := range map[string]string{ // as in Python's repr, and in that within JSON
		`it\'s "so" \\d`:      `it's "so" \d`,
		`it\\'s \"so\" \\\\d`: `it's "so" \d`,
		`\\'quoted\"`:         `'quoted"`,
		`\\\\\\\\server\\n`:   "\\\\server\n",
	} {
		require.Equal(t, `{"detail": "'`+Redacted+`'"}`, Text(`{"detail": "'`+said+`'"}`, []string{secret}), said)
	}
	for cut := range len(testPersonalKey) {
		body := bytes.Repeat([]byte(testPersonalKey), 3)[:2*len(testPersonalKey)+cut]
		require.NotContains(t, string(Bytes(body, keys)), testPersonalKey[:MinOfKey])
	}
}

// A header is masked like a text, including its names, and a large one is cut.
func TestHeader(t *testing.T) {
	keys := []string{testPersonalKey}
	kept := Header(http.Header{"X-A": {"a " + testPersonalKey, "b"}, testPersonalKey: {"c"}}, keys)
	require.Equal(t, http.Header{"X-A": {"a " + Redacted, "b"}, Redacted: {"c"}}, kept)
	kept = Header(http.Header{"X-A": {strings.Repeat("x", MaxHeader), "b"}}, keys)
	require.Equal(t, http.Header{"X-A": {"b"}}, kept)
}

// An error without a key stays the same error; one with a key keeps only its text.
func TestError(t *testing.T) {
	require.NoError(t, Error(nil, nil))
	plain := errors.New("cut off")
	require.Same(t, plain, Error(plain, []string{testPersonalKey}))
	showing := fmt.Errorf("malformed answer %q: %w", testPersonalKey, plain)
	hidden := Error(showing, []string{testPersonalKey})
	require.NotErrorIs(t, hidden, plain)
	require.EqualError(t, hidden, `malformed answer "`+Redacted+`": cut off`)
	require.Len(t, Error(errors.New(strings.Repeat("x", 1<<20)), nil).Error(), maxText)
}

// Hiding keys costs little, even in long texts and headers full of beginnings of escaped keys.
func TestHidingIsCheap(t *testing.T) {
	keys := []string{testPersonalKey, testProjectKey}
	for _, begins := range []string{`\u00`, "%70%68", testPersonalKey[:MinOfKey-1], testPersonalKey} {
		text, begin := strings.Repeat(begins, 1<<20/len(begins)), time.Now()
		many := slices.Repeat([]string{text[:64]}, len(text)/64)
		kept := fmt.Sprint(Header(http.Header{"X-Many": many, "X-Request-Id": many}, keys))
		require.LessOrEqual(t, len(kept), MaxHeader+MaxHeader/8)
		require.NotContains(t, kept+Text(text, keys), testPersonalKey[:MinOfKey])
		require.Less(t, time.Since(begin), time.Minute, begins) // on any machine: a square of the length takes far longer
	}
}

func escaped(s string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, `\u%04X`, s[i])
	}
	return b.String()
}
