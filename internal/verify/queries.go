package verify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/httptry"
	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/internal/watch"
)

// Service runs a query now. The name is for the service's own records.
type Service interface {
	Counts(ctx context.Context, q Query, name string) ([]CountRow, error)
	UUIDs(ctx context.Context, q Query, name string) ([]UUIDRow, error)
	Fault(err error) Fault
}

// Fault classifies the error of a query.
type Fault struct {
	IsTooMuch     bool // a smaller query may succeed
	IsHopeless    bool // every query fails until the caller corrects something
	IsUnreachable bool // every query fails for now
	IsRefused     bool // the service rejects the text of the query
	IsBusy        bool // the same query may succeed later
	RetryAfter    time.Duration
}

// Waits for a busy service.
const (
	firstWaitForRoom = 10 * time.Second
	longestWait      = 5 * time.Minute
	mostWaits        = 10
)

// patiently repeats a query while the service is busy. It waits as long as the service asks, or
// else ten seconds, doubling. Queries run one at a time, so they take one of the project's three
// slots.
func patiently[T any](ctx context.Context, s Service, query func() ([]T, error)) ([]T, error) {
	wait := firstWaitForRoom
	for n := 1; ; n++ {
		rows, err := query()
		if err == nil {
			return rows, nil
		}
		fault := s.Fault(err)
		if !fault.IsBusy || n > mostWaits || ctx.Err() != nil || fault.RetryAfter > time.Hour {
			return rows, err
		}
		if !watch.Sleep(ctx, max(wait, fault.RetryAfter)) {
			return nil, fmt.Errorf("%w (while the service was busy: %w)", context.Cause(ctx), err)
		}
		wait = min(2*wait, longestWait)
	}
}

// Queries queries the events of one import. It is not safe for concurrent use.
type Queries struct {
	Service Service
	ID      string
	older   bool // the server refuses toDate with a time zone
	noSums  bool // the server refuses the sums of uuids or their functions
}

func (j *Queries) name() string { return "hogapi verify " + j.ID }

// Fault classifies the error of a query.
func (j *Queries) Fault(err error) Fault {
	fault := j.Service.Fault(err)
	fault.IsTooMuch = fault.IsTooMuch || errors.Is(err, ErrFull) || errors.Is(err, httptry.ErrTooBig) || errors.Is(err, httptry.ErrTimeout)
	return fault
}

// Count counts by day and name, with sums of uuids if the service supports them.
func (j *Queries) Count(ctx context.Context, w Window) ([]CountRow, error) {
	if j.noSums {
		return j.countBy(ctx, CountDays(j.ID, w), w)
	}
	rows, err := j.countBy(ctx, SumDays(j.ID, w), w)
	isRefused := err != nil && j.Fault(err).IsRefused
	if !isRefused && (err == nil || !j.Fault(err).IsTooMuch || w.Halves() != nil) {
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

func (j *Queries) countBy(ctx context.Context, q Query, w Window) ([]CountRow, error) {
	count := func() ([]CountRow, error) {
		sent := q
		if j.older {
			sent.HogQL = strings.ReplaceAll(q.HogQL, dayOfEvent, startOfDay)
		}
		rows, err := j.Service.Counts(ctx, sent, j.name())
		if err == nil {
			err = checkCounts(rows, w)
		}
		if err != nil {
			return nil, err
		}
		return rows, nil
	}
	rows, err := patiently(ctx, j.Service, count)
	if err != nil && !j.older && j.Fault(err).IsRefused {
		j.older = true
		if again, err := patiently(ctx, j.Service, count); err == nil {
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
			rows, err := patiently(ctx, j.Service, func() ([]UUIDRow, error) {
				return j.Service.UUIDs(ctx, ListUUIDs(j.ID, event, after, w), j.name())
			})
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

func ofImport(text, id string, w Window) Query {
	q := within(text, w)
	q.Values["job_id"] = id
	return q
}

func within(text string, w Window) Query {
	return Query{text, map[string]any{"start_at": w.From.Format(time.RFC3339), "end_at": w.Until.Format(time.RFC3339)}}
}

// CountEvents counts the events with a timestamp in [from, until), of whole seconds, and with one of the included
// names, if there are some, and none of the excluded ones.
func CountEvents(from, until time.Time, include, exclude []string) Query {
	q := within(countEvents, Window{from, until})
	if len(include) > 0 {
		q.HogQL = countEvents + " AND event IN (" + q.names(include) + ")"
	}
	if len(exclude) > 0 {
		q.HogQL += " AND NOT event IN (" + q.names(exclude) + ")"
	}
	return q
}

// names adds values to the query, and returns their placeholders.
func (q Query) names(values []string) string {
	var names []string
	for _, value := range values {
		name := fmt.Sprintf("name_%d", len(q.Values))
		q.Values[name] = value
		names = append(names, "{"+name+"}")
	}
	return strings.Join(names, ", ")
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
