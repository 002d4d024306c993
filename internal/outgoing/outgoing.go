// Package outgoing has the rules for what a call sends: its body, headers of the caller's own, and what can
// be a part of a path.
package outgoing

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/textproto"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hogapi/hogapi/internal/mask"
)

// badText is what encoding/json makes of a byte that is not UTF-8. A U+FFFD of the caller's own is
// written as it is.
var badText = regexp.MustCompile(`(?:^|[^\\])(?:\\\\)*\\ufffd`)

// HasBadText reports whether JSON of encoding/json has text that was not UTF-8.
func HasBadText(b []byte) bool { return badText.Match(b) }

// Bad is why a body is not sent.
type Bad struct{ Value, Want string }

// Body is a body as JSON.
func Body(body any) ([]byte, *Bad) {
	switch body.(type) {
	case []byte, io.Reader:
		return nil, &Bad{fmt.Sprintf("%T", body), "a value to marshal; for JSON that is written already a json.RawMessage"}
	}
	b, err := json.Marshal(body)
	if err != nil {
		return nil, &Bad{Want: "a value that can be marshalled: " + mask.Clean(err.Error())}
	}
	if string(b) == "null" {
		return nil, &Bad{"null", "a JSON object"}
	}
	if HasBadText(b) {
		return nil, &Bad{Want: "valid UTF-8: invalid bytes would be stored as U+FFFD"}
	}
	if bytes.Contains(b, []byte(`"`+mask.Redacted+`"`)) {
		return nil, &Bad{Want: "credentials in clear: a Secret or a printed config would be stored as " + mask.Redacted}
	}
	return b, nil
}

// ownHeaders cannot be set by WithHeader. The idempotency keys are among them since net/http would
// repeat a request that has one, whatever its replay class, although the service does not know
// them.
var ownHeaders = []string{
	"Accept", "Accept-Encoding", "Authorization", "Connection", "Content-Length", "Content-Type", "Host",
	"Transfer-Encoding",
	"Idempotency-Key", "X-Idempotency-Key",
}

// HeaderProblem says what is wrong with a header given by the caller. net/http would refuse a
// malformed one only while sending, which looks like a failure of the network.
func HeaderProblem(name string, values []string) string {
	const symbols = "!#$%&'*+-.^_`|~"
	isToken := func(r rune) bool {
		return '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || strings.ContainsRune(symbols, r)
	}
	isControl := func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
	switch {
	case slices.Contains(ownHeaders, textproto.CanonicalMIMEHeaderKey(name)):
		return "a header that the call does not set itself"
	case name == "" || strings.ContainsFunc(name, func(r rune) bool { return !isToken(r) }):
		return "a header name of letters, digits and '-'"
	case slices.ContainsFunc(values, func(v string) bool { return strings.ContainsFunc(v, isControl) }):
		return "a value without line breaks and control characters"
	}
	return ""
}

// IsOneSegment reports whether s, escaped, stays between two slashes of a path.
func IsOneSegment(s string) bool {
	return s != "" && s != "." && s != ".." && len(s) <= 200 && utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}

// IsPathSegment reports whether s can stand between two slashes of a path without escaping and has
// no meaning of its own there.
func IsPathSegment(s string) bool {
	if s == "" || len(s) > 200 {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '@', c == '-':
		default:
			return false
		}
	}
	return true
}
