package hogapi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
)

// follower is the state of following one ticket.
type follower struct {
	client  *Client
	ticket  BackfillTicket
	watch   WatchOptions
	options []CallOption

	rowID   uuid.UUID // of the service's record, once known
	row     *Backfill
	noRows  bool         // this server keeps no records of backfills
	whole   *span        // what is to be covered, once known
	retried *Run         // as it was at the first look; nil for a backfill
	joined  bool         // runs that were under way at the request have been looked for
	runs    map[span]Run // the newest of each interval
	from    time.Time    // runs created earlier are not of this request
	since   time.Time    // a look reads the runs created from then on

	changed   bool // since the last state
	changedAt time.Time
}

// clockSkew is how far the clocks of the service's own machines may be apart.
const clockSkew = 5 * time.Second

func newFollower(c *Client, t BackfillTicket, o WatchOptions, options []CallOption) *follower {
	from := t.RequestedAt.Add(-clockSkew)
	f := &follower{client: c, ticket: t, watch: o, options: options, runs: map[span]Run{}, from: from, since: from, changed: true}
	f.rowID, _ = uuid.Parse(t.BackfillID) // a retry and older servers have another kind of name
	return f
}

// look reads what is new and says how far it has come.
func (f *follower) look(ctx context.Context) (sight[BackfillState], error) {
	for _, read := range []func(context.Context) error{f.readRow, f.locate, f.findRow, f.joinAtFirst, f.readRuns} {
		if err := read(ctx); err != nil {
			return sight[BackfillState]{}, err
		}
	}
	done, err := f.isDone(ctx)
	if err != nil {
		return sight[BackfillState]{}, err
	}
	seen := sight[BackfillState]{f.state(done), f.changed, done}
	f.noteChange()
	f.changed = false
	return seen, nil
}

// noteChange remembers when something was new.
func (f *follower) noteChange() {
	if f.changed {
		f.changedAt = time.Now()
	}
}

// readRow reads the service's record by its id. At first there may be none yet.
func (f *follower) readRow(ctx context.Context) error {
	if f.rowID == uuid.Nil || f.row != nil && f.row.Status.IsTerminal() {
		return nil
	}
	row, err := f.client.Backfills.Get(ctx, f.ticket.ExportID, f.rowID, f.options...)
	if errors.Is(err, ErrNotFound) && f.row == nil {
		return nil
	}
	if err != nil {
		return err
	}
	f.setRow(row)
	return nil
}

// findRow looks for a record of the range, made since the request, where the ticket has no id of one.
func (f *follower) findRow(ctx context.Context) error {
	if f.rowID != uuid.Nil || f.noRows {
		return nil
	}
	var found *Backfill
	for row, err := range f.client.Backfills.All(ctx, f.ticket.ExportID, nil, f.options...) {
		if errors.Is(err, ErrNotFound) {
			f.noRows = true
			return nil
		}
		if err != nil {
			return err
		}
		if row.CreatedAt.Before(f.from) {
			break
		}
		if row.EndAt != nil && spanOf(row.StartAt, *row.EndAt) == *f.whole {
			found = &row
		}
	}
	if found != nil {
		f.rowID = found.ID
		f.setRow(found)
	}
	return nil
}

func (f *follower) setRow(row *Backfill) {
	f.changed = f.changed || f.row == nil || f.row.mark() != row.mark()
	f.row = row
}

// backfillMark is what of a record counts as a change.
type backfillMark struct {
	status                   RunStatus
	records, total, finished int64
}

func (b *Backfill) mark() backfillMark {
	p := orDefault(b.Progress)
	return backfillMark{b.Status, countOr(b.TotalRecordsCount), countOr(p.TotalRuns), countOr(p.FinishedRuns)}
}

// locate finds out what is to be covered.
func (f *follower) locate(ctx context.Context) error {
	t := f.ticket
	switch {
	case f.whole != nil:
	case t.RetriedRun != uuid.Nil:
		run, err := f.client.Runs.Get(ctx, t.ExportID, t.RetriedRun, f.options...)
		if err != nil {
			return err
		}
		f.retried = run
		f.whole = new(run.span())
	case f.row != nil && f.row.EndAt != nil:
		f.whole = new(spanOf(f.row.StartAt, *f.row.EndAt))
	case t.EndAt.IsDate():
		return f.locateDates(ctx)
	default:
		f.whole = &span{t.StartAt.Time(), t.EndAt.Time()}
	}
	return nil
}

// locateDates asks the export in which zone, and at which hour, its days begin.
func (f *follower) locateDates(ctx context.Context) error {
	export, err := f.client.BatchExports.Get(ctx, f.ticket.ExportID, f.options...)
	if err != nil {
		return err
	}
	zone, err := time.LoadLocation(export.Timezone)
	if err != nil {
		return fmt.Errorf("hogapi: the export's time zone %q is not known here: import time/tzdata", clean(export.Timezone))
	}
	hour := orDefault(export.OffsetHour)
	f.whole = &span{end: beginOfDay(f.ticket.EndAt, hour, zone)}
	if f.ticket.StartAt.IsDate() {
		f.whole.start = beginOfDay(f.ticket.StartAt, hour, zone)
	}
	return nil
}

func beginOfDay(date Timestamp, hour int, zone *time.Location) time.Time {
	y, m, d := date.Time().Date()
	return time.Date(y, m, d, hour, 0, 0, 0, zone).UTC()
}

