package coverage

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	calendar "github.com/hogapi/hogapi/internal/coverage"
)

// Neighbours of one way and one side of the age line are one step. States that cannot be told need to be asked for.
func TestPlanJoinsNeighbours(t *testing.T) {
	t.Parallel()
	at := time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC)
	hour := func(n int) time.Time { return at.Add(time.Duration(n) * time.Hour) }
	gap := func(n int, state State) verdict {
		x := Interval{Start: hour(n), End: hour(n + 1), State: state}
		return verdict{Interval: x, rest: []calendar.Span{x.span()}}
	}
	target := target{schedule: calendar.Schedule{Interval: "hour"}, now: hour(9)}
	verdicts := []verdict{
		gap(0, StateFailed), gap(1, StateFailed), gap(2, StateNeverScheduled), gap(3, StateCompleted), gap(4, StateUnknown), gap(6, StateFailed),
	}
	step := func(from, to, intervals int, states ...State) gapStep {
		return gapStep{Step: Step{Start: hour(from), End: hour(to + 1), Action: ActionBackfill, Intervals: intervals, Gap: states}}
	}
	assert.Equal(t, []gapStep{step(0, 2, 3, StateFailed, StateNeverScheduled), step(6, 6, 1, StateFailed)}, target.steps(verdicts, false))
	assert.Equal(t, []gapStep{step(0, 2, 3, StateFailed, StateNeverScheduled), step(4, 4, 1, StateUnknown), step(6, 6, 1, StateFailed)},
		target.steps(verdicts, true))
}
