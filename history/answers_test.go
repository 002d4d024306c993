package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/uuidsum"
)

// receiptOfMarch is the receipt of 31 events, one a day.
func receiptOfMarch() event.Receipt {
	at := time.Date(1999, 3, 1, 0, 0, 0, 0, time.UTC)
	r := event.Receipt{ID: "hogapi-march", Finished: true, Read: 31, Acknowledged: 31, Oldest: at, Newest: at.AddDate(0, 0, 30), LastAcknowledged: at.AddDate(0, 1, 0)}
	for i := range 31 {
		r.Days = append(r.Days, event.DayCount{Day: at.AddDate(0, 0, i).Format(time.DateOnly), Event: "e", Acknowledged: 1, Digest: marchDigest(i)})
	}
	return r
}

// marchDigest is the digest of one of them.
func marchDigest(i int) string { return uuidsum.Of(marchID(i)).String() }

// asked is a query as it was sent.
type asked struct {
	Query struct {
		Kind   string
		Query  string
		Values map[string]any
	}
	Refresh, Name string

	from, until time.Time
}

// march answers a count with one event a day, as the service does; the script may answer instead. It demands one query at a time.
func march(t *testing.T, script func(n int, q asked) (status int, body string)) (*hogapi.Client, *[]asked) {
	t.Helper()
	var all []asked
	atOnce := 0
	client := newFakeClient(t, roundTrip(func(r *http.Request) (*http.Response, error) {
		atOnce++
		defer func() { atOnce-- }()
		assert.Equal(t, 1, atOnce)
		if strings.HasSuffix(r.URL.Path, "/ingestion_warnings_v2/") {
			return answer(r, 200, `[{"type":"message_size_too_large","severity":"error","count":3,"last_seen":"1999-04-01T00:00:00Z"},{"type":"other","severity":"info","count":1}]`), nil
		}
		assert.Equal(t, "/api/projects/12345/query/", r.URL.Path)
		raw, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		var q asked
		assert.NoError(t, json.Unmarshal(raw, &q))
		q.from, _ = time.Parse(time.RFC3339, fmt.Sprint(q.Query.Values["start_at"]))
		q.until, _ = time.Parse(time.RFC3339, fmt.Sprint(q.Query.Values["end_at"]))
		all = append(all, q)
		if script != nil {
			status, body := script(len(all), q)
			if status < 0 { // no answer
				<-r.Context().Done()
				return nil, r.Context().Err()
			}
			if status != 0 {
				return answer(r, status, body), nil
			}
		}
		return answer(r, 200, answerOf(q)), nil
	}))
	return client, &all
}

func answerOf(q asked) string {
	var rows []string
	for at := q.from; at.Before(q.until); at = at.AddDate(0, 0, 1) {
		if at.Year() == 1999 && at.Month() == 3 {
			sum := uuidsum.Of(marchID(at.Day() - 1))
			sums := fmt.Sprint(sum.High, ",", sum.Low)
			if strings.Contains(q.Query.Query, "hash_sum") {
				sums = fmt.Sprint(sum.Hash)
			}
			rows = append(rows, fmt.Sprintf(`["%s","e",2,1,%s]`, at.Format(time.DateOnly), sums))
		}
	}
	return `{"results":[` + strings.Join(rows, ",") + `],"columns":["utc_day","event_name","copies","uuids","high_sum","low_sum"],"is_cached":false,"error":null,"new":{"x":[1]}}`
}

// The request is as the service's documentation has it: values, and no text that was put together.
func TestVerifyRequest(t *testing.T) {
	client, all := march(t, nil)
	v, err := Verify(t.Context(), client, receiptOfMarch(), nil)
	require.NoError(t, err)
	assert.True(t, v.Complete(), "%v", v)
	assert.EqualValues(t, 31, v.Seen)
	assert.EqualValues(t, 62, v.Copies)
	require.Len(t, *all, 1, "of the days and names of the receipt")
	q := (*all)[0]
	assert.Equal(t, "HogQLQuery", q.Query.Kind)
	assert.Equal(t, "force_blocking", q.Refresh)
	assert.Equal(t, "hogapi verify hogapi-march", q.Name)
	assert.Equal(t, map[string]any{"start_at": "1999-03-01T00:00:00Z", "end_at": "1999-04-01T00:00:00Z", "name_2": "e"}, q.Query.Values)
	assert.Contains(t, q.Query.Query, "AND event IN ({name_2})")
	assert.NotContains(t, q.Query.Query, "properties", "which the service need not read")
	assert.Contains(t, q.Query.Query, "LIMIT 50000")
	assert.NotContains(t, q.Query.Query, "march")
}

