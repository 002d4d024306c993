package hogapitest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

const key = hogapitest.DefaultProjectKey

// old is an event of long ago with other or more keys.
func old(keys string) string {
	return `{"event":"e","distinct_id":"d","timestamp":"2025-01-02T03:04:05Z",` + keys + `}`
}

func TestCaptureRefusesTheWholeBatch(t *testing.T) {
	const shape = "failed to parse request: missing field `event`"
	tests := []struct {
		name, bad string // one event
		text      string
	}{
		{"no name", `{"distinct_id":"d"}`, shape},
		{"name of another type", `{"event":1,"distinct_id":"d"}`, shape},
		{"empty name", `{"event":"","distinct_id":"d"}`, "event submitted with an empty event name"},
		{"no distinct id", `{"event":"e"}`, "event submitted without a distinct_id"},
		{"null distinct id", `{"event":"e","distinct_id":null,"properties":{"distinct_id":null}}`, "event submitted without a distinct_id"},
		{"blank distinct id", `{"event":"e","distinct_id":" "}`, "event submitted without a distinct_id"},
		{"bad uuid", old(`"uuid":"7"`), shape},
		{"uuid of another type", old(`"uuid":7`), shape},
		{"timestamp as a number", `{"event":"e","distinct_id":"d","timestamp":1735787045}`, shape},
		{"properties null", old(`"properties":null`), shape},
		{"properties as a list", old(`"properties":[]`), shape},
		{"$set as text", old(`"$set":"a"`), shape},
		{"a field twice", old(`"event":"f"`), shape},
		{"cookieless mode as text", old(`"properties":{"$cookieless_mode":"yes"}`), "event submitted with invalid cookieless mode"},
		{"no object", `7`, shape},
		{"lone surrogate", old(`"properties":{"a":"\ud800"}`), shape},
		{"bad UTF-8", old("\"properties\":{\"a\":\"\xff\"}"), shape},
		{"number beyond a float", old(`"properties":{"a":1e999}`), shape},
		{"NaN", old(`"properties":{"a":NaN}`), shape},
		{"control character", old("\"properties\":{\"a\":\"\x01\"}"), shape},
		{"too deep", old(`"properties":{"a":` + strings.Repeat("[", 130) + strings.Repeat("]", 130) + `}`), shape},
	}
	over(t, nil, func(t *testing.T, w *wire) {
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				a := w.batch(historical(event(1), test.bad, event(2)))
				assert.Equal(t, 400, a.StatusCode)
				assert.Equal(t, test.text, a.text)
				assert.Equal(t, "text/plain; charset=utf-8", a.Header.Get("Content-Type"))
			})
		}
		assert.Zero(t, w.Ledger().Len())
		for body, want := range map[string]string{
			historical():                           "request holds no event",
			``:                                     "request missing data payload",
			`{"batch"`:                             shape,
			`{"api_key":"` + key + `","batch":{}}`: shape,
			`{"api_key":"` + key + `","historical_migration":"true","batch":[` + event(1) + `]}`: shape,
		} {
			a := w.batch(body)
			assert.Equal(t, 400, a.StatusCode)
			assert.Equal(t, want, a.text, body)
		}
	})
}

