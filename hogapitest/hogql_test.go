package hogapitest_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/hogapitest"
)

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
func TestQueriesInOtherForms(t *testing.T) {
	w := counted(t)
	values := map[string]any{"job_id": "job", "start_at": "2025-01-01T00:00:00Z", "end_at": "2025-02-01T00:00:00Z", "one_event": "signed up", "after_id": ""}
	const where = ` FROM events WHERE properties.$import_job_id = {job_id} AND timestamp >= toDateTime({start_at}) AND timestamp < toDateTime({end_at})`
	for query, want := range map[string]string{
		"SELECT toDate(toTimeZone(timestamp, 'UTC')) AS utc_day, event AS event_name, count() AS copies, uniqExact(uuid) AS uuids" + where +
			" GROUP BY utc_day, event_name ORDER BY utc_day, event_name LIMIT 50000": `[["2025-01-02","signed up",3,2],["2025-01-03","signed up",1,1]]`,
		"select uniqExact(uuid) u, count() as `the copies`, toDate(toTimeZone(timestamp,'UTC')) d, event e" + where + " group by e, d order by d desc limit 7":  `[[1,1,"2025-01-03","signed up"],[2,3,"2025-01-02","signed up"]]`,
		"-- counts\nSELECT/* all */count()\tAS n -- copies\n" + where + "--":                                                                                    `[[4]]`,
		"SELECT distinct_id, count(DISTINCT uuid) AS n" + where + " GROUP BY distinct_id ORDER BY n DESC, distinct_id":                                          `[["user-0",1],["user-1",1],["user-2",1]]`,
		"SELECT e.distinct_id AS who, count() AS n FROM events AS e WHERE e.properties['$import_job_id'] = {job_id} GROUP BY who ORDER BY who":                  `[["user-0",1],["user-1",2],["user-2",1]]`,
		"SELECT toString(uuid) AS uuid_text" + where + " AND event = {one_event} AND toString(uuid) > {after_id} GROUP BY uuid_text ORDER BY uuid_text LIMIT 2": `[["00000000-0000-4000-8000-000000000001"],["00000000-0000-4000-8000-000000000002"]]`,
		"SELECT count() AS n" + where + " AND (event = 'never' OR NOT (distinct_id != 'user-0'))":                                                               `[[1]]`,
		"SELECT count() AS n" + where + " AND distinct_id IN ('user-0', 'user-2') AND timestamp BETWEEN toDateTime({start_at}) AND toDateTime({end_at})":        `[[2]]`,
		"SELECT count() AS n" + where + " AND distinct_id NOT IN ('user-0', 'user-2') HAVING count() > 1":                                                       `[[2]]`,
		"SELECT count() AS n FROM events WHERE timestamp >= toDateTime('2025-01-02T23:30:00Z')":                                                                 `[[3]]`,
		"SELECT count() AS copies, uniqExact(uuid) AS uuids, min(toTimeZone(timestamp, 'UTC')) AS a, max(toTimeZone(timestamp, 'UTC')) AS b" + where:            `[[4,3,"2025-01-02T22:30:00Z","2025-01-03T00:00:00Z"]]`,
		"SELECT utc_day, sum(of_one) AS copies, count() AS uuids, sum(reinterpretAsUInt64(reverse(unhex(substring(replaceAll(toString(one_uuid), '-', ''), 17, 8))))) AS high" +
			", sum(reinterpretAsUInt64(reverse(unhex(substring(replaceAll(toString(one_uuid),'-',''),25,8))))) AS low FROM (SELECT toDate(toTimeZone(timestamp, 'UTC')) AS utc_day" +
			", uuid AS one_uuid, count() AS of_one" + where + " GROUP BY utc_day, one_uuid) GROUP BY utc_day ORDER BY utc_day": `[["2025-01-02",3,2,4294967296,3],["2025-01-03",1,1,2147483648,3]]`,
		"SELECT n, count() FROM (SELECT event, count() AS n FROM events GROUP BY event ORDER BY n LIMIT 1) AS x WHERE n > 1 GROUP BY n": `[[5,1]]`,
	} {
		assert.JSONEq(t, want, w.rows(query, values), query)
	}
	var row [][]string
	require.NoError(t, json.Unmarshal([]byte(w.rows("SELECT properties"+where+" AND distinct_id = 'user-0'", values)), &row))
	assert.Contains(t, row[0][0], `"$import_job_id":"job"`, "properties are JSON as text")
	assert.Equal(t, []any{"u", "the copies"}, w.asked("SELECT uniqExact(uuid) u, count() `the copies` FROM events", nil)["columns"])
}

