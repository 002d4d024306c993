package hogapitest

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
)

// run is one run as the server keeps it. A live run moves one step each time that it is shown: Starting, Running with
// growing counts, then its outcome.
type run struct {
	Run

	export    *export
	workflow  uuid.UUID // instance_id of its logs
	updated   time.Time
	completed *int
	failed    *int
	total     *int
	bytes     *int64

	outcome   Outcome
	step      int
	cancelled bool    // its workflow has not ended since
	rows      []int32 // that it writes when it completes
}

func isLive(status hogapi.RunStatus) bool { return status == "Starting" || status == "Running" }

func (r *run) live() bool { return isLive(r.Status) }

// isWorking reports whether the workflow of the run continues, also after a cancel.
func (r *run) isWorking() bool { return r.live() || r.cancelled }

// nextOutcome takes the outcome of a run that comes to life.
func (p *Project) nextOutcome(records int) Outcome {
	o := Outcome{Status: "Completed", Polls: p.server.polls, Records: records}
	if len(p.outcomes) > 0 {
		o, p.outcomes = p.outcomes[0].or(o), p.outcomes[1:]
	}
	return o
}

// newRun makes a run of an interval of a backfill that is about to start.
func (s *Server) newRun(b *backfill, x span, now time.Time) *run {
	e := b.export
	return e.begin(Run{Start: x.start, End: x.end, Created: now, BackfillID: b.ID, backfill: or(b.adjusted, b.Start)}, e.project.nextOutcome(0))
}

// begin makes a run, with the outcome that it will have.
func (e *export) begin(x Run, outcome Outcome) *run {
	x.ID, x.Status, x.FromStart = uuid.New(), "Starting", x.Start.IsZero()
	r := &run{Run: x, export: e, workflow: uuid.New(), updated: x.Created}
	r.outcome = outcome.or(Outcome{Status: "Completed", Polls: e.project.server.polls, Records: e.records(x.Start, x.End)})
	if rows := e.project.exportRows; rows != nil && r.outcome.Status == "Completed" {
		r.outcome.Records = rows(ExportedRun{e.shown(), x.Start, x.End, x.BackfillID != uuid.Nil, x.backfill})
	}
	if e.exportsEvents() {
		r.rows = e.choose(x)
		r.outcome.Records = len(r.rows)
	}
	e.add(r)
	r.attempt(x.Created)
	return r
}

// attempt writes the line with which each attempt begins. Other destinations have such lines too, which nobody reads.
func (r *run) attempt(now time.Time) {
	kind, stage := map[string]string{"Postgres": "PostgreSQL", "Redshift": "Redshift"}[r.export.kind], ""
	if kind == "" || r.outcome.Status == "FailedBilling" {
		return
	}
	if kind == "PostgreSQL" && r.export.project.server.era == E4 {
		stage = " (using internal stage)"
	}
	const isoformat = "2006-01-02T15:04:05-07:00"
	start := r.Start.UTC().Format(isoformat)
	if r.FromStart {
		start = "START"
	}
	message := fmt.Sprintf("Batch exporting range %s - %s to %s%s: db.public.events", start, r.End.UTC().Format(isoformat), kind, stage)
	r.export.logs = append(r.export.logs, LogEntry{Time: now, Level: "INFO", Message: message, RunID: r.ID, instance: r.workflow})
}

// ExportedRun is a run that has begun. The service chooses the rows of a scheduled run by their arrival, and the rows
// of an old backfill or retry by their timestamp.
type ExportedRun struct {
	Export        Export
	Start, End    time.Time // a zero Start is the beginning of time
	IsBackfill    bool      // of a backfill or a retry
	BackfillStart time.Time // of the whole backfill; a zero time is the beginning of time
}

// ExportRows sets a function that exports the rows of each run that begins and will complete, and returns their
// number. It must not call the server. Runs of AddRun are over already and export nothing.
func (p *Project) ExportRows(export func(ExportedRun) (records int)) {
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	p.exportRows = export
}

// add keeps the runs in the order of their creation.
func (e *export) add(r *run) {
	at := sort.Search(len(e.runs), func(i int) bool { return e.runs[i].Created.After(r.Created) })
	e.runs = slices.Insert(e.runs, at, r)
}

