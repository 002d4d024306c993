package hogapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/arrival"
	"github.com/hogapi/hogapi/internal/httptry"
	"github.com/hogapi/hogapi/internal/watch"
	"github.com/hogapi/hogapi/ops"
)

// The most rows that the queries of this package ask for.
const (
	mostCountRows = 50_000
	mostListRows  = 10_000
)

const (
	dayOfEvent = "toDate(toTimeZone(timestamp, 'UTC'))"
	// Older servers do not know that toTimeZone returns a time, and refuse toDate of it.
	startOfDay = "toStartOfDay(toTimeZone(timestamp, 'UTC'))"

	findUUID = "SELECT " + dayOfEvent + " AS utc_day, event AS event_name, count() AS copies, uniqExact(uuid) AS uuids\nFROM events\n" +
		"WHERE toString(uuid) = {one_id}" + queryWindow + "\nGROUP BY utc_day, event_name ORDER BY utc_day, event_name LIMIT 50000"
)

// Answers that hold no result.
var (
	errFullPage = errors.New("the answer has as many rows as it may have, so there can be more")
	errCached   = errors.New("the answer is from a cache, and not of now")
)

// ask carries out one query now, and returns its rows, of which there must be fewer than most.
//
// POST /query/, scope query:read.
func ask[T any](ctx context.Context, c *Client, q Query, name string, most int) ([]T, error) {
	r := endpoint(ops.Query)
	r.body = struct {
		Query   Query  `json:"query"`
		Refresh string `json:"refresh"`
		Name    string `json:"name"`
	}{q, "force_blocking", name}
	r.leastTry = queryTry
	r.tooMuchIsFinal = true
	answer, err := fetch[hogRows[T]](ctx, c, r, nil)
	switch {
	case err != nil:
		return nil, err
	case answer.isCached:
		return nil, errCached
	case len(answer.rows) >= most:
		return nil, errFullPage
	}
	return answer.rows, nil
}

// queryTry is the least time limit of a try: the service waits up to 30 s for room, and runs 10 s.
const queryTry = time.Minute

// hogRows is the answer to a query. Each row decodes itself, from a list of columns.
type hogRows[T any] struct {
	rows     []T
	isCached bool
}

// decodeRows implements listed. It refuses what is not one whole answer.
func (a *hogRows[T]) decodeRows(ctx context.Context, body []byte) error {
	d := json.NewDecoder(bytes.NewReader(body))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return errors.New("it is not a JSON object")
	}
	seen := map[string]bool{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return err
		}
		key, _ := token.(string)
		if seen[key] {
			return errors.New("it has a key twice")
		}
		seen[key] = true
		switch key {
		case "results":
			err = a.readRows(ctx, d)
		case "is_cached":
			var cached *bool
			err = d.Decode(&cached)
			a.isCached = orDefault(cached)
		case "error":
			var failed any
			if err = d.Decode(&failed); err == nil && failed != nil {
				err = errors.New("it has an error of its own")
			}
		default:
			err = d.Decode(new(json.RawMessage))
		}
		if err != nil {
			return err
		}
	}
	if !seen["results"] {
		return errors.New("it has no results")
	}
	if _, err := d.Token(); err != nil {
		return errors.New("it has no end")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more after its end")
	}
	return nil
}

func (a *hogRows[T]) readRows(ctx context.Context, d *json.Decoder) error {
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return errors.New("its results are not a list")
	}
	for d.More() {
		if ctx.Err() != nil {
			return httptry.ContextError(ctx)
		}
		if len(a.rows) == mostCountRows { // which the caller refuses
			return fmt.Errorf("%w: over %d rows", httptry.ErrTooBig, mostCountRows)
		}
		var row T
		if err := d.Decode(&row); err != nil {
			return fmt.Errorf("row %d: %s", len(a.rows), "it is not as it was asked for")
		}
		a.rows = append(a.rows, row)
	}
	_, err := d.Token()
	return err
}

// columns decodes a row of so many columns.
func columns(b []byte, into ...any) error {
	var list []json.RawMessage
	if err := json.Unmarshal(b, &list); err != nil {
		return err
	}
	if len(list) != len(into) {
		return errors.New("another number of columns")
	}
	for i, place := range into {
		if string(list[i]) == "null" {
			return errors.New("a column is null")
		}
		if err := json.Unmarshal(list[i], place); err != nil {
			return err
		}
	}
	return nil
}

// countRow is a row of a count by day and name.
type countRow struct {
	day   time.Time
	event string
	arrival.Counts
}

func (r *countRow) UnmarshalJSON(b []byte) error {
	var day string
	if err := columns(b, &day, &r.event, &r.Copies, &r.Seen); err != nil {
		return err
	}
	at, err := time.Parse(time.DateOnly, day[:min(len(day), len(time.DateOnly))])
	r.day = at
	if err == nil && (r.Seen < 1 || r.Copies < r.Seen) {
		err = errors.New("counts that contradict each other")
	}
	return err
}

// uuidRow is a row of a list of uuids.
type uuidRow struct{ id uuid.UUID }

func (r *uuidRow) UnmarshalJSON(b []byte) error {
	var text string
	if err := columns(b, &text); err != nil {
		return err
	}
	id, err := uuid.Parse(text)
	if err == nil && id.String() != text {
		err = errors.New("a uuid in another form")
	}
	r.id = id
	return err
}

