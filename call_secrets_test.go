package hogapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf16"
	"unsafe"

	"github.com/jarcoal/httpmock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/destination"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/httptry"
	"github.com/hogapi/hogapi/internal/mask"
)

// If a server repeats a key in any field of a success, the values are as it sent them, and no text of an error made of them
// holds the key.
func TestKeysEchoedInASuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, echo := range []string{testPersonalKey, testProjectKey, escapes(testPersonalKey), "x" + testPersonalKey + testProjectKey + "y"} {
			run := fmt.Sprintf(`{"id":%q,"batch_export":%q,"status":"Failed","latest_error":"%s","cursor":"%s","data_interval_start":"2024-01-01T00:00:00Z","data_interval_end":"2024-01-01T01:00:00Z"}`,
				runA, exportA, echo, echo)
			export := fmt.Sprintf(`{"id":%q,"name":"%s","interval":"%s","timezone":"%s","destination":{"type":"%s","config":{"%s":"%s"}},"latest_runs":[%s]}`,
				exportA, echo, echo, echo, echo, echo, echo, run)
			page := fmt.Sprintf(`{"count":7,"next":"http://x/?cursor=%s&offset=3","previous":"%s","results":[%s]}`, echo, echo, run)
			client := newFakeClient(t, roundTrip(func(r *http.Request) (*http.Response, error) {
				switch {
				case r.URL.Query().Get("cursor") != "" || r.URL.Query().Get("offset") != "":
					return answer(r, 404, `{"code":"not_found","detail":"Invalid cursor"}`), nil
				case strings.Contains(r.URL.Path, "/runs/"+runA.String()):
					return answer(r, 200, run), nil
				case strings.Contains(r.URL.Path, "/batch_exports/"+exportA.String()+"/runs/"):
					return answer(r, 200, page), nil
				case strings.Contains(r.URL.Path, "/logs/"):
					return answer(r, 200, `{"results":[{"timestamp":"2024-01-01","level":"`+echo+`","message":"`+echo+`"}]}`), nil
				}
				return answer(r, 200, export), nil
			}))
			_, err := client.Runs.Wait(t.Context(), exportA, runA, nil)
			require.ErrorAs(t, err, new(*RunError))
			shown := []error{err}
			err = last(client.Runs.All(t.Context(), exportA, nil))
			require.ErrorAs(t, err, new(*PageError))
			shown = append(shown, err)
			got, err := client.BatchExports.Get(t.Context(), exportA)
			require.NoError(t, err)
			require.Contains(t, got.Name, testKeyIn(echo), "a success is data")
			_, err = got.BackfillRange(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2024, 1, 2, 0, 0, 0, 0, time.UTC))
			shown = append(shown, err)
			_, err = client.BatchExports.Update(t.Context(), exportA, BatchExportUpdateRequest{Destination: Set(got.Destination.With(destination.S3{}))})
			shown = append(shown, err)
			_, err = client.Backfills.Wait(t.Context(), &BackfillTicket{ExportID: exportA, StartAt: AtDate(2024, 1, 1), EndAt: AtDate(2024, 1, 2), RequestedAt: time.Date(2024, 1, 3, 0, 0, 0, 0, time.UTC)}, nil)
			for _, err := range append(shown, err) {
				require.Error(t, err)
				requireNoSecretIn(t, fmt.Sprintf("%T", err), err.Error())
			}
		}
	})
}

// testKeyIn is the key of the test in a text that a server escaped.
func testKeyIn(echo string) string {
	if strings.Contains(echo, testProjectKey) && !strings.Contains(echo, testPersonalKey) {
		return testProjectKey
	}
	return testPersonalKey
}

// Do decodes the answer unchanged: a success belongs to the caller.
func TestDoHidesNothingOfASuccess(t *testing.T) {
	client := newFakeClient(t, newScript(answers(200, `{"value":"`+testPersonalKey+`"}`)))
	var out struct{ Value string }
	var reply Reply
	require.NoError(t, client.Do(t.Context(), Request{Method: http.MethodGet, Path: "/x/"}, &out, WithReply(&reply)))
	require.Equal(t, testPersonalKey, out.Value)
	require.Contains(t, string(reply.Body), testPersonalKey)
}

