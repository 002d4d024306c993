package hogapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/coverage"
	"github.com/hogapi/hogapi/internal/narrow"
	"github.com/hogapi/hogapi/internal/pages"
	"github.com/hogapi/hogapi/ops"
)

// coverageReader reads what the coverage of an export is made of.
type coverageReader struct {
	client   *Client
	options  []CallOption
	export   *BatchExport
	selected CoverageOptions
	now      time.Time
	from     time.Time // of the runs that were read
}

func (r *coverageReader) read(ctx context.Context) (*Coverage, error) {
	e, now := r.export, r.now
	c := &Coverage{
		ExportID: e.ID, Name: e.Name, Model: cmp.Or(e.Model, ModelEvents), Destination: e.Destination.Type, Interval: e.Interval,
		From: r.selected.From.UTC(), To: narrow.Earlier(cmp.Or(r.selected.To.UTC(), now), now), CheckedAt: now, Intervals: []CoverageInterval{},
	}
	since := orDefault(r.selected.Since)
	c.From = cmp.Or(c.From, since.From, narrow.Later(now.Add(-coverageDays), e.CreatedAt.UTC()))
	if err := refused(ops.BatchExportsGet, r.selected.checkRange(c.From, c.To)); err != nil {
		return nil, err
	}
	history, why, err := r.history(ctx)
	if err != nil {
		return nil, err
	}
	runs, err := r.runs(ctx, c.From, since)
	if err != nil {
		return nil, err
	}
	unread, err := r.readAttempts(ctx, runs)
	if err != nil {
		return nil, err
	}
	rules := coverage.Rules{
		Now: now, Grace: max(r.grace(), coverage.LongestDelay(string(e.Interval))), StuckAfter: cmp.Or(r.selected.StuckAfter, coverage.StuckAfter(string(e.Interval))),
		Replaces: coverage.IsObjectStore(string(e.Destination.Type)), CoversPast: e.model().AllRows,
		InParts: e.addsInParts(),
	}
	verdicts := rules.Assess(history, coverage.Span{Start: c.From, End: c.To}, e.CreatedAt.UTC(), exportsOf(runs, r.delay()))
	for _, v := range verdicts {
		x := CoverageInterval{Start: v.Start, End: v.End, State: IntervalState(v.State), Runs: []CoverageRun{}, Leftovers: v.Leftovers}
		for _, n := range v.Runs {
			x.Runs = append(x.Runs, runs[n])
		}
		x.count()
		c.Intervals = append(c.Intervals, x)
	}
	c.Notes = append(history.Notes(verdicts, why, c.Model == ModelEvents), c.notesOfCopies(unread)...)
	return c, nil
}

// The activity log is read up to 10 pages. A server may give fewer entries on a page than it is asked for.
const (
	maxLogPages = 10
	maxLogPage  = 1000
)

// withoutLog are the statuses of the service where a key, a plan or a server has no activity log.
var withoutLog = []int{http.StatusPaymentRequired, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed}

// history returns the settings of the past, as far as the activity log has them, and why it was not read.
func (r *coverageReader) history(ctx context.Context) (h coverage.History, why string, err error) {
	e := r.export
	list := endpoint(ops.ActivityLog).with(url.Values{
		"scope": {"BatchExport"}, "item_id": {e.ID.String()}, "page_size": {strconv.Itoa(maxLogPage)},
	})
	var log []coverage.Entry
	for entry, err := range walkByCursor[coverage.Entry](r.client, list, CursorOptions{MaxPages: maxLogPages}, r.options).All(ctx) {
		api, isAnswer := errors.AsType[*APIError](err)
		switch {
		case err == nil:
			log = append(log, entry)
		case errors.Is(err, pages.ErrPageLimit):
			why = fmt.Sprintf(" (only the newest %d entries of the activity log are read)", len(log))
		case isAnswer && slices.Contains(withoutLog, api.StatusCode):
			why = fmt.Sprintf(" (the activity log cannot be read: status %d; it needs the scope activity_log:read and, on PostHog Cloud, a plan with it)", api.StatusCode)
		default:
			return h, "", fromTheStart(err)
		}
	}
	now := coverage.Settings{
		Schedule: e.schedule(), Paused: e.Paused, Start: orDefault(e.StartAt).UTC(), Until: orDefault(e.EndAt).UTC(),
	}
	h = coverage.NewHistory(now, e.CreatedAt.UTC(), e.LastUpdatedAt.UTC(), log)
	h.Paused = orDefault(e.LastPausedAt).UTC()
	return h, why, nil
}

// runs returns the runs that were created since a time, and of the coverage to be continued the others.
func (r *coverageReader) runs(ctx context.Context, from time.Time, since Coverage) (all []CoverageRun, err error) {
	known := map[uuid.UUID]CoverageRun{}
	for _, x := range since.Intervals {
		for _, run := range x.Runs {
			known[run.ID] = run
		}
	}
	if r.selected.Since != nil {
		from = narrow.Earlier(since.CheckedAt, since.To).Add(-coverage.ClocksApart)
		for _, run := range known {
			if !run.Status.IsTerminal() && run.CreatedAt.Before(from) {
				from = run.CreatedAt
			}
		}
	}
	r.from = from
	list := RunListOptions{After: from, Ordering: RunsNewestFirst}.inAnyZone()
	for run, err := range r.client.Runs.All(ctx, r.export.ID, &list, r.options...) {
		if err != nil {
			return nil, fromTheStart(err)
		}
		if r.selected.Since == nil && run.CreatedAt.Before(from.Add(-coverage.ClocksApart)) { // so are the others; with Since, a day is read again
			break
		}
		if run.BatchExportOnDemand == nil {
			known[run.ID] = CoverageRun{
				ID: run.ID, Status: run.Status, Start: orDefault(run.DataIntervalStart).UTC(), End: run.DataIntervalEnd.UTC(), CreatedAt: run.CreatedAt.UTC(),
				Backfill: run.Backfill, Records: run.RecordsCompleted, Bytes: run.BytesExported, RecordsFailed: run.RecordsFailed,
				Rows: known[run.ID].Rows, Attempts: known[run.ID].Attempts,
			}
		}
	}
	for _, run := range known {
		all = append(all, run)
	}
	slices.SortFunc(all, func(a, b CoverageRun) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), slices.Compare(a.ID[:], b.ID[:]))
	})
	return all, r.chooseRows(ctx, all)
}

