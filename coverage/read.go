package coverage

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/internal/bridge"
	calendar "github.com/hogapi/hogapi/internal/coverage"
	"github.com/hogapi/hogapi/internal/narrow"
	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/ops"
)

// reader reads the data for the coverage of an export.
type reader struct {
	service

	export   export
	selected Options
	now      time.Time
	from     time.Time // of the runs that were read
}

func (r *reader) read(ctx context.Context) (*Coverage, error) {
	e, now := r.export, r.now
	c := &Coverage{
		ExportID: e.ID, Name: e.Name, Model: cmp.Or(e.Model, hogapi.ModelEvents), Destination: e.Destination.Type, Interval: e.Interval,
		From: r.selected.From.UTC(), To: narrow.Earlier(cmp.Or(r.selected.To.UTC(), now), now), CheckedAt: now, Intervals: []Interval{},
	}
	since := outgoing.OrDefault(r.selected.Since)
	c.From = cmp.Or(c.From, since.From, narrow.Later(now.Add(-defaultDays), e.CreatedAt.UTC()))
	if err := outgoing.Refused(ops.BatchExportsGet, r.selected.checkRange(c.From, c.To)); err != nil {
		return nil, err
	}
	history, why, err := r.root.History(ctx, e.BatchExport)
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
	rules := rules{
		now: now, grace: max(r.grace(), calendar.LongestDelay(string(e.Interval))), delay: r.delay(),
		stuckAfter: cmp.Or(r.selected.StuckAfter, calendar.StuckAfter(string(e.Interval))),
		replaces:   e.isObjectStore(), coversPast: e.model().AllRows, inParts: e.addsInParts(),
	}
	hasUnknown := false
	for _, v := range rules.assess(history, calendar.Span{Start: c.From, End: c.To}, e.CreatedAt.UTC(), runs) {
		v.count()
		c.Intervals = append(c.Intervals, v.Interval)
		hasUnknown = hasUnknown || v.due.Absence == calendar.Unknown
	}
	c.Notes = append(history.Notes(hasUnknown, why, c.Model == hogapi.ModelEvents), c.notesOfCopies(unread)...)
	return c, nil
}

// runs returns the runs that were created since a time, and of the coverage to be continued the others.
func (r *reader) runs(ctx context.Context, from time.Time, since Coverage) (all []Run, err error) {
	known := map[uuid.UUID]Run{}
	for _, x := range since.Intervals {
		for _, run := range x.Runs {
			known[run.ID] = run
		}
	}
	if r.selected.Since != nil {
		from = narrow.Earlier(since.CheckedAt, since.To).Add(-calendar.ClocksApart)
		for _, run := range known {
			if !run.Status.IsTerminal() && run.CreatedAt.Before(from) {
				from = run.CreatedAt
			}
		}
	}
	r.from = from
	list := hogapi.RunListOptions{After: from, Ordering: hogapi.RunsNewestFirst}
	if !from.IsZero() {
		list.After = from.Add(-calendar.ZonesApart) // old servers read times in the project's zone
	}
	for run, err := range r.Runs.All(ctx, r.export.ID, &list) {
		if err != nil {
			return nil, bridge.FromTheStart(err)
		}
		if r.selected.Since == nil && run.CreatedAt.Before(from.Add(-calendar.ClocksApart)) { // so are the others; with Since, a day is read again
			break
		}
		if run.BatchExportOnDemand == nil {
			known[run.ID] = Run{
				ID: run.ID, Status: run.Status, Start: outgoing.OrDefault(run.DataIntervalStart).UTC(), End: run.DataIntervalEnd.UTC(), CreatedAt: run.CreatedAt.UTC(),
				Backfill: run.Backfill, Records: run.RecordsCompleted, Bytes: run.BytesExported, RecordsFailed: run.RecordsFailed,
				Rows: known[run.ID].Rows, Attempts: known[run.ID].Attempts,
			}
		}
	}
	for _, run := range known {
		all = append(all, run)
	}
	slices.SortFunc(all, func(a, b Run) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), slices.Compare(a.ID[:], b.ID[:]))
	})
	return all, r.chooseRows(ctx, all)
}

