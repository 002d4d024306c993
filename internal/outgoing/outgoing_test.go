package outgoing

import (
	"encoding/json"
	"math"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/hogapi/hogapi/ops"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestBody(t *testing.T) {
	t.Parallel()
	for want, body := range map[string]any{
		"a value to marshal":    []byte("{}"),
		"value to marshal; for": strings.NewReader("{}"),
		"can be marshalled":     math.NaN(),
		"a JSON object":         (*int)(nil),
		"valid UTF-8":           "\xff",
		"credentials in clear":  map[string]string{"password": "[redacted]"},
	} {
		b, bad := Body(body)
		require.NotNil(t, bad, want)
		assert.Contains(t, bad.Want, want)
		assert.Nil(t, b)
	}
	for want, body := range map[string]any{
		`{"a":1}`:    map[string]int{"a": 1},
		`{"b":  2}`:  json.RawMessage(`{"b":  2}`),
		"\"\uFFFD\"": "\uFFFD", // the caller's own
	} {
		b, bad := Body(body)
		require.Nil(t, bad, want)
		assert.JSONEq(t, want, string(b))
	}
	assert.True(t, HasBadText([]byte(`"a\\\ufffd"`)))
	assert.False(t, HasBadText([]byte(`"a\\ufffd"`)))
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"Authorization", "authorization", "AUTHORIZATION", "Content-Type", "content-length", "Host", "Accept-Encoding", "Accept", "Transfer-Encoding",
		"Connection", "Idempotency-Key", "x-idempotency-key", "", "A B", "A:", "ä", "A\r\nB",
	} {
		assert.NotEmpty(t, HeaderProblem(name, []string{"x"}), name)
	}
	for _, value := range []string{"a\nb", "x\r\nHost: evil", "x\x00", "\x7f"} {
		assert.NotEmpty(t, HeaderProblem("X-A", []string{value}), value)
	}
	assert.Empty(t, HeaderProblem("X-My", []string{"a\tb", "ä"}))
}

func TestSegments(t *testing.T) {
	t.Parallel()
	for s, want := range map[string][2]bool{ // unescaped, escaped
		"": {false, false}, "a-1_@": {true, true}, "a/b": {false, true}, ".": {false, false}, "..": {false, false}, "ä": {false, true},
		"a\n": {false, false}, "\xff": {false, false}, strings.Repeat("a", 201): {false, false},
	} {
		assert.Equal(t, want, [2]bool{IsPathSegment(s), IsOneSegment(s)}, "%q", s)
	}
}

func TestURL(t *testing.T) {
	t.Parallel()
	origin, want := Origin("https://example.com/below", false)
	require.Empty(t, want)
	u := URL(origin, "/api/a%2Fb/", url.Values{"a": {"1"}, "b": {"2"}}, url.Values{"b": {"3"}})
	assert.Equal(t, "https://example.com/below/api/a%2Fb/?a=1&b=3", u.String())
	assert.Equal(t, "https://example.com/below", origin.String(), "it is not changed")
	assert.Equal(t, "https://example.com/below/a/", URL(origin, "/a/", nil, nil).String())
}

func TestSetHeader(t *testing.T) {
	t.Parallel()
	h := http.Header{}
	require.Nil(t, SetHeader(h, http.Header{"X-My": {"a"}}, "phx_a", "agent", true))
	assert.Equal(t, http.Header{
		"X-My": {"a"}, "Authorization": {"Bearer phx_a"}, "Accept": {"application/json"}, "User-Agent": {"agent"}, "Content-Type": {"application/json"},
	}, h)
	h = http.Header{}
	require.Nil(t, SetHeader(h, http.Header{"User-Agent": {"own"}}, "phx_a", "agent", false))
	assert.Equal(t, "own", h.Get("User-Agent"))
	assert.Empty(t, h.Get("Content-Type"))
	assert.NotNil(t, SetHeader(http.Header{}, http.Header{"Authorization": {"x"}}, "phx_a", "agent", false))
}

func TestNegative(t *testing.T) {
	t.Parallel()
	assert.Nil(t, Negative(map[string]int{"A": 0, "B": 1}))
	assert.Equal(t, &ops.InputError{Field: "A", Value: "-1", Want: "0 or more"}, Negative(map[string]int{"B": -2, "A": -1, "C": 3}), "the first by name")
	assert.NotContains(t, Refuse("A", "phx_0123456789abcdef", "").Value, "0123456789abcdef")
}

func TestDurations(t *testing.T) {
	t.Parallel()
	assert.Nil(t, Durations(map[string]time.Duration{"A": 0, "B": time.Millisecond}))
	assert.Equal(t, &ops.InputError{Field: "A", Value: "-1s", Want: "a positive duration, or 0 for the default"}, Durations(map[string]time.Duration{"B": 5, "A": -time.Second}))
	assert.Equal(t, &ops.InputError{Field: "A", Value: "48ns", Want: "a unit, such as 48*time.Hour or 48*time.Second"}, Durations(map[string]time.Duration{"A": 48}))
}

func TestRules(t *testing.T) {
	t.Parallel()
	day := time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC)
	assert.Nil(t, If(false, "f", "v", "w"))
	assert.Equal(t, &ops.InputError{Field: "f", Value: "v", Want: "w"}, If(true, "f", "v", "w"))
	assert.Equal(t, &ops.InputError{Field: "End", Value: "2024-05-01T00:00:00Z", Want: "later than Start, which is 2024-05-01T00:00:00Z"}, Reversed("End", day, "Start", day))
	for _, from := range []time.Time{{}, day.Add(-1)} {
		assert.Nil(t, Reversed("End", day, "Start", from))
	}
	assert.Nil(t, Reversed("End", time.Time{}, "Start", day))
}

func TestMisspelt(t *testing.T) {
	t.Parallel()
	known := []string{"JSONLines", "every 5 minutes"}
	for _, value := range []string{"JSONLines", "every 5 minutes", "Avro"} {
		assert.Nil(t, Misspelt("f", value, known), value)
	}
	for _, value := range []string{"", "jsonlines", "JSON-Lines", "every_5_minutes"} {
		assert.NotNil(t, Misspelt("f", value, known), value)
	}
}

func TestQueries(t *testing.T) {
	t.Parallel()
	q := url.Values{}
	SetText(q, "a", "")
	SetTime(q, "b", time.Time{})
	SetList(q, "c", []string(nil))
	assert.Empty(t, q)
	SetText(q, "a", "x")
	SetTime(q, "b", time.Date(2024, 5, 1, 2, 0, 0, 5e8, time.FixedZone("", 7200)))
	SetList(q, "c", []string{"y", "z"})
	assert.Equal(t, "a=x&b=2024-05-01T00%3A00%3A00.5Z&c=y%2Cz", q.Encode())
}

// Texts that may be a key are not printed: a known prefix, or a long run of letters and digits.
func TestUnlessKey(t *testing.T) {
	for _, text := range []string{
		"", "12345", "@current", "/api/projects", strings.Repeat("a", 32), strings.Repeat("a-", 100),
	} {
		require.Equal(t, text, UnlessKey(text))
	}
	for _, text := range []string{
		"phx_CanaryPersonalKey0123456789", "phx_", "PHC_x", "a phs_b", "pha_", strings.Repeat("a", 33), "0123456789abcdefghijklmnopqrstuvw_xyz",
	} {
		require.Empty(t, UnlessKey(text), text)
	}
	require.True(t, HasKey("xphc_CanaryProjectKey0123456789"))
	require.False(t, HasKey("phz_"))
}
