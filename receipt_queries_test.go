package hogapi_test

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

// ask sends a query to the project and returns its rows.
func ask(t *testing.T, client *hogapi.Client, query any) [][]any {
	t.Helper()
	var answer struct {
		Results  [][]any
		IsCached bool `json:"is_cached"`
		Error    any
	}
	body := map[string]any{"query": query, "refresh": "force_blocking", "name": "test"}
	require.NoError(t, client.Do(t.Context(), hogapi.Request{Method: http.MethodPost, Path: "/query/", Replay: hogapi.ReplaySafe, Body: body}, &answer))
	require.False(t, answer.IsCached)
	require.Nil(t, answer.Error)
	return answer.Results
}

// byHand is a query as a person would put it into the SQL editor.
func byHand(q hogapi.Query) any { return map[string]any{"kind": "HogQLQuery", "query": q.String()} }

// Each query that a receipt makes is taken by servers of all ages, and counts what the receipt says: this import's events and no
// others, those that were sent twice once.
func TestReceiptQueries(t *testing.T) {
	t.Parallel()
	const n, id = 90, `it's{start_at}'--`
	source := altered(numbered(n), func(ev *hogapi.Event) {
		i := int(ev.Position.Offset)
		ev.Timestamp = time.Date(2023, 11, 28, 22, 30, 0, 0, time.FixedZone("", -2*3600)).Add(time.Duration(i) * 19 * time.Hour)
		ev.Name = []string{"signup", "it's {one_event}"}[i%2]
	})
	for _, era := range []hogapitest.Era{hogapitest.E1, hogapitest.E2, hogapitest.E3, hogapitest.E4} {
		t.Run(era.String(), func(t *testing.T) {
			t.Parallel()
			server := hogapitest.New(hogapitest.WithEra(era))
			client := server.Client(t)
			var receipt hogapi.Receipt
			for _, name := range []string{"another", id, id} {
				var err error
				receipt, err = client.Import(t.Context(), altered(source, func(ev *hogapi.Event) { ev.UUID = uuid.Nil }), &hogapi.ImportOptions{ID: name, Rate: hogapi.Unpaced})
				require.NoError(t, err)
			}
			require.Equal(t, 3*n, server.Ledger().Len())

			queries := receipt.CountQueries()
			require.Len(t, queries, 4, "a query for each month from November to February")
			for _, form := range []func(hogapi.Query) any{func(q hogapi.Query) any { return q }, byHand} {
				var days []hogapi.DayCount
				for _, query := range queries {
					for _, row := range ask(t, client, form(query)) {
						require.Len(t, row, 4)
						assert.EqualValues(t, 2*row[3].(float64), row[2], "copies")
						days = append(days, hogapi.DayCount{Day: row[0].(string), Event: row[1].(string), Acknowledged: int64(row[3].(float64))})
					}
				}
				for i := range days {
					days[i].Digest = receipt.Days[i].Digest // Verify asks for it
				}
				assert.Equal(t, receipt.Days, days)
				total := ask(t, client, form(receipt.TotalQuery()))
				assert.Equal(t, [][]any{{2.0 * n, 1.0 * n, receipt.Oldest.Format(time.RFC3339), receipt.Newest.Format(time.RFC3339)}}, total)
			}

			wanted := map[string]bool{}
			for ev := range server.Ledger().Last() {
				if regexp.MustCompile(`it's`).Match(ev.Properties) { // the job id
					wanted[ev.UUID.String()] = true
				}
			}
			require.Len(t, wanted, n)
			for _, row := range receipt.Days {
				ids := ask(t, client, receipt.UUIDQuery(row, ""))
				require.Len(t, ids, int(row.Acknowledged))
				for i, id := range ids {
					assert.True(t, wanted[id[0].(string)])
					delete(wanted, id[0].(string))
					assert.Len(t, ask(t, client, receipt.UUIDQuery(row, id[0].(string))), len(ids)-1-i, "those after it")
				}
			}
			assert.Empty(t, wanted)
		})
	}
}

// Without an acknowledged event there is nothing to count.
func TestQueriesOfNothing(t *testing.T) {
	t.Parallel()
	for _, receipt := range []hogapi.Receipt{{ID: "x"}, {ID: "x", Read: 5, Rejected: 5}, {ID: "x", Read: 5, Pending: 5}} {
		assert.Empty(t, receipt.CountQueries())
		assert.Equal(t, hogapi.Query{}, receipt.TotalQuery())
		assert.NotContains(t, receipt.String(), "0001")
	}
}

