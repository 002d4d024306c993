package httptry

import (
	"net/http"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestParseErrorBody(t *testing.T) {
	const html = "text/html; charset=utf-8"
	for _, tt := range []struct {
		contentType, body string
		want              ErrorBody
		isOwn             bool
	}{
		{"", "", ErrorBody{}, false},
		{
			"", `{"type":"validation_error","code":"required","detail":"Wanted.","attr":"name"}`,
			ErrorBody{"validation_error", "required", "Wanted.", "name", false}, true,
		},
		{html, `{"code":"required"}`, ErrorBody{Code: "required"}, true},
		{"", `{"message":"slow down"}`, ErrorBody{}, false},
		{"", `{"detail":{"a":["b"]},"code":null,"attr":7}`, ErrorBody{Detail: `{"a":["b"]}`, Attr: "7"}, false},
		{"", `{"detail":"a\nb"}`, ErrorBody{Detail: "a b"}, false},
		{"", `{"type":null,"code":null,"detail":null,"attr":null}`, ErrorBody{}, false},
		{"", "{\"detail\":\"a\\nb\\u001b[31mc\"}", ErrorBody{Detail: "a b [31mc"}, false},
		{"", " \n", ErrorBody{}, false},
		{"", `{"detail":`, ErrorBody{IsForeign: true}, false},
		{"", ` ["x"] `, ErrorBody{Detail: `["x"]`}, false},
		{"", "Forbidden\n", ErrorBody{Detail: "Forbidden", IsForeign: true}, false},
		{"", "<html>", ErrorBody{IsForeign: true}, false},
		{html, "Not Found", ErrorBody{IsForeign: true}, false},
	} {
		got := ParseErrorBody(tt.contentType, []byte(tt.body))
		require.Equal(t, tt.want, got, tt.body)
		require.Equal(t, tt.isOwn, got.IsOwn(), tt.body)
	}
}

// FuzzErrorBody: of any body, the words are short, on one line and valid UTF-8.
func FuzzErrorBody(f *testing.F) {
	for _, body := range []string{
		`{"type":"validation_error","code":"required","detail":"Wanted.","attr":"name"}`, `{"type":null,"code":7,"detail":{"a":["b"]},"attr":[]}`,
		`{"detail":"a","detail":"b"}`, `["x"]`, `{"detail":`, "Forbidden\n", "<html>", "\xff\xfe", "{\"detail\":\"a\\nb\\u001b[31mc\\u2028\"}", strings.Repeat("\u00e4", 400),
	} {
		f.Add(uint16(400), "text/html", []byte(body))
		f.Add(uint16(404), "", []byte(body))
	}
	f.Fuzz(func(t *testing.T, _ uint16, contentType string, body []byte) {
		got := ParseErrorBody(contentType, body)
		for _, text := range []string{got.Type, got.Code, got.Detail, got.Attr} {
			require.Less(t, len(text), 510)
			require.True(t, utf8.ValidString(text))
			require.False(t, strings.ContainsFunc(text, unicode.IsControl), "%q", text)
		}
	})
}

// A page for people comes from something in front of the service.
func TestIsPage(t *testing.T) {
	const html = "text/html"
	for _, tt := range []struct {
		contentType, body string
		want              bool
	}{
		{html, "", false}, {html, "{", false}, {html, "[]", false}, {html, "null", false}, {html, "Sign in", true},
		{"", "Sign in", false}, {"", "<!DOCTYPE html>", true},
	} {
		require.Equal(t, tt.want, IsPage(tt.contentType, []byte(tt.body)), tt.body)
	}
}

func TestRequestID(t *testing.T) {
	require.Empty(t, RequestID(http.Header{}))
	require.Equal(t, "b", RequestID(http.Header{"Cf-Ray": {"a"}, "X-Request-Id": {"b"}}))
	require.Equal(t, "a b", RequestID(http.Header{"Cf-Ray": {"a\tb"}}))
}
