package coverage

import (
	"slices"
	"sort"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/narrow"
)

// State is the state of an interval.
type State string

// States of an interval. The texts are part of the public JSON.
const (
	StateCompleted     State = "completed"
	StateByTimestamp   State = "completed_by_timestamp"
	StatePartly        State = "partly_covered"
	StateRunning       State = "running"
	StateStuck         State = "stuck"
	StateFailed        State = "failed"
	StateRecordsFailed State = "records_failed"
	StateFailedBilling State = "failed_billing"
	StateCancelled     State = "cancelled"
	StateNotScheduled  State = "never_scheduled"
	StatePaused        State = "paused"
	StateSkipped       State = "skipped_by_clock_change"
	StateNotDue        State = "not_yet_due"
	StateBeforeStart   State = "before_start"
	StateAfterEnd      State = "after_end"
	StateUnknown       State = "cannot_tell"
)

// Choice says how the service chose the rows of a run.
type Choice uint8

// Choices, the better first.
const (
	AsScheduled Choice = iota // as the schedule does
	ByTimestamp               // or perhaps so, by the age of the server: late rows may be absent
	choices
)

// ChoiceOf returns the choice of a run, by its name in the public JSON. Another version may have more names.
func ChoiceOf(rows string) Choice {
	if rows == "as_scheduled" {
		return AsScheduled
	}
	return ByTimestamp
}

// Export is a run of an export.
type Export struct {
	ID      uuid.UUID
	Span    Span
	Created time.Time
	Outcome Outcome
	Choice  Choice

	IsScheduled bool // neither of a backfill nor a retry
	Attempts    int  // that began to write; 0: not known
	IsEmpty     bool // it completed without a row
}

// Rules decide about the state of an interval.
type Rules struct {
	Now        time.Time
	Grace      time.Duration // before an interval without a run counts as not scheduled
	StuckAfter time.Duration // for a run that has not ended
	Replaces   bool          // the objects of a run replace the objects of an earlier run of its interval
	CoversPast bool          // each run exports all rows
	InParts    bool          // rows are added in several transactions: each attempt of a run may leave some
}

// Verdict is the state of an interval, with the numbers of the runs that overlap it, newest first.
type Verdict struct {
	Due

	State State
	Rest  []Span // the parts that no completed run covers
	Runs  []int

	Leftovers  bool      // rows may be there once more than the state says
	ComparedAt time.Time // earlier runs do not count, by a comparison of rows
}

// Assess returns the state of each interval with an end in a range, and of the times that no
// interval contains, in the order of their ends.
func (r Rules) Assess(h History, whole Span, created time.Time, runs []Export) []Verdict {
	var scheduled []Span
	for _, run := range runs {
		if run.IsScheduled {
			scheduled = append(scheduled, run.Span)
		}
	}
	slices.SortFunc(scheduled, func(a, b Span) int { return a.End.Compare(b.End) })
	return r.judge(h.Dues(whole, created, scheduled), runs)
}

// judge returns the state of each interval. The dues are in the order of their ends.
func (r Rules) judge(dues []Due, runs []Export) []Verdict {
	verdicts := make([]Verdict, len(dues))
	starts := make([]time.Time, len(dues)) // the earliest from here on
	for i, due := range slices.Backward(dues) {
		verdicts[i].Due, starts[i] = due, due.Start
		if i+1 < len(dues) {
			starts[i] = narrow.Earlier(due.Start, starts[i+1])
		}
	}
	newestFirst := make([]int, len(runs))
	for i := range runs {
		newestFirst[i] = i
	}
	slices.SortStableFunc(newestFirst, func(a, b int) int { return runs[b].Created.Compare(runs[a].Created) })
	var lastAll time.Time // the creation of the newest run that exported all rows
	for _, n := range newestFirst {
		run := &runs[n]
		if r.CoversPast && run.Outcome == Completed {
			lastAll = narrow.Later(lastAll, run.Created)
		}
		first := sort.Search(len(dues), func(i int) bool { return dues[i].End.After(run.Span.Start) })
		for i := first; i < len(dues) && starts[i].Before(run.Span.End); i++ {
			if dues[i].Start.Before(run.Span.End) {
				verdicts[i].Runs = append(verdicts[i].Runs, n)
			}
		}
	}
	for i := range verdicts {
		v := &verdicts[i]
		if !lastAll.IsZero() && !lastAll.Before(v.End) {
			v.State = StateCompleted
		} else {
			of := make([]Export, len(v.Runs))
			for i, n := range v.Runs {
				of[i] = runs[n]
			}
			v.State = r.state(v, of)
			v.Leftovers = r.leaves(v, of)
		}
	}
	return verdicts
}

