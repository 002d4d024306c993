package hogapitest

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
)

// backfill makes runs for the intervals of a range, one after another. It ends as Completed even if its runs failed.
type backfill struct {
	Backfill

	workflow string // its id for retries and for the action of E1
	export   *export
	updated  time.Time
	finished time.Time
	noEnd    bool // of a run without an end
	open     bool // until it has caught up
	late     int  // reads that do not find the row yet
	records  *int // an estimate; at the end, the sum of its runs that completed
	adjusted time.Time

	intervals []span
	due       time.Time // when the next interval begins; zero while one runs
	current   *run      // its own, or one that was running already
}

// span is one interval; a zero start is the beginning of time.
type span struct{ start, end time.Time }

func (b *backfill) live() bool { return isLive(b.Status) }

func (x span) equal(y span) bool { return x.start.Equal(y.start) && x.end.Equal(y.end) }

func (s *Server) startBackfill(e *export, over span, now time.Time) *backfill {
	return s.newBackfill(e, over, now).start(over, now)
}

// start covers a span with whole intervals; the rest is dropped. Where there is nothing to export, no run is made.
// The newest servers move the start to the begin of the interval of the earliest data by timestamp.
func (b *backfill) start(over span, now time.Time) *backfill {
	e, s := b.export, b.export.project.server
	if e.Deleted { // its schedule is gone
		b.end("Failed", now)
		return b
	}
	start := over.start
	if s.era == E4 && !start.IsZero() {
		start = b.narrow()
	}
	if start.IsZero() {
		b.intervals = []span{over}
	} else {
		b.intervals = e.intervals(start, over.end)
	}
	if e.Model == "hogql" && s.era == E4 {
		b.records = nil
	} else {
		b.records = new(0)
		for _, x := range b.intervals {
			*b.records += e.estimate(x)
		}
		if *b.records == 0 {
			b.intervals = nil
		}
	}
	b.proceed(now)
	return b
}

// intervals are the whole intervals from a start on.
func (e *export) intervals(start, end time.Time) (all []span) {
	for from, to := start, e.intervalAfter(start); !to.After(end); from, to = to, e.intervalAfter(to) {
		all = append(all, span{from, to})
	}
	return all
}

// narrow sets where a backfill with a start begins: at the interval of the earliest data by timestamp, which may be before
// the start. A backfill without data, or of a query, keeps its start.
func (b *backfill) narrow() time.Time {
	e := b.export
	b.adjusted = b.Start
	if e.Model == "hogql" {
		return b.adjusted
	}
	earliest := e.earliest(span{b.Start, b.End})
	if !earliest.IsZero() {
		b.adjusted = e.intervalOf(earliest)
	}
	return b.adjusted
}

