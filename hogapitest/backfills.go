package hogapitest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// backfill makes runs for the intervals of a range, one after another. It ends as Completed even if its runs failed.
type backfill struct {
	id       uuid.UUID
	key      string
	workflow string // its id for retries and in older eras
	export   *export
	status   string
	start    *time.Time
	end      time.Time
	created  time.Time
	updated  time.Time
	finished *time.Time
	retry    bool
	noEnd    bool // of a run without an end
	late     int  // reads that do not find the row yet
	records  int

	intervals []span
	next      int       // index of the interval after the current one
	due       time.Time // when the next interval begins; zero while one runs
	current   *run      // its own, or one that was running already
}

// span is one interval; a nil start is the beginning of time.
type span struct {
	start *time.Time
	end   time.Time
}

func (b *backfill) live() bool { return b.status == "Starting" || b.status == "Running" }

func (b *backfill) covers(start *time.Time, end time.Time) bool {
	return len(b.intervals) == 1 && b.intervals[0].is(start, end)
}

func (x span) is(start *time.Time, end time.Time) bool {
	sameStart := x.start == start || x.start != nil && start != nil && x.start.Equal(*start)
	return sameStart && x.end.Equal(end)
}

// startBackfill covers [start, end) with whole intervals; the rest is dropped. Where there is nothing to export, no run is made.
func (s *Server) startBackfill(e *export, start *time.Time, end, now time.Time) *backfill {
	b := s.newBackfill(e, start, end, now)
	if start == nil {
		b.intervals = []span{{nil, end}}
	} else {
		from := start
		for to := e.intervalAfter(*from); !to.After(end); to = e.intervalAfter(*from) {
			b.intervals = append(b.intervals, span{from, to})
			from = &to
		}
	}
	for _, x := range b.intervals {
		b.records += e.records(timeOrZero(x.start), x.end)
	}
	if b.records == 0 {
		b.intervals = nil
	}
	b.proceed(s, now)
	return b
}

// startRetry covers the interval of a run once more.
func (s *Server) startRetry(old *run, now time.Time) *backfill {
	b := s.newBackfill(old.export, old.start, old.end, now)
	b.retry, b.noEnd = true, old.noEnd
	b.intervals = []span{{old.start, old.end}}
	b.proceed(s, now)
	return b
}

func (s *Server) newBackfill(e *export, start *time.Time, end, now time.Time) *backfill {
	from := "START"
	if start != nil {
		from = start.UTC().Format(time.RFC3339)
	}
	b := &backfill{
		id: uuid.New(), export: e, status: "Starting", start: start, end: end, created: now, updated: now, late: s.lateRows,
		workflow: fmt.Sprintf("%s-Backfill-%s-%s", e.id, from, end.UTC().Format(time.RFC3339)),
	}
	b.key = b.id.String()
	e.backfills = append(e.backfills, b)
	return b
}

// proceed begins the next interval when the current one is over, or ends the backfill.
func (b *backfill) proceed(s *Server, now time.Time) {
	if !b.live() || b.current != nil && b.current.live() {
		return
	}
	if b.next == len(b.intervals) {
		b.status, b.finished, b.updated, b.current = "Completed", &now, now, nil
		return
	}
	if b.due.IsZero() {
		b.due, b.updated = now.Add(s.runDelay), now
	}
	if now.Before(b.due) {
		return
	}
	now, b.due = b.due, time.Time{}
	x := b.intervals[b.next]
	b.next++
	if b.current = b.export.running(x); b.current != nil {
		return // joined
	}
	b.current = s.newRun(b.export, x.start, x.end, now)
	b.current.backfill, b.current.noEnd = b, b.noEnd
}

// proceed begins the runs that are due.
func (p *Project) proceed(now time.Time) {
	for _, e := range p.exports {
		for _, b := range e.backfills {
			b.proceed(p.server, now)
		}
	}
}

// running is a live run of an interval.
func (e *export) running(x span) *run {
	for _, r := range e.runs {
		if r.live() && x.is(r.start, r.end) {
			return r
		}
	}
	return nil
}

func (b *backfill) cancel(now time.Time) {
	if !b.live() {
		return
	}
	b.status, b.finished, b.updated = "Cancelled", &now, now
	if b.current != nil && b.current.backfill == b {
		b.current.cancel(now)
	}
}

