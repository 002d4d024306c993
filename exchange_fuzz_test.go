package hogapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/destination"
	"github.com/hogapi/hogapi/ops"
)

// The bodies of management answers, fuzzed. The oracle is encoding/json without types: the client must read the values as sent.

// loose is JSON without types, with every digit.
func loose(t *testing.T, text []byte) (v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	require.NoError(t, d.Decode(&v))
	return v
}

// isPlain reports whether no object of a text has a key twice, or one that encoding/json would take for another: otherwise nobody can
// tell which value was sent.
func isPlain(text []byte) bool {
	d := json.NewDecoder(bytes.NewReader(text))
	type object struct {
		keys  map[string]bool
		isKey bool
	}
	stack := []*object{{}}
	for {
		token, err := d.Token()
		if err != nil {
			return true
		}
		top := stack[len(stack)-1]
		if key, ok := token.(string); ok && top.isKey {
			if top.keys[key] || strings.Trim(key, "abcdefghijklmnopqrstuvwxyz0123456789_$") != "" {
				return false
			}
			top.keys[key], top.isKey = true, false
			continue
		}
		top.isKey = top.keys != nil
		switch token {
		case json.Delim('{'):
			stack = append(stack, &object{map[string]bool{}, true})
		case json.Delim('['):
			stack = append(stack, &object{})
		case json.Delim('}'), json.Delim(']'):
			stack = stack[:len(stack)-1]
		}
	}
}

// requireKept demands that the values read are the values sent, as far as their type knows the keys.
func requireKept(t *testing.T, where string, sent, kept any) {
	t.Helper()
	switch sent := sent.(type) {
	case nil:
		require.True(t, kept == nil || isEmpty(kept), "%s: null became %v", where, kept)
	case map[string]any:
		read, ok := kept.(map[string]any)
		require.True(t, ok, "%s: an object became %v", where, kept)
		for key, value := range sent {
			if own, known := read[key]; known {
				requireKept(t, where+"."+key, value, own)
			}
		}
	case []any:
		read, _ := kept.([]any)
		require.Len(t, read, len(sent), where)
		for i, value := range sent {
			requireKept(t, fmt.Sprintf("%s[%d]", where, i), value, read[i])
		}
	case json.Number:
		number, _ := kept.(json.Number)
		same := sameNumber
		if key := where[strings.LastIndexByte(where, '.')+1:]; key == "duration" || key == "progress" { // the numbers that are floats
			same = sameFloat
		}
		require.True(t, same(sent, number), "%s: %v became %v", where, sent, kept)
	case string:
		text, ok := kept.(string)
		require.True(t, ok && (sent == text || sameTime(sent, text) || sameUUID(sent, text)), "%s: %q became %v", where, sent, kept)
	default:
		require.Equal(t, sent, kept, where)
	}
}

// isEmpty reports whether a value is the one that a type without null makes of null.
func isEmpty(kept any) bool {
	switch kept := kept.(type) {
	case string:
		return kept == "" || kept == uuid.Nil.String() || kept == "0001-01-01T00:00:00Z"
	case json.Number:
		return kept == "0"
	case bool:
		return !kept
	case map[string]any:
		for _, value := range kept {
			if value != nil && !isEmpty(value) {
				return false
			}
		}
		return true
	default:
		return reflect.ValueOf(kept).Len() == 0
	}
}

func sameNumber(a, b json.Number) bool {
	if a == b {
		return true
	}
	if len(a) > 40 || strings.ContainsAny(string(a), "eE") { // of a float: any reader of it gives the same
		return sameFloat(a, b)
	}
	x, okA := new(big.Rat).SetString(string(a))
	y, okB := new(big.Rat).SetString(string(b))
	if okA && okB && x.Cmp(y) == 0 {
		return true
	}
	return sameFloat(a, b) && strings.ContainsAny(string(a), ".")
}

func sameFloat(a, b json.Number) bool {
	x, errA := a.Float64()
	y, errB := b.Float64()
	return errA == nil && errB == nil && x == y
}

// sameTime knows the forms of time that answers have; times without a zone are UTC, and the empty one is the zero time.
func sameTime(sent, kept string) bool {
	at, err := time.Parse(time.RFC3339, kept)
	if err != nil {
		return false
	}
	if sent == "" {
		return at.IsZero()
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02"} {
		if want, err := time.Parse(layout, strings.Replace(sent, " ", "T", 1)); err == nil {
			return want.Equal(at)
		}
	}
	return false
}

