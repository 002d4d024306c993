package hogapi

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

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
	require.Equal(t, redacted+" aXb", redactText("a.b aXb", []string{"a.b"}), "a key is no pattern")
	for cut := range len(testPersonalKey) {
		body := bytes.Repeat([]byte(testPersonalKey), 3)[:2*len(testPersonalKey)+cut]
		require.NotContains(t, string(redact(body, keys)), testPersonalKey[:leastOfKey])
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