// A server that repeats the request's headers gets neither the key nor the caller's own credentials into an error.
func TestHeadersThatAreRepeated(t *testing.T) {
	const cookie, secret = "session=0a1b2c3d4e5f; theme=dark", "cf-secret-0123456789"
	body := "Cookie: " + cookie + " Cf-Access-Client-Secret: " + secret + " Authorization: Bearer " + testPersonalKey + " X-Trace: visible"
	err := get(t.Context(), newFakeClient(t, newScript(answers(400, body))),
		WithHeader("Cookie", cookie), WithHeader("CF-Access-Client-Secret", secret), WithHeader("X-Trace", "visible"))
	for _, hidden := range []string{"0a1b2c3d4e5f", secret, testPersonalKey} {
		require.NotContains(t, err.Error(), hidden)
		require.NotContains(t, string(as[*APIError](t, err).Body()), hidden)
	}
	require.ErrorContains(t, err, "visible")
}

// Some proxies write a byte order mark before the JSON of the service.
func TestByteOrderMarkOfAnAnswer(t *testing.T) {
	var out struct{ ID int }
	require.NoError(t, newFakeClient(t, newScript(answers(200, "\ufeff{\"id\":7}"))).Do(t.Context(), Request{Method: http.MethodGet, Path: "/x/"}, &out))
	require.Equal(t, 7, out.ID)
	require.ErrorContains(t, get(t.Context(), newFakeClient(t, newScript(answers(400, "\ufeff{\"code\":\"bad\",\"detail\":\"no\"}")))), "400 bad: no")
}

