// Package outgoing has the rules for requests: the settings of a client, and the URL, header, query
// and body of a call. An [ops.InputError] says which rule is broken.
package outgoing

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"net/textproto"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/ops"
)

// badText matches the escape that encoding/json writes for invalid UTF-8. It writes a real U+FFFD
// unescaped.
var badText = regexp.MustCompile(`(?:^|[^\\])(?:\\\\)*\\ufffd`)

// HasBadText reports whether encoding/json replaced invalid UTF-8 in its output b.
func HasBadText(b []byte) bool { return badText.Match(b) }

// Body encodes a body as JSON; nil means no body.
func Body(body any) ([]byte, *ops.InputError) {
	bad := func(value, want string) ([]byte, *ops.InputError) { return nil, Refuse("body", value, want) }
	switch body.(type) {
	case nil:
		return nil, nil
	case []byte, io.Reader:
		return bad(fmt.Sprintf("%T", body), "a value to marshal; for JSON that is written already a json.RawMessage")
	}
	b, err := json.Marshal(body)
	if err != nil {
		return bad("", "a value that can be marshalled: "+mask.Clean(err.Error()))
	}
	if string(b) == "null" {
		return bad("null", "a JSON object")
	}
	if HasBadText(b) {
		return bad("", "valid UTF-8: invalid bytes would be stored as U+FFFD")
	}
	if bytes.Contains(b, []byte(`"`+mask.Redacted+`"`)) {
		return bad("", "credentials in clear: a Secret or a printed config would be stored as "+mask.Redacted)
	}
	return b, nil
}

// URL returns the address of a call: an escaped path below an origin, and queries; later ones
// override earlier ones.
func URL(origin *url.URL, path string, queries ...url.Values) *url.URL {
	u := *origin
	u.RawPath = u.EscapedPath() + path
	u.Path, _ = url.PathUnescape(u.RawPath) // cannot fail: its parts are checked
	all := url.Values{}
	for _, query := range queries {
		maps.Copy(all, query)
	}
	u.RawQuery = all.Encode()
	return &u
}

// SetHeader sets the header of a call: the caller's own and the call's.
func SetHeader(h, own http.Header, key, agent string, hasBody bool) *ops.InputError {
	for name, values := range own {
		if want := HeaderProblem(name, values); want != "" {
			return Refuse("header", name, want)
		}
		h[name] = values
	}
	h.Set("Authorization", "Bearer "+key)
	h.Set("Accept", "application/json")
	if h.Get("User-Agent") == "" {
		h.Set("User-Agent", agent)
	}
	if hasBody {
		h.Set("Content-Type", "application/json")
	}
	return nil
}

// ownHeaders cannot be set by WithHeader. They include the idempotency keys: net/http would repeat
// a request with one, regardless of its replay class, although the service ignores them.
var ownHeaders = []string{
	"Accept", "Accept-Encoding", "Authorization", "Connection", "Content-Length", "Content-Type", "Host",
	"Transfer-Encoding",
	"Idempotency-Key", "X-Idempotency-Key",
}

