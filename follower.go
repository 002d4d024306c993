package hogapi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/mask"
)

// mostIntervals is how many intervals of a backfill are followed: each is held with its newest run.
const mostIntervals = 200_000

// follower is the state of following one ticket.
type follower struct {
	client  *Client
	ticket  BackfillTicket
	before  BackfillBaseline
	watch   WatchOptions
	options []CallOption

	id     uuid.UUID // of the service's record, once known
	row    *Backfill // the record, once it is there
	whole  *span     // what is to be covered, once known
	joined []uuid.UUID
	runs   map[span]Run // the newest of each interval
	from   time.Time    // its own runs were created from then on
	since  time.Time    // a look reads the runs created from then on
	most   int          // intervals

	changed   bool // since the last state
	changedAt time.Time
}

func newFollower(c *Client, t BackfillTicket, o WatchOptions, options []CallOption) *follower {
	f := &follower{client: c, ticket: t, before: BackfillBaseline{Since: t.RequestedAt}, watch: o, options: options, runs: map[span]Run{}, most: mostIntervals, changed: true}
	f.id, _ = uuid.Parse(t.BackfillID) // a retry and older servers have another kind of name
	if t.Baseline != nil {
		f.before = *t.Baseline
	}
	f.joined = slices.Clone(f.before.Running)
	f.readFrom(t.RequestedAt.Add(-clocksApart))
	if f.before.OfRuns {
		f.readFrom(f.before.Since)
	}
	return f
}

// readFrom sets the time since which the runs in question were created.
func (f *follower) readFrom(t time.Time) { f.from, f.since = t, t }

// look reads what is new and says how far it has come.
func (f *follower) look(ctx context.Context) (sight[BackfillState], error) {
	for _, read := range []func(context.Context) error{f.readRow, f.locate, f.findRow, f.readJoined, f.readRuns} {
		if err := read(ctx); err != nil {
			return sight[BackfillState]{}, err
		}
	}
	if len(f.runs) > f.most {
		return sight[BackfillState]{}, fmt.Errorf("hogapi: backfill of export %s has more than %d intervals: start and follow it in parts", f.ticket.ExportID, f.most)
	}
	if f.changed {
		f.changedAt = time.Now()
	}
	done, err := f.isDone(ctx)
	if err != nil {
		return sight[BackfillState]{}, err
	}
	seen := sight[BackfillState]{f.state(done), f.changed, done}
	f.changed = false
	return seen, nil
}

// readRow reads the service's record by its id. The service writes it a moment after the request.
func (f *follower) readRow(ctx context.Context) error {
	if f.before.OfRuns || f.id == uuid.Nil || f.row != nil && f.row.Status.IsTerminal() {
		return nil
	}
	row, err := f.client.Backfills.Get(ctx, f.ticket.ExportID, f.id, f.options...)
	switch {
	case err == nil:
		f.setRow(row)
	case isUnknownEndpoint(err):
		f.before.OfRuns = true
	case errors.Is(err, ErrNotFound) && f.row == nil:
	default:
		return err
	}
	return nil
}

// findRow finds the record where the ticket does not name it: the first one of the range that was
// not there before the request.
func (f *follower) findRow(ctx context.Context) error {
	if f.before.OfRuns || f.id != uuid.Nil {
		return nil
	}
	var first *Backfill
	for row, err := range f.client.Backfills.All(ctx, f.ticket.ExportID, nil, f.options...) { // the newest comes first
		if hasNoRecords(err) {
			f.before.OfRuns = true
			return nil
		}
		if err != nil {
			return err
		}
		if row.CreatedAt.Before(f.before.Since) {
			break
		}
		if f.before.isNew(row.ID, row.CreatedAt) && f.asksFor(row.span()) {
			first = &row
		}
	}
	if first != nil {
		f.id = first.ID
		f.setRow(first)
	}
	return nil
}

// asksFor reports whether the ticket is for a range. Where an export was unpaused, the service
// alone knows the end.
func (f *follower) asksFor(x span) bool {
	return x == *f.whole || f.ticket.Unpaused && x.start.Equal(f.whole.start)
}