// The windows are whole days of UTC within months that have events. A table that was rolled up has all months that it can have.
func TestQueryWindows(t *testing.T) {
	t.Parallel()
	receipt := hogapi.Receipt{
		ID: "windows", Acknowledged: 3, Rejected: 1,
		Oldest: time.Date(2024, 1, 31, 23, 30, 0, 500, time.FixedZone("", -3600)), Newest: time.Date(2024, 5, 3, 0, 0, 0, 0, time.UTC),
	}
	windows := func() (list [][2]any) {
		for _, q := range receipt.CountQueries() {
			assert.Equal(t, "windows", q.Values["job_id"])
			list = append(list, [2]any{q.Values["start_at"], q.Values["end_at"]})
		}
		return list
	}
	february, may := [2]any{"2024-02-01T00:00:00Z", "2024-03-01T00:00:00Z"}, [2]any{"2024-05-01T00:00:00Z", "2024-05-04T00:00:00Z"}
	receipt.Days = []hogapi.DayCount{{Day: "2024-02-01", Acknowledged: 1}, {Day: "2024-04-01", Rejected: 1}, {Day: "2024-05", Acknowledged: 2}}
	assert.Equal(t, [][2]any{february, may}, windows())
	receipt.Days = []hogapi.DayCount{{Day: "", Acknowledged: 3}}
	assert.Equal(t, [][2]any{february, {"2024-03-01T00:00:00Z", "2024-04-01T00:00:00Z"}, {"2024-04-01T00:00:00Z", "2024-05-01T00:00:00Z"}, may}, windows())

	total := receipt.TotalQuery()
	assert.Equal(t, map[string]any{"job_id": "windows", "start_at": "2024-01-31T00:00:00Z", "end_at": "2024-05-05T00:00:00Z"}, total.Values, "a day wider")
	for day, want := range map[string][2]string{
		"2024-02-29": {"2024-02-29T00:00:00Z", "2024-03-01T00:00:00Z"}, "2024-02": {"2024-02-01T00:00:00Z", "2024-03-01T00:00:00Z"}, "": {"2024-02-01T00:00:00Z", "2024-05-04T00:00:00Z"},
	} {
		q := receipt.UUIDQuery(hogapi.DayCount{Day: day, Event: "e"}, "after")
		assert.Equal(t, map[string]any{"job_id": "windows", "start_at": want[0], "end_at": want[1], "one_event": "e", "after_id": "after"}, q.Values)
	}
}

// The query of the guide finds what the service never merges.
func TestQueryOfTheGuide(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("docs/historical-import.md")
	require.NoError(t, err)
	found := regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllSubmatch(guide, -1)
	require.Len(t, found, 1)
	server := hogapitest.New()
	client := server.Client(t)
	for _, name := range []string{"right", "wrong"} {
		source := altered(numbered(3), func(ev *hogapi.Event) {
			ev.Timestamp = time.Date(2024, 3, 5, 0, 0, 0, 0, time.UTC)
			if ev.Position.Offset == 2 {
				ev.Name = name
			}
		})
		_, err := client.Import(t.Context(), source, &hogapi.ImportOptions{ID: "mixpanel-2024"})
		require.NoError(t, err)
	}
	rows := ask(t, client, map[string]any{"kind": "HogQLQuery", "query": string(found[0][1])})
	assert.Equal(t, [][]any{{fmt.Sprint(numberedUUID(2)), 2.0}}, rows)
}

// The row of all further names stands for many names, so no query can list its events; and the events of such an import are counted.
func TestQueriesOfTheOtherRow(t *testing.T) {
	t.Parallel()
	at := time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC)
	receipt := hogapi.Receipt{
		ID: "names", Acknowledged: 51, Oldest: at, Newest: at.AddDate(0, 1, 0),
		Days: []hogapi.DayCount{{Day: "other", Event: "other", Acknowledged: 51}},
	}
	assert.Zero(t, receipt.UUIDQuery(receipt.Days[0], ""))
	assert.Len(t, receipt.CountQueries(), 2)
	assert.NotZero(t, receipt.UUIDQuery(hogapi.DayCount{Event: "other"}, ""), "an event of that name")
}