func TestCaptureAccepts(t *testing.T) {
	tests := []struct {
		name, event string
		distinctID  string
		time        string // as the service took it
		historical  bool
	}{
		{"the specification's form", `{"event":"e","timestamp":"2025-01-02T03:04:05Z","properties":{"distinct_id":"p"}}`, "p", "2025-01-02T03:04:05Z", true},
		{"the root wins", old(`"uuid":"","properties":{"distinct_id":"p"}`), "d", "2025-01-02T03:04:05Z", true},
		{"a number as id", `{"event":"e","distinct_id":12345678901234567890,"timestamp":"2025-01-02T03:04:05Z"}`, "12345678901234567890", "2025-01-02T03:04:05Z", true},
		{"another zone", `{"event":"e","distinct_id":"d","timestamp":"2025-01-02T03:04:05.5+05:30"}`, "d", "2025-01-01T21:34:05.5Z", true},
		{"no zone", `{"event":"e","distinct_id":"d","timestamp":"2025-01-02T03:04:05"}`, "d", "2025-01-02T03:04:05Z", true},
		{"a date", `{"event":"e","distinct_id":"d","timestamp":"2025-01-02"}`, "d", "2025-01-02T00:00:00Z", true},
		{"no time becomes now", `{"event":"e","distinct_id":"d"}`, "d", "2026-03-04T12:00:00Z", false},
		{"nonsense becomes now", `{"event":"e","distinct_id":"d","timestamp":"soon"}`, "d", "2026-03-04T12:00:00Z", false},
		{"the far future becomes now", `{"event":"e","distinct_id":"d","timestamp":"2027-01-01T00:00:00Z"}`, "d", "2026-03-04T12:00:00Z", false},
		{"exactly 48 hours keep the flag", `{"event":"e","distinct_id":"d","timestamp":"2026-03-02T12:00:00Z"}`, "d", "2026-03-02T12:00:00Z", true},
		{"less clears it", `{"event":"e","distinct_id":"d","timestamp":"2026-03-02T12:00:01Z"}`, "d", "2026-03-02T12:00:01Z", false},
		{"a long id", `{"event":"e","distinct_id":"` + strings.Repeat("ä", 201) + `","timestamp":"2025-01-02"}`, strings.Repeat("ä", 200), "2025-01-02T00:00:00Z", true},
		{"NUL in an id", `{"event":"e","distinct_id":" a\u0000b ","timestamp":"2025-01-02"}`, " a\uFFFDb ", "2025-01-02T00:00:00Z", true},
		{"a list as id", `{"event":"e","distinct_id":["a",1],"timestamp":"2025-01-02"}`, `["a",1]`, "2025-01-02T00:00:00Z", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := inProcess(t)
			a := w.batch(historical(test.event))
			require.Equal(t, 200, a.StatusCode, a.text)
			got := w.Ledger().Event(0)
			assert.Equal(t, test.distinctID, got.DistinctID)
			assert.Equal(t, test.time, got.Time.Format(time.RFC3339Nano))
			assert.Equal(t, test.historical, got.Historical)
			assert.EqualValues(t, 7, got.UUID.Version(), "no event has a uuid")
			seconds, _ := got.UUID.Time().UnixTime()
			assert.Equal(t, got.Time.Unix(), seconds)
			assert.Equal(t, test.event, string(got.Raw))
		})
	}
}

func TestHistoricalFlag(t *testing.T) {
	for body, want := range map[string]bool{
		historical(event(1)): true,
		strings.Replace(historical(event(1)), "true", "false", 1): false,
		strings.Replace(historical(event(1)), "true", "null", 1):  false,
	} {
		w := inProcess(t)
		require.Equal(t, 200, w.batch(body).StatusCode)
		assert.Equal(t, want, w.Ledger().Event(0).Historical, body)
		assert.Equal(t, want, w.Ledger().Requests()[0].Historical)
	}
}

func TestSentAtShiftsTimes(t *testing.T) {
	w := inProcess(t)
	body := `{"api_key":"` + key + `","sent_at":"2026-03-04T11:59:00Z","batch":[` + old(`"properties":{}`) + "," + old(`"properties":{"$ignore_sent_at":true}`) + `]}`
	require.Equal(t, 200, w.batch(body).StatusCode)
	assert.Equal(t, "2025-01-02T03:05:05Z", w.Ledger().Event(0).Time.Format(time.RFC3339))
	assert.Equal(t, "2025-01-02T03:04:05Z", w.Ledger().Event(1).Time.Format(time.RFC3339))
}

