package coverage

import (
	"slices"
	"time"

	calendar "github.com/hogapi/hogapi/internal/coverage"
)

// target is the data that a repair depends on besides its gap.
type target struct {
	schedule     calendar.Schedule
	model        calendar.Model
	objectStore  bool
	hasElsewhere bool // a second export can be made
	line         calendar.AgeLine
	now          time.Time
	empty        []calendar.Span // times in which a backfill ran nothing
}

// gapStep is a gap, or a part of it, that is exported again in one way: a step that is not planned in full.
type gapStep struct {
	Step

	why   string // of ActionByHand, and of an ActionDownload where a backfill ran nothing
	isOld bool   // past the age line: events are chosen by timestamp
}

// steps returns the steps that repair the parts of gaps without a completed run, in the order of time. Intervals in an
// unknown state are left out unless requested. A step does not cross the age line.
func (t target) steps(intervals []verdict, alsoUnknown bool) (steps []gapStep) {
	for i := range intervals {
		v := &intervals[i]
		if !v.State.IsGap() || v.State == StateUnknown && !alsoUnknown {
			continue
		}
		var planned []calendar.Span // intervals overlap after a change of the schedule
		for i := len(steps) - 1; i >= 0 && steps[i].End.After(v.span().Start); i-- {
			planned = append(planned, steps[i].span())
		}
		for _, x := range calendar.Without(v.rest, planned) {
			next := gapStep{Step: Step{Start: x.Start, Leftovers: v.Leftovers, ComparedAt: v.ComparedAt}}
			next.isOld = t.model.Choosing == calendar.ByAge && t.line.IsPast(x, t.now)
			next.Action, next.why = t.way(x, next.isOld)
			last := len(steps) - 1
			if last < 0 || !steps[last].joins(&next) {
				steps = append(steps, next)
				last++
			}
			step := &steps[last]
			step.End = x.End
			step.Intervals++
			if !slices.Contains(step.Gap, v.State) {
				step.Gap = append(step.Gap, v.State)
			}
		}
	}
	return steps
}

// joins reports whether the next step can be a part of the same backfill.
func (s *gapStep) joins(next *gapStep) bool {
	return next.Start.Equal(s.End) && next.Action == s.Action && next.why == s.why && next.isOld == s.isOld &&
		next.Leftovers == s.Leftovers && next.ComparedAt.Equal(s.ComparedAt)
}

func (t target) way(x calendar.Span, isOld bool) (action Action, why string) {
	_, refusal := t.schedule.Range(x.Start, x.End)
	isEmpty := slices.ContainsFunc(t.empty, func(y calendar.Span) bool { return y.Holds(x) })
	switch {
	case t.model.Acts:
		return ActionByHand, "the destination acts on each row, which cannot be undone"
	case t.model.AllRows:
		return ActionByHand, "each run exports all rows, so the next run covers the gap"
	case refusal != nil && t.model.NoDownload:
		return ActionByHand, "the schedule was changed, and no backfill has these bounds"
	case isEmpty && t.model.Choosing == calendar.ByAge:
		return ActionDownload, t.model.WhyEmpty(x, nil)
	case isEmpty:
		return ActionByHand, t.model.WhyEmpty(x, nil)
	case refusal != nil: // not between bounds of today's schedule
		return ActionDownload, ""
	case isOld && t.objectStore && t.hasElsewhere:
		return ActionSecondExport, ""
	case isOld && t.objectStore:
		return ActionDownload, ""
	}
	return ActionBackfill, ""
}
