package coverage

import (
	"slices"
	"time"
)

// IsGap reports whether an interval is not exported and will not be without somebody's action.
func (s State) IsGap() bool {
	return !slices.Contains([]State{StateCompleted, StateByTimestamp, StateRunning, StateNotDue, StateBeforeStart, StateAfterEnd}, s)
}

// Way is a way to export a gap again.
type Way string

// Ways. The texts are part of the public JSON.
const (
	WayBackfill  Way = "backfill"      // of the export
	WayElsewhere Way = "second_export" // a backfill of a second export into another prefix
	WayDownload  Way = "file_download" // by hand
	WayByHand    Way = "by_hand"       // no way that this package takes
)

// Target is what a repair depends on besides its gap.
type Target struct {
	Schedule     Schedule
	Model        Model
	ObjectStore  bool
	HasElsewhere bool // a second export can be made
	Line         AgeLine
	Now          time.Time
	Empty        []Span // times in which a backfill ran nothing
}

// RepairStep is a gap, or a part of it, that is exported again in one way.
type RepairStep struct {
	Span
	Way       Way
	Why       string // of WayByHand, and of a WayDownload where a backfill ran nothing
	IsOld     bool   // past the age line: events are chosen by timestamp
	Intervals int
	States    []State

	Leftovers  bool
	ComparedAt time.Time
}

// Plan returns the steps that repair the parts of gaps without a completed run, in the order of time.
// Intervals whose gap cannot be told are left out unless they are asked for. A step begins and ends on
// one side of the age line.
func (t Target) Plan(intervals []Verdict, alsoUnknown bool) (steps []RepairStep) {
	for _, v := range intervals {
		if !v.State.IsGap() || v.State == StateUnknown && !alsoUnknown {
			continue
		}
		var planned []Span // intervals overlap after a change of the schedule
		for _, step := range slices.Backward(steps) {
			if !step.End.After(v.Start) {
				break
			}
			planned = append(planned, step.Span)
		}
		for _, x := range Without(v.Rest, planned) {
			next := RepairStep{
				Span: x, IsOld: t.Model.Choosing == ByAge && t.Line.IsPast(x, t.Now), Leftovers: v.Leftovers, ComparedAt: v.ComparedAt,
			}
			next.Way, next.Why = t.way(x, next.IsOld)
			last := len(steps) - 1
			if last < 0 || !steps[last].joins(next) {
				steps = append(steps, next)
				last++
			}
			step := &steps[last]
			step.End = x.End
			step.Intervals++
			if !slices.Contains(step.States, v.State) {
				step.States = append(step.States, v.State)
			}
		}
	}
	return steps
}

// joins reports whether the next step can be a part of the same backfill.
func (s RepairStep) joins(next RepairStep) bool {
	return next.Start.Equal(s.End) && next.Way == s.Way && next.Why == s.Why && next.IsOld == s.IsOld &&
		next.Leftovers == s.Leftovers && next.ComparedAt.Equal(s.ComparedAt)
}

func (t Target) way(x Span, isOld bool) (way Way, why string) {
	_, refusal := t.Schedule.Range(x.Start, x.End)
	isEmpty := slices.ContainsFunc(t.Empty, func(y Span) bool { return y.Holds(x) })
	switch {
	case t.Model.Acts:
		return WayByHand, "the destination acts on each row, which cannot be undone"
	case t.Model.AllRows:
		return WayByHand, "each run exports all rows, so the next run covers the gap"
	case refusal != nil && t.Model.NoDownload:
		return WayByHand, "the schedule was changed, and no backfill has these bounds"
	case isEmpty && t.Model.Choosing == ByAge:
		return WayDownload, t.Model.WhyEmpty(x, nil)
	case isEmpty:
		return WayByHand, t.Model.WhyEmpty(x, nil)
	case refusal != nil: // not between bounds of today's schedule
		return WayDownload, ""
	case isOld && t.ObjectStore && t.HasElsewhere:
		return WayElsewhere, ""
	case isOld && t.ObjectStore:
		return WayDownload, ""
	}
	return WayBackfill, ""
}

// PauseAfter is the number of failed runs, among the newest of PauseWindow, after which the service pauses
// an export.
const PauseAfter = 3

// PauseWindow returns how many of the newest runs the service looks at before it pauses an export.
func PauseWindow(interval string) int {
	step, _ := Step(interval)
	switch {
	case step >= 7*day:
		return 4
	case step >= day:
		return 7
	case step >= time.Hour || step <= 0:
		return 24
	}
	return int(time.Hour / step)
}