func TestCaptureKeys(t *testing.T) {
	with := func(field string) string { return `{` + field + `"batch":[` + event(1) + `]}` }
	over(t, nil, func(t *testing.T, w *wire) {
		for field, says := range map[string]string{
			``: "without an api_key", `"api_key":null,`: "without an api_key", `"api_key":" ",`: "API key is not valid: empty",
			`"api_key":"phx_abc",`: ": personal_api_key", `"api_key":"schlüssel",`: ": not_ascii", `"api_key":"phc_\u0000",`: ": null_byte",
			`"api_key":"` + strings.Repeat("a", 65) + `",`: ": too_long",
		} {
			a := w.batch(with(field))
			assert.Equal(t, 401, a.StatusCode, field)
			assert.Contains(t, a.text, says)
		}
		a := w.batch(with(`"api_key":" ` + key + ` ",`))
		assert.Equal(t, 200, a.StatusCode, "trimmed")
		assert.Equal(t, 1, w.Ledger().Len())

		a = w.batch(with(`"api_key":"phc_nobody",`))
		assert.Equal(t, 200, a.StatusCode)
		assert.JSONEq(t, `{"status":"Ok"}`, a.text)
		assert.Equal(t, 1, w.Ledger().Len(), "dropped behind a 200")
		require.Len(t, w.Ledger().Dropped(), 1)
		assert.Equal(t, "unknown key", w.Ledger().Dropped()[0].Reason)
	})
}

func TestPreflightTellsAnUnknownKey(t *testing.T) {
	over(t, nil, func(t *testing.T, w *wire) {
		w.key = ""
		for body, want := range map[string]int{
			`{"api_key":"` + key + `","distinct_id":"d"}`: 200,
			`{"api_key":"phc_nobody","distinct_id":"d"}`:  401,
			`{"api_key":"` + key + `"}`:                   400,
		} {
			a := w.sent("POST", "/flags/?v=2", []byte(body))
			assert.Equal(t, want, a.StatusCode, body)
			assert.Equal(t, want == 401, strings.Contains(a.text, `"code":"authentication_failed"`), a.text)
		}
		assert.Len(t, w.Calls(ops.Preflight), 3)
	})
}

// A server can be set to refuse keys that nobody has. Without that, events of such a key are dropped behind a 200.
func TestKeyCheck(t *testing.T) {
	w := inProcess(t, hogapitest.WithKeyCheck())
	unknown := w.batch(`{"api_key":"phc_nobody","batch":[` + event(1) + `]}`)
	assert.Equal(t, 401, unknown.StatusCode)
	assert.Contains(t, unknown.text, "API key does not belong to any project")
	assert.Equal(t, "401 invalid_api_token", w.post(v1Batch(v1Event(1)), "Authorization", "Bearer phc_nobody").refusal(t))
	assert.Empty(t, w.Ledger().Dropped())
	assert.Equal(t, 200, w.batch(historical(event(1))).StatusCode)
	assert.Equal(t, []string{"ok"}, w.post(v1Batch(v1Event(2))).results(t))
	assert.Equal(t, 2, w.Ledger().Len())
}

func zipped(t *testing.T, body string) string { return string(packed(t, "gzip", []byte(body))) }

func TestCompression(t *testing.T) {
	over(t, nil, func(t *testing.T, w *wire) {
		z := zipped(t, historical(event(1)))
		assert.Equal(t, 200, w.batch(z, "Content-Encoding", "gzip").StatusCode)
		assert.Equal(t, 200, w.batch(z).StatusCode, "told by its first bytes")
		assert.Equal(t, 400, w.batch(z[:len(z)/2], "Content-Encoding", "gzip").StatusCode)
		assert.Equal(t, 400, w.batch(historical(event(1)), "Content-Encoding", "gzip").StatusCode)
		assert.Equal(t, 400, w.batch(zipped(t, ""), "Content-Encoding", "gzip").StatusCode)
		assert.Equal(t, 2, w.Ledger().Len())
		assert.True(t, w.Ledger().Requests()[0].Gzip)
		assert.Equal(t, z, string(w.Calls(ops.Capture)[0].Body), "as it came")
	})
}