// If the service finds a query too much, Verify asks for smaller parts, down to single days, each once.
func TestVerifyHalves(t *testing.T) {
	t.Parallel()
	full := `{"results":[` + strings.TrimSuffix(strings.Repeat(`["1999-03-01","e",1,1],`, 50_000), ",") + `]}`
	for name, tt := range map[string]struct {
		status int
		body   string
		days   int // that are not too much
		asked  int
		took   time.Duration
	}{
		"504":           {504, `{"type":"server_error","code":"query_timeout","detail":"too slow"}`, 5, 7 + 8, 0},
		"512":           {512, `{"type":"server_error","code":"error","detail":"too slow"}`, 5, 7 + 8, 0},
		"a proxy's 504": {504, "<html>", 5, 7 + 8, 0},
		"no answer":     {-1, "", 5, 7 + 8, 7 * queryTry},
		"a full page":   {200, full, 16, 1 + 2, 0},
		"50 MB":         {200, `{"results":[` + strings.Repeat(" ", 50<<20) + `]}`, 16, 1 + 2, 0},
	} {
		t.Run(name, bubble(func(t *testing.T) {
			client, all := march(t, func(_ int, q asked) (int, string) {
				if q.until.Sub(q.from) > time.Duration(tt.days)*24*time.Hour {
					return tt.status, tt.body
				}
				return 0, ""
			})
			begin := time.Now()
			v, err := Verify(t.Context(), client, receiptOfMarch(), nil)
			require.NoError(t, err)
			assert.True(t, v.Complete(), "%v", v)
			assert.Len(t, *all, tt.asked, "31 days, halved until there are few enough: no window twice")
			assert.Equal(t, tt.took, time.Since(begin), "a query that takes too long is not repeated")
		}))
	}
}

// A look that fails is not a look that saw nothing: nothing is called missing, and the reason is given.
func TestVerifyWrongAnswers(t *testing.T) {
	const ok = `"results":[["1999-03-01","e",1,1]]`
	for name, tt := range map[string]struct {
		status int
		body   string
		want   string
	}{
		"from a cache":         {200, `{` + ok + `,"is_cached":true}`, "from a cache"},
		"an error in a 200":    {200, `{` + ok + `,"error":"memory"}`, "an error of its own"},
		"HTML":                 {200, `<html><body>results</body></html>`, "cannot be decoded"},
		"empty":                {200, ``, "empty body"},
		"more, it says":        {200, `{` + ok + `,"hasMore":true}`, "may lack rows"},
		"a row twice":          {200, `{"results":[["1999-03-01","e",1,1],["1999-03-01","e",1,1]]}`, "outside the query, or a row twice"},
		"another month":        {200, `{"results":[["1999-05-01","e",1,1]]}`, "outside the query"},
		"async":                {202, `{"query_status":{"id":"1","complete":false}}`, "results missing"},
		"refused":              {400, `{"type":"validation_error","code":"hogql_query_error","detail":"Unable to resolve field: toTimeZone"}`, "Unable to resolve field"},
		"server error":         {500, `{"type":"server_error","code":"error","detail":"ClickHouse error while executing query."}`, "ClickHouse error"},
		"at capacity, forever": {503, `{"type":"server_error","code":"error","detail":"at capacity"}`, "at capacity"},
		"throttled, forever":   {429, `{"type":"throttled_error","code":"throttled","detail":"Request was throttled."}`, "throttled"},
	} {
		t.Run(name, bubble(func(t *testing.T) {
			client, _ := march(t, func(int, asked) (int, string) { return tt.status, tt.body })
			v, err := Verify(t.Context(), client, receiptOfMarch(), nil)
			require.NoError(t, err)
			assert.Equal(t, VerificationUnknown, v.State, "%v", v)
			assert.False(t, v.Complete())
			assert.Zero(t, v.MissingEvents)
			assert.Contains(t, v.Cells[0].Reason, "the count failed: ")
			assert.Contains(t, v.Cells[0].Reason, tt.want)
			assert.NotContains(t, v.String(), testPersonalKey)
		}))
	}
}

// An error that the caller can correct names its remedy.
func TestVerifyErrors(t *testing.T) {
	for status, tt := range map[int]struct {
		code string
		is   error
		want string
	}{
		401: {"authentication_failed", hogapi.ErrUnauthorized, "personal API key"},
		403: {"permission_denied", hogapi.ErrForbidden, "query:read"},
		404: {"not_found", hogapi.ErrNotFound, "not found"},
	} {
		client, _ := march(t, func(int, asked) (int, string) {
			return status, fmt.Sprintf(`{"type":"x","code":%q,"detail":"it was not found"}`, tt.code)
		})
		_, err := Verify(t.Context(), client, receiptOfMarch(), nil)
		require.ErrorIs(t, err, tt.is)
		assert.ErrorContains(t, err, tt.want)
	}
	client, all := march(t, nil)
	_, err := Verify(nil, client, receiptOfMarch(), nil) //nolint:staticcheck // on purpose
	require.ErrorIs(t, err, hogapi.ErrInvalid)
	assert.Empty(t, *all)
}

