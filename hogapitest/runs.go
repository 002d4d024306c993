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
	id        uuid.UUID
	key       string // id as text
	export    *export
	workflow  uuid.UUID // instance_id of its logs
	status    hogapi.RunStatus
	start     *time.Time
	end       time.Time
	created   time.Time
	updated   time.Time
	finished  *time.Time
	completed *int
	failed    *int
	total     *int
	bytes     *int64
	err       *string
	cursor    *string
	backfill  *backfill
	noEnd     bool // the interval is shown without its end
	extra     map[string]any

	outcome Outcome
	step    int
}

func (r *run) live() bool {
	return r.status == "Starting" || r.status == "Running"
}

// newRun makes a run of an interval that is about to start.
func (s *Server) newRun(e *export, start *time.Time, end, now time.Time) *run {
	r := &run{
		id: uuid.New(), export: e, workflow: uuid.New(), status: "Starting",
		start: start, end: end, created: now, updated: now,
		outcome: Outcome{Status: "Completed", Polls: s.polls, Records: e.records(timeOrZero(start), end)},
	}
	if next := &e.project.outcomes; len(*next) > 0 {
		r.outcome = (*next)[0].or(r.outcome)
		*next = (*next)[1:]
	}
	e.add(r)
	return r
}

// add keeps the runs in the order of their creation.
func (e *export) add(r *run) {
	r.key = r.id.String()
	at, _ := slices.BinarySearchFunc(e.runs, r.created, func(x *run, t time.Time) int {
		if x.created.After(t) {
			return 1
		}
		return -1 // of the same moment: after the others
	})
	e.runs = slices.Insert(e.runs, at, r)
}

// advance moves a live run one step.
func (r *run) advance(s *Server) {
	if !r.live() {
		return
	}
	now := s.now()
	r.step++
	r.updated = now
	if r.step < r.outcome.Polls {
		r.status = "Running"
		done, total := r.outcome.Records*r.step/r.outcome.Polls, r.outcome.Records
		r.completed, r.total = &done, &total
		return
	}
	r.finish(s, now)
}

func (r *run) finish(s *Server, now time.Time) {
	r.status = r.outcome.Status
	r.finished, r.updated = &now, now
	total := r.outcome.Records
	r.total = &total
	level, message := "INFO", fmt.Sprintf("Batch export finished with %d records", total)
	if r.status == "Completed" {
		size, failed := int64(total)*512, r.outcome.FailedRecords
		completed := total - failed
		r.completed, r.failed, r.bytes = &completed, &failed, &size
	} else {
		text := r.outcome.Error
		r.err = &text
		level, message = "ERROR", fmt.Sprintf("Batch export run %s: %s", r.status, text)
	}
	r.export.log(r, now, level, message)
	for _, b := range r.export.backfills {
		b.proceed(s, now)
	}
}

// cancel ends a live run.
func (r *run) cancel(now time.Time) {
	if r.live() {
		r.status, r.finished, r.updated = "Cancelled", &now, now
	}
}

// json is the run as the service shows it; being shown moves it on.
func (r *run) json(s *Server) object {
	o := object{
		"id": r.id, "status": r.status, "batch_export": r.export.id,
		"data_interval_start": stampOrNil(r.start), "data_interval_end": stamp(r.end),
		"records_completed": r.completed, "records_total_count": r.total,
		"latest_error": r.err, "cursor": r.cursor,
		"created_at": stamp(r.created), "last_updated_at": stamp(r.updated), "finished_at": stampOrNil(r.finished),
	}
	if s.era >= E2 {
		o["backfill"], o["bytes_exported"] = nil, r.bytes
		if r.backfill != nil {
			o["backfill"] = r.backfill.id
		}
	}
	if s.era >= E3 {
		o["records_failed"], o["batch_export_on_demand"] = r.failed, nil
	}
	if r.noEnd {
		o["data_interval_end"] = nil
	}
	maps.Copy(o, r.extra)
	r.advance(s) // replaces pointers, so o keeps the old values
	return o
}

func byInterval(ordering string) bool {
	return strings.TrimPrefix(ordering, "-") == "data_interval_start"
}

