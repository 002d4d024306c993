package hogapitest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
)

// hogQL is the body of a query.
func hogQL(query string, values map[string]any) string {
	body, err := json.Marshal(map[string]any{"query": map[string]any{"kind": "HogQLQuery", "query": query, "values": values}, "refresh": "force_blocking"})
	if err != nil {
		panic(err)
	}
	return string(body)
}

// counted is a server with 4 commits of 3 events, on two days.
func counted(t *testing.T, options ...hogapitest.Option) *wire {
	w := inProcess(t, options...)
	job := func(n int, at string) string {
		e := strings.Replace(event(n), `{"n":`, `{"$import_job_id":"job","n":`, 1)
		return strings.Replace(e, "2025-01-02T03:04:05.678Z", at, 1)
	}
	require.Equal(t, 200, w.batch(historical(job(1, "2025-01-02T23:30:00Z"), job(2, "2025-01-03T00:30:00+02:00"), job(3, "2025-01-03T00:00:00Z"), event(4))).StatusCode)
	require.Equal(t, 200, w.batch(historical(job(1, "2025-01-02T23:30:00Z"))).StatusCode)
	w.key = hogapitest.DefaultPersonalKey
	return w
}

// asked is the answer to a query that must succeed.
func (w *wire) asked(query string, values map[string]any) map[string]any {
	w.t.Helper()
	w.key = hogapitest.DefaultPersonalKey
	status, out := w.call("POST", "/query/", hogQL(query, values))
	require.Equal(w.t, 200, status, "%s: %v", query, out)
	return out
}

// rows are the results as JSON.
func (w *wire) rows(query string, values map[string]any) string {
	w.t.Helper()
	text, err := json.Marshal(w.asked(query, values)["results"])
	require.NoError(w.t, err)
	return string(text)
}

