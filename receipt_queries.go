package hogapi

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/hogapi/hogapi/internal/ledger"
)

// Query is a HogQL query with the values of its placeholders, such as {job_id}. As JSON it is the
// "query" in the body of POST /api/projects/{id}/query/, which needs a key with the scope query:read.
type Query struct {
	HogQL  string
	Values map[string]any // by the names of the placeholders
}

// MarshalJSON is the query as the service takes it.
func (q Query) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Kind   string         `json:"kind"`
		Query  string         `json:"query"`
		Values map[string]any `json:"values"`
	}{"HogQLQuery", q.HogQL, q.Values})
}

// String is the query with its values written into it, for the project's SQL editor, which takes no
// values. Programs send the query as JSON.
func (q Query) String() string {
	quoted := strings.NewReplacer(`\`, `\\`, "'", `\'`)
	var pairs []string
	for name, value := range q.Values {
		pairs = append(pairs, "{"+name+"}", "'"+quoted.Replace(fmt.Sprint(value))+"'")
	}
	return strings.NewReplacer(pairs...).Replace(q.HogQL)
}

// What all queries ask for: the events of one import, in a window of whole days of UTC.
const (
	queryEvents = "\nFROM events\nWHERE properties.$import_job_id = {job_id}" + queryWindow
	queryWindow = " AND timestamp >= toDateTime({start_at}) AND timestamp < toDateTime({end_at})"
	countDays   = "SELECT toDate(toTimeZone(timestamp, 'UTC')) AS utc_day, event AS event_name, count() AS copies, uniqExact(uuid) AS uuids" +
		queryEvents + "\nGROUP BY utc_day, event_name ORDER BY utc_day, event_name LIMIT 50000"
	countTotal = "SELECT count() AS copies, uniqExact(uuid) AS uuids,\n" +
		"  min(toTimeZone(timestamp, 'UTC')) AS first_time, max(toTimeZone(timestamp, 'UTC')) AS last_time" + queryEvents
	listUUIDs = "SELECT toString(uuid) AS uuid_text" + queryEvents +
		"\n  AND event = {one_event} AND toString(uuid) > {after_id}\nGROUP BY uuid_text ORDER BY uuid_text LIMIT 10000"
)

func (r Receipt) query(hogQL string, from, until time.Time) Query {
	return Query{hogQL, map[string]any{"job_id": r.ID, "start_at": from.Format(time.RFC3339), "end_at": until.Format(time.RFC3339)}}
}

// TotalQuery counts the events of this import that the project shows. Its one row is copies, uuids,
// first_time and last_time; uuids should equal Acknowledged. There are more copies than uuids until
// the service has merged what was sent twice. The window is a day wider on both sides than the events.
//
// The service shows historical events some minutes to some hours after it has taken them. The query
// finds them by their property $import_job_id. An event that has one of its own keeps it and is not
// found ([WarnOwnJobID]); neither are events whose properties the service removes, such as
// $feature_flag_called. Without an acknowledged event there is nothing to count, and the query is zero.
func (r Receipt) TotalQuery() Query {
	if r.Acknowledged == 0 {
		return Query{}
	}
	from, until := r.days()
	return r.query(countTotal, from.AddDate(0, 0, -1), until.AddDate(0, 0, 1))
}

// CountQueries count the events of this import by day and name, a query for each month of UTC that has
// some, in order. A row is utc_day, event_name, copies and uuids; uuids should equal the Acknowledged
// of the row in Days, added up where Days was rolled up. The service's days begin with 1970. 50,000
// rows in one answer mean that there can be more. See [Receipt.TotalQuery] for what is not found.
func (r Receipt) CountQueries() []Query {
	if r.Acknowledged == 0 {
		return nil
	}
	months, all := map[string]bool{}, false
	for _, row := range r.Days {
		if row.Acknowledged > 0 {
			months[row.Day[:min(len(row.Day), len("2006-01"))]] = true
			all = all || row.Day == "" || row.Day == ledger.Other // rolled up to names
		}
	}
	first, until := r.days()
	var list []Query
	for from := first; from.Before(until); {
		next := time.Date(from.Year(), from.Month()+1, 1, 0, 0, 0, 0, time.UTC)
		if all || months[from.Format("2006-01")] {
			list = append(list, r.query(countDays, from, earlier(next, until)))
		}
		from = next
	}
	return list
}

// UUIDQuery lists the uuids of a row of Days as the project shows them, after the uuid given as text,
// in the order of their texts. Begin with "" and continue after the last uuid of an answer, while
// answers have 10,000 rows. The query is zero for the row of the events of all further names: it does
// not know which they are.
func (r Receipt) UUIDQuery(row DayCount, after string) Query {
	if row.Day == ledger.Other {
		return Query{}
	}
	from, until := r.days()
	if day, err := time.Parse(time.DateOnly, row.Day); err == nil {
		from, until = day, day.AddDate(0, 0, 1)
	} else if month, err := time.Parse("2006-01", row.Day); err == nil {
		from, until = month, month.AddDate(0, 1, 0)
	}
	q := r.query(listUUIDs, from, until)
	q.Values["one_event"], q.Values["after_id"] = row.Event, after
	return q
}

// days are the first day of the acknowledged events, and the one after the last.
func (r Receipt) days() (from, until time.Time) {
	const day = 24 * time.Hour
	return r.Oldest.UTC().Truncate(day), r.Newest.UTC().Truncate(day).Add(day)
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