func (f *follower) setRow(row *Backfill) {
	if f.row == nil {
		f.readFrom(row.CreatedAt.Add(-clocksApart))
		f.whole = new(row.span())
	}
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
		f.whole = new(run.span())
		if run.Status.goesOn() && !slices.Contains(f.joined, run.ID) {
			f.joined = append(f.joined, run.ID)
		}
	case t.EndAt.IsDate():
		return f.locateDates(ctx)
	default:
		f.whole = new(spanOf(new(t.StartAt.Time()), t.EndAt.Time()))
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
		return fmt.Errorf("hogapi: the time zone %q of export %s is not known here: import _ \"time/tzdata\"", mask.Clean(export.Timezone), export.ID)
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

// readJoined reads the runs that were under way at the request: their intervals get no run of their
// own.
func (f *follower) readJoined(ctx context.Context) error {
	var live []uuid.UUID
	for _, id := range f.joined {
		run, err := f.client.Runs.Get(ctx, f.ticket.ExportID, id, f.options...)
		if err != nil {
			return err
		}
		if f.whole.holds(run.span()) {
			f.take(*run)
			if !f.watch.Until(*run) {
				live = append(live, id)
			}
		}
	}
	f.joined = live
	return nil
}

// readRuns reads the runs that are new or not yet over. They begin one after another, so that is
// seldom more than a page.
func (f *follower) readRuns(ctx context.Context) error {
	if f.id == uuid.Nil && !f.before.OfRuns {
		return nil // its runs cannot be recognised yet
	}
	for run, err := range f.client.Runs.All(ctx, f.ticket.ExportID, &RunListOptions{Ordering: RunsNewestFirst}, f.options...) {
		if err != nil {
			return err
		}
		if run.CreatedAt.Before(f.since) || len(f.runs) > f.most {
			break
		}
		if f.isOwn(run) {
			f.take(run)
		}
	}
	f.since = f.nextSince()
	return nil
}

// isOwn reports whether a run was made by what the ticket is for, as far as the service says so.
func (f *follower) isOwn(r Run) bool {
	if r.Backfill != nil && f.id != uuid.Nil {
		return *r.Backfill == f.id
	}
	return f.before.OfRuns && f.before.isNew(r.ID, r.CreatedAt) && f.whole.holds(r.span())
}

// take keeps a run unless a newer one of its interval is known.
func (f *follower) take(r Run) {
	old, known := f.runs[r.span()]
	if known && old.ID != r.ID && r.CreatedAt.Before(old.CreatedAt) {
		return
	}
	f.changed = f.changed || !known || old.ID != r.ID || old.mark() != r.mark()
	f.runs[r.span()] = r
}

// nextSince is where the next look begins to read: no later than its oldest run that is not over,
// and a little before the newest, for rows that are written late.
func (f *follower) nextSince() time.Time {
	var newest, oldest time.Time
	for _, run := range f.runs {
		if !f.isOwn(run) {
			continue
		}
		if run.CreatedAt.After(newest) {
			newest = run.CreatedAt
		}
		if !f.watch.Until(run) && (oldest.IsZero() || run.CreatedAt.Before(oldest)) {
			oldest = run.CreatedAt
		}
	}
	since := newest.Add(-clocksApart)
	if !oldest.IsZero() && oldest.Before(since) {
		since = oldest
	}
	if since.Before(f.from) {
		return f.from
	}
	return since
}

// isDone reports whether nothing more is expected.
func (f *follower) isDone(ctx context.Context) (bool, error) {
	switch {
	case f.anyGoesOn():
		return false, nil
	case f.row == nil:
		isCovered := coverage(*f.whole, f.sorted(f.isOwn)).size == 0
		return isCovered || time.Since(f.changedAt) >= f.watch.Settle, nil
	case !f.row.Status.IsTerminal():
		return false, nil
	}
	if err := f.joinGaps(ctx); err != nil {
		return false, err
	}
	return !f.anyGoesOn(), nil
}

// joinGaps looks for the runs of others that the backfill has joined: those of intervals that got
// no run of its own, and that were under way while it was.
func (f *follower) joinGaps(ctx context.Context) error {
	whole := *f.whole
	if adjusted := f.row.AdjustedStartAt; adjusted != nil && adjusted.After(whole.start) {
		whole.start = adjusted.UTC()
	}
	gap := coverage(whole, f.sorted(f.isOwn))
	if gap.size == 0 {
		return nil
	}
	newest := RunListOptions{Ordering: RunsNewestFirst}
	if gap.hull.start.IsZero() || gap.hull.end.IsZero() {
		return f.joinAmong(ctx, newest, gap.hull) // the order by interval does not list runs without a start
	}
	const zones = 24 * time.Hour // some servers read times in the project's zone
	byInterval := RunListOptions{Ordering: RunsByInterval, Start: gap.hull.start.Add(-zones), End: gap.hull.end.Add(zones)}
	err := f.joinAmong(ctx, byInterval, gap.hull)
	if errors.Is(err, ErrServer) {
		return f.joinAmong(ctx, newest, gap.hull) // some servers fail in that order at a run without a start
	}
	return err
}

// joinAmong takes the runs of a list that the backfill has joined in an opening of its own runs.
func (f *follower) joinAmong(ctx context.Context, o RunListOptions, opening span) error {
	for run, err := range f.client.Runs.All(ctx, f.ticket.ExportID, &o, f.options...) {
		if err != nil {
			return err
		}
		old, known := f.runs[run.span()]
		if known && f.isOwn(old) || !opening.holds(run.span()) || !f.wasUnderWay(run) {
			continue
		}
		f.take(run)
		if !f.watch.Until(run) && !slices.Contains(f.joined, run.ID) {
			f.joined = append(f.joined, run.ID)
		}
	}
	return nil
}

// wasUnderWay reports whether a run was under way at some time between the beginning of the
// backfill and its end.
func (f *follower) wasUnderWay(r Run) bool {
	ended, over := r.LastUpdatedAt, f.row.LastUpdatedAt
	if r.FinishedAt != nil {
		ended = *r.FinishedAt
	}
	if f.row.FinishedAt != nil {
		over = *f.row.FinishedAt
	}
	return !r.CreatedAt.After(over) && (!f.watch.Until(r) || ended.After(f.row.CreatedAt))
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
		case run.endedBadly() && (run.Status.IsTerminal() || f.watch.Until(run)):
			s.Failed++
		case run.Status == RunStatusCompleted:
			s.Completed++
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
