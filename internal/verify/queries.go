package verify

import (
	"context"
	"errors"
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

// Scope says which events a query is about.
type Scope struct {
	Window

	Names    []string // nil: all
	OfImport bool     // only those with the import's ID, for which the service reads all properties
	Slices   []string // the last digits of the uuids; nil: all
	Rows     int64    // about so many events
}

// The bytes that a row costs until an answer shows it: of uuid, time and name, and of properties too.
const (
	columnBytes   = 16 + 8 + 20
	propertyBytes = 1_000
)

func perRow(ofImport bool) int64 {
	if ofImport {
		return columnBytes + propertyBytes
	}
	return columnBytes
}

// PerRow returns how many bytes a row costs.
func (j *Queries) PerRow(ofImport bool) int64 { return j.Asker.PerRow(perRow(ofImport)) }

// Read returns how many bytes the queries have read, and the newest cost.
func (j *Queries) Read() (bytes int64, newest queries.Cost) { return j.Asker.Read() }

// ask carries out a query of a scope.
func ask[T any](ctx context.Context, j *Queries, q queries.Query, s Scope) ([]T, error) {
	// A slice reads all rows of its days: only fewer days cost less.
	canDivide := s.Halves() != nil && len(s.Slices) == 0
	return queries.AskFor[T](ctx, j.Asker, q, queries.MaxRows, queries.Size{Rows: s.Rows, PerRow: perRow(s.OfImport), CanDivide: canDivide})
}

// scoped puts a scope into the text of a query.
func (j *Queries) scoped(text string, s Scope) queries.Query {
	q := inWindow(text, s.Window)
	var more string
	if len(s.Names) > 0 {
		more += " AND event IN (" + q.Add("name", s.Names...) + ")"
	}
	if len(s.Slices) > 0 {
		const digits = 32
		q.Values["slice_at"], q.Values["slice_digits"] = digits-len(s.Slices[0])+1, len(s.Slices[0])
		more += " AND substring(replaceAll(toString(uuid), '-', ''), {slice_at}, {slice_digits}) IN (" + q.Add("name", s.Slices...) + ")"
	}
	if s.OfImport {
		q.Values["job_id"] = j.ID
		more += " AND properties.$import_job_id = {job_id}"
	}
	q.HogQL = strings.Replace(text, bounds, bounds+more, 1)
	return q
}

// Count counts by day and name, with sums of uuids if the service supports them: of hashes, or for the events of an import of
// digits.
func (j *Queries) Count(ctx context.Context, s Scope) ([]CountRow, error) {
	if !s.OfImport {
		return j.countBy(ctx, j.scoped(hashDays, s), s)
	}
	if j.noSums {
		return j.countBy(ctx, j.scoped(countAll, s), s)
	}
	rows, err := j.countBy(ctx, j.scoped(sumAll, s), s)
	isRefused := queries.KindOf(err) == queries.Refused
	if !isRefused && (err == nil || queries.KindOf(err) != queries.TooMuch || s.Halves() != nil) {
		return rows, err
	}
	counts, failed := j.countBy(ctx, j.scoped(countAll, s), s) // cheaper
	if failed != nil {
		return nil, err
	}
	j.noSums = isRefused
	return counts, nil
}

// Find looks for events by their uuids.
func (j *Queries) Find(ctx context.Context, ids []uuid.UUID, s Scope) ([]FoundRow, error) {
	q := j.scoped(findUUIDs, s)
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = id.String()
	}
	q.HogQL = strings.Replace(q.HogQL, "{ids}", q.Add("name", texts...), 1)
	if j.older {
		q.HogQL = strings.ReplaceAll(q.HogQL, dayOfEvent, startOfDay)
	}
	return ask[FoundRow](ctx, j, q, s)
}

// Sums sums the uuids by their last digits.
func (j *Queries) Sums(ctx context.Context, s Scope, digits int) ([]SliceRow, error) {
	q := j.scoped(sumSlices, s)
	q.Values["first_digit"], q.Values["digits"] = 32-digits+1, digits
	return ask[SliceRow](ctx, j, q, s)
}

// List lists uuids, in no order.
func (j *Queries) List(ctx context.Context, s Scope) ([]uuid.UUID, error) {
	rows, err := ask[UUIDRow](ctx, j, j.scoped(listAll, s), s)
	ids := make([]uuid.UUID, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
	}
	return ids, err
}