// A client may write its queries as it likes: names, blanks, comments and the order of columns are its own affair.
func TestQueries(t *testing.T) {
	w := counted(t)
	values := map[string]any{"job_id": "job", "start_at": "2025-01-01T00:00:00Z", "end_at": "2025-02-01T00:00:00Z", "one_event": "signed up", "after_id": ""}
	const where = ` FROM events WHERE properties.$import_job_id = {job_id} AND timestamp >= toDateTime({start_at}) AND timestamp < toDateTime({end_at})`
	for query, want := range map[string]string{
		"SELECT count() AS copies, uniqExact(uuid) AS uuids FROM events WHERE properties.$import_job_id = {job_id}": `[[4,3]]`,
		"SELECT toDate(toTimeZone(timestamp, 'UTC')) AS utc_day, uniqExact(uuid) AS n FROM events WHERE properties.$import_job_id = 'job' " +
			"GROUP BY utc_day ORDER BY utc_day LIMIT 5": `[["2025-01-02",2],["2025-01-03",1]]`,
		"SELECT toDate(toTimeZone(timestamp, 'Europe/Berlin')) AS d, count() FROM events GROUP BY d ORDER BY d":                                     `[["2025-01-02",2],["2025-01-03",3]]`,
		"SELECT min(timestamp) AS a, max(timestamp) FROM events WHERE event = 'signed up' AND properties.n >= '2'":                                  `[["2025-01-02T03:04:05.678Z","2025-01-03T00:00:00Z"]]`,
		"SELECT count() AS n, min(timestamp) AS a FROM events WHERE event = 'never'":                                                                `[[0,"1970-01-01T00:00:00Z"]]`,
		"SELECT toString(uuid) AS id FROM events WHERE timestamp >= toDateTime('2025-01-03T00:00:00Z')":                                             `[["00000000-0000-4000-8000-000000000003"]]`,
		"SELECT distinct_id, count() AS n FROM events GROUP BY distinct_id HAVING count() > 1 ORDER BY distinct_id LIMIT 1":                         `[["user-1",3]]`,
		"SELECT toStartOfDay(timestamp) AS d, toStartOfDay(timestamp, 'Asia/Tokyo') AS e FROM events WHERE properties.n = '4'":                      `[["2025-01-02T00:00:00Z","2025-01-02T00:00:00+09:00"]]`,
		"SELECT toString(uuid) AS event, count() AS n FROM events WHERE event > '00000000-0000-4000-8000-000000000003' GROUP BY event HAVING n > 0": `[["00000000-0000-4000-8000-000000000004",1]]`,
		"SELECT count() AS n FROM events WHERE NOT (event = 'x' AND distinct_id = 'y') AND distinct_id <= 'user-0'":                                 `[[1]]`,
		"SELECT toDate(toDateTime('1960-01-01')) AS d, toDateTime(timestamp) AS t FROM events WHERE distinct_id = 'user-0'":                         `[["1970-01-01","2025-01-03T00:00:00Z"]]`,
		"SELECT properties.$import_job_id AS job FROM events WHERE distinct_id != 'user-2' ORDER BY job":                                            `[["job"],["job"],["job"],[null]]`,
		"SELECT event FROM events WHERE event = 'it''s \\'here\\''":                                                                                 `[]`,
		"SELECT toDate(toTimeZone(timestamp, 'UTC')) AS utc_day, event AS event_name, count() AS copies, uniqExact(uuid) AS uuids" + where +
			" GROUP BY utc_day, event_name ORDER BY utc_day, event_name LIMIT 50000": `[["2025-01-02","signed up",3,2],["2025-01-03","signed up",1,1]]`,
		"select uniqExact(uuid) as u, count() as copies, toDate(toTimeZone(timestamp,'UTC')) as d, event as e" + where + " group by e, d order by d desc limit 7": `[[1,1,"2025-01-03","signed up"],[2,3,"2025-01-02","signed up"]]`,
		"-- counts\nSELECT count()\tAS n -- copies\n" + where + "--":                                                                                            `[[4]]`,
		"SELECT distinct_id, uniqExact(uuid) AS n" + where + " GROUP BY distinct_id ORDER BY n DESC, distinct_id":                                               `[["user-0",1],["user-1",1],["user-2",1]]`,
		"SELECT toString(uuid) AS uuid_text" + where + " AND event = {one_event} AND toString(uuid) > {after_id} GROUP BY uuid_text ORDER BY uuid_text LIMIT 2": `[["00000000-0000-4000-8000-000000000001"],["00000000-0000-4000-8000-000000000002"]]`,
		"SELECT toString(uuid) AS uuid_text" + where + " AND toString(uuid) > '00000000-0000-4000-8000-000000000001' ORDER BY uuid_text DESC":                   `[["00000000-0000-4000-8000-000000000003"],["00000000-0000-4000-8000-000000000002"]]`,
		"SELECT count() AS n" + where + " AND (event = 'never' OR NOT (distinct_id != 'user-0'))":                                                               `[[1]]`,
		"SELECT count() AS n" + where + " AND distinct_id IN ('user-0', 'user-2')":                                                                              `[[2]]`,
		"SELECT count() AS n" + where + " AND NOT distinct_id IN ('user-0', 'user-2') HAVING count() > 1":                                                       `[[2]]`,
		"SELECT count() AS n FROM events WHERE timestamp >= toDateTime('2025-01-02T23:30:00Z')":                                                                 `[[3]]`,
		"SELECT count() AS copies, uniqExact(uuid) AS uuids, min(toTimeZone(timestamp, 'UTC')) AS a, max(toTimeZone(timestamp, 'UTC')) AS b" + where:            `[[4,3,"2025-01-02T22:30:00Z","2025-01-03T00:00:00Z"]]`,
		"SELECT utc_day, sum(of_one) AS copies, count() AS uuids, sum(reinterpretAsUInt64(reverse(unhex(substring(replaceAll(toString(one_uuid), '-', ''), 17, 8))))) AS high" +
			", sum(reinterpretAsUInt64(reverse(unhex(substring(replaceAll(toString(one_uuid),'-',''),25,8))))) AS low FROM (SELECT toDate(toTimeZone(timestamp, 'UTC')) AS utc_day" +
			", uuid AS one_uuid, count() AS of_one" + where + " GROUP BY utc_day, one_uuid) GROUP BY utc_day ORDER BY utc_day": `[["2025-01-02",3,2,4294967296,3],["2025-01-03",1,1,2147483648,3]]`,
		"SELECT n, count() FROM (SELECT event, count() AS n FROM events GROUP BY event ORDER BY n LIMIT 1) WHERE n > 1 GROUP BY n": `[[5,1]]`,
	} {
		out := w.asked(query, values)
		got, err := json.Marshal(out["results"])
		require.NoError(t, err)
		assert.JSONEq(t, want, string(got), query)
		assert.Equal(t, false, out["is_cached"])
	}
	var row [][]string
	require.NoError(t, json.Unmarshal([]byte(w.rows("SELECT properties"+where+" AND distinct_id = 'user-0'", values)), &row))
	assert.Contains(t, row[0][0], `"$import_job_id":"job"`, "properties are JSON as text")
	assert.Equal(t, []any{"u", "count"}, w.asked("SELECT uniqExact(uuid) AS u, count() FROM events", nil)["columns"])
}