func TestCaptureLimits(t *testing.T) {
	w := inProcess(t)
	filler := strings.Repeat("a", 20<<20)
	assert.Equal(t, 413, w.batch(historical(event(1), old(`"properties":{"a":"`+filler+`"}`))).StatusCode, "as received")
	assert.Equal(t, 413, w.batch(zipped(t, historical(old(`"properties":{"a":"`+strings.Repeat("a", 100<<20)+`"}`))), "Content-Encoding", "gzip").StatusCode, "decompressed")
	assert.Zero(t, w.Ledger().Len())
	a := w.batch(historical(event(1), old(`"properties":{"a":"`+strings.Repeat("a", 1_000_000)+`"}`), event(2)))
	assert.Equal(t, 413, a.StatusCode, "one event")
	assert.Equal(t, "maximum event size exceeded: 1000000", a.text)
	assert.Equal(t, 2, w.Ledger().Len(), "the others are stored")

	w = inProcess(t, hogapitest.WithMaxBatchEvents(2))
	assert.Equal(t, 413, w.batch(historical(event(1), event(2), event(3))).StatusCode)
	assert.Equal(t, 200, w.batch(historical(event(1), event(2))).StatusCode)
	assert.Equal(t, 2, w.Ledger().Len())
}

func TestSizeOfAnEventIsOfItsEscapedForm(t *testing.T) {
	w := inProcess(t)
	quotes := strings.Repeat(`\"`, 300_000) // 600 kB here, 1.2 MB inside another JSON
	assert.Equal(t, 413, w.batch(historical(old(`"properties":{"a":"`+quotes+`"}`))).StatusCode)
	assert.Equal(t, 200, w.batch(historical(old(`"properties":{"a":"`+strings.Repeat("ab", 300_000)+`"}`))).StatusCode)
}

func TestQuota(t *testing.T) {
	w := inProcess(t)
	w.SetQuota(hogapitest.QuotaSilent)
	assert.JSONEq(t, `{"status":"Ok"}`, w.batch(historical(event(1))).text)
	v1 := w.post(v1Batch(v1Event(1)))
	assert.Equal(t, []string{"402 billing_limit_exceeded", ""}, []string{v1.refusal(t), v1.Header.Get("Retry-After")})
	assert.Equal(t, []string{"drop: missing_event_name"}, w.post(v1Batch(v1Event(1, "event", `""`))).results(t), "the quota is looked at after the events")
	w.SetQuota(hogapitest.QuotaListed)
	a := w.batch(historical(event(2)))
	assert.Equal(t, 200, a.StatusCode)
	assert.JSONEq(t, `{"status":"Ok","quota_limited":["events"]}`, a.text)
	w.SetQuota(hogapitest.QuotaFree)
	w.batch(historical(event(3)))
	assert.Equal(t, 1, w.Ledger().Len())
	assert.Len(t, w.Ledger().Dropped(), 3)
	assert.Equal(t, "over quota", w.Ledger().Dropped()[0].Reason)
}

func TestOtherSuccesses(t *testing.T) {
	assert.JSONEq(t, `{"status":1}`, inProcess(t, hogapitest.WithOldService()).batch(historical(event(1))).text)
	over(t, nil, func(t *testing.T, w *wire) {
		for _, name := range []string{"$performance_event", "$$heatmap", "$$client_ingestion_warning"} {
			assert.Equal(t, 200, w.batch(historical(strings.Replace(event(1), "signed up", name, 1))).StatusCode)
			assert.Zero(t, w.Ledger().Len(), "%s is removed in silence", name)
		}
		assert.Equal(t, 200, w.batch(historical(old(`"event2":1`), strings.Replace(event(1), "signed up", "$$heatmap", 1))).StatusCode)
		assert.Equal(t, 1, w.Ledger().Len(), "the others of its batch are kept")
	})
}