// json is the backfill as the service shows it. Being shown moves it on: from Starting to Running, then its run one step.
func (b *backfill) json(s *Server) object {
	finished := b.next
	if b.current != nil && b.current.live() {
		finished--
	}
	progress := object{"total_runs": len(b.intervals), "finished_runs": finished, "progress": 1.0}
	if len(b.intervals) > 0 {
		progress["progress"] = float64(finished) / float64(len(b.intervals))
	}
	o := object{
		"id": b.id, "team": b.export.project.team, "batch_export": b.export.id, "status": b.status,
		"start_at": stampOrNil(b.start), "end_at": stamp(b.end), "created_at": stamp(b.created),
		"finished_at": stampOrNil(b.finished), "last_updated_at": stamp(b.updated),
		"total_records_count": b.records, "adjusted_start_at": nil, "progress": progress,
	}
	if b.noEnd {
		o["end_at"] = nil
	}
	switch {
	case b.status == "Starting":
		b.status = "Running"
	case b.status == "Running" && b.current != nil:
		b.current.advance(s)
	}
	return o
}

// backfillAction is the endpoint of PostHog's API reference, gone in the newest era.
func (s *Server) backfillAction(r *request) answer {
	b, refusal := s.backfill(r)
	if refusal != nil {
		return *refusal
	}
	return reply(http.StatusOK, object{"backfill_id": b.workflow})
}

func (s *Server) createBackfill(r *request) answer {
	b, refusal := s.backfill(r)
	if refusal != nil {
		return *refusal
	}
	if s.era >= E3 {
		return reply(http.StatusCreated, object{"backfill_id": b.id})
	}
	return reply(http.StatusCreated, object{"backfill_id": b.workflow})
}

// backfill checks a request for a backfill and begins it.
func (s *Server) backfill(r *request) (*backfill, *answer) {
	refuse := func(a answer) (*backfill, *answer) { return nil, &a }
	e := r.export()
	if e == nil {
		return refuse(notFound("Not found."))
	}
	f, refusal := readFields(r.body)
	if refusal != nil {
		return nil, refusal
	}
	for _, name := range []string{"start_at", "end_at"} {
		if _, ok := f[name]; !ok {
			return refuse(invalid(name, "required", "Both 'start_at' and 'end_at' must be specified"))
		}
	}
	start, problem := s.bound(e, f, "start_at")
	if problem != "" {
		return refuse(invalid("start_at", "invalid_input", problem))
	}
	if isNull(f["end_at"]) && e.destination.kind != "HTTP" {
		return refuse(serverError())
	}
	end, problem := s.bound(e, f, "end_at")
	if problem != "" {
		return refuse(invalid("end_at", "invalid_input", problem))
	}
	if end == nil {
		end = &r.now
	}
	limit := r.now
	if s.era < E3 {
		limit = e.intervalAfter(r.now)
	}
	if end.After(limit) {
		return refuse(invalid("end_at", "invalid_input", fmt.Sprintf("The provided 'end_at' (%s) is too far into the future", stamp(*end))))
	}
	if start != nil && !start.Before(*end) {
		return refuse(invalid("start_at", "invalid_input", "The initial backfill datetime 'start_at' happens after 'end_at'"))
	}
	return s.startBackfill(e, start, *end, r.now), nil
}

