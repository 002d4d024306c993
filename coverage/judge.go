package coverage

import (
	"slices"
	"sort"
	"time"

	"github.com/hogapi/hogapi"
	calendar "github.com/hogapi/hogapi/internal/coverage"
	"github.com/hogapi/hogapi/internal/narrow"
)

// rules decide about the state of an interval.
type rules struct {
	now        time.Time
	grace      time.Duration // before an interval without a run counts as not scheduled
	delay      time.Duration // longest, after the end of an interval, until the schedule begins its run
	stuckAfter time.Duration // for a run that has not ended
	replaces   bool          // the objects of a run replace the objects of an earlier run of its interval
	coversPast bool          // each run exports all rows
	inParts    bool          // rows are added in several transactions: each attempt of a run may leave some
}

// verdict is an interval with its state and the reasons for it.
type verdict struct {
	Interval

	due  calendar.Due
	rest []calendar.Span // the parts that no completed run covers
}

func (x *Interval) span() calendar.Span { return calendar.NewSpan(x.Start, x.End) }

func (run *Run) span() calendar.Span { return calendar.NewSpan(run.Start, run.End) }

func (run *Run) outcome() calendar.Outcome {
	return calendar.OutcomeOf(run.Status, run.RecordsFailed)
}

// isEmpty reports whether the run completed without a row.
func (run *Run) isEmpty() bool {
	return run.Status == hogapi.RunStatusCompleted && run.Records != nil && *run.Records == 0
}

// isScheduled reports whether the run is neither of a backfill nor, by its delay, a retry.
func (run *Run) isScheduled(delay time.Duration) bool {
	return run.Backfill == nil && !run.isLate(delay)
}

// isLate reports whether the schedule has hardly begun the run, so long after the end of its interval.
func (run *Run) isLate(delay time.Duration) bool { return run.CreatedAt.After(run.End.Add(delay)) }

func (run *Run) isOf(spans []calendar.Span) bool {
	return slices.ContainsFunc(spans, run.span().Overlaps)
}

// assess returns the state of each interval with an end in a range, and of the times that no
// interval contains, in the order of their ends.
func (r rules) assess(h calendar.History, whole calendar.Span, created time.Time, runs []Run) []verdict {
	var scheduled []calendar.Span
	for i := range runs {
		if runs[i].isScheduled(r.delay) {
			scheduled = append(scheduled, runs[i].span())
		}
	}
	slices.SortFunc(scheduled, func(a, b calendar.Span) int { return a.End.Compare(b.End) })
	return r.judge(h.Dues(whole, created, scheduled), runs)
}

// judge returns the state of each interval. The dues are in the order of their ends.
func (r rules) judge(dues []calendar.Due, runs []Run) []verdict {
	verdicts := make([]verdict, len(dues))
	starts := make([]time.Time, len(dues)) // the earliest from here on
	for i, due := range slices.Backward(dues) {
		verdicts[i] = verdict{Interval: Interval{Start: due.Start, End: due.End, Runs: []Run{}}, due: due}
		starts[i] = due.Start
		if i+1 < len(dues) {
			starts[i] = narrow.Earlier(due.Start, starts[i+1])
		}
	}
	runs = slices.SortedStableFunc(slices.Values(runs), func(a, b Run) int { return b.CreatedAt.Compare(a.CreatedAt) })
	var lastAll time.Time // the creation of the newest run that exported all rows
	for i := range runs {
		run, span := &runs[i], runs[i].span()
		if r.coversPast && run.outcome() == calendar.Completed {
			lastAll = narrow.Later(lastAll, run.CreatedAt)
		}
		first := sort.Search(len(dues), func(i int) bool { return dues[i].End.After(span.Start) })
		for i := first; i < len(dues) && starts[i].Before(span.End); i++ {
			if dues[i].Start.Before(span.End) {
				verdicts[i].Runs = append(verdicts[i].Runs, *run)
			}
		}
	}
	for i := range verdicts {
		v := &verdicts[i]
		if !lastAll.IsZero() && !lastAll.Before(v.End) {
			v.State = StateCompleted
		} else {
			v.State = r.state(v)
			v.Leftovers = r.leaves(v)
		}
	}
	return verdicts
}

