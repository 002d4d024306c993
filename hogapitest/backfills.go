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
	Backfill

	workflow string // its id for retries and in older eras
	export   *export
	updated  time.Time
	finished time.Time
	noEnd    bool // of a run without an end
	late     int  // reads that do not find the row yet
	records  int  // an estimate; at the end, the sum of its runs

	intervals []span
	due       time.Time // when the next interval begins; zero while one runs
	current   *run      // its own, or one that was running already
}

// span is one interval; a zero start is the beginning of time.
type span struct{ start, end time.Time }

func (b *backfill) live() bool { return isLive(b.Status) }

func (x span) equal(y span) bool { return x.start.Equal(y.start) && x.end.Equal(y.end) }

// startBackfill covers a span with whole intervals; the rest is dropped. Where there is nothing to export, no run is made.
func (s *Server) startBackfill(e *export, over span, now time.Time) *backfill {
	b := s.newBackfill(e, over, now)
	if over.start.IsZero() {
		b.intervals = []span{over}
	} else {
		for from, to := over.start, e.intervalAfter(over.start); !to.After(over.end); from, to = to, e.intervalAfter(to) {
			b.intervals = append(b.intervals, span{from, to})
		}
	}
	for _, x := range b.intervals {
		b.records += e.estimate(x)
	}
	if b.records == 0 {
		b.intervals = nil
	}
	b.proceed(now)
	return b
}

func (s *Server) newBackfill(e *export, over span, now time.Time) *backfill {
	from := "START"
	if !over.start.IsZero() {
		from = over.start.UTC().Format(time.RFC3339)
	}
	b := &backfill{
		Backfill: Backfill{ID: uuid.New(), Status: "Starting", Start: over.start, End: over.end, Created: now},
		export:   e, updated: now, late: s.lateRows,
		workflow: fmt.Sprintf("%s-Backfill-%s-%s", e.ID, from, over.end.UTC().Format(time.RFC3339)),
	}
	e.backfills = append(e.backfills, b)
	return b
}

// proceed begins the next interval when the current one is over, or ends the backfill.
func (b *backfill) proceed(now time.Time) {
	if !b.live() || b.current != nil && b.current.live() {
		return
	}
	if b.Begun == len(b.intervals) {
		b.Status, b.finished, b.updated, b.current, b.records = "Completed", now, now, nil, 0
		for _, r := range b.export.runs {
			if r.BackfillID == b.ID && r.completed != nil {
				b.records += *r.completed
			}
		}
		return
	}
	s := b.export.project.server
	if b.due.IsZero() {
		b.due, b.updated = now.Add(s.runDelay), now
	}
	if now.Before(b.due) {
		return
	}
	now, b.due = b.due, time.Time{}
	x := b.intervals[b.Begun]
	b.Begun++
	if b.current = b.export.running(x); b.current != nil {
		return // joined
	}
	b.current = s.newRun(b, x, now)
	b.current.NoEnd = b.noEnd
}

func (e *export) proceed(now time.Time) {
	e.catchUp(now)
	for _, b := range e.backfills {
		b.proceed(now)
	}
}

func (e *export) running(x span) *run {
	for _, r := range e.runs {
		if r.live() && x.equal(span{r.Start, r.End}) {
			return r
		}
	}
	return nil
}

func (b *backfill) cancel(now time.Time) {
	if !b.live() {
		return
	}
	b.Status, b.finished, b.updated = "Cancelled", now, now
	if b.current != nil && b.current.BackfillID == b.ID {
		b.current.cancel(now)
	}
}