// HeaderProblem describes a fault of a caller's header, or returns "". net/http refuses a malformed
// header only while sending, which looks like a network failure.
func HeaderProblem(name string, values []string) string {
	isControl := func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
	switch {
	case slices.Contains(ownHeaders, textproto.CanonicalMIMEHeaderKey(name)):
		return "a header that the call does not set itself"
	case name == "" || strings.Trim(name, alphanumeric+"!#$%&'*+-.^_`|~") != "":
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
	return s != "" && len(s) <= 200 && strings.Trim(s, alphanumeric+"_@-") == ""
}

const alphanumeric = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// SetText sets a query parameter unless the value is empty.
func SetText(q url.Values, name, value string) {
	if value != "" {
		q.Set(name, value)
	}
}

// SetNumber sets a query parameter unless the number is 0 or less.
func SetNumber(q url.Values, name string, n int) {
	if n > 0 {
		q.Set(name, strconv.Itoa(n))
	}
}

// SetList sets a query parameter to comma-separated values, unless the list is empty.
func SetList[T ~string](q url.Values, name string, values []T) {
	var texts []string
	for _, value := range values {
		texts = append(texts, string(value))
	}
	SetText(q, name, strings.Join(texts, ","))
}

// SetTime sets a query parameter unless the time is zero.
func SetTime(q url.Values, name string, t time.Time) {
	if !t.IsZero() {
		q.Set(name, Time(t))
	}
}

// Time formats a time for the service: in UTC, since some servers drop a zone without converting.
func Time(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// Refuse returns the error of bad input, which quotes the value unless it contains a key.
func Refuse(field, value, want string) *ops.InputError {
	return &ops.InputError{Field: field, Value: UnlessKey(value), Want: want}
}

// Refused returns bad input as the error of an operation, or nil without any.
func Refused(op ops.Op, bad *ops.InputError) error {
	if bad == nil {
		return nil
	}
	of := *bad
	of.Op = op
	return &of
}

// If refuses a value that is bad, and returns nil for any other. [cmp.Or] takes the first of several refusals.
func If(bad bool, field, value, want string) *ops.InputError {
	if !bad {
		return nil
	}
	return Refuse(field, value, want)
}

// Reversed refuses a range of time that has both ends, in the wrong order.
func Reversed(field string, to time.Time, start string, from time.Time) *ops.InputError {
	if from.IsZero() || to.IsZero() || from.Before(to) {
		return nil
	}
	return Refuse(field, Time(to), "later than "+start+", which is "+Time(from))
}

// Negative refuses the first number, by name, that is below 0.
func Negative(fields map[string]int) *ops.InputError {
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		if n := fields[field]; n < 0 {
			return Refuse(field, strconv.Itoa(n), "0 or more")
		}
	}
	return nil
}

// Within refuses a number below least or above most, unless it is 0 for the default.
func Within(field string, n, least, most int) *ops.InputError {
	if n == 0 || least <= n && n <= most {
		return nil
	}
	want := fmt.Sprintf("%d to %d, or 0 for the default", least, most)
	if most == math.MaxInt {
		want = fmt.Sprintf("at least %d, or 0 for the default", least)
	}
	return Refuse(field, strconv.Itoa(n), want)
}

// Misspelt refuses a value that is close to a known one: in another case, with other blanks or dashes, or in another
// form, as "hourly" is of "hour". Other unknown values pass: the service may know them.
func Misspelt[T ~string](field string, value T, known []T) *ops.InputError {
	if value == "" {
		return Refuse(field, "", "a value, not an empty text")
	}
	if slices.Contains(known, value) {
		return nil
	}
	for _, k := range known {
		if stem(value) != stem(k) {
			continue
		}
		var all []string
		for _, other := range known {
			all = append(all, string(other))
		}
		return Refuse(field, string(value), `"`+string(k)+`", or another of: `+strings.Join(all, ", "))
	}
	return nil
}

// MisspeltIfSet is Misspelt for an optional value.
func MisspeltIfSet[T ~string](field string, value T, known []T) *ops.InputError {
	if value == "" {
		return nil
	}
	return Misspelt(field, value, known)
}

// stem returns the letters of a value without endings.
func stem[T ~string](s T) string {
	letters := strings.NewReplacer(" ", "", "_", "", "-", "").Replace(strings.ToLower(string(s)))
	return strings.TrimSuffix(strings.TrimSuffix(strings.Replace(letters, "daily", "day", 1), "ly"), "s")
}

// WantUnit is advice for a duration without a unit: a bare 48 is 48 nanoseconds.
const WantUnit = "a unit, such as 48*time.Hour or 48*time.Second"

// LacksUnit reports whether a duration is too short to be meant.
func LacksUnit(d time.Duration) bool { return 0 < d && d < time.Millisecond }

// Durations refuses the first duration, by name, that is below 0 or lacks a unit.
func Durations(fields map[string]time.Duration) *ops.InputError {
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		switch d := fields[field]; {
		case d < 0:
			return Refuse(field, d.String(), "a positive duration, or 0 for the default")
		case LacksUnit(d):
			return Refuse(field, d.String(), WantUnit)
		}
	}
	return nil
}

// CheckContext refuses a nil context, on which every use would panic.
func CheckContext(ctx context.Context) *ops.InputError {
	return If(ctx == nil, "ctx", "nil", "a context, such as context.Background()")
}

// OrDefault returns the value that an options pointer points to; nil means the defaults.
func OrDefault[T any](o *T) T {
	if o == nil {
		var none T
		return none
	}
	return *o
}

// IsNil reports whether an interface holds nothing, or a pointer or a function that is nil.
func IsNil(value any) bool {
	v := reflect.ValueOf(value)
	return !v.IsValid() || (v.Kind() == reflect.Pointer || v.Kind() == reflect.Func) && v.IsNil()
}

// HasKey reports whether a text contains an API key with a known prefix.
func HasKey(s string) bool {
	s = strings.ToLower(s) // POSTHOG_REGION ignores case
	holds := func(prefix string) bool { return strings.Contains(s, prefix) }
	return slices.ContainsFunc([]string{"phx_", "phc_", "phs_", "pha_"}, holds)
}

// UnlessKey returns s for printing, or "" if it may be a misplaced key: old keys have no prefix,
// but a longer run of letters and digits than any id.
func UnlessKey(s string) string {
	const longest = 32
	run := 0
	for i := range len(s) {
		if c := s[i]; c == '_' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' {
			run++
		} else {
			run = 0
		}
		if run > longest {
			return ""
		}
	}
	if HasKey(s) {
		return ""
	}
	return s
}