// leaves reports whether runs may have left rows of a gap, or rows of a covered interval twice.
func (r rules) leaves(v *verdict) bool {
	if v.State.IsGap() {
		return len(r.leavers(v.rest, v.Runs)) > 0
	}
	all := r.leavers([]calendar.Span{v.due.Span}, v.Runs)
	return len(v.rest) == 0 && slices.ContainsFunc(all, func(x Run) bool {
		isOther := func(y Run) bool { return x.ID != y.ID && x.span().Overlaps(y.span()) }
		return x.Attempts > 1 || slices.ContainsFunc(all, isOther)
	})
}

// leavers returns the runs that may have added rows of some spans, whether they completed or not.
func (r rules) leavers(spans []calendar.Span, runs []Run) (all []Run) {
	for _, run := range runs {
		if r.inParts && run.outcome() != calendar.FailedBilling && !run.isEmpty() && run.isOf(spans) {
			all = append(all, run)
		}
	}
	return all
}

func (r rules) state(v *verdict) State {
	var parts []calendar.Part
	for _, state := range []State{StateCompleted, StateByTimestamp} {
		if parts = (calendar.Asked{Span: v.due.Span}).Cover(r.ran(v.Runs, state == StateByTimestamp)); len(parts) == 0 {
			return state
		}
	}
	v.rest = calendar.Spans(parts)
	parts = slices.DeleteFunc(parts, func(p calendar.Part) bool { return p.Why == calendar.WhyRunning })
	isRunning, isStuck := r.underWay(v.Runs, v.rest)
	switch state := newestEnd(v.Runs, calendar.Spans(parts)); {
	case v.due.Absence == calendar.BeforeStart:
		return StateBeforeStart
	case v.due.Absence == calendar.AfterEnd:
		return StateAfterEnd
	case isRunning && len(parts) == 0:
		return StateRunning
	case isStuck && !isRunning:
		return StateStuck
	case len(v.rest) > 1 || v.rest[0] != v.due.Span:
		return StatePartly
	case state != "":
		return state
	case v.due.Absence == calendar.Expected && r.now.Before(v.End.Add(r.grace)):
		return StateNotDue
	}
	return [...]State{
		calendar.Expected: StateNeverScheduled, calendar.WasEdited: StateNeverScheduled, calendar.Unknown: StateUnknown,
		calendar.WasPaused: StatePaused, calendar.ClocksMoved: StateSkipped,
	}[v.due.Absence]
}

// uncovered returns the parts of a span that no complete run covers. The runs are newest first.
func (r rules) uncovered(x calendar.Span, runs []Run) []calendar.Span {
	return calendar.Spans(calendar.Asked{Span: x}.Cover(r.ran(runs, true)))
}

// ran returns the runs that still count, as Cover takes them: with rows in any choice, or only as the schedule chooses them.
func (r rules) ran(runs []Run, inAnyChoice bool) (all []calendar.Ran) {
	seen := map[calendar.Span]bool{}
	for i := range runs {
		run, span, outcome := &runs[i], runs[i].span(), runs[i].outcome()
		isDone := outcome == calendar.Completed || outcome == calendar.RecordsFailed
		if isDone && r.replaces && seen[span] {
			continue
		}
		seen[span] = seen[span] || isDone
		isComplete := outcome == calendar.Completed && (inAnyChoice || run.Rows == RowsAsScheduled)
		all = append(all, calendar.Ran{Span: span, IsOver: outcome != calendar.Open, IsComplete: isComplete})
	}
	return all
}

// underWay reports whether runs of some spans are under way, and whether one of them is for too long.
func (r rules) underWay(runs []Run, spans []calendar.Span) (isRunning, isStuck bool) {
	for i := range runs {
		if run := &runs[i]; run.outcome() == calendar.Open && run.isOf(spans) {
			isOld := r.now.Sub(run.CreatedAt) >= r.stuckAfter
			isRunning, isStuck = isRunning || !isOld, isStuck || isOld
		}
	}
	return isRunning, isStuck
}

// newestEnd returns the state by the newest run of some spans that has ended without all of its rows, or "".
func newestEnd(runs []Run, spans []calendar.Span) State {
	for i := range runs {
		if state := endings[runs[i].outcome()]; state != "" && runs[i].isOf(spans) {
			return state
		}
	}
	return ""
}

// endings are the states of intervals by the outcome of their newest run. Others say nothing.
var endings = map[calendar.Outcome]State{
	calendar.Unclear: StateUnknown, calendar.Failed: StateFailed, calendar.RecordsFailed: StateRecordsFailed,
	calendar.FailedBilling: StateFailedBilling, calendar.Cancelled: StateCancelled,
}