var (
	plainDate  = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`)
	withOffset = regexp.MustCompile(`(Z|[+-]\d{2}:?\d{2})$`)
)

// bound reads one end of a range: a date-time with an offset, or in the newest era a plain date for daily and weekly exports.
// Nil is null. The problem is the service's text.
func (s *Server) bound(e *export, f fields, name string) (t *time.Time, problem string) {
	if isNull(f[name]) {
		if name == "start_at" && s.era >= E3 {
			return nil, "Backfilling from the beginning of time is not enabled for this team."
		}
		return nil, ""
	}
	var text string
	if json.Unmarshal(f[name], &text) != nil {
		return nil, fmt.Sprintf("Input %s is not a valid ISO formatted datetime.", f[name])
	}
	if s.era >= E3 && (e.interval == "day" || e.interval == "week") {
		return e.day(text)
	}
	at, ok := readISO(text)
	if !ok || plainDate.MatchString(text) {
		return nil, fmt.Sprintf("Input %s is not a valid ISO formatted datetime.", text)
	}
	if !withOffset.MatchString(text) {
		return nil, fmt.Sprintf("Input %s is naive.", text)
	}
	return &at, ""
}

// day reads a plain date in the export's time zone and at its offset.
func (e *export) day(text string) (*time.Time, string) {
	zone, err := time.LoadLocation(e.timezone)
	if err != nil {
		zone = time.UTC
	}
	day, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return nil, fmt.Sprintf("Input %s is not a valid date: daily and weekly batch exports take dates as YYYY-MM-DD.", text)
	}
	if e.interval == "week" {
		weekday := time.Sunday
		if e.offsetDay != nil {
			weekday = time.Weekday(*e.offsetDay)
		}
		if day.Weekday() != weekday {
			return nil, fmt.Sprintf("Input %s is not a %s, the day on which this batch export's weeks begin.", text, weekday)
		}
	}
	begin := firstAt(day.Add(e.hour()), zone)
	return &begin, ""
}

// hour is when its days begin.
func (e *export) hour() time.Duration {
	if e.offsetHour == nil {
		return 0
	}
	return time.Duration(*e.offsetHour) * time.Hour
}

// firstAt is when clocks of a zone show a time first. Where they skip it, it is of the offset before, as in Python.
func firstAt(shown time.Time, zone *time.Location) time.Time {
	const day = 24 * time.Hour
	for _, near := range []time.Duration{-day, day} {
		_, offset := shown.Add(near).In(zone).Zone()
		if at := shown.Add(-time.Duration(offset) * time.Second); shownBy(at, zone).Equal(shown) {
			return at
		}
	}
	_, offset := shown.Add(-day).In(zone).Zone()
	return shown.Add(-time.Duration(offset) * time.Second)
}

// shownBy is the wall clock of a zone, as if it were UTC.
func shownBy(at time.Time, zone *time.Location) time.Time {
	_, offset := at.In(zone).Zone()
	return at.UTC().Add(time.Duration(offset) * time.Second)
}

// intervalAfter is the end of an interval that starts at t. Days and weeks keep their hour in the export's zone.
func (e *export) intervalAfter(t time.Time) time.Time {
	zone, err := time.LoadLocation(e.timezone)
	if err != nil {
		zone = time.UTC
	}
	shown := shownBy(t, zone)
	if begin := shown.Truncate(24 * time.Hour).Add(e.hour()); firstAt(begin, zone).Equal(t) {
		shown = begin // which the clocks may have skipped
	}
	switch e.interval {
	case "day":
		return firstAt(shown.AddDate(0, 0, 1), zone)
	case "week":
		return firstAt(shown.AddDate(0, 0, 7), zone)
	case "every 5 minutes":
		return t.Add(5 * time.Minute)
	case "every 15 minutes":
		return t.Add(15 * time.Minute)
	}
	return t.Add(time.Hour)
}

func (s *Server) listBackfills(r *request) answer {
	var seen []*backfill
	if id, err := uuid.Parse(r.params["id"]); err == nil {
		for _, e := range r.project.exports {
			if e.id == id {
				seen = slices.DeleteFunc(slices.Clone(e.backfills), (*backfill).isLate)
			}
		}
	}
	ordering := r.query.Get("ordering")
	if strings.TrimPrefix(ordering, "-") == "start_at" {
		slices.SortStableFunc(seen, func(a, b *backfill) int { return compareStarts(a.start, b.start) })
	}
	backwards := ordering != "created_at" && ordering != "start_at"
	return cursorPage(s, r, seen, backwards, 50, func(b *backfill) string { return b.key }, func(b *backfill) any { return b.json(s) })
}

// compareStarts puts the beginning of time first.
func compareStarts(a, b *time.Time) int {
	var x, y time.Time
	if a != nil {
		x = *a
	}
	if b != nil {
		y = *b
	}
	return x.Compare(y)
}

// row finds the backfill of the path, once the service has written it.
func (r *request) row() *backfill {
	e := r.export()
	id, err := uuid.Parse(r.params["backfill"])
	if e == nil || err != nil {
		return nil
	}
	for _, b := range e.backfills {
		if b.id == id && !b.isLate() {
			return b
		}
	}
	return nil
}

// isLate reports whether a read does not find the row yet.
func (b *backfill) isLate() bool {
	if b.late == 0 {
		return false
	}
	b.late--
	return true
}

func (s *Server) getBackfill(_ *request, b *backfill) answer {
	return reply(http.StatusOK, b.json(s))
}

func (s *Server) cancelBackfill(r *request, b *backfill) answer {
	if !b.live() {
		return invalid("", "invalid_input", fmt.Sprintf("Cannot cancel a backfill that is in '%s' status", b.status))
	}
	b.cancel(r.now)
	return reply(http.StatusOK, object{"cancelled": true})
}
