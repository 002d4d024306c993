package hogapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/ops"
)

// FuzzErrorBody: whatever the body of an error says, the error is one short line without a key, and plain words of the service come
// through as they are.
func FuzzErrorBody(f *testing.F) {
	for _, body := range []string{
		`{"type":"validation_error","code":"required","detail":"This field is required.","attr":"destination__type"}`,
		`{"type":null,"code":7,"detail":{"a":["b"]},"attr":[]}`, `{"detail":"a","detail":"b"}`, `["x"]`, `{"detail":`, "Forbidden in your region\n", "<html>", " ", "\xff\xfe",
		`{"detail":"` + testPersonalKey + `"}`, `{"detail":{"key":"` + testProjectKey + `"}}`, `{"code":"` + testPersonalKey[:12] + `"}`, "at " + testProjectKey + " and " + testPersonalKey[:9],
		`{"detail":{"key":["` + escaped(testPersonalKey) + `"]}}`,
		"{\"detail\":\"a\\nb\\u001b[31mc\\u2028\"}", strings.Repeat("\u00e4", 400),
	} {
		f.Add(uint16(400), "application/json", []byte(body))
		f.Add(uint16(503), "text/html", []byte(body))
		f.Add(uint16(404), "text/plain", []byte(body))
	}
	f.Fuzz(func(t *testing.T, status uint16, contentType string, body []byte) {
		if status = 400 + status%200; status == 404 {
			contentType = "" // any
		}
		var reply Reply
		client := newFakeClient(t, newScript(answers(int(status), string(body), "Content-Type", contentType, "X-Request-Id", string(body))), WithRetryPolicy(RetryPolicy{MaxTries: 1}))
		err := client.call(t.Context(), endpoint(ops.BatchExportsGet, "x"), nil, WithReply(&reply))
		var api *APIError
		require.ErrorAs(t, err, &api)
		require.Equal(t, int(status), api.StatusCode)
		for _, text := range []string{err.Error(), api.Type, api.Code, api.Detail, api.Attr, api.RequestID} {
			require.Less(t, len(text), 5*510)
			require.True(t, utf8.ValidString(text))
			require.False(t, strings.ContainsFunc(text, unicode.IsControl), "%q", text)
		}
		for _, text := range []string{err.Error(), string(api.Body()), string(reply.Body), reply.Header.Get("X-Request-Id")} {
			require.NotContains(t, text, testPersonalKey)
			require.NotContains(t, text, testProjectKey)
			var tree any
			if json.Unmarshal([]byte(text), &tree) == nil {
				require.NotContains(t, fmt.Sprint(tree), testPersonalKey)
				require.NotContains(t, fmt.Sprint(tree), testProjectKey)
			}
		}
		require.Equal(t, status >= 500, errors.Is(err, ErrServer))
		if want, plain := plainDetail(contentType, body); plain {
			require.Equal(t, want, api.Detail)
		}
	})
}

// plainDetail is what a body says in words that need no care, read by encoding/json without types.
func plainDetail(contentType string, body []byte) (string, bool) {
	careless := func(s string) bool {
		return len(s) < 400 && !strings.Contains(s, "ph") && !strings.Contains(s, `\u00`) && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
	}
	if !careless(string(body)) || !isPlain(body) {
		return "", false
	}
	text := strings.TrimSpace(string(body))
	var members map[string]any
	switch {
	case strings.HasPrefix(text, "<"), strings.Contains(contentType, "html") && !json.Valid(body) && !strings.HasPrefix(text, "["):
		return "", true
	case !strings.HasPrefix(text, "{"):
		return text, true
	case json.Unmarshal(body, &members) != nil:
		return "", true
	}
	detail, isText := members["detail"].(string)
	return detail, (isText || members["detail"] == nil) && careless(detail)
}