func sameUUID(sent, kept string) bool {
	a, errA := uuid.Parse(sent)
	b, errB := uuid.Parse(kept)
	return errA == nil && errB == nil && a == b
}

// rows are the types of management answers that are read and written alike.
var rows = []func() any{
	func() any { return new(Run) },
	func() any { return new(Backfill) },
	func() any { return new(Dashboard) },
	func() any { return new(LogEntry) },
	func() any { return new(AppMetrics) },
	func() any { return new(MetricErrorDetail) },
	func() any { return new(HistoricalExport) },
	func() any { return new(HistoricalExportDetail) },
}

// FuzzRow: the client reads the values of a row as sent, and reads its own encoding the same again.
func FuzzRow(f *testing.F) {
	for kind, text := range []string{
		`{"id":"0190f3c0-0000-7000-8000-0000000000a1","batch_export":"0190f3c0-0000-7000-8000-00000000000a","status":"FailedRetryable","data_interval_start":null,
			"data_interval_end":"2024-05-01T02:00:00+02:00","records_completed":7,"records_total_count":null,"latest_error":"no \ud83e\udd94","cursor":null,
			"created_at":"2024-05-01T00:00:00.123456Z","last_updated_at":"2024-05-01T00:00:01Z","finished_at":"2024-05-01T00:00:01Z","backfill":null,"bytes_exported":-0}`,
		`{"id":"0190f3c0000070008000000000000000","team":2,"start_at":null,"status":"Completed","created_at":"2024-05-01T00:00:00Z","progress":{"total_runs":3,"progress":0.5}}`,
		`{"id":7,"name":null,"pinned":true,"created_at":"2024-05-01T00:00:00Z","created_by":{"id":1,"uuid":"0190f3c0-0000-7000-8000-0000000000a1","email":"a@b"},
			"tags":["a"],"restriction_level":21,"creation_mode":"template","last_accessed_at":null,"team_id":9007199254740993}`,
		`{"log_source_id":"a","instance_id":"b","timestamp":"2024-03-01 00:00:00.000001","level":"CRITICAL","message":"m"}`,
		`{"metrics":{"dates":["2024-05-01","2024-05-02T01:00:00"],"successes":[1,2],"failures":[],"totals":{"successes":3}},"errors":[{"error_type":"E","count":2,"last_seen":"2024-05-01"}]}`,
		`{"timestamp":"2024-05-01T00:00:00","error_uuid":"u","error_type":"E","error_details":{"a":[1.50,null]}}`,
		`{"job_id":"j","status":"success","payload":{"dateRange":["a","b"]},"created_at":"2024-05-01 00:00:00","finished_at":"","duration":1.5}`,
		`{"summary":{"job_id":"j"},"metrics":{"dates":null},"errors":null}`,
	} {
		f.Add(uint8(kind), uint8(0), []byte(text), "")
		f.Add(uint8(kind), uint8(0), []byte(text[:len(text)-1]), "")
	}
	f.Add(uint8(0), uint8(0), []byte(`{"id":"a","ID":"b"}`), "")
	for i, value := range []string{"null", `""`, `"x"`, "7", "-0", "1e3", "1.5", "true", "[]", "{}", `"2024-05-01 00:00:00.5+02:00"`, `"9999-12-31T23:59:59-01:00"`, `"0000-01-01"`} {
		f.Add(uint8(i), uint8(3*i), []byte("{}"), value)
	}
	f.Fuzz(func(t *testing.T, kind, key uint8, text []byte, value string) {
		create := rows[int(kind)%len(rows)]
		row, again := create(), create()
		if value != "" {
			text = member(reflect.TypeOf(row).Elem(), key, value)
		}
		if json.Unmarshal(text, row) != nil {
			return
		}
		written, err := json.Marshal(row)
		if err != nil {
			require.ErrorContains(t, err, "year", "only a time beyond the years of four digits")
			return
		}
		if isPlain(text) {
			requireKept(t, "row", loose(t, text), loose(t, written))
		}
		require.NoError(t, json.Unmarshal(written, again))
		rewritten, err := json.Marshal(again)
		require.NoError(t, err)
		require.Equal(t, string(written), string(rewritten))
	})
}