func TestCulprits(t *testing.T) {
	over(t, nil, func(t *testing.T, w *wire) {
		status := http.StatusBadRequest
		w.RejectEvents(func(raw json.RawMessage) int {
			if bytes.Contains(raw, []byte(`"n":2`)) {
				return status
			}
			return 0
		})
		assert.Equal(t, 400, w.batch(historical(event(1), event(2))).StatusCode)
		assert.Equal(t, 200, w.batch(historical(event(1))).StatusCode)
		assert.Equal(t, 1, w.Ledger().Len())
		status = http.StatusRequestEntityTooLarge
		assert.Equal(t, 413, w.batch(historical(event(1), event(2), event(3))).StatusCode)
		assert.Equal(t, 3, w.Ledger().Len())
		w.RejectEvents(nil)
		assert.Equal(t, 200, w.batch(historical(event(2))).StatusCode)
	})
}

func TestLedger(t *testing.T) {
	for name, options := range map[string][]hogapitest.Option{"whole": nil, "compact": {hogapitest.WithCompactLedger()}} {
		t.Run(name, func(t *testing.T) {
			w := inProcess(t, options...)
			same := old(`"uuid":"00000000-0000-4000-8000-000000000001","properties":{"a":1.0,"b":"ü"}`)
			again := strings.Replace(strings.Replace(same, `{"a":1.0,"b":"ü"}`, `{ "b":"\u00fc", "a":1.0 }`, 1), "{", "{ ", 1)
			w.batch(historical(same, event(2)))
			w.batch(historical(again, event(2), event(3)))
			l := w.Ledger()
			assert.Equal(t, 5, l.Len())
			assert.Equal(t, 3, l.Unique())
			assert.Equal(t, 2, l.Duplicates())
			assert.Empty(t, l.Changed(), "the same as JSON")
			assert.Equal(t, 2, l.Find(l.Event(2).UUID)[1].Request)
			var last []int
			for e := range l.Last() {
				last = append(last, e.Commit)
			}
			assert.Equal(t, []int{2, 3, 4}, last)
			var all []string
			for e := range l.Events() {
				all = append(all, e.UUID.String()[35:])
			}
			assert.Equal(t, []string{"1", "2", "1", "2", "3"}, all)
			assert.Equal(t, 3, l.Requests()[1].Stored)

			w.batch(historical(strings.Replace(same, "1.0", "1.00", 1)))
			changed := w.Ledger().Changed()
			require.Len(t, changed, 1)
			assert.True(t, changed[0].Properties, "digit for digit")
			assert.False(t, changed[0].Fields)
			w.batch(historical(strings.Replace(event(2), "678Z", "6780Z", 1)))
			changed = w.Ledger().Changed()
			require.Len(t, changed, 2)
			assert.True(t, changed[1].Fields, "byte for byte")
			assert.False(t, changed[1].Properties)
			assert.Equal(t, 5, l.Len(), "a ledger does not change once it is given")
			if name == "compact" {
				assert.Nil(t, w.Calls(ops.Capture)[0].Body)
				assert.Nil(t, l.Event(0).Raw)
			}
		})
	}
}

func TestInversions(t *testing.T) {
	w := inProcess(t)
	send := func(numbers ...int) {
		var events []string
		for _, n := range numbers {
			events = append(events, strings.Replace(event(n), fmt.Sprintf("user-%d", n%3), "one", 1))
		}
		require.Equal(t, 200, w.batch(historical(events...)).StatusCode)
	}
	order := uuids(1, 2, 3, 4)
	send(1, 2)
	send(1, 2, 3) // as after a partial commit
	assert.Zero(t, w.Ledger().Inversions(order))
	send(1)
	assert.Equal(t, 1, w.Ledger().Inversions(order))
	assert.Equal(t, uuids(4), w.Ledger().Missing(order))
	send(2, 3)
	assert.Zero(t, w.Ledger().Inversions(order))
}

func TestOtherProjectsHaveOtherKeys(t *testing.T) {
	w := inProcess(t)
	w.batch(strings.Replace(historical(event(1)), key, w.Project("8").Key(), 1))
	assert.Equal(t, "8", w.Ledger().Requests()[0].Project)
	assert.NotEqual(t, key, w.Project("8").Key())
}
