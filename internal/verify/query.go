package verify

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/outgoing"
)

// Query is a query with values for its placeholders, such as {job_id}.
type Query struct {
	HogQL  string
	Values map[string]any
}

// MarshalJSON encodes the query for the service.
func (q Query) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Kind   string         `json:"kind"`
		Query  string         `json:"query"`
		Values map[string]any `json:"values"`
	}{"HogQLQuery", q.HogQL, q.Values})
}

// String returns the query with its values inserted, quoted.
func (q Query) String() string {
	quoted := strings.NewReplacer(`\`, `\\`, "'", `\'`)
	var pairs []string
	for name, value := range q.Values {
		pairs = append(pairs, "{"+name+"}", "'"+quoted.Replace(fmt.Sprint(value))+"'")
	}
	return strings.NewReplacer(pairs...).Replace(q.HogQL)
}

// All queries select the events of one import in a window of whole UTC days.
const (
	events = "\nFROM events\nWHERE properties.$import_job_id = {job_id}" + window
	window = " AND timestamp >= toDateTime({start_at}) AND timestamp < toDateTime({end_at})"

	countDays = "SELECT " + dayOfEvent + " AS utc_day, event AS event_name, count() AS copies, uniqExact(uuid) AS uuids" +
		events + "\nGROUP BY utc_day, event_name ORDER BY utc_day, event_name LIMIT 50000"
	// Copies of an event that are not merged yet must count once in the sums, so the sums group by
	// uuid.
	sumDays = "SELECT utc_day, event_name, sum(of_one) AS copies, count() AS uuids, " + sumHigh + " AS high_sum, " + sumLow + " AS low_sum" +
		"\nFROM (SELECT " + dayOfEvent + " AS utc_day, event AS event_name, uuid AS one_uuid, count() AS of_one" +
		events + "\n  GROUP BY utc_day, event_name, one_uuid)\nGROUP BY utc_day, event_name ORDER BY utc_day, event_name LIMIT 50000"
	sumHigh = "sum(reinterpretAsUInt64(reverse(unhex(substring(replaceAll(toString(one_uuid), '-', ''), 17, 8)))))"
	sumLow  = "sum(reinterpretAsUInt64(reverse(unhex(substring(replaceAll(toString(one_uuid), '-', ''), 25, 8)))))"

	countTotal = "SELECT count() AS copies, uniqExact(uuid) AS uuids,\n" +
		"  min(toTimeZone(timestamp, 'UTC')) AS first_time, max(toTimeZone(timestamp, 'UTC')) AS last_time" + events
	listUUIDs = "SELECT toString(uuid) AS uuid_text" + events +
		"\n  AND event = {one_event} AND toString(uuid) > {after_id}\nGROUP BY uuid_text ORDER BY uuid_text LIMIT 10000"
	findUUID = "SELECT " + dayOfEvent + " AS utc_day, event AS event_name, count() AS copies, uniqExact(uuid) AS uuids\nFROM events\n" +
		"WHERE toString(uuid) = {one_id}" + window + "\nGROUP BY utc_day, event_name ORDER BY utc_day, event_name LIMIT 50000"

	selectEvents = "SELECT uuid FROM events WHERE properties.$import_job_id = {job_id}" + window

	dayOfEvent = "toDate(toTimeZone(timestamp, 'UTC'))"
	// Older servers refuse toDate here, since they do not know that toTimeZone returns a time.
	startOfDay = "toStartOfDay(toTimeZone(timestamp, 'UTC'))"
)

func ofImport(text, id string, w Window) Query {
	q := within(text, w)
	q.Values["job_id"] = id
	return q
}

func within(text string, w Window) Query {
	return Query{text, map[string]any{"start_at": w.From.Format(time.RFC3339), "end_at": w.Until.Format(time.RFC3339)}}
}

// CountTotal counts all events of an import in a window.
func CountTotal(id string, w Window) Query { return ofImport(countTotal, id, w) }

// CountDays counts the events of an import by day and name.
func CountDays(id string, w Window) Query { return ofImport(countDays, id, w) }

// SumDays counts the events of an import by day and name, and sums their uuids like [uuidsum.Sum].
func SumDays(id string, w Window) Query { return ofImport(sumDays, id, w) }

// ListUUIDs lists the uuids of the events with one name, sorted as texts, after a given one.
func ListUUIDs(id, event, after string, w Window) Query {
	q := ofImport(listUUIDs, id, w)
	q.Values["one_event"], q.Values["after_id"] = event, after
	return q
}

// lastTime is after all events.
var lastTime = time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC)

// SelectEvents selects the events of an import in [from, until). A zero time means no limit.
func SelectEvents(id string, from, until time.Time) Query {
	if from.IsZero() {
		from = beginning
	}
	if until.IsZero() {
		until = lastTime
	}
	return Query{selectEvents, map[string]any{
		"job_id": id, "start_at": outgoing.Time(from), "end_at": outgoing.Time(until),
	}}
}

// find looks for one event.
func find(one uuid.UUID, w Window) Query {
	q := within(findUUID, w)
	q.Values["one_id"] = one.String()
	return q
}

// findOfImport looks for one event of an import.
func findOfImport(id string, one uuid.UUID, w Window) Query {
	q := find(one, w)
	q.Values["job_id"] = id
	q.HogQL = strings.Replace(q.HogQL, "WHERE ", "WHERE properties.$import_job_id = {job_id} AND ", 1)
	return q
}