// member is an object of one member that a type knows.
func member(of reflect.Type, key uint8, value string) []byte {
	name, _, _ := strings.Cut(of.Field(int(key)%of.NumField()).Tag.Get("json"), ",")
	return fmt.Appendf(nil, `{"%s":%s}`, name, value)
}

// credentials are the keys of configs with values that never print.
var credentials = []string{
	"password", "private_key", "private_key_id", "private_key_passphrase", "aws_access_key_id", "aws_secret_access_key", "token",
}

// FuzzExport: the client reads an export as sent, its destination can be sent back unchanged, and no credential of it prints.
func FuzzExport(f *testing.F) {
	for _, destination := range []string{
		`{"type":"S3","config":{"bucket_name":"b","aws_secret_access_key":"a very-secret text","max_file_size_mb":"5","include_events":["a"],"new":{"token":"very-secret-token"}}}`,
		`{"type":"Postgres","config":{"port":5432,"password":"a very-secret text","has_self_signed_cert":"True","user":null},"integration":7}`,
		`{"type":"Redshift","config":{"mode":"COPY","copy_inputs":{"authorization":"arn:aws:iam::1:role/r","bucket_credentials":{"aws_access_key_id":"a very-secret text"}}}}`,
		`{"type":"Redshift","config":{"copy_inputs":{"authorization":{"aws_secret_access_key":"a very-secret text"}}}}`,
		`{"type":"BigQuery","config":{"private_key":"-----BEGIN-----\nvery-secret\n","token_uri":"https://x/"}}`,
		`{"type":"Zeppelin","config":{"a":{"password":"a very-secret text"},"b":[1.50]},"integration":"7"}`,
		`{"type":"NoOp","config":null,"integration":null}`, `{"type":"S3","config":["a very-secret text"]}`, `{"type":"HTTP"}`, `null`,
	} {
		f.Add([]byte(`{"id":"0190f3c0-0000-7000-8000-00000000000a","team_id":1,"name":"n","model":"events","interval":"every 5 minutes","paused":false,"destination":`+destination+
			`,"created_at":"2024-05-01T00:00:00Z","last_updated_at":"2024-05-01T00:00:00Z","end_at":"2024-05-01T00:00:00-00:30","latest_runs":[{"status":"Running"}],"schema":{"a":1},"offset_hour":3}`),
			uint8(0), uint8(0), "")
	}
	for kind := range destination.Types() {
		for key, value := range []string{"null", `"None"`, `"a very-secret text"`, "7", `"7"`, `"true"`, "[]", `["a"]`, `{"password":"a very-secret text"}`, "1.5"} {
			f.Add([]byte("{}"), uint8(kind), uint8(kind+key), value)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte, kind, key uint8, value string) {
		var export BatchExport
		if value != "" {
			text = exportTo(destination.Types()[int(kind)%len(destination.Types())], key, value)
		}
		if json.Unmarshal(text, &export) != nil {
			return
		}
		printed := fmt.Sprintf("%+v %#v", export, export)
		written, err := json.Marshal(export)
		if err != nil {
			require.ErrorContains(t, err, "year")
			return
		}
		if !isPlain(text) {
			return
		}
		sent, _ := loose(t, text).(map[string]any)
		kept := loose(t, written).(map[string]any)
		requireSecretsGone(t, sent["destination"], string(text), printed+string(written))
		requireSentBack(t, export.Destination, sent["destination"])
		delete(sent, "destination")
		requireKept(t, "export", sent, kept)
	})
}

// exportTo is an export with a config of one key that its kind knows.
func exportTo(kind destination.Type, key uint8, value string) []byte {
	config := readConfig(kind, json.RawMessage("{}"))
	return fmt.Appendf(nil, `{"destination":{"type":"%s","config":%s}}`, kind, member(reflect.TypeOf(config), key, value))
}

// requireSecretsGone demands that a print of a config lacks its credentials. It skips a credential that could be another text, and one
// that occurs elsewhere in the text sent.
func requireSecretsGone(t *testing.T, v any, text, printed string) {
	t.Helper()
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			secret, isText := value.(string)
			quoted, err := json.Marshal(secret)
			require.NoError(t, err)
			inner := string(quoted[1 : len(quoted)-1])
			for _, name := range credentials {
				if key == name && isText && strings.Contains(secret, "very-secret") && strings.Count(text, inner) == 1 {
					require.NotContains(t, printed, inner, key)
					require.NotContains(t, printed, secret, key)
				}
			}
			requireSecretsGone(t, value, text, printed)
		}
	case []any:
		for _, value := range v {
			requireSecretsGone(t, value, text, printed)
		}
	}
}

