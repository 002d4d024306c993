package hogapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/jarcoal/httpmock"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/destination"
	"github.com/hogapi/hogapi/internal/mask"
)

// A server that echoes the credentials of a request in its refusal is not helped to print them.
func TestCredentialsEchoedInARefusalAreInNoError(t *testing.T) {
	pem := "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nBKcwggSjAgEAAoIBAQC7\n-----END PRIVATE KEY-----\n"
	for name, credential := range map[string]string{
		"plain": "wJalrXUtnFEMIK7MDENG", "short": "hunter2", "quoted": `pa"ss\wo<r>d&1`, "other letters": "pässwörd-№1", "lines": pem,
	} {
		for how, echo := range map[string]func(string) string{
			"as JSON":    quoted,
			"as escapes": escapes,
		} {
			t.Run(name+" "+how, func(t *testing.T) {
				var log bytes.Buffer
				var seen []string
				note := func(e any) { seen = append(seen, fmt.Sprintf("%+v", e)) }
				client, mock := newTestClient(t, WithLogger(slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))), WithHooks(Hooks{
					OnTry: func(_ context.Context, e TryInfo) { note(e); note(e.Err) }, OnResult: func(_ context.Context, e ResultInfo) { note(e); note(e.Err) },
				}))
				body := `{"type": "validation_error", "code": "invalid_input", "detail": "cannot log in with ` + echo(credential) + `!", "attr": "` + echo(credential) + `"}`
				mock.RegisterNoResponder(func(*http.Request) (*http.Response, error) {
					resp := httpmock.NewStringResponse(400, body)
					resp.Header.Set("X-Request-Id", strings.ReplaceAll(credential, "\n", ""))
					return resp, nil
				})
				config := destination.Redshift{Password: Set(NewSecret(credential)), CopyInputs: Set(destination.RedshiftCopyInputs{BucketCredentials: Set(destination.RedshiftBucketAccess{Credentials: destination.AWSCredentials{AWSSecretAccessKey: Set(NewSecret(credential))}})})}
				for _, destination := range []Destination{{Type: destination.TypeRedshift, Config: config}, {Type: "Kafka", Config: destination.Raw(`{"deep": [{"api_key": "` + quoted(credential) + `"}]}`)}} {
					create := testCreate
					create.Destination = destination
					_, err := client.BatchExports.Create(t.Context(), create)
					var api *APIError
					require.ErrorAs(t, err, &api)
					require.Equal(t, "invalid_input", api.Code)
					require.Contains(t, api.Detail, "cannot log in with "+mask.Redacted)
					texts := append(seen, err.Error(), fmt.Sprintf("%+v", *api), api.Detail, api.Attr, string(api.Body()), log.String())
					for line := range strings.SplitSeq(strings.TrimSpace(credential), "\n") {
						for _, text := range texts {
							for _, secret := range []string{line, quoted(line), escapes(line)} {
								require.NotContains(t, text, secret)
							}
						}
					}
				}
			})
		}
	}
}

// So with an answer that is not JSON, and with one that is cut within the credential.
func TestCredentialsEchoedInATextAreInNoError(t *testing.T) {
	const credential = "CanaryCredential0123456789"
	for _, body := range []string{"no access with " + credential, `{"detail": "no access with ` + credential[:20], "<html>" + escapes(credential)} {
		client, mock := newTestClient(t)
		mock.RegisterNoResponder(httpmock.NewStringResponder(400, body))
		create := testCreate
		create.Destination = Destination{Type: destination.TypeHTTP, Config: destination.HTTP{Token: Set(NewSecret(credential))}}
		_, err := client.BatchExports.Create(t.Context(), create)
		var api *APIError
		require.ErrorAs(t, err, &api)
		require.Contains(t, string(api.Body()), mask.Redacted)
		require.NotContains(t, string(api.Body())+err.Error(), credential[:mask.LeastOfKey])
	}
}

// quoted is a text as it is between the quotes of JSON.
func quoted(s string) string {
	b, _ := json.Marshal(s) //nolint:errchkjson // a string
	return string(b[1 : len(b)-1])
}

// escapes is a text with every character escaped.
func escapes(s string) string {
	var b strings.Builder
	for _, c := range utf16.Encode([]rune(s)) {
		fmt.Fprintf(&b, `\u%04x`, c)
	}
	return b.String()
}

// Hiding keys costs little, whatever a server sends: long bodies and many headers that look like the beginning of an escaped key.
// A call whose context ends is over soon after.
func TestHidingKeysIsCheap(t *testing.T) {
	const size = 1 << 20
	for name, begins := range map[string]string{"escapes": `\u00`, "percents": "%70%68", "half keys": testPersonalKey[:mask.LeastOfKey-1], "keys": testPersonalKey} {
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
				require.LessOrEqual(t, len(fmt.Sprint(reply.Header)), mask.MostHeader+mask.MostHeader/8)
				require.NotContains(t, fmt.Sprint(reply), testPersonalKey[:mask.LeastOfKey])
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