// chooseRows finds out how the service chose the rows of each run. Runs of backfills of events depend on the start of
// the backfill.
func (r *coverageReader) chooseRows(ctx context.Context, runs []CoverageRun) error {
	open := map[uuid.UUID][]*CoverageRun{} // by backfill; uuid.Nil for late or second runs that name no backfill
	seen, choosing := coverage.Seen{}, r.export.model().Choosing
	for i := len(runs) - 1; i >= 0; i-- { // the oldest first: the schedule runs an interval once
		run := &runs[i]
		isFirst := seen.First(coverage.NewSpan(run.Start, run.End))
		isOfSchedule := run.Backfill == nil && isFirst && !run.isLate(r.delay())
		switch {
		case run.Rows != "":
		case isOfSchedule || choosing == coverage.LikeTheSchedule:
			run.Rows = RowsAsScheduled
		case choosing == coverage.ByTheServer:
			run.Rows = RowsUnknown
		default:
			open[orDefault(run.Backfill)] = append(open[orDefault(run.Backfill)], run)
		}
	}
	if len(open) == 0 {
		return nil
	}
	choose := func(id uuid.UUID, choice func(*CoverageRun) RowChoice) {
		for _, run := range open[id] {
			run.Rows = choice(run)
		}
		delete(open, id)
	}
	for b, err := range r.client.Backfills.All(ctx, r.export.ID, nil, r.options...) {
		if hasNoRecords(err) {
			choose(uuid.Nil, func(*CoverageRun) RowChoice { return RowsByTimestamp })
			break
		}
		if err != nil {
			return fromTheStart(err)
		}
		choose(b.ID, func(run *CoverageRun) RowChoice {
			return r.rowsSince(orDefault(cmp.Or(b.AdjustedStartAt, b.StartAt)), run)
		})
		if len(open) == 0 || len(open) == 1 && open[uuid.Nil] != nil {
			break
		}
	}
	choose(uuid.Nil, func(*CoverageRun) RowChoice { return RowsAsScheduled }) // the service keeps records: the schedule was late
	for id := range open {
		choose(id, func(run *CoverageRun) RowChoice { return r.rowsSince(run.Start, run) })
	}
	return nil
}

// rowsSince returns how the service chose the rows of a run of a backfill by where that began, which is the adjusted start
// if there is one.
func (r *coverageReader) rowsSince(start time.Time, run *CoverageRun) RowChoice {
	line := cmp.Or(coverage.AgeLine(r.selected.AgeLine), r.client.ageLine(true)) // of a record
	if line.IsPast(coverage.NewSpan(start, run.End).First(string(r.export.Interval)), run.CreatedAt) {
		return RowsByTimestamp
	}
	return RowsAsScheduled
}

// isLate reports whether the schedule has hardly begun the run, so long after the end of its interval.
func (run *CoverageRun) isLate(delay time.Duration) bool {
	return run.CreatedAt.After(run.End.Add(delay))
}

func exportsOf(runs []CoverageRun, delay time.Duration) (all []coverage.Export) {
	for i := range runs {
		all = append(all, runs[i].facts(delay))
	}
	return all
}

func (run *CoverageRun) facts(delay time.Duration) coverage.Export {
	return coverage.Export{
		ID: run.ID, Span: coverage.NewSpan(run.Start, run.End), Created: run.CreatedAt, Choice: coverage.ChoiceOf(string(run.Rows)),
		IsScheduled: run.Backfill == nil && !run.isLate(delay), Outcome: coverage.OutcomeOf(string(run.Status), run.RecordsFailed),
		Attempts: run.Attempts, IsEmpty: run.Status == RunStatusCompleted && run.Records != nil && *run.Records == 0,
	}
}

// count adds up the records and bytes of the newest completed run of each interval.
func (x *CoverageInterval) count() {
	seen := coverage.Seen{}
	for _, run := range x.Runs {
		span := coverage.NewSpan(run.Start, run.End)
		if run.Status == RunStatusCompleted && coverage.NewSpan(x.Start, x.End).Holds(span) && seen.First(span) {
			x.Records, x.Bytes = coverage.Sum(x.Records, run.Records), coverage.Sum(x.Bytes, run.Bytes)
		}
	}
}

// delay returns the longest time after the end of an interval at which the schedule begins its run.
func (r *coverageReader) delay() time.Duration {
	delay := coverage.LongestDelay(string(r.export.Interval))
	return min(r.grace(), math.MaxInt64-delay) + delay
}

func (r *coverageReader) grace() time.Duration { return cmp.Or(r.selected.Grace, defaultGrace) }