// The fake refuses with 400, as the service does: unknown functions, too few or too many arguments, and more.
func TestRefusedQueries(t *testing.T) {
	from := func(expression string) string { return "SELECT " + expression + " AS x FROM events" }
	newest, oldest := counted(t), counted(t, hogapitest.WithOldService())
	for query, detail := range map[string]string{
		from("toDate(timestamp, 'UTC')"):                    "Function 'toDate' expects 1 arguments, found 2",
		from("toDate()"):                                    "Function 'toDate' expects 1 arguments, found 0",
		from("count(uuid, event)"):                          "Function 'count' expects 0 to 1 arguments, found 2",
		from("uniqExact()"):                                 "Function 'uniqExact' expects 1 to 4 arguments, found 0",
		from("min()"):                                       "Function 'min' expects 1 arguments, found 0",
		from("max(uuid, uuid)"):                             "Function 'max' expects 1 arguments, found 2",
		from("toDateTime('2025-01-01', 'UTC', 'UTC')"):      "Function 'toDateTime' expects 1 to 2 arguments, found 3",
		from("toTimeZone(timestamp, 'UTC', 'UTC')"):         "Function 'toTimeZone' expects 1 to 2 arguments, found 3",
		from("toStartOfDay()"):                              "Function 'toStartOfDay' expects 1 to 2 arguments, found 0",
		from("sleep(3)"):                                    "Unsupported function call 'sleep(...)'",
		from("todate(timestamp)"):                           "Unsupported function call 'todate(...)'",
		from("nothing"):                                     "Unable to resolve field: nothing",
		from("{missing}"):                                   "Unresolved placeholder: {missing}",
		from("toDate(event)"):                               "Illegal type string of argument 1",
		"SELECT event FROM events WHERE timestamp > '2025'": "There is no supertype",
		"SELECT event FROM persons":                         `Unknown table "persons"`,
		"SELECT event FROM events LIMIT 5 OFFSET 5":         "OFFSET is not supported",
		"SELECT event FROM events WHERE event = 'it's'":     "token recognition error",
		"SELECT event FROM events WHERE event":              "Illegal type of column for filter",
		"SELECT event FROM events; DROP TABLE events":       `token recognition error at: "; DROP`,
		"":                                  "expecting SELECT",
		"SELECT event, count() FROM events": "not in GROUP BY",
		"SELECT event, count() FROM events GROUP BY distinct_id":                       "not in GROUP BY",
		"SELECT count() FROM events GROUP BY event ORDER BY uuid":                      "not in GROUP BY",
		"SELECT event FROM events WHERE count() > 1":                                   "Aggregate function",
		"SELECT event FROM events HAVING event = 'a'":                                  "HAVING",
		"SELECT event FROM events LIMIT 5, 5":                                          "OFFSET",
		"SELECT event FROM events LIMIT 0":                                             "LIMIT",
		"SELECT event FROM events WHERE (event = 'a'":                                  "mismatched input",
		"SELECT event FROM events WHERE event = 'a' AND":                               "mismatched input",
		"SELECT historical_migration FROM events":                                      "Unable to resolve field",
		"SELECT uuid FROM (SELECT event FROM events)":                                  "Unable to resolve field",
		"SELECT x FROM (SELECT x FROM (SELECT event FROM events))":                     "Unable to resolve field",
		"SELECT event FROM (SELECT event FROM persons)":                                "Unknown table",
		"SELECT sum(event) FROM events":                                                "Illegal type",
		"SELECT reinterpretAsUInt64(unhex('x')) FROM events":                           "Illegal type",
		"SELECT event FROM events WHERE uuid = 'seven'":                                "compare a uuid by toString(uuid)",
		"SELECT event FROM events ORDER BY uuid":                                       "compare a uuid by toString(uuid)",
		"SELECT event FROM events ORDER BY event, event, event, event, event":          "by 4 expressions at most",
		"SELECT event FROM events WHERE timestamp > toDateTime('soon')":                "Illegal type",
		"SELECT event FROM events WHERE toDate(toTimeZone(timestamp, 'Nowhere')) > ''": "Unknown time zone",
		"SELECT event FROM events AS e":                                                `mismatched input "AS"`,
		"SELECT 1.2.3 FROM events":                                                     `mismatched input "1.2.3"`,
		"SELECT event FROM events WHERE = 'a'":                                         `mismatched input "="`,
		"INSERT INTO events":                                                           "expecting SELECT",
	} {
		assert.Contains(t, newest.want(400, "POST", "/query/", hogQL(query, nil))["detail"], detail, query)
		oldest.refused(400, "invalid_input", "POST", "/query/", hogQL(query, nil))
	}
	w := inProcess(t) // without events too
	w.refused(400, "hogql_query_error", "POST", "/query/", hogQL(from("nothing"), nil))
	w.refused(400, "invalid_input", "POST", "/query/", `{"query":{"kind":"EventsQuery"}}`)
	cached := strings.Replace(hogQL("SELECT count() FROM events", nil), "force_blocking", "blocking", 1)
	assert.Contains(t, w.refused(400, "invalid_input", "POST", "/query/", cached), "set refresh to force_blocking")
}