// chooseRows finds out how the service chose the rows of each run. Runs of backfills of events depend on the start of
// the backfill.
func (r *reader) chooseRows(ctx context.Context, runs []Run) error {
	open := map[uuid.UUID][]*Run{} // by backfill; uuid.Nil for late or second runs that name no backfill
	seen, choosing := calendar.Seen{}, r.export.model().Choosing
	for i := len(runs) - 1; i >= 0; i-- { // the oldest first: the schedule runs an interval once
		run := &runs[i]
		isFirst := seen.First(run.span())
		isOfSchedule := isFirst && run.isScheduled(r.delay())
		switch {
		case run.Rows != "":
		case isOfSchedule || choosing == calendar.LikeTheSchedule:
			run.Rows = RowsAsScheduled
		case choosing == calendar.ByTheServer:
			run.Rows = RowsUnknown
		default:
			open[outgoing.OrDefault(run.Backfill)] = append(open[outgoing.OrDefault(run.Backfill)], run)
		}
	}
	if len(open) == 0 {
		return nil
	}
	choose := func(id uuid.UUID, choice func(*Run) RowChoice) {
		for _, run := range open[id] {
			run.Rows = choice(run)
		}
		delete(open, id)
	}
	for b, err := range r.Backfills.All(ctx, r.export.ID, nil) {
		if bridge.HasNoRecords(err) {
			choose(uuid.Nil, func(*Run) RowChoice { return RowsByTimestamp })
			break
		}
		if err != nil {
			return bridge.FromTheStart(err)
		}
		choose(b.ID, func(run *Run) RowChoice {
			return r.rowsSince(outgoing.OrDefault(cmp.Or(b.AdjustedStartAt, b.StartAt)), run)
		})
		if len(open) == 0 || len(open) == 1 && open[uuid.Nil] != nil {
			break
		}
	}
	choose(uuid.Nil, func(*Run) RowChoice { return RowsAsScheduled }) // the service keeps records: the schedule was late
	for id := range open {
		choose(id, func(run *Run) RowChoice { return r.rowsSince(run.Start, run) })
	}
	return nil
}

// rowsSince returns how the service chose the rows of a run of a backfill by where that began, which is the adjusted start
// if there is one.
func (r *reader) rowsSince(start time.Time, run *Run) RowChoice {
	line := cmp.Or(calendar.AgeLine(r.selected.AgeLine), r.root.AgeLine(true)) // of a record
	if line.IsPast(calendar.NewSpan(start, run.End).First(string(r.export.Interval)), run.CreatedAt) {
		return RowsByTimestamp
	}
	return RowsAsScheduled
}

// count adds up the records and bytes of the newest completed run of each interval.
func (x *Interval) count() {
	seen := calendar.Seen{}
	for i := range x.Runs {
		run, span := &x.Runs[i], x.Runs[i].span()
		if run.Status == hogapi.RunStatusCompleted && x.span().Holds(span) && seen.First(span) {
			x.Records, x.Bytes = sum(x.Records, run.Records), sum(x.Bytes, run.Bytes)
		}
	}
}

// delay returns the longest time after the end of an interval at which the schedule begins its run.
func (r *reader) delay() time.Duration {
	delay := calendar.LongestDelay(string(r.export.Interval))
	return min(r.grace(), math.MaxInt64-delay) + delay
}

func (r *reader) grace() time.Duration { return cmp.Or(r.selected.Grace, defaultGrace) }

// hasCode reports whether the service answered with an error of this code.
func hasCode(err error, code string) bool {
	api, ok := errors.AsType[*hogapi.APIError](err)
	return ok && api.Code == code
}
