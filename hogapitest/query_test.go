package hogapitest_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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

func TestQueries(t *testing.T) {
	w := counted(t)
	for query, want := range map[string]string{
		"SELECT count() AS copies, uniqExact(uuid) AS uuids FROM events WHERE properties.$import_job_id = {job}": `[[4,3]]`,
		"SELECT toDate(toTimeZone(timestamp, 'UTC')) AS utc_day, count(DISTINCT uuid) AS n FROM events WHERE properties.$import_job_id = 'job' " +
			"GROUP BY utc_day ORDER BY utc_day LIMIT 5": `[["2025-01-02",2],["2025-01-03",1]]`,
		"SELECT toDate(toTimeZone(timestamp, 'Europe/Berlin')) AS d, count() FROM events GROUP BY d ORDER BY d":                                     `[["2025-01-02",2],["2025-01-03",3]]`,
		"SELECT min(timestamp) AS a, max(timestamp) FROM events WHERE event = 'signed up' AND properties.n >= '2'":                                  `[["2025-01-02T03:04:05.678Z","2025-01-03T00:00:00Z"]]`,
		"SELECT count() AS n, min(timestamp) AS a FROM events WHERE event = 'never'":                                                                `[[0,"1970-01-01T00:00:00Z"]]`,
		"SELECT toString(uuid) AS id FROM events WHERE timestamp >= toDateTime('2025-01-03T00:00:00Z')":                                             `[["00000000-0000-4000-8000-000000000003"]]`,
		"SELECT uuid FROM events WHERE uuid = toUUID('00000000-0000-4000-8000-000000000004')":                                                       `[["00000000-0000-4000-8000-000000000004"]]`,
		"SELECT distinct_id, count() AS n FROM events GROUP BY distinct_id HAVING count() > 1 ORDER BY distinct_id LIMIT 1":                         `[["user-1",3]]`,
		"SELECT toYYYYMM(timestamp) AS m, toStartOfDay(timestamp) AS d FROM events WHERE properties.n = '4'":                                        `[[202501,"2025-01-02T00:00:00Z"]]`,
		"SELECT toString(uuid) AS event, count() AS n FROM events WHERE event > '00000000-0000-4000-8000-000000000003' GROUP BY event HAVING n > 0": `[["00000000-0000-4000-8000-000000000004",1]]`,
		"SELECT event FROM events WHERE event = 'it''s \\'here\\''":                                                                                 `[]`,
	} {
		status, out := w.call("POST", "/query/", hogQL(query, map[string]any{"job": "job"}))
		require.Equal(t, 200, status, "%s: %v", query, out)
		got, err := json.Marshal(out["results"])
		require.NoError(t, err)
		assert.JSONEq(t, want, string(got), query)
		assert.Equal(t, false, out["is_cached"])
		assert.Len(t, out["types"], len(out["columns"].([]any)))
	}
}