func TestMoreRefusedQueries(t *testing.T) {
	w := counted(t)
	w.key = hogapitest.DefaultPersonalKey
	for query, detail := range map[string]string{
		"SELECT event, count() FROM events":                                            "not in GROUP BY",
		"SELECT event, count() FROM events GROUP BY distinct_id":                       "not in GROUP BY",
		"SELECT count() FROM events GROUP BY event ORDER BY uuid":                      "not in GROUP BY",
		"SELECT event FROM events WHERE count() > 1":                                   "Aggregate function",
		"SELECT event FROM events HAVING event = 'a'":                                  "HAVING",
		"SELECT event FROM events LIMIT 5, 5":                                          "OFFSET",
		"SELECT event FROM events LIMIT 0":                                             "LIMIT",
		"SELECT event FROM events WHERE (event = 'a'":                                  "mismatched input",
		"SELECT event FROM events WHERE event = 'a' AND":                               "mismatched input",
		"SELECT event FROM events /* endless":                                          "unterminated comment",
		"SELECT historical_migration FROM events":                                      "Unable to resolve field",
		"SELECT uuid FROM (SELECT event FROM events)":                                  "Unable to resolve field",
		"SELECT x FROM (SELECT x FROM (SELECT event FROM events))":                     "Unable to resolve field",
		"SELECT event FROM (SELECT event FROM persons)":                                "Unknown table",
		"SELECT sum(event) FROM events":                                                "Illegal type",
		"SELECT reinterpretAsUInt64(unhex('x')) FROM events":                           "Illegal type",
		"SELECT other.event FROM events AS e":                                          "Unable to resolve field",
		"SELECT event FROM events WHERE uuid = 'seven'":                                "Cannot parse UUID",
		"SELECT event FROM events WHERE timestamp > toDateTime('soon')":                "Illegal type",
		"SELECT event FROM events WHERE toDate(toTimeZone(timestamp, 'Nowhere')) > ''": "Unknown time zone",
		"INSERT INTO events":                                                           "expecting SELECT",
	} {
		status, out := w.call("POST", "/query/", hogQL(query, nil))
		assert.Equal(t, 400, status, query)
		assert.Contains(t, fmt.Sprint(out["detail"]), detail, query)
	}
}

// Without force_blocking the answer may come from the cache of the last 24 hours.
func TestQueriesAreCached(t *testing.T) {
	c := &clock{now}
	w := inProcess(t, hogapitest.WithClock(c.now))
	ask := func(refresh string) (n, cached any) {
		w.key = hogapitest.DefaultPersonalKey
		status, out := w.call("POST", "/query/", strings.Replace(hogQL("SELECT count() FROM events", nil), `"refresh":"force_blocking"`, refresh, 1))
		require.Equal(t, 200, status, out)
		return out["results"].([]any)[0].([]any)[0], out["is_cached"]
	}
	w.batch(historical(event(1)))
	ask(`"refresh":"blocking"`)
	w.batch(historical(event(2)))
	for _, test := range []struct {
		refresh string
		count   float64
		cached  bool
	}{
		{`"refresh":"blocking"`, 1, true},
		{`"name":"without"`, 1, true},
		{`"refresh":"force_cache"`, 1, true},
		{`"refresh":true`, 2, false},
		{`"refresh":"blocking"`, 2, true},
	} {
		n, cached := ask(test.refresh)
		assert.Equal(t, []any{test.count, test.cached}, []any{n, cached}, test.refresh)
	}
	w.batch(historical(event(3)))
	n, _ := ask(`"refresh":"force_blocking"`)
	assert.EqualValues(t, 3, n)
	w.batch(historical(event(4)))
	c.at = now.Add(25 * time.Hour)
	n, cached := ask(`"refresh":"blocking"`)
	assert.Equal(t, []any{4.0, false}, []any{n, cached})
	w.key = hogapitest.DefaultPersonalKey
	w.refused(400, "invalid_input", "POST", "/query/", strings.Replace(hogQL("SELECT count() FROM events", nil), "force_blocking", "async", 1))
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

// A uuid of version 7 is searched around the time in it only, as text it is found.
func TestLookUpsByUUID(t *testing.T) {
	w := inProcess(t)
	const v7 = "0195a1b2-0000-7000-8000-000000000001" // of March 2025
	w.batch(historical(strings.Replace(event(1), uuids(1)[0].String(), v7, 1), event(2)))
	values := map[string]any{"id": v7}
	assert.JSONEq(t, `[[0]]`, w.rows("SELECT count() FROM events WHERE uuid = {id}", values))
	assert.JSONEq(t, `[[0]]`, w.rows("SELECT count() FROM events WHERE uuid IN (toUUID({id}))", values))
	assert.JSONEq(t, `[[1]]`, w.rows("SELECT count() FROM events WHERE toString(uuid) = {id}", values))
	assert.JSONEq(t, `[[1]]`, w.rows("SELECT count() FROM events WHERE uuid = {id}", map[string]any{"id": uuids(2)[0].String()}))
}