// A key in the wrong place is refused, or harmless, and never printed.
func TestKeysInTheWrongPlace(t *testing.T) {
	const old = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hI6kL9nO2q" // as personal keys were before they had a prefix
	client, mock := newTestClient(t, WithRetryPolicy(RetryPolicy{MaxTries: 1}))
	ctx := t.Context()
	for _, key := range []string{testPersonalKey, testProjectKey, old} {
		hidden := []string{key[5:15], strings.ToLower(key[5:15]), strings.ToUpper(key[5:15])}
		var check func(where string, v any)
		check = func(where string, v any) {
			t.Helper()
			for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
				text := fmt.Sprintf(verb, v)
				for _, part := range hidden {
					require.NotContains(t, text, part, "%s under %s", where, verb)
				}
			}
			if err, ok := v.(error); ok {
				for _, problem := range inputErrors(err) {
					check(where+", a problem", *problem)
				}
			}
		}
		for name, option := range map[string]Option{
			"region": WithRegion(Region(key)), "API path": WithAPIPath(key), "within the API path": WithAPIPath("/api/" + key), "project": WithProject(key),
			"application": WithApplication(key, "1"), "version": WithApplication("x", key), "blank in application": WithApplication(key+" x", ""),
			"base URL": WithBaseURL(key), "host": WithBaseURL("https://" + key), "path": WithBaseURL("https://example.com/" + key), "end of the path": WithBaseURL("https://example.com/" + key + "/api"),
			"query": WithBaseURL("https://example.com/?" + key), "capture URL": WithCaptureURL("https://" + key),
		} {
			made, err := NewClient(good(option)...)
			if key == old && err == nil {
				continue // a name like any other
			}
			require.Error(t, err, name)
			require.Nil(t, made)
			check(name, err)
		}
		for _, name := range []string{"POSTHOG_REGION", "POSTHOG_HOST", "POSTHOG_PROJECT_ID"} {
			t.Run(name, func(t *testing.T) {
				t.Setenv(name, key)
				_, err := NewClient(FromEnv(), WithPersonalAPIKey(testPersonalKey))
				require.Error(t, err)
				check(name, err)
			})
		}
		other := client.ForProject(key)
		check("client", other)
		for name, err := range map[string]error{
			"project of a call": get(ctx, other),
			"path":              client.Do(ctx, Request{Method: "GET", Path: "/" + key + "/"}, nil),
			"within the path":   client.Do(ctx, Request{Method: "GET", Path: "/a b/" + key + "/"}, nil),
			"method":            client.Do(ctx, Request{Method: key, Path: "/x/"}, nil),
			"header name":       get(ctx, client, WithHeader(key+" ", "x")),
			"header value":      get(ctx, client, WithHeader("X-A", key+"\n")),
			"app metrics":       failed(client.AppMetrics.Get(ctx, key, nil)),
			"error type":        failed(client.AppMetrics.ErrorDetails(ctx, key, key, nil)),
			"job":               failed(client.AppMetrics.HistoricalExport(ctx, "7", key+"\n")),
			"cursor":            last(client.Runs.All(ctx, exportA, &RunListOptions{CursorOptions: CursorOptions{Cursor: "?" + key}})),
			"ordering":          last(client.Runs.All(ctx, exportA, &RunListOptions{Ordering: RunOrdering(key)})),
			"backfills":         last(client.Backfills.All(ctx, exportA, &BackfillListOptions{Ordering: BackfillOrdering(key)})),
			"level":             last(client.BatchExports.AllLogs(ctx, exportA, &LogOptions{Levels: []LogLevel{LogLevel(key + ",")}})),
			"destination":       failed(client.BatchExports.Create(ctx, BatchExportRequest{Name: "x", Model: ModelEvents, Interval: IntervalHour, Destination: Destination{Type: destination.Type(key), Config: destination.S3{}}})),
		} {
			if key == old && (name == "path" || name == "app metrics") {
				continue // an id like any other
			}
			require.Error(t, err, name)
			check(name, err)
		}
		if key != old { // one that cannot be told from a cursor goes to the service, which the call is for
			err := last(client.Runs.All(ctx, exportA, &RunListOptions{CursorOptions: CursorOptions{Cursor: key}}))
			require.ErrorIs(t, err, ErrInvalid)
			check("cursor", err)
		}
	}
	require.LessOrEqual(t, mock.GetTotalCallCount(), 2, "of the older key, which looks like an id")
}

// inputErrors are all that an error is made of.
func inputErrors(err error) (all []*InputError) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, part := range joined.Unwrap() {
			all = append(all, inputErrors(part)...)
		}
		return all
	}
	if input, ok := errors.AsType[*InputError](err); ok {
		all = append(all, input)
	}
	return all
}