// toTimeZone and toDateTime take other numbers of arguments in the other age.
func TestArityByEra(t *testing.T) {
	for _, test := range []struct {
		era    hogapitest.Era
		query  string
		status int
	}{
		{hogapitest.E1, "SELECT toDateTime('2025-01-01T00:00:00Z', 'UTC') AS x FROM events", 400},
		{hogapitest.E1, "SELECT toDateTime('2025-01-01T00:00:00Z') AS x FROM events", 200},
		{hogapitest.E4, "SELECT toDateTime('2025-01-01T00:00:00Z', 'UTC') AS x FROM events", 200},
		{hogapitest.E1, "SELECT toTimeZone(timestamp) AS x FROM events", 400},
		{hogapitest.E4, "SELECT toTimeZone(timestamp) AS x FROM events", 200},
		{hogapitest.E1, "SELECT MD5('x') AS x FROM events", 400},
		{hogapitest.E1, "SELECT sum(cityHash64(toString(uuid))) AS x FROM events", 200},
	} {
		status, out := counted(t, hogapitest.WithEra(test.era)).call("POST", "/query/", hogQL(test.query, nil))
		assert.Equal(t, test.status, status, "%s %s: %v", test.era, test.query, out)
	}
}

// Servers of before September 2025 refuse the name of a query.
func TestNamesOfQueries(t *testing.T) {
	t.Parallel()
	named := strings.Replace(hogQL("SELECT count() AS n FROM events", nil), "{", `{"name":"x",`, 1)
	counted(t).want(200, "POST", "/query/", named)
	older := counted(t, hogapitest.WithOldService())
	assert.Contains(t, older.want(400, "POST", "/query/", named)["detail"], "Extra inputs are not permitted")
}

