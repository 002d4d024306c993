package verify

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/internal/queries"
)

// Queries queries the events of one import. It is not safe for concurrent use.
type Queries struct {
	Asker  *queries.Asker
	ID     string
	older  bool // the server refuses toDate with a time zone
	noSums bool // the server refuses the sums of uuids or their functions
}

// MostUUIDs is the limit of a list of uuids.
const MostUUIDs = 10_000

// Count counts by day and name, with sums of uuids if the service supports them.
func (j *Queries) Count(ctx context.Context, w Window) ([]CountRow, error) {
	if j.noSums {
		return j.countBy(ctx, CountDays(j.ID, w), w)
	}
	rows, err := j.countBy(ctx, SumDays(j.ID, w), w)
	isRefused := queries.KindOf(err) == queries.Refused
	if !isRefused && (err == nil || queries.KindOf(err) != queries.TooMuch || w.Halves() != nil) {
		return rows, err
	}
	counts, failed := j.countBy(ctx, CountDays(j.ID, w), w) // cheaper
	if failed != nil {
		return nil, err
	}
	j.noSums = isRefused
	return counts, nil
}

// Find looks for an event by its uuid, among the import's events or among all.
func (j *Queries) Find(ctx context.Context, id uuid.UUID, ofImport bool, w Window) ([]CountRow, error) {
	q := within(findUUID, w)
	q.Values["one_id"] = id.String()
	if ofImport {
		q.Values["job_id"] = j.ID
		q.HogQL = strings.Replace(q.HogQL, "WHERE ", "WHERE properties.$import_job_id = {job_id} AND ", 1)
	}
	return j.countBy(ctx, q, w)
}

func (j *Queries) countBy(ctx context.Context, q queries.Query, w Window) ([]CountRow, error) {
	count := func() ([]CountRow, error) {
		sent := q
		if j.older {
			sent.HogQL = strings.ReplaceAll(q.HogQL, dayOfEvent, startOfDay)
		}
		rows, err := queries.Ask[CountRow](ctx, j.Asker, sent, queries.MaxRows)
		if err == nil {
			err = checkCounts(rows, w)
		}
		if err != nil {
			return nil, err
		}
		return rows, nil
	}
	rows, err := count()
	if !j.older && queries.KindOf(err) == queries.Refused {
		j.older = true
		if again, err := count(); err == nil {
			return again, nil
		}
		j.older = false
	}
	return rows, err
}

func checkCounts(rows []CountRow, w Window) error {
	type key struct {
		day   time.Time
		event string
	}
	seen := make(map[key]bool, len(rows))
	for _, r := range rows {
		k := key{r.Day, r.Event}
		isOld := !w.Until.After(time.Unix(0, 0)) // the service gives no days
		if seen[k] || !isOld && (r.Day.Before(w.From) || !r.Day.Before(w.Until)) {
			return errors.New("the answer has a row outside the query, or a row twice")
		}
		seen[k] = true
	}
	return nil
}

// List yields the uuids of the events with a name in a window, sorted as texts.
func (j *Queries) List(ctx context.Context, event string, w Window) iter.Seq2[uuid.UUID, error] {
	return func(yield func(uuid.UUID, error) bool) {
		after := ""
		for {
			rows, err := queries.Ask[UUIDRow](ctx, j.Asker, ListUUIDs(j.ID, event, after, w), MostUUIDs+1)
			for _, r := range rows {
				if r.ID.String() <= after {
					err = errors.New("the answer lists uuids out of order")
					break
				}
				after = r.ID.String()
				if !yield(r.ID, nil) {
					return
				}
			}
			if err != nil {
				yield(uuid.Nil, err)
				return
			}
			if len(rows) < MostUUIDs {
				return
			}
		}
	}
}

// All queries select the events of one import in a window of whole UTC days.
const (
	events = "\nFROM events\nWHERE properties.$import_job_id = {job_id}" + window
	window = " AND " + bounds
	bounds = "timestamp >= toDateTime({start_at}) AND timestamp < toDateTime({end_at})"

	countEvents = "SELECT count() AS copies FROM events WHERE " + bounds

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

func ofImport(text, id string, w Window) queries.Query {
	q := within(text, w)
	q.Values["job_id"] = id
	return q
}

func within(text string, w Window) queries.Query {
	return queries.Query{HogQL: text, Values: map[string]any{"start_at": w.From.Format(time.RFC3339), "end_at": w.Until.Format(time.RFC3339)}}
}

// CountEvents counts the events with a timestamp in [from, until), of whole seconds, and with one of the included
// names, if there are some, and none of the excluded ones.
func CountEvents(from, until time.Time, include, exclude []string) queries.Query {
	q := within(countEvents, Window{from, until})
	if len(include) > 0 {
		q.HogQL = countEvents + " AND event IN (" + names(q, include) + ")"
	}
	if len(exclude) > 0 {
		q.HogQL += " AND NOT event IN (" + names(q, exclude) + ")"
	}
	return q
}

// names adds values to a query, and returns their placeholders.
func names(q queries.Query, values []string) string {
	var names []string
	for _, value := range values {
		name := fmt.Sprintf("name_%d", len(q.Values))
		q.Values[name] = value
		names = append(names, "{"+name+"}")
	}
	return strings.Join(names, ", ")
}

// CountTotal counts all events of an import in a window.
func CountTotal(id string, w Window) queries.Query { return ofImport(countTotal, id, w) }

// CountDays counts the events of an import by day and name.
func CountDays(id string, w Window) queries.Query { return ofImport(countDays, id, w) }

// SumDays counts the events of an import by day and name, and sums their uuids like [uuidsum.Sum].
func SumDays(id string, w Window) queries.Query { return ofImport(sumDays, id, w) }

// ListUUIDs lists the uuids of the events with one name, sorted as texts, after a given one.
func ListUUIDs(id, event, after string, w Window) queries.Query {
	q := ofImport(listUUIDs, id, w)
	q.Values["one_event"], q.Values["after_id"] = event, after
	return q
}

// lastTime is after all events.
var lastTime = time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC)

// SelectEvents selects the events of an import in [from, until). A zero time means no limit.
func SelectEvents(id string, from, until time.Time) queries.Query {
	if from.IsZero() {
		from = beginning
	}
	if until.IsZero() {
		until = lastTime
	}
	return queries.Query{HogQL: selectEvents, Values: map[string]any{
		"job_id": id, "start_at": outgoing.Time(from), "end_at": outgoing.Time(until),
	}}
}
