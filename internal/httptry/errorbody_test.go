package httptry

import (
	"net/http"
	"testing"

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