// A query reads the rows of its days and names times the columns that it names. The budget of bytes begins with a day's worth; a query
// that crosses the line is answered, and the next ones are refused until the refill is above zero.
func TestReadBudget(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	server := hogapitest.New(hogapitest.WithReadBudget(100, 500), hogapitest.WithClock(func() time.Time { return now }))
	p := server.Project(hogapitest.DefaultProject)
	for day := range 10 {
		for _, name := range []string{"a", "b"} {
			p.AddEvent(hogapitest.StoredEvent{Event: name, DistinctID: "d", Time: time.Date(2025, 1, 1+day, 12, 0, 0, 0, time.UTC)})
		}
	}
	client := server.Client(t)
	ask := func(text string) (hogapi.Reply, error) {
		var reply hogapi.Reply
		err := client.Do(t.Context(), hogapi.Request{Method: "POST", Path: "/query/", Replay: hogapi.ReplaySafe, Body: map[string]any{
			"query": history.Query{HogQL: text}, "refresh": "force_blocking",
		}}, nil, hogapi.WithReply(&reply))
		return reply, err
	}
	left := 2_400
	for text, reads := range map[string]int{
		"SELECT count() AS n FROM events WHERE timestamp >= toDateTime('2025-01-03T00:00:00Z') AND timestamp < toDateTime('2025-01-05T00:00:00Z')": 4 * 8,
		"SELECT uniqExact(uuid) AS n FROM events WHERE event = 'a'":                                                                                10 * 36,
		"SELECT uniqExact(uuid) AS n FROM events WHERE event IN ('a', 'b') AND toString(uuid) = 'x'":                                               20 * 36,
	} {
		reply, err := ask(text)
		require.NoError(t, err)
		left -= reads
		assert.Equal(t, strconv.Itoa(reads), reply.Header.Get("X-PostHog-Query-Bytes-Read"), text)
		assert.Equal(t, strconv.Itoa(left), reply.Header.Get("X-PostHog-Query-Budget-Remaining-Bytes"), text)
	}
	assert.EqualValues(t, 2_400-left, p.ReadBytes())
	reply, err := ask("SELECT count() AS n FROM events WHERE properties.$import_job_id = 'x'")
	require.NoError(t, err)
	assert.Equal(t, "-100", reply.Header.Get("X-PostHog-Query-Budget-Remaining-Bytes"), "no more than an hour's worth of debt")
	_, err = ask("SELECT count() AS n FROM events")
	api, _ := errors.AsType[*hogapi.APIError](err)
	require.NotNil(t, api)
	assert.Equal(t, []any{429, "api_queries_budget_exceeded", time.Hour}, []any{api.StatusCode, api.Code, api.RetryAfter})
	now = now.Add(61 * time.Minute)
	_, err = ask("SELECT count() AS n FROM events")
	require.NoError(t, err)
	p.SpendReadBudget(5)
	_, err = ask("SELECT count() AS n FROM events")
	require.ErrorIs(t, err, hogapi.ErrRateLimited)

	counted(t, hogapitest.WithQueryBytes(50)).refused(400, "too_many_bytes", "POST", "/query/", hogQL("SELECT uniqExact(uuid) AS n FROM events", nil))
	memory := counted(t, hogapitest.WithQueryMemory(3))
	assert.Equal(t, "clickhouse_memory_limit_exceeded", memory.want(513, "POST", "/query/", hogQL("SELECT uniqExact(uuid) AS n FROM events", nil))["code"])
}

// Without a LIMIT there are 100 rows and a flag that says whether there are more. The events of other projects are not counted.
func TestQueryLimits(t *testing.T) {
	w := inProcess(t, hogapitest.WithPersonalKey(hogapitest.DefaultPersonalKey, "query:read"), hogapitest.WithPersonalKey("phx_other", "dashboard:read"))
	w.Project("77")
	var list []string
	for n := range 101 {
		list = append(list, event(n))
	}
	require.Equal(t, 200, w.batch(historical(list...)).StatusCode)
	w.key = hogapitest.DefaultPersonalKey
	for query, want := range map[string][2]any{
		"SELECT uuid FROM events":                         {100, true},
		"SELECT uuid FROM events ORDER BY toString(uuid)": {100, true},
		"SELECT uuid FROM events LIMIT 99":                {99, nil},
		"SELECT uuid FROM events LIMIT 200":               {101, nil},
	} {
		out := w.want(200, "POST", "/query/", hogQL(query, nil))
		assert.Len(t, out["results"], want[0].(int), query)
		assert.Equal(t, want[1], out["hasMore"], query)
	}
	_, out := w.call("POST", "/api/projects/77/query/", hogQL("SELECT uuid FROM events", nil))
	assert.Empty(t, out["results"])
	w.key = "phx_other"
	assert.Equal(t, "API key missing required scope 'query:read'", w.refused(403, "permission_denied", "POST", "/query/", hogQL("SELECT uuid FROM events", nil)))

	compact := inProcess(t, hogapitest.WithCompactLedger())
	assert.Contains(t, fmt.Sprint(compact.refused(400, "invalid_input", "POST", "/query/", hogQL("SELECT uuid FROM events WHERE properties.n = '1'", nil))), "compact")
	compact.want(200, "POST", "/query/", hogQL("SELECT uuid FROM events WHERE properties.$import_job_id = 'a'", nil))
}