// leaves reports whether runs may have left rows of a gap, or rows of a covered interval twice.
func (r Rules) leaves(v *Verdict, runs []Export) bool {
	if v.State.IsGap() {
		return len(r.Leavers(v.Rest, runs)) > 0
	}
	all := r.Leavers([]Span{v.Span}, runs)
	return len(v.Rest) == 0 && slices.ContainsFunc(all, func(x Export) bool {
		isOther := func(y Export) bool { return x.ID != y.ID && x.Span.Overlaps(y.Span) }
		return x.Attempts > 1 || slices.ContainsFunc(all, isOther)
	})
}

// Leavers returns the runs that may have added rows of some spans, whether they completed or not.
func (r Rules) Leavers(spans []Span, runs []Export) (all []Export) {
	for _, run := range runs {
		if r.InParts && run.Outcome != FailedBilling && !run.IsEmpty && run.isOf(spans) {
			all = append(all, run)
		}
	}
	return all
}

func (r Rules) state(v *Verdict, runs []Export) State {
	var parts []Part
	for choice := range choices {
		if parts = (Asked{Span: v.Span}).Cover(r.ran(runs, choice)); len(parts) == 0 {
			return [...]State{StateCompleted, StateByTimestamp}[choice]
		}
	}
	v.Rest = spansOf(parts)
	parts = slices.DeleteFunc(parts, func(p Part) bool { return p.Why == WhyRunning })
	isRunning, isStuck := r.underWay(runs, v.Rest)
	switch state := newestEnd(runs, spansOf(parts)); {
	case v.Absence == BeforeStart:
		return StateBeforeStart
	case v.Absence == AfterEnd:
		return StateAfterEnd
	case isRunning && len(parts) == 0:
		return StateRunning
	case isStuck && !isRunning:
		return StateStuck
	case len(v.Rest) > 1 || v.Rest[0] != v.Span:
		return StatePartly
	case state != "":
		return state
	case v.Absence == Expected && r.Now.Before(v.End.Add(r.Grace)):
		return StateNotDue
	}
	return [...]State{
		Expected: StateNotScheduled, WasEdited: StateNotScheduled, Unknown: StateUnknown, WasPaused: StatePaused, ClocksMoved: StateSkipped,
	}[v.Absence]
}

// Rest returns the parts of a span that no complete run covers. The runs are newest first.
func (r Rules) Rest(x Span, runs []Export) []Span {
	return spansOf(Asked{Span: x}.Cover(r.ran(runs, choices)))
}

// ran returns the runs that still count, as Cover takes them.
func (r Rules) ran(runs []Export, choice Choice) (all []Ran) {
	seen := map[Span]bool{}
	for _, run := range runs {
		isDone := run.Outcome == Completed || run.Outcome == RecordsFailed
		if isDone && r.Replaces && seen[run.Span] {
			continue
		}
		seen[run.Span] = seen[run.Span] || isDone
		all = append(all, Ran{run.Span, run.Outcome != Open, run.Outcome == Completed && run.Choice <= choice})
	}
	return all
}

// underWay reports whether runs of some spans are under way, and whether one of them is for too long.
func (r Rules) underWay(runs []Export, spans []Span) (isRunning, isStuck bool) {
	for _, run := range runs {
		if run.Outcome == Open && run.isOf(spans) {
			isOld := r.Now.Sub(run.Created) >= r.StuckAfter
			isRunning, isStuck = isRunning || !isOld, isStuck || isOld
		}
	}
	return isRunning, isStuck
}

// newestEnd returns the state by the newest run of some spans that has ended without all of its rows, or "".
func newestEnd(runs []Export, spans []Span) State {
	for _, run := range runs {
		if state := endings[run.Outcome]; state != "" && run.isOf(spans) {
			return state
		}
	}
	return ""
}

func (x Export) isOf(spans []Span) bool { return slices.ContainsFunc(spans, x.Span.Overlaps) }

// endings are the states of intervals by the outcome of their newest run. Others say nothing.
var endings = map[Outcome]State{
	Unclear: StateUnknown, Failed: StateFailed, RecordsFailed: StateRecordsFailed, FailedBilling: StateFailedBilling, Cancelled: StateCancelled,
}