// A host that is never reached is asked once, not for each month.
func TestVerifyUnreachable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		client := newFakeClient(t, roundTrip(func(*http.Request) (*http.Response, error) {
			tries++
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errCut}
		}), hogapi.WithRetryPolicy(hogapi.RetryPolicy{MaxTries: 1}))
		v, err := Verify(t.Context(), client, receiptOfMarch(), nil)
		require.NoError(t, err)
		assert.Equal(t, VerificationUnknown, v.State)
		assert.Equal(t, 1, tries, "of 3 windows")
		for _, c := range v.Cells {
			assert.Equal(t, VerificationUnknown, c.State)
		}
	})
}

// If some cells cannot be counted, the state still shows the result of the others, and Verify adds warnings that explain it.
func TestVerifyStates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		receipt := receiptOfMarch()
		receipt.Days[4].Acknowledged += 2
		receipt.Days = append(receipt.Days, event.DayCount{Day: "1999-03-05", Event: "$exception", Acknowledged: 2}, event.DayCount{Day: "1999-03-06", Event: "r", Rejected: 9})
		receipt.Acknowledged += 4
		client, _ := march(t, nil)
		v, err := Verify(t.Context(), client, receipt, &VerifyOptions{Wait: true})
		require.NoError(t, err)
		assert.Equal(t, VerificationMissing, v.State)
		assert.EqualValues(t, 2, v.MissingEvents)
		assert.Equal(t, []string{"$exception"}, v.Uncountable)
		require.Len(t, v.Warnings, 1)
		assert.Equal(t, "message_size_too_large", v.Warnings[0].Type)
		states := map[VerificationState]int{}
		for _, c := range v.Cells {
			states[c.State]++
		}
		assert.Equal(t, map[VerificationState]int{VerificationComplete: 30, VerificationMissing: 1, VerificationUnknown: 1}, states)
		assert.Equal(t, 7, v.Looks, "the import ended long ago: an hour is enough, after 0, 1, 3, 7, 15, 31 and 61 minutes")

		receipt.Warnings = map[event.Warning]int64{event.WarningOwnJobID: 2}
		v, err = Verify(t.Context(), client, receipt, &VerifyOptions{Wait: true})
		require.NoError(t, err)
		assert.Equal(t, VerificationUnknown, v.State, "counting cannot find them")
		assert.Contains(t, v.String(), "2 events of the import have an $import_job_id of their own")
	})
}

// A stored Verification is read again as it was; another text is refused.
func TestVerificationJSON(t *testing.T) {
	client, _ := march(t, nil)
	v, err := Verify(t.Context(), client, receiptOfMarch(), nil)
	require.NoError(t, err)
	raw, err := json.Marshal(v)
	require.NoError(t, err)
	var again Verification
	require.NoError(t, json.Unmarshal(raw, &again))
	assert.Equal(t, v, again)
	require.ErrorIs(t, json.Unmarshal([]byte(`{}`), &again), hogapi.ErrInvalid, "an empty object is not complete")
	var none Verification
	assert.False(t, none.Complete())
}

func marchID(i int) uuid.UUID { return uuid.UUID{0: 0xab, 6: 0x40, 8: 0x80, 15: byte(i + 1)} }

// Verify reads no events after the last settled one: events that a source has gained since the import are not missing.
func TestVerifyReadsWhatWasImported(t *testing.T) {
	receipt := receiptOfMarch()
	receipt.Last = event.Position{Key: "rules", Offset: 31}
	var events []event.Event
	for i := range 32 { // one more came after the import
		events = append(events, event.Event{Name: "e", DistinctID: "d", Timestamp: time.Date(1999, 3, min(i+1, 31), 0, 0, 0, 0, time.UTC), UUID: marchID(i)})
	}
	sent := walked(t, (VerifyOptions{Source: sourceOf(events...)}).sent(t.Context(), receipt))
	require.Len(t, sent, 31)
	for i, ev := range sent {
		assert.Equal(t, marchID(i), ev.ID)
	}
	broken := errors.New("the tape broke")
	for _, err := range (VerifyOptions{Source: Func("broken", func(context.Context, event.Position) iter.Seq2[event.Event, error] {
		return func(yield func(event.Event, error) bool) { yield(event.Event{}, broken) }
	})}).sent(t.Context(), receipt) {
		require.ErrorIs(t, err, broken)
	}
}

// A verification that an earlier version stored is read whole.
func TestStoredVerificationIsRead(t *testing.T) {
	var v Verification
	require.NoError(t, json.Unmarshal([]byte(`{"id":"a","state":"complete","unsure":2,"cells":[{"day":"2026-01-02","event":"e","unsure":1}]}`), &v))
	require.Equal(t, []int64{2, 1}, []int64{v.Unconfirmed, v.Cells[0].Unconfirmed})
	require.Equal(t, "a", v.ID)
}