// Reflection, such as go-spew's in a failing assertion, finds no key in memory: not in the buffers of connections either.
func TestStructureDumpersFindNoKey(t *testing.T) {
	client, _ := newServedClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		switch {
		case r.Method == http.MethodPost:
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"detail":"`+testPersonalKey+`"}`)
		case r.URL.Query().Has("cursor"):
			w.WriteHeader(http.StatusInternalServerError)
		default:
			_, _ = io.WriteString(w, `{"next":"?cursor=x`+testPersonalKey+`","results":[]}`)
		}
	}), WithRetryPolicy(RetryPolicy{MaxTries: 1}))
	var reply Reply
	_, refused := client.BatchExports.Create(t.Context(), hostileExport(), WithReply(&reply))
	require.ErrorIs(t, refused, ErrInvalid)
	paged := last(client.Runs.All(t.Context(), exportA, nil))
	require.ErrorAs(t, paged, new(*PageError))
	capture, err := client.NewCapture(&CaptureOptions{Rate: RateUnlimited, Delivery: DeliveryOptions{Compression: CompressionNone}})
	require.NoError(t, err)
	require.NoError(t, capture.Enqueue(t.Context(), testEvent()))
	_, stopped := capture.Close(t.Context()) // since its goroutines write to it
	require.ErrorAs(t, stopped, new(*event.UnsettledError))
	for name, v := range map[string]any{
		"client": client, "another project's": client.ForProject("7"), "exports": client.BatchExports, "backfills": client.Backfills, "runs": client.Runs,
		"metrics": client.AppMetrics, "dashboards": client.Dashboards, "capture": capture, "error": refused, "stop": stopped, "page error": paged, "reply": reply,
	} {
		requireNoKeyInside(t, name, v)
		var said sayings
		assert.ElementsMatch(&said, []any{v}, []any{"something else"})
		require.NotEmpty(t, said.String())
		requireNoSecretIn(t, name+", dumped", said.String())
	}
}

// sayings is a test that only listens.
type sayings struct{ strings.Builder }

func (s *sayings) Errorf(format string, args ...any) { fmt.Fprintf(s, format, args...) }

// requireNoKeyInside looks into everything that reflection can reach.
func requireNoKeyInside(t *testing.T, name string, v any) {
	t.Helper()
	seen := map[[2]any]bool{}
	var look func(v reflect.Value, path string)
	find := func(text []byte, path string) {
		for _, key := range []string{testPersonalKey, testProjectKey} {
			require.False(t, bytes.Contains(text, []byte(key[4:20])), "%s holds a key at %s", name, path)
		}
	}
	look = func(v reflect.Value, path string) {
		if !v.IsValid() {
			return
		}
		if v = open(v); !v.IsValid() {
			return
		}
		switch v.Kind() {
		case reflect.Pointer:
			key := [2]any{v.Type(), v.Pointer()}
			if !v.IsNil() && !seen[key] {
				seen[key] = true
				look(v.Elem(), path)
			}
		case reflect.Interface:
			look(addressable(v.Elem()), path)
		case reflect.String:
			find([]byte(v.String()), path)
		case reflect.Slice:
			if v.Type().Elem().Kind() == reflect.Uint8 {
				if v.Cap() > 0 {
					find(unsafe.Slice((*byte)(v.UnsafePointer()), v.Cap()), path)
				}
				return
			}
			for i := range v.Len() {
				look(v.Index(i), fmt.Sprintf("%s[%d]", path, i))
			}
		case reflect.Array:
			for i := range v.Len() {
				look(v.Index(i), fmt.Sprintf("%s[%d]", path, i))
			}
		case reflect.Map:
			for _, key := range v.MapKeys() {
				look(addressable(key), path+".key")
				look(addressable(v.MapIndex(key)), path+"[…]")
			}
		case reflect.Struct:
			for field, value := range addressable(v).Fields() {
				look(value, path+"."+field.Name)
			}
		default:
		}
	}
	look(reflect.ValueOf(v), name)
}

// addressable is a copy of a value that open can look into.
func addressable(v reflect.Value) reflect.Value {
	if !v.IsValid() || v.CanAddr() || !v.CanInterface() {
		return v
	}
	copied := reflect.New(v.Type()).Elem()
	copied.Set(v)
	return copied
}

// The errors of an answer that cannot be decoded keep no more of it than is needed, and no key.
func TestUndecodableAnswerKeepsNoKey(t *testing.T) {
	for _, body := range []string{`{"At":"` + testPersonalKey + `"}`, testPersonalKey, `{"At":` + strings.Repeat("9", 1<<20) + `}`, `{"At":"` + strings.Repeat(testPersonalKey, 30_000) + `"}`} {
		var out struct{ At json.Number }
		err := newFakeClient(t, newScript(answers(200, body))).Do(t.Context(), Request{Method: http.MethodGet, Path: "/x/"}, &out)
		if err == nil {
			continue
		}
		decode := as[*DecodeError](t, err)
		require.LessOrEqual(t, len(decode.Body()), httptry.MaxErrorBody)
		require.Less(t, len(err.Error()), 1000)
		requireNoKeyInside(t, "the error", err)
	}
}

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
					OnCall: func(_ context.Context, r CallRecord) { note(r); note(r.Err) },
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
					api := as[*APIError](t, err)
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
