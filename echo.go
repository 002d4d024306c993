package hogapi

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

// leastOfKey is how many first characters of a key are worth hiding.
const leastOfKey = 8

// redact returns body without the keys that a server may have echoed in it: whole or in part, since the body may have been cut
// there, as they are or in JSON's escapes.
func redact(body []byte, keys []string) []byte {
	for _, key := range keys {
		least := key[:min(len(key), leastOfKey)]
		if bytes.Contains(body, []byte(least)) || bytes.Contains(body, []byte(`\u00`)) {
			body = echoOf(least, key[len(least):]).ReplaceAllLiteral(body, []byte(redacted))
		}
	}
	return body
}

// echoOf matches what begins as a key does, and as much as there is of its rest, each character as it is or escaped.
func echoOf(least, rest string) *regexp.Regexp {
	var b strings.Builder
	spell := func(c byte) { fmt.Fprintf(&b, `(?:%s|\\u(?i:%04x))`, regexp.QuoteMeta(string(rune(c))), c) }
	for i := range len(least) {
		spell(least[i])
	}
	for i := range len(rest) {
		b.WriteString("(?:")
		spell(rest[i])
	}
	b.WriteString(strings.Repeat(")?", len(rest)))
	return regexp.MustCompile(b.String())
}

func redactText(s string, keys []string) string { return string(redact([]byte(s), keys)) }

func redactHeader(h http.Header, keys []string) http.Header {
	h = h.Clone()
	for _, values := range h {
		for i, v := range values {
			values[i] = redactText(v, keys)
		}
	}
	return h
}

// redactError does the same for a transport's error, which may quote a malformed answer. What it wraps is then lost.
func redactError(err error, keys []string) error {
	if err == nil {
		return nil
	}
	if text := redactText(err.Error(), keys); text != err.Error() {
		return errors.New(text)
	}
	return err
}