func (j *Queries) countBy(ctx context.Context, q queries.Query, s Scope) ([]CountRow, error) {
	count := func() ([]CountRow, error) {
		sent := q
		if j.older {
			sent.HogQL = strings.ReplaceAll(q.HogQL, dayOfEvent, startOfDay)
		}
		rows, err := ask[CountRow](ctx, j, sent, s)
		if err == nil {
			err = checkCounts(rows, s.Window)
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

// All queries select the events of one import in a window of whole UTC days.
const (
	events = "\nFROM events\nWHERE properties.$import_job_id = {job_id}" + window
	window = " AND " + bounds
	bounds = "timestamp >= toDateTime({start_at}) AND timestamp < toDateTime({end_at})"

	countEvents = "SELECT count() AS copies FROM events WHERE " + bounds

	countDays = "SELECT " + dayOfEvent + " AS utc_day, event AS event_name, count() AS copies, uniqExact(uuid) AS uuids" +
		events + "\nGROUP BY utc_day, event_name ORDER BY utc_day, event_name LIMIT 50000"
	sumHigh = "sum(reinterpretAsUInt64(reverse(unhex(substring(replaceAll(toString(one_uuid), '-', ''), 17, 8)))))"
	sumLow  = "sum(reinterpretAsUInt64(reverse(unhex(substring(replaceAll(toString(one_uuid), '-', ''), 25, 8)))))"

	countTotal = "SELECT count() AS copies, uniqExact(uuid) AS uuids,\n" +
		"  min(toTimeZone(timestamp, 'UTC')) AS first_time, max(toTimeZone(timestamp, 'UTC')) AS last_time" + events
	listUUIDs = "SELECT toString(uuid) AS uuid_text" + events +
		"\n  AND event = {one_event} AND toString(uuid) > {after_id}\nGROUP BY uuid_text ORDER BY uuid_text LIMIT 10000"
	// The texts with a scope, which adds its condition after the window.
	allEvents = "\nFROM events\nWHERE " + bounds
	countAll  = "SELECT " + dayOfEvent + " AS utc_day, event AS event_name, count() AS copies, uniqExact(uuid) AS uuids" +
		allEvents + "\nGROUP BY utc_day, event_name ORDER BY utc_day, event_name LIMIT 50000"
	sumAll = "SELECT utc_day, event_name, sum(of_one) AS copies, count() AS uuids, " + sumHigh + " AS high_sum, " + sumLow + " AS low_sum" + oncePerDay
	// Among the events of others only a sum that is not linear is a proof.
	hashDays = "SELECT utc_day, event_name, sum(of_one) AS copies, count() AS uuids, " + sumHash + " AS hash_sum" + oncePerDay
	sumHash  = "sum(cityHash64(toString(one_uuid)))"
	// Copies of an event that are not merged yet must count once in the sums, so the sums group by uuid.
	oncePerDay = "\nFROM (SELECT " + dayOfEvent + " AS utc_day, event AS event_name, uuid AS one_uuid, count() AS of_one" +
		allEvents + "\n  GROUP BY utc_day, event_name, one_uuid)\nGROUP BY utc_day, event_name ORDER BY utc_day, event_name LIMIT 50000"
	sumSlices = "SELECT substring(replaceAll(toString(one_uuid), '-', ''), {first_digit}, {digits}) AS uuid_slice, count() AS uuids, " +
		sumHash + " AS hash_sum\nFROM (SELECT uuid AS one_uuid" + allEvents + "\n  GROUP BY one_uuid)\nGROUP BY uuid_slice ORDER BY uuid_slice LIMIT 50000"
	listAll   = "SELECT toString(uuid) AS uuid_text" + allEvents + "\nGROUP BY uuid_text LIMIT 50000"
	findUUIDs = "SELECT toString(uuid) AS uuid_text, " + dayOfEvent + " AS utc_day, event AS event_name" + allEvents +
		"\n  AND toString(uuid) IN ({ids})\nGROUP BY uuid_text, utc_day, event_name LIMIT 50000"

	selectEvents = "SELECT uuid FROM events WHERE properties.$import_job_id = {job_id}" + window

	dayOfEvent = "toDate(toTimeZone(timestamp, 'UTC'))"
	// Older servers refuse toDate here, since they do not know that toTimeZone returns a time.
	startOfDay = "toStartOfDay(toTimeZone(timestamp, 'UTC'))"
)

func ofImport(text, id string, w Window) queries.Query {
	q := inWindow(text, w)
	q.Values["job_id"] = id
	return q
}

func inWindow(text string, w Window) queries.Query {
	return queries.Query{HogQL: text, Values: map[string]any{"start_at": w.From.Format(time.RFC3339), "end_at": w.Until.Format(time.RFC3339)}}
}

// CountEvents counts the events with a timestamp in [from, until), of whole seconds, and with one of the included
// names, if any are given, and without the excluded ones.
func CountEvents(from, until time.Time, include, exclude []string) queries.Query {
	q := inWindow(countEvents, Window{from, until})
	if len(include) > 0 {
		q.HogQL = countEvents + " AND event IN (" + q.Add("name", include...) + ")"
	}
	if len(exclude) > 0 {
		q.HogQL += " AND NOT event IN (" + q.Add("name", exclude...) + ")"
	}
	return q
}

// CountTotal counts all events of an import in a window.
func CountTotal(id string, w Window) queries.Query { return ofImport(countTotal, id, w) }

// CountDays counts the events of an import by day and name.
func CountDays(id string, w Window) queries.Query { return ofImport(countDays, id, w) }

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