// advance moves a live run one step.
func (r *run) advance(s *Server) {
	switch {
	case r.cancelled:
		if r.outcome.CancelPolls--; r.outcome.CancelPolls <= 0 {
			r.endCancelled(s.now())
		}
		return
	case !r.live() || r.outcome.OnCancel == CancelHasNoEffect && r.step >= r.outcome.Polls-1 && r.Status == "Running":
		return
	}
	r.step++
	r.updated = s.now()
	r.total = new(r.outcome.Records)
	if r.step < r.outcome.Polls || r.outcome.OnCancel == CancelHasNoEffect {
		r.Status = "Running"
		r.completed = new(r.outcome.Records * r.step / r.outcome.Polls)
		return
	}
	r.end(r.updated)
}

// end gives a run its outcome.
func (r *run) end(now time.Time) {
	r.Status, r.Finished, r.updated = r.outcome.Status, now, now
	r.total = new(r.outcome.Records)
	level, message := "INFO", fmt.Sprintf("Batch export finished with %d records", *r.total)
	for range r.outcome.Attempts - 1 {
		r.export.writePart(r)
		r.attempt(now)
	}
	switch r.Status {
	case "Completed":
		r.export.write(r)
		r.completed, r.failed, r.bytes = new(*r.total-r.outcome.FailedRecords), new(r.outcome.FailedRecords), new(int64(*r.total)*512)
	case "FailedBilling":
		r.Finished = time.Time{} // neither an end nor an error, ever
		level, message = "ERROR", "Batch export run FailedBilling"
	default:
		r.export.writePart(r)
		r.Error = r.outcome.Error
		level, message = "ERROR", fmt.Sprintf("Batch export run %s: %s", r.Status, r.Error)
	}
	r.export.logs = append(r.export.logs, LogEntry{Time: r.updated, Level: level, Message: message, RunID: r.ID, instance: r.workflow})
	if r.Status == "Failed" {
		r.export.failed(now)
	}
	r.export.proceed(r.updated)
}

// cancel writes Cancelled at once. The workflow ends later, when the run is shown, and writes its own end.
func (r *run) cancel(now time.Time) {
	if r.live() && r.outcome.OnCancel != CancelHasNoEffect {
		r.Status, r.updated, r.cancelled = "Cancelled", now, true
	}
}

func (r *run) endCancelled(now time.Time) {
	if r.cancelled = false; r.outcome.OnCancel == CancelIsTooLate {
		r.end(now)
		return
	}
	r.export.writePart(r)
	r.Finished, r.updated = now, now
	r.export.proceed(now)
}

// json is the run as the service shows it; being shown moves it on.
func (r *run) json(s *Server) object {
	o := object{
		"id": r.ID, "status": r.Status, "batch_export": r.export.ID, "data_interval_start": stampOrNil(r.Start), "data_interval_end": stamp(r.End),
		"records_completed": r.completed, "records_total_count": r.total, "latest_error": orNull(r.Error), "cursor": nil,
		"created_at": stamp(r.Created), "last_updated_at": stamp(r.updated), "finished_at": stampOrNil(r.Finished),
	}
	if s.era == E4 {
		o["backfill"], o["bytes_exported"] = orNull(r.BackfillID), r.bytes
		o["records_failed"], o["batch_export_on_demand"] = r.failed, nil
	}
	if r.NoEnd {
		o["data_interval_end"] = nil
	}
	maps.Copy(o, r.Extra)
	r.advance(s) // replaces pointers, so o keeps the old values
	return o
}

func byInterval(ordering string) bool {
	return strings.TrimPrefix(ordering, "-") == "data_interval_start"
}