// requireSentBack demands that a destination keeps the service's own words, and that its wire form means the same.
func requireSentBack(t *testing.T, d Destination, sent any) {
	t.Helper()
	was, _ := sent.(map[string]any)
	if raw := d.Raw(); raw != nil {
		require.Equal(t, was["config"], loose(t, raw))
	} else {
		require.Nil(t, was["config"])
	}
	wire, err := d.With(d.Config).updated()
	if err != nil {
		require.ErrorIs(t, err, ErrInvalid)
		return
	}
	text, err := json.Marshal(wire)
	require.NoError(t, err)
	var again Destination
	require.NoError(t, json.Unmarshal(text, &again))
	require.Equal(t, d.Type, again.Type)
	require.Equal(t, d.Integration, again.Integration)
	require.Equal(t, reflect.TypeOf(d.Config), reflect.TypeOf(again.Config))
	rewritten, err := again.updated()
	require.NoError(t, err)
	require.Equal(t, loose(t, wire.Config), loose(t, rewritten.Config))
	if _, isRaw := d.Config.(destination.Raw); isRaw {
		require.Equal(t, loose(t, d.Raw()), loose(t, wire.Config))
	}
}

// FuzzPage: a walk ends and gives the items of its pages, in order. An answer that is not a page is an error, not the end.
func FuzzPage(f *testing.F) {
	for _, body := range []string{
		`{"count":2,"next":null,"previous":null,"results":[1,"b"]}`, `{"count":9,"next":"?offset=2&cursor=x","results":[{},[]]}`, `{"next":"","results":[]}`,
		`{"next":"http://x/?offset=0","results":[1]}`, `{"next":7,"results":[]}`, `{"results":{"a":1}}`, `{"results":"x"}`, `{"results":[1]}{"results":[2]}`,
		`{"results":[1],"results":[2]}`, `{"count":1e99,"results":[]}`, `{"count":-1,"results":[],"next":"?offset=9223372036854775807&cursor=%ff"}`,
		`{"results":[1`, "", "null", "[]", "{}", `{"detail":"sorry"}`, `{"results":null}`, "\ufeff{}", strings.Repeat("[", 20000),
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		client := newFakeClient(t, newScript(answers(200, string(body))), WithRetryPolicy(RetryPolicy{MaxTries: 1}))
		offset := walkByOffset[json.RawMessage](client, endpoint(ops.DashboardsList), ListOptions{MaxPages: 3}, nil, nil).All(t.Context())
		cursor := walkByCursor[json.RawMessage](client, endpoint(ops.RunsList, "x"), CursorOptions{MaxPages: 3}, nil).All(t.Context())
		for _, walk := range []func(func(json.RawMessage, error) bool){offset, cursor} {
			var got []string
			var failed error
			for item, err := range walk {
				require.NoError(t, failed, "an error comes last")
				if failed = err; err == nil {
					got = append(got, string(item))
				}
			}
			if isPlain(body) {
				checkWalk(t, body, got, failed)
			}
		}
	})
}

// checkWalk compares a walk over identical pages with the page.
func checkWalk(t *testing.T, body []byte, got []string, failed error) {
	t.Helper()
	var members map[string]json.RawMessage
	var items []json.RawMessage
	if json.Unmarshal(body, &members) != nil || json.Unmarshal(members["results"], &items) != nil || items == nil {
		require.Error(t, failed)
		require.Empty(t, got)
		return
	}
	if next := string(members["next"]); next != "" && next != "null" && next != `""` {
		require.Error(t, failed, "the same page again and again is never the end")
	} else if members["count"] == nil {
		require.NoError(t, failed)
	}
	for i, item := range got {
		require.Equal(t, string(items[i%len(items)]), item)
	}
	if failed == nil {
		require.Len(t, got, len(items))
	}
}

// FuzzErrorBody: for any body, the error is one short line without a key, and plain words of the service come through unchanged.
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

// plainDetail returns the service's detail in a body, as encoding/json reads it without types, if the words need no care.
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