// json is the backfill as the service shows it. Being shown moves it on: from Starting to Running, then its run one step.
func (b *backfill) json(s *Server) object {
	finished := b.Begun
	if b.current != nil && b.current.live() {
		finished--
	}
	progress := object{"total_runs": len(b.intervals), "finished_runs": finished, "progress": 1.0}
	if len(b.intervals) > 0 {
		progress["progress"] = float64(finished) / float64(len(b.intervals))
	}
	o := object{
		"id": b.ID, "team": b.export.project.team, "batch_export": b.export.ID, "status": b.Status,
		"start_at": stampOrNil(b.Start), "end_at": stamp(b.End), "created_at": stamp(b.Created),
		"finished_at": stampOrNil(b.finished), "last_updated_at": stamp(b.updated),
		"total_records_count": b.records, "adjusted_start_at": nil, "progress": progress,
	}
	if b.noEnd {
		o["end_at"] = nil
	}
	switch {
	case b.Status == "Starting":
		b.Status = "Running"
	case b.Status == "Running" && b.current != nil:
		b.current.advance(s)
	}
	return o
}

// backfillAction is the endpoint of PostHog's API reference, gone in the newest era.
func (s *Server) backfillAction(r *request) answer {
	return success(object{"backfill_id": s.backfill(r).workflow})
}

func (s *Server) createBackfill(r *request) answer {
	b := s.backfill(r)
	if s.era >= E3 {
		return reply(http.StatusCreated, object{"backfill_id": b.ID})
	}
	return reply(http.StatusCreated, object{"backfill_id": b.workflow})
}

func (s *Server) backfill(r *request) *backfill {
	e := r.export()
	c := readFields(r.body)
	for _, name := range []string{"start_at", "end_at"} {
		if !c.has(name) {
			c.fail(name, "required", "Both 'start_at' and 'end_at' must be specified")
		}
	}
	start := s.bound(e, c, "start_at")
	if isNull(c.fields["end_at"]) && e.kind != "HTTP" {
		refuse(serverError())
	}
	end := or(s.bound(e, c, "end_at"), r.now)
	limit := r.now
	if s.era < E3 {
		limit = e.intervalAfter(r.now)
	}
	if end.After(limit) {
		c.fail("end_at", "invalid_input", fmt.Sprintf("The provided 'end_at' (%s) is too far into the future", stamp(end)))
	}
	if !start.Before(end) {
		c.fail("start_at", "invalid_input", "The initial backfill datetime 'start_at' happens after 'end_at'")
	}
	return s.startBackfill(e, span{start, end}, r.now)
}