// A bare timestamp is in the project's zone, and so is a text without one.
func TestQueriesInTheProjectsZone(t *testing.T) {
	zone := time.FixedZone("UTC+2", 2*3600)
	w := counted(t, hogapitest.WithTimezone(zone))
	for query, want := range map[string]string{
		"SELECT toDate(timestamp) AS d, count() AS n FROM events GROUP BY d ORDER BY d":                    `[["2025-01-02",1],["2025-01-03",4]]`,
		"SELECT toDate(toTimeZone(timestamp, 'UTC')) AS d, count() AS n FROM events GROUP BY d ORDER BY d": `[["2025-01-02",4],["2025-01-03",1]]`,
		"SELECT count() FROM events WHERE timestamp >= toDateTime('2025-01-03 02:00:00')":                  `[[1]]`,
		"SELECT count() FROM events WHERE timestamp >= toDateTime('2025-01-03T02:00:00Z')":                 `[[0]]`,
		"SELECT count() FROM events WHERE timestamp >= toDateTime('2025-01-03 00:00:00', 'UTC')":           `[[1]]`,
	} {
		assert.JSONEq(t, want, w.rows(query, nil), query)
	}
}

// imported is a server with some events of one import, over several days and two names.
func imported(t *testing.T, numbers ...int) *wire {
	w := inProcess(t)
	w.importAll(numbers...)
	return w
}

func (w *wire) importAll(numbers ...int) {
	w.t.Helper()
	var list []string
	for _, n := range numbers {
		e := v1Event(n, "properties", `{"$import_job_id":"job"}`, "timestamp", fmt.Sprintf(`"2025-01-%02dT10:00:00Z"`, n%3+1), "event", fmt.Sprintf(`"e%d"`, n%2))
		list = append(list, e)
	}
	require.Equal(w.t, 200, w.post(v1Batch(list...), try(1, uuid.NewString(), now)...).StatusCode)
}

func (w *wire) count(of string) string {
	w.t.Helper()
	return w.rows("SELECT "+of+" FROM events WHERE properties.$import_job_id = 'job'", nil)
}

func upTo(n int) (list []int) {
	for i := range n {
		list = append(list, i+1)
	}
	return list
}

func TestEventsArriveLate(t *testing.T) {
	w := imported(t, 1, 2)
	w.HoldEvents()
	w.importAll(3, 4, 5)
	assert.Equal(t, 5, w.Ledger().Len())
	assert.JSONEq(t, `[[2]]`, w.count("count()"))
	w.ReleaseEvents(2)
	assert.JSONEq(t, `[[4]]`, w.count("count()"))
	assert.JSONEq(t, `[["`+uuids(4)[0].String()+`"]]`, w.rows("SELECT max(toString(uuid)) FROM events", nil))
	w.ReleaseEvents(-1)
	w.importAll(6)
	assert.JSONEq(t, `[[6]]`, w.count("count()"))
}