// runsOf are the runs that a request can see: of the export in the path, inside the hidden window of 7 days or the one that
// the query asks for. They are in the order of their creation. The slice may be the export's own.
func (s *Server) runsOf(r *request) []*run {
	id, err := uuid.Parse(r.params["id"])
	if err != nil {
		return nil
	}
	intervals := byInterval(r.query.Get("ordering"))
	low, high := "after", "before"
	if intervals {
		low, high = "start", "end"
	}
	from, until := r.now.AddDate(0, 0, -7), r.now
	r.time(low, &from)
	r.time(high, &until)
	statuses := r.query["status"]
	if s.era == E1 {
		statuses = nil
	}
	for _, status := range statuses {
		if !slices.Contains(s.statuses(), status) {
			refuse(invalid("status", "invalid_choice", fmt.Sprintf("%q is not a valid choice.", status)))
		}
	}
	all := r.project.find(id).runs
	if !intervals {
		all = createdWithin(all, from, until)
		if len(statuses) == 0 {
			return all
		}
	}
	var seen []*run
	for _, run := range all {
		in := !intervals || run.Start.IsZero() && s.era == E1 || !run.Start.IsZero() && !run.Start.Before(from) && !run.End.After(until)
		if in && (len(statuses) == 0 || slices.Contains(statuses, string(run.Status))) {
			seen = append(seen, run)
		}
	}
	return seen
}

// createdWithin is the part of a list in the order of creation that lies within a time, both ends included.
func createdWithin(runs []*run, from, until time.Time) []*run {
	low := sort.Search(len(runs), func(i int) bool { return !runs[i].Created.Before(from) })
	high := sort.Search(len(runs), func(i int) bool { return runs[i].Created.After(until) })
	return runs[low:max(low, high)]
}

func (s *Server) statuses() []string {
	all := []string{"Cancelled", "Completed", "ContinuedAsNew", "Failed", "FailedRetryable", "Terminated", "TimedOut", "Running", "Starting"}
	if s.era == E4 {
		all = append(all, "FailedBilling")
	}
	return all
}

func (s *Server) listRuns(r *request) answer {
	seen := s.runsOf(r)
	ordering := r.query.Get("ordering")
	key := func(x *run) uuid.UUID { return x.ID }
	if byInterval(ordering) {
		if r.query.Get("cursor") == cursor(uuid.Nil) {
			return serverError()
		}
		slices.SortStableFunc(seen, func(a, b *run) int { return compareZerosLast(a.Start, b.Start) })
		key = func(x *run) uuid.UUID {
			if x.FromStart { // E1 cannot read such a cursor back
				return uuid.Nil
			}
			return x.ID
		}
	}
	backwards := ordering != "created_at" && ordering != "data_interval_start"
	return cursorPage(s, r, seen, backwards, 100, key, func(x *run) object { return x.json(s) })
}

func compareZerosLast(a, b time.Time) int {
	switch {
	case a.IsZero() == b.IsZero():
		return a.Compare(b)
	case b.IsZero():
		return -1
	}
	return 1
}

// run finds the run of the path. The hidden window holds here too.
func (s *Server) run(r *request) *run {
	return one(s.runsOf(r), r.params["run"], func(x *run) uuid.UUID { return x.ID })
}

func (s *Server) getRun(r *request) answer { return success(s.run(r).json(s)) }

func (s *Server) cancelRun(r *request) answer {
	run := s.run(r)
	if !run.live() {
		if s.era == E1 {
			return serverError()
		}
		return invalid("", "invalid_input", fmt.Sprintf("Cannot cancel a run that is in '%s' status", run.Status))
	}
	run.cancel(r.now)
	run.export.proceed(r.now)
	return success(object{"cancelled": true})
}

// retryRun is a backfill between the bounds of the run, by today's schedule. A run with any status can be retried.
func (s *Server) retryRun(r *request) answer {
	old := s.run(r)
	interval := span{old.Start, old.End}
	for _, b := range old.export.backfills {
		if b.Retry && b.live() && interval.equal(span{b.Start, b.End}) {
			return serverError() // the workflow is already started
		}
	}
	var b *backfill
	if s.era == E4 && !old.NoEnd {
		b = s.startBackfill(old.export, interval, r.now)
	} else {
		b = s.newBackfill(old.export, interval, r.now)
		b.noEnd, b.intervals, b.records = old.NoEnd, []span{interval}, new(old.export.estimate(interval))
		b.proceed(r.now)
	}
	b.Retry = true
	status := http.StatusOK
	if s.era == E4 {
		status = http.StatusCreated
	}
	return reply(status, object{"backfill_id": b.workflow})
}