// runsOf are the runs that a request can see: of the export in the path, inside the hidden window of 7 days or the one that
// the query asks for. They are in the order of their creation. The slice may be the export's own.
func (s *Server) runsOf(r *request) ([]*run, *answer) {
	id, err := uuid.Parse(r.params["id"])
	if err != nil {
		return nil, nil
	}
	intervals := byInterval(r.query.Get("ordering"))
	low, high := "after", "before"
	if intervals {
		low, high = "start", "end"
	}
	from, until := r.now.AddDate(0, 0, -7), r.now
	for name, to := range map[string]*time.Time{low: &from, high: &until} {
		if value := r.query.Get(name); value != "" {
			t, ok := readTime(value, r.now)
			if !ok {
				a := invalid(name, "invalid_input", "Enter a valid date/time.")
				return nil, &a
			}
			*to = t
		}
	}
	statuses := r.query["status"]
	if s.era < E3 {
		statuses = nil
	}
	for _, status := range statuses {
		if !slices.Contains(s.statuses(), status) {
			a := invalid("status", "invalid_choice", fmt.Sprintf("%q is not a valid choice.", status))
			return nil, &a
		}
	}
	all := r.project.runsOf(id)
	if !intervals {
		all = createdWithin(all, from, until)
		if len(statuses) == 0 {
			return all, nil
		}
	}
	var seen []*run
	for _, run := range all {
		in := !intervals || run.start == nil && s.era == E1 || run.start != nil && !run.start.Before(from) && !run.end.After(until)
		if in && (len(statuses) == 0 || slices.Contains(statuses, string(run.status))) {
			seen = append(seen, run)
		}
	}
	return seen, nil
}

// createdWithin is the part of a list in the order of creation that lies within a time, both ends included.
func createdWithin(runs []*run, from, until time.Time) []*run {
	low := sort.Search(len(runs), func(i int) bool { return !runs[i].created.Before(from) })
	high := sort.Search(len(runs), func(i int) bool { return runs[i].created.After(until) })
	return runs[low:max(low, high)]
}

// runsOf are all runs of an export, also of a deleted one.
func (p *Project) runsOf(id uuid.UUID) []*run {
	for _, e := range p.exports {
		if e.id == id {
			return e.runs
		}
	}
	return nil
}

func (s *Server) statuses() []string {
	all := []string{"Cancelled", "Completed", "ContinuedAsNew", "Failed", "FailedRetryable", "Terminated", "TimedOut", "Running", "Starting"}
	if s.era >= E2 {
		all = append(all, "FailedBilling")
	}
	return all
}

func (s *Server) listRuns(r *request) answer {
	seen, refusal := s.runsOf(r)
	if refusal != nil {
		return *refusal
	}
	ordering := r.query.Get("ordering")
	if byInterval(ordering) {
		if r.query.Get("cursor") == cursor(false, noStart) {
			return serverError()
		}
		slices.SortStableFunc(seen, func(a, b *run) int { return compareNullsLast(a.start, b.start) })
	}
	key := func(x *run) string {
		if byInterval(ordering) && x.start == nil {
			return noStart
		}
		return x.key
	}
	backwards := ordering != "created_at" && ordering != "data_interval_start"
	return cursorPage(s, r, seen, backwards, 100, key, func(x *run) any { return x.json(s) })
}

// noStart stands for a missing start in a cursor of the oldest era, which cannot read it back.
const noStart = "None"

func compareNullsLast(a, b *time.Time) int {
	switch {
	case a != nil && b != nil:
		return a.Compare(*b)
	case a != nil:
		return -1
	case b != nil:
		return 1
	}
	return 0
}

// run finds the run of the path. The hidden window holds here too.
func (s *Server) run(r *request) (*run, *answer) {
	seen, refusal := s.runsOf(r)
	if refusal != nil {
		return nil, refusal
	}
	id, err := uuid.Parse(r.params["run"])
	if err == nil {
		for _, run := range seen {
			if run.id == id {
				return run, nil
			}
		}
	}
	a := notFound("Not found.")
	return nil, &a
}

// ofRun serves an endpoint of the run of the path.
func ofRun(serve func(*Server, *request, *run) answer) func(*Server, *request) answer {
	return func(s *Server, r *request) answer {
		run, refusal := s.run(r)
		if refusal != nil {
			return *refusal
		}
		return serve(s, r, run)
	}
}

func (s *Server) getRun(_ *request, run *run) answer {
	return reply(http.StatusOK, run.json(s))
}

func (s *Server) cancelRun(r *request, run *run) answer {
	if !run.live() {
		if s.era == E1 {
			return serverError()
		}
		return invalid("", "invalid_input", fmt.Sprintf("Cannot cancel a run that is in '%s' status", run.status))
	}
	run.cancel(r.now)
	for _, b := range run.export.backfills {
		b.proceed(s, r.now)
	}
	return reply(http.StatusOK, object{"cancelled": true})
}

// retryRun is a backfill of the run's own interval. A run with any status can be retried.
func (s *Server) retryRun(r *request, old *run) answer {
	for _, b := range old.export.backfills {
		if b.retry && b.live() && b.covers(old.start, old.end) {
			return serverError() // the workflow is already started
		}
	}
	b := s.startRetry(old, r.now)
	status := http.StatusOK
	if s.era >= E3 {
		status = http.StatusCreated
	}
	return reply(status, object{"backfill_id": b.workflow})
}