var (
	plainDate  = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`)
	withOffset = regexp.MustCompile(`(Z|[+-]\d{2}:?\d{2})$`)
)

// bound reads one end of a range: a date-time with an offset, or in the newest era a plain date for daily and weekly exports.
// Null is the zero time.
func (s *Server) bound(e *export, c checker, name string) time.Time {
	fail := func(format string, args ...any) { c.fail(name, "invalid_input", fmt.Sprintf(format, args...)) }
	if isNull(c.fields[name]) {
		if name == "start_at" && s.era >= E3 {
			fail("Backfilling from the beginning of time is not enabled for this team.")
		}
		return time.Time{}
	}
	var text string
	if json.Unmarshal(c.fields[name], &text) != nil {
		fail("Input %s is not a valid ISO formatted datetime.", c.fields[name])
	}
	if s.era >= E3 && (e.Interval == "day" || e.Interval == "week") {
		return e.day(text, fail)
	}
	at, ok := readISO(text)
	if !ok || plainDate.MatchString(text) {
		fail("Input %s is not a valid ISO formatted datetime.", text)
	}
	if !withOffset.MatchString(text) {
		fail("Input %s is naive.", text)
	}
	return at
}

// day reads a plain date in the export's time zone and at its offset.
func (e *export) day(text string, fail func(string, ...any)) time.Time {
	day, err := time.Parse(time.DateOnly, text)
	if err != nil {
		fail("Input %s is not a valid date: daily and weekly batch exports take dates as YYYY-MM-DD.", text)
	}
	if e.Interval == "week" {
		if weekday := time.Weekday(deref(e.offsetDay)); day.Weekday() != weekday {
			fail("Input %s is not a %s, the day on which this batch export's weeks begin.", text, weekday)
		}
	}
	return firstAt(day.Add(e.hour()), e.zone())
}

func (e *export) zone() *time.Location {
	zone, err := time.LoadLocation(e.Timezone)
	if err != nil {
		return time.UTC
	}
	return zone
}

// hour is when its days begin.
func (e *export) hour() time.Duration {
	return time.Duration(deref(e.offsetHour)) * time.Hour
}

// firstAt is when clocks of a zone show a time first. Where they skip it, it is of the offset before, as in Python.
func firstAt(shown time.Time, zone *time.Location) time.Time {
	if all := timesAt(shown, zone); len(all) > 0 {
		return all[0]
	}
	_, offset := shown.Add(-24 * time.Hour).In(zone).Zone()
	return shown.Add(-time.Duration(offset) * time.Second)
}

// timesAt are the times at which clocks of a zone show a time: two or none, where they repeat or skip it.
func timesAt(shown time.Time, zone *time.Location) (all []time.Time) {
	for _, near := range []time.Duration{-24 * time.Hour, 24 * time.Hour} {
		_, offset := shown.Add(near).In(zone).Zone()
		at := shown.Add(-time.Duration(offset) * time.Second)
		if shownBy(at, zone).Equal(shown) && !slices.ContainsFunc(all, at.Equal) {
			all = append(all, at)
		}
	}
	return all
}

// shownBy is the wall clock of a zone, as if it were UTC.
func shownBy(at time.Time, zone *time.Location) time.Time {
	_, offset := at.In(zone).Zone()
	return at.UTC().Add(time.Duration(offset) * time.Second)
}

// length returns the length of each interval; 0 for days and weeks, which changes of the clock make longer or shorter.
func (e *export) length() time.Duration {
	switch e.Interval {
	case "day", "week":
		return 0
	case "every 5 minutes":
		return 5 * time.Minute
	case "every 15 minutes":
		return 15 * time.Minute
	default:
		return time.Hour
	}
}

// intervalAfter is the end of an interval that starts at t. Days and weeks keep their hour in the export's zone.
func (e *export) intervalAfter(t time.Time) time.Time {
	zone := e.zone()
	shown := shownBy(t, zone)
	if begin := shown.Truncate(24 * time.Hour).Add(e.hour()); firstAt(begin, zone).Equal(t) {
		shown = begin // which the clocks may have skipped
	}
	switch e.Interval {
	case "day":
		return firstAt(shown.AddDate(0, 0, 1), zone)
	case "week":
		return firstAt(shown.AddDate(0, 0, 7), zone)
	default:
		return t.Add(e.length())
	}
}

func (s *Server) listBackfills(r *request) answer {
	id, _ := uuid.Parse(r.params["id"])
	seen := slices.DeleteFunc(slices.Clone(r.project.find(id).backfills), (*backfill).isLate)
	ordering := r.query.Get("ordering")
	if strings.TrimPrefix(ordering, "-") == "start_at" {
		slices.SortStableFunc(seen, func(a, b *backfill) int { return a.Start.Compare(b.Start) })
	}
	backwards := ordering != "created_at" && ordering != "start_at"
	return cursorPage(s, r, seen, backwards, 50, func(b *backfill) uuid.UUID { return b.ID }, func(b *backfill) object { return b.json(s) })
}

// row finds the backfill of the path, once the service has written it.
func (r *request) row() *backfill {
	b := one(r.export().backfills, r.params["backfill"], func(b *backfill) uuid.UUID { return b.ID })
	if b.isLate() {
		refuse(notFound("Not found."))
	}
	return b
}

// isLate reports whether a read does not find the row yet.
func (b *backfill) isLate() bool {
	if b.late == 0 {
		return false
	}
	b.late--
	return true
}

func (s *Server) getBackfill(r *request) answer { return success(r.row().json(s)) }

func (s *Server) cancelBackfill(r *request) answer {
	b := r.row()
	if !b.live() {
		return invalid("", "invalid_input", fmt.Sprintf("Cannot cancel a backfill that is in '%s' status", b.Status))
	}
	b.cancel(r.now)
	return success(object{"cancelled": true})
}