// joinAtFirst looks for the runs of the range that are under way already: those intervals get no run of their own.
func (f *follower) joinAtFirst(ctx context.Context) error {
	if f.joined {
		return nil
	}
	if err := f.join(ctx, *f.whole, RunStatusStarting, RunStatusRunning, RunStatusContinuedAsNew); err != nil {
		return err
	}
	f.joined = true
	return nil
}

// join takes in the runs within x that were under way at the request. No status means any.
func (f *follower) join(ctx context.Context, x span, statuses ...RunStatus) error {
	const zones = 24 * time.Hour // old servers read times in the project's zone
	o := RunListOptions{Ordering: RunsByInterval, End: x.end.Add(zones), Statuses: statuses}
	if !x.start.IsZero() {
		o.Start = x.start.Add(-zones)
	}
	for run, err := range f.client.Runs.All(ctx, f.ticket.ExportID, &o, f.options...) {
		if err != nil {
			return err
		}
		if _, known := f.runs[run.span()]; !known && x.holds(run.span()) && f.wasUnderWay(run) {
			f.take(run)
		}
	}
	return nil
}

// wasUnderWay reports whether a run went on at the time of the request, or began later. A run that was retried and is over is
// what the retry is to replace, however short before it ended.
func (f *follower) wasUnderWay(r Run) bool {
	if r.ID == f.ticket.RetriedRun && f.watch.Until(r) {
		return false
	}
	if f.retried != nil && r.CreatedAt.Before(f.retried.CreatedAt) {
		return false
	}
	ended := r.LastUpdatedAt
	if r.FinishedAt != nil {
		ended = *r.FinishedAt
	}
	return !f.watch.Until(r) || !ended.Before(f.ticket.RequestedAt)
}

// readRuns reads the runs that are new or not yet over. They begin one after another, so that is seldom more than a page.
func (f *follower) readRuns(ctx context.Context) error {
	for run, err := range f.client.Runs.All(ctx, f.ticket.ExportID, nil, f.options...) {
		if err != nil {
			return err
		}
		if run.CreatedAt.Before(f.since) {
			break
		}
		old, known := f.runs[run.span()]
		if known && old.ID == run.ID || f.isOwn(run) && (!known || old.CreatedAt.Before(run.CreatedAt)) {
			f.take(run)
		}
	}
	f.since = f.nextSince()
	return nil
}

// isOwn reports whether a run was made since the request, for an interval of the range. One that was over by then was not.
func (f *follower) isOwn(r Run) bool {
	if f.row != nil && r.Backfill != nil && *r.Backfill == f.row.ID {
		return true
	}
	return !r.CreatedAt.Before(f.from) && f.wasUnderWay(r) && f.whole.holds(r.span())
}

func (f *follower) take(r Run) {
	old, known := f.runs[r.span()]
	f.changed = f.changed || !known || old.ID != r.ID || old.mark() != r.mark()
	f.runs[r.span()] = r
}

// nextSince is where the next look begins to read: no later than the oldest run that goes on, and a little before the
// newest run of all, for rows that are written late.
func (f *follower) nextSince() time.Time {
	var oldest, newest time.Time
	for _, run := range f.runs {
		if !f.watch.Until(run) && (oldest.IsZero() || run.CreatedAt.Before(oldest)) {
			oldest = run.CreatedAt
		}
		if run.CreatedAt.After(newest) {
			newest = run.CreatedAt
		}
	}
	since := newest.Add(-time.Minute)
	if since.Before(f.from) {
		since = f.from
	}
	if !oldest.IsZero() && oldest.Before(since) {
		return oldest
	}
	return since
}

// isDone reports whether nothing more is expected. Before it says so of a range with gaps, it looks for runs that were
// under way at the request and have ended since.
func (f *follower) isDone(ctx context.Context) (bool, error) {
	gap := coverage(*f.whole, f.sorted(f.isOwn))
	if !f.mayBeDone(gap) {
		return false, nil
	}
	if gap.size == 0 {
		return true, nil
	}
	if err := f.join(ctx, gap.hull); err != nil {
		return false, err
	}
	return !f.anyGoesOn(), nil
}

func (f *follower) mayBeDone(gap gap) bool {
	f.noteChange()
	switch {
	case f.anyGoesOn():
		return false
	case f.row != nil:
		return f.row.Status.IsTerminal()
	default:
		return gap.size == 0 || time.Since(f.changedAt) >= f.watch.Settle
	}
}

func (f *follower) anyGoesOn() bool {
	for _, run := range f.runs {
		if !f.watch.Until(run) {
			return true
		}
	}
	return false
}

// sorted is the chosen runs in the order of their intervals.
func (f *follower) sorted(choose func(Run) bool) []Run {
	var runs []Run
	for _, run := range f.runs {
		if choose(run) {
			runs = append(runs, run)
		}
	}
	slices.SortFunc(runs, func(a, b Run) int { return a.span().compare(b.span()) })
	return runs
}

// state is a snapshot that is the reader's to keep.
func (f *follower) state(done bool) *BackfillState {
	s := &BackfillState{Backfill: f.row, Runs: f.sorted(func(Run) bool { return true }), Done: done}
	for _, run := range s.Runs {
		switch {
		case run.Status == RunStatusCompleted:
			s.Completed++
		case run.endedBadly() && (run.Status.IsTerminal() || f.watch.Until(run)):
			s.Failed++
		}
	}
	s.Progress = f.whole.part(coverage(*f.whole, f.sorted(f.watch.Until)).size)
	if f.row != nil {
		s.Progress = max(s.Progress, orDefault(orDefault(f.row.Progress).Progress))
		if f.row.Status == RunStatusCompleted {
			s.Progress = 1
		}
	}
	return s
}