// isTooMuch reports whether less can be asked for with more success.
func isTooMuch(err error) bool {
	if api, ok := errors.AsType[*APIError](err); ok {
		return api.StatusCode == http.StatusGatewayTimeout || api.StatusCode == statusTooSlow
	}
	return errors.Is(err, errFullPage) || errors.Is(err, httptry.ErrTooBig) || errors.Is(err, httptry.ErrTimeout)
}

// statusTooSlow is how the service refuses a query that it expects to take too long.
const statusTooSlow = 512

// isHopeless reports whether no query can succeed before the caller has corrected something.
func isHopeless(err error) bool {
	return errors.Is(err, ErrUnauthorized) || errors.Is(err, ErrForbidden) || errors.Is(err, ErrNotFound) ||
		errors.Is(err, ErrUnsupported) || errors.As(err, new(*InputError))
}

// Waits for room at the service.
const (
	firstWaitForRoom = 10 * time.Second
	longestWait      = 5 * time.Minute
	mostWaits        = 10
)

// patiently repeats a query while the service is busy. It waits as long as it is asked to, or else ten
// seconds, doubling. One after the other, queries never take more than one of the project's three places.
func patiently[T any](ctx context.Context, query func() ([]T, error)) ([]T, error) {
	wait := firstWaitForRoom
	for n := 1; ; n++ {
		rows, err := query()
		api, ok := errors.AsType[*APIError](err)
		isBusy := ok && (api.StatusCode == http.StatusTooManyRequests || api.StatusCode == http.StatusServiceUnavailable)
		if !isBusy || n > mostWaits || ctx.Err() != nil || api.RetryAfter > time.Hour {
			return rows, err
		}
		if !watch.Sleep(ctx, max(wait, api.RetryAfter)) {
			return nil, fmt.Errorf("%w (while the service was busy: %w)", context.Cause(ctx), err)
		}
		wait = min(2*wait, longestWait)
	}
}

// job asks for the events of one import.
type job struct {
	client *Client
	id     string
	older  bool // the server refuses toDate of another zone
}

func (j *job) query(hogQL string, w arrival.Window) Query {
	return Receipt{ID: j.id}.query(hogQL, w.From, w.Until)
}

func (j *job) name() string { return "hogapi verify " + j.id }

// count counts by day and name.
func (j *job) count(ctx context.Context, w arrival.Window) ([]countRow, error) {
	return j.countBy(ctx, j.query(countDays, w), w)
}

// find looks for an event by its uuid, among those of the import or among all.
func (j *job) find(ctx context.Context, id uuid.UUID, ofImport bool, w arrival.Window) ([]countRow, error) {
	q := j.query(findUUID, w)
	q.Values["one_id"] = id.String()
	if ofImport {
		q.HogQL = strings.Replace(q.HogQL, "WHERE ", "WHERE properties.$import_job_id = {job_id} AND ", 1)
	} else {
		delete(q.Values, "job_id")
	}
	return j.countBy(ctx, q, w)
}

func (j *job) countBy(ctx context.Context, q Query, w arrival.Window) ([]countRow, error) {
	count := func() ([]countRow, error) {
		sent := q
		if j.older {
			sent.HogQL = strings.ReplaceAll(q.HogQL, dayOfEvent, startOfDay)
		}
		rows, err := ask[countRow](ctx, j.client, sent, j.name(), mostCountRows)
		if err == nil {
			err = checkCounts(rows, w)
		}
		return rows, err
	}
	rows, err := patiently(ctx, count)
	if errors.Is(err, ErrInvalid) && !errors.As(err, new(*InputError)) && !j.older {
		j.older = true
		if again, err := patiently(ctx, count); err == nil {
			return again, nil
		}
		j.older = false
	}
	return rows, err
}

// checkCounts refuses an answer to another question.
func checkCounts(rows []countRow, w arrival.Window) error {
	type key struct {
		day   time.Time
		event string
	}
	seen := make(map[key]bool, len(rows))
	for _, r := range rows {
		k := key{r.day, r.event}
		isOld := !w.Until.After(time.Unix(0, 0)) // where the service names no days
		if seen[k] || !isOld && (r.day.Before(w.From) || !r.day.Before(w.Until)) {
			return errors.New("the answer has a row that was not asked for, or has one twice")
		}
		seen[k] = true
	}
	return nil
}

// list gives the uuids of the events of a name in a window, in the order of their texts.
func (j *job) list(ctx context.Context, event string, w arrival.Window) func(yield func(uuid.UUID, error) bool) {
	return func(yield func(uuid.UUID, error) bool) {
		after := ""
		for {
			q := j.query(listUUIDs, w)
			q.Values["one_event"], q.Values["after_id"] = event, after
			rows, err := patiently(ctx, func() ([]uuidRow, error) {
				return ask[uuidRow](ctx, j.client, q, j.name(), mostListRows+1)
			})
			for _, r := range rows {
				if r.id.String() <= after {
					err = errors.New("the answer lists uuids out of order")
					break
				}
				after = r.id.String()
				if !yield(r.id, nil) {
					return
				}
			}
			if err != nil {
				yield(uuid.Nil, &windowError{w, err})
				return
			}
			if len(rows) < mostListRows {
				return
			}
		}
	}
}

// windowError is a list that has failed, and for which time.
type windowError struct {
	window arrival.Window
	err    error
}

func (e *windowError) Error() string { return fmt.Sprintf("%v: %v", e.window, bare(e.err)) }

func (e *windowError) Unwrap() error { return e.err }