// The fake refuses with 400, as the service does: unknown functions, too few or too many arguments, and more.
func TestRefusedQueries(t *testing.T) {
	from := func(expression string) string { return "SELECT " + expression + " AS x FROM events" }
	for query, detail := range map[string]string{
		from("toDate(timestamp, 'UTC')"):                    "Function 'toDate' expects 1 arguments, found 2",
		from("toDate()"):                                    "Function 'toDate' expects 1 arguments, found 0",
		from("count(uuid, event)"):                          "Function 'count' expects 0 to 1 arguments, found 2",
		from("uniqExact()"):                                 "Function 'uniqExact' expects 1 or more arguments, found 0",
		from("countDistinct(uuid, event)"):                  "Function 'countDistinct' expects 1 arguments, found 2",
		from("min()"):                                       "Function 'min' expects 1 arguments, found 0",
		from("max(uuid, uuid)"):                             "Function 'max' expects 1 arguments, found 2",
		from("toDateTime('2025-01-01', 'UTC', 'UTC')"):      "Function 'toDateTime' expects 1 to 2 arguments, found 3",
		from("toTimeZone(timestamp, 'UTC', 'UTC')"):         "Function 'toTimeZone' expects 1 to 2 arguments, found 3",
		from("toString(uuid, 'UTC', 1)"):                    "Function 'toString' expects 1 to 2 arguments, found 3",
		from("toUUID(uuid, uuid)"):                          "Function 'toUUID' expects 1 arguments, found 2",
		from("toYYYYMM()"):                                  "Function 'toYYYYMM' expects 1 arguments, found 0",
		from("toStartOfDay()"):                              "Function 'toStartOfDay' expects 1 to 2 arguments, found 0",
		from("sleep(3)"):                                    "Unsupported function call 'sleep(...)'",
		from("todate(timestamp)"):                           "Unsupported function call 'todate(...)'",
		from("nothing"):                                     "Unable to resolve field: nothing",
		from("{missing}"):                                   "Unresolved placeholder: {missing}",
		from("toDate(event)"):                               "Illegal type of argument of function toDate",
		"SELECT event FROM events WHERE timestamp > '2025'": "There is no supertype",
		"SELECT event FROM persons":                         `Unknown table "persons"`,
		"SELECT event FROM events LIMIT 5 OFFSET 5":         "OFFSET is not supported",
		"SELECT event FROM events WHERE event = 'it's'":     "unterminated text",
		"SELECT event FROM events WHERE event":              "mismatched input",
		"SELECT event FROM events; DROP TABLE events":       "token recognition error at: ';'",
		"": "expecting SELECT",
	} {
		for era, code := range map[hogapitest.Era]string{hogapitest.E1: "invalid_input", hogapitest.E4: ""} {
			w := counted(t, hogapitest.WithEra(era))
			status, out := w.call("POST", "/query/", hogQL(query, nil))
			require.Equal(t, 400, status, "%s: %v", query, out)
			if era == hogapitest.E4 || !strings.Contains(query, "toDateTime") && !strings.Contains(query, "toTimeZone") {
				assert.Contains(t, out["detail"], detail)
			}
			assert.True(t, code == "" || code == out["code"], out["code"])
		}
	}
	w := inProcess(t) // without events too
	w.refused(400, "hogql_query_error", "POST", "/query/", hogQL(from("nothing"), nil))
	w.refused(400, "invalid_input", "POST", "/query/", `{"query":{"kind":"EventsQuery"}}`)
}

// toTimeZone and toDateTime take other numbers of arguments in other ages.
func TestArityByEra(t *testing.T) {
	for _, test := range []struct {
		era    hogapitest.Era
		query  string
		status int
	}{
		{hogapitest.E1, "SELECT toDateTime('2025-01-01T00:00:00Z', 'UTC') AS x FROM events", 400},
		{hogapitest.E1, "SELECT toDateTime('2025-01-01T00:00:00Z') AS x FROM events", 200},
		{hogapitest.E2, "SELECT toDateTime('2025-01-01T00:00:00Z', 'UTC') AS x FROM events", 200},
		{hogapitest.E3, "SELECT toTimeZone(timestamp) AS x FROM events", 400},
		{hogapitest.E4, "SELECT toTimeZone(timestamp) AS x FROM events", 200},
	} {
		status, out := counted(t, hogapitest.WithEra(test.era)).call("POST", "/query/", hogQL(test.query, nil))
		assert.Equal(t, test.status, status, "%s %s: %v", test.era, test.query, out)
	}
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
		status, out := w.call("POST", "/query/", hogQL(query, nil))
		require.Equal(t, 200, status)
		assert.Len(t, out["results"], want[0].(int), query)
		assert.Equal(t, want[1], out["hasMore"], query)
	}
	_, out := w.call("POST", "/api/projects/77/query/", hogQL("SELECT uuid FROM events", nil))
	assert.Empty(t, out["results"])
	w.key = "phx_other"
	assert.Equal(t, "API key missing required scope 'query:read'", w.refused(403, "permission_denied", "POST", "/query/", hogQL("SELECT uuid FROM events", nil)))

	compact := inProcess(t, hogapitest.WithCompactLedger())
	assert.Contains(t, fmt.Sprint(compact.refused(400, "invalid_input", "POST", "/query/", hogQL("SELECT uuid FROM events WHERE properties.n = '1'", nil))), "compact")
	status, _ := compact.call("POST", "/query/", hogQL("SELECT uuid FROM events WHERE properties.$import_job_id = 'a'", nil))
	assert.Equal(t, 200, status)
}