func TestCopiesMergeLate(t *testing.T) {
	w := imported(t, upTo(6)...)
	w.importAll(upTo(4)...)
	assert.JSONEq(t, `[[10,6]]`, w.count("count(), uniqExact(uuid)"))
	w.MergeEvents()
	assert.JSONEq(t, `[[6,6]]`, w.count("count(), uniqExact(uuid)"))
	assert.Equal(t, 10, w.Ledger().Len())
	w.importAll(1)
	assert.JSONEq(t, `[[7,6]]`, w.count("count(), uniqExact(uuid)"))
	w.MergeEvents()

	// The last copy stays.
	w.post(v1Batch(v1Event(1, "properties", `{"$import_job_id":"job"}`, "timestamp", `"2025-01-02T09:00:00Z"`, "event", `"e1"`)), try(1, uuid.NewString(), now)...)
	w.MergeEvents()
	assert.JSONEq(t, `[["2025-01-02T09:00:00Z"]]`, w.rows("SELECT timestamp FROM events WHERE toString(uuid) = {id}", map[string]any{"id": uuids(1)[0].String()}))

	// Another name, day or distinct id is another event, for good.
	for _, other := range [][]string{{"event", `"other"`}, {"timestamp", `"2025-02-01T00:00:00Z"`}, {"distinct_id", `"other"`}} {
		base := []string{"properties", `{"$import_job_id":"job"}`, "timestamp", `"2025-01-02T10:00:00Z"`, "event", `"e1"`}
		w.post(v1Batch(v1Event(1, append(base, other...)...)), try(1, uuid.NewString(), now)...)
	}
	w.MergeEvents()
	assert.JSONEq(t, `[[9,6]]`, w.count("count(), uniqExact(uuid)"))
}

// A second import with other times of the same day replaces the first one, except in the newer table: there it doubles the
// events, and only copies with an equal time merge.
func TestCopiesWithOtherTimesOfADay(t *testing.T) {
	for want, options := range map[string][]hogapitest.Option{`[[3,3]]`: nil, `[[6,3]]`: {hogapitest.WithNewerEvents()}} {
		w := inProcess(t, options...)
		for _, at := range []string{"2025-01-02T10:00:00Z", "2025-01-02T11:00:00Z", "2025-01-02T11:00:00.000Z"} {
			for _, n := range upTo(3) {
				w.post(v1Batch(v1Event(n, "properties", `{"$import_job_id":"job"}`, "event", `"e1"`, "timestamp", `"`+at+`"`)), try(1, uuid.NewString(), now)...)
			}
		}
		assert.JSONEq(t, `[[9,3]]`, w.count("count(), uniqExact(uuid)"))
		w.MergeEvents()
		assert.JSONEq(t, want, w.count("count(), uniqExact(uuid)"))
	}
}

func TestEventsAreLostMovedAndForeign(t *testing.T) {
	w := imported(t, upTo(90)...)
	w.importAll(upTo(90)...) // two copies of each
	lost := w.project().LoseEvents("job", 17)
	assert.Len(t, lost, 17)
	assert.JSONEq(t, `[[146,73]]`, w.count("count(), uniqExact(uuid)"))
	for _, id := range lost {
		assert.JSONEq(t, `[[0]]`, w.rows("SELECT count() FROM events WHERE toString(uuid) = {id}", map[string]any{"id": id.String()}))
	}
	moved := w.project().MoveEvents("job", 5, -24*time.Hour*365)
	assert.Len(t, moved, 5)
	assert.JSONEq(t, `[[146,73]]`, w.count("count(), uniqExact(uuid)"))
	assert.JSONEq(t, `[[5]]`, w.rows("SELECT uniqExact(uuid) FROM events WHERE timestamp < toDateTime('2024-06-01T00:00:00Z')", nil))
	for n := range 3 {
		w.project().AddEvent(hogapitest.StoredEvent{Event: "e1", DistinctID: "x", Time: now.AddDate(-1, 0, n), Properties: []byte(`{"$import_job_id":"job"}`)})
	}
	assert.JSONEq(t, `[[76]]`, w.count("uniqExact(uuid)"))
	assert.Equal(t, 180, w.Ledger().Len())
	assert.Empty(t, w.project().LoseEvents("nothing", 3))
	assert.Len(t, w.project().LoseEvents("job", 1000), 76)
	assert.JSONEq(t, `[[0]]`, w.count("count()"))
}