// earliest is the earliest data in a time, or zero. Data that is made up begins with its interval.
func (e *export) earliest(x span) (at time.Time) {
	if e.exportsEvents() {
		for _, i := range e.project.rows(x, true, e.names("include_events"), e.names("exclude_events")) {
			if row := e.project.server.table.rows[i]; at.IsZero() || row.at.Before(at) {
				at = row.at
			}
		}
		return at
	}
	for from := e.intervalOf(x.start); from.Before(x.end); from = e.intervalAfter(from) {
		if e.records(from, e.intervalAfter(from)) > 0 {
			return from
		}
	}
	return at
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
	if !b.live() || b.current != nil && b.current.isWorking() {
		return
	}
	b.extend(now)
	if b.Begun == len(b.intervals) {
		b.unpause(now)
		b.end("Completed", now)
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

// extend adds the interval that is next in a backfill without an end, if it is over and there was something to export.
func (b *backfill) extend(now time.Time) {
	if !b.catchesUp() || b.Begun < len(b.intervals) {
		return
	}
	from := or(b.adjusted, b.Start)
	if n := len(b.intervals); n > 0 {
		from = b.intervals[n-1].end
	}
	if to := b.export.intervalAfter(from); to.Before(now) {
		b.intervals = append(b.intervals, span{from, to})
	}
}

// catchesUp reports whether the backfill unpauses its export at the end. One without data, or in one run from the beginning
// of time, does not.
func (b *backfill) catchesUp() bool {
	return b.open && !b.Start.IsZero() && (b.records == nil || *b.records > 0)
}

func (b *backfill) unpause(now time.Time) {
	if e := b.export; b.catchesUp() && e.Paused {
		e.unpause(now)
	}
}

// end counts the records of the runs that have completed. Without one, the estimate stays.
func (b *backfill) end(status hogapi.RunStatus, now time.Time) {
	b.Status, b.finished, b.updated, b.current = status, now, now, nil
	var sum *int
	for _, r := range b.export.runs {
		if r.BackfillID == b.ID && r.completed != nil && r.Status == "Completed" {
			sum = new(deref(sum) + *r.completed)
		}
	}
	if sum != nil {
		b.records = sum
	}
}

func (e *export) proceed(now time.Time) {
	e.catchUp(now)
	for _, b := range e.backfills {
		b.proceed(now)
	}
}

// running is a workflow that continues: its id is that of the export and the end of the interval.
func (e *export) running(x span) *run {
	for _, r := range e.runs {
		if r.isWorking() && x.end.Equal(r.End) {
			return r
		}
	}
	return nil
}

func (b *backfill) cancel(now time.Time) {
	if !b.live() {
		return
	}
	own := b.current
	if b.end("Cancelled", now); own != nil && own.BackfillID == b.ID {
		own.cancel(now)
	}
}

// cancelRunning leaves a backfill that is Starting.
func (b *backfill) cancelRunning(now time.Time) {
	if b.Status == "Running" {
		b.cancel(now)
	}
}

// json is the backfill as the service shows it. Being shown moves it on: from Starting to Running, then its run one step.
func (b *backfill) json(s *Server) object {
	o := object{
		"id": b.ID, "team": b.export.project.team, "batch_export": b.export.ID, "status": b.Status,
		"start_at": stampOrNil(b.Start), "end_at": stamp(b.End), "created_at": stamp(b.Created),
		"finished_at": stampOrNil(b.finished), "last_updated_at": stamp(b.updated),
		"total_records_count": b.records, "adjusted_start_at": stampOrNil(b.adjusted), "progress": b.progress(),
	}
	if b.Status == "Starting" {
		o["adjusted_start_at"], o["total_records_count"] = nil, nil
	}
	if b.noEnd || b.open {
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

// progress is null before a run is counted, after another end than Completed, and from the beginning of time.
func (b *backfill) progress() any {
	total := len(b.intervals)
	switch {
	case b.Status == "Completed":
		return object{"total_runs": total, "finished_runs": total, "progress": 1.0}
	case !b.live() || total == 0 || b.Start.IsZero():
		return nil
	}
	finished := b.Begun
	if b.current != nil && b.current.isWorking() {
		finished--
	}
	return object{"total_runs": total, "finished_runs": finished, "progress": math.Round(10*float64(finished)/float64(total)) / 10}
}

// backfillAction is the endpoint of PostHog's API reference, gone in E4.
func (s *Server) backfillAction(r *request) answer {
	return success(object{"backfill_id": s.backfill(r).workflow})
}

func (s *Server) createBackfill(r *request) answer {
	return reply(http.StatusCreated, object{"backfill_id": s.backfill(r).ID})
}

func (s *Server) backfill(r *request) *backfill {
	e := r.anyExport()
	c := readFields(r.body)
	start := s.bound(e, c, "start_at")
	isOpen := absent(c.fields["end_at"])
	if isOpen && e.kind != "HTTP" && e.kind != "NoOp" {
		refuse(serverError())
	}
	end := or(s.bound(e, c, "end_at"), r.now)
	limit := r.now
	if s.era == E1 {
		limit = e.intervalAfter(r.now)
	}
	if end.After(limit) {
		c.fail("", "invalid_input", fmt.Sprintf("The provided 'end_at' (%s) is in the future", stamp(end)))
	}
	if !start.Before(end) {
		c.fail("", "invalid_input", "The initial backfill datetime 'start_at' must be before 'end_at'")
	}
	b := s.newBackfill(e, span{start, end}, r.now)
	if b.open = isOpen; isOpen {
		b.workflow = b.workflow[:len(b.workflow)-len(end.UTC().Format(time.RFC3339))] + "END"
	}
	return b.start(span{start, end}, r.now)
}

var (
	plainDate  = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`)
	withOffset = regexp.MustCompile(`(Z|[+-]\d{2}:?\d{2})$`)
)

// bound reads one end of a range: a date-time with an offset, or in E4 a plain date for daily and weekly exports.
// Null and an absent one are the zero time.
func (s *Server) bound(e *export, c checker, name string) time.Time {
	fail := func(format string, args ...any) { c.fail("", "invalid_input", fmt.Sprintf(format, args...)) }
	if absent(c.fields[name]) {
		if name == "start_at" && s.era == E4 {
			fail("Backfilling from the beginning of time is not enabled for this team.")
		}
		return time.Time{}
	}
	var text string
	if json.Unmarshal(c.fields[name], &text) != nil {
		fail("Input %s is not a valid ISO formatted datetime.", c.fields[name])
	}
	if s.era == E4 && (e.Interval == "day" || e.Interval == "week") {
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
	b := one(r.anyExport().backfills, r.params["backfill"], func(b *backfill) uuid.UUID { return b.ID })
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
