package coverage

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// Neighbours of one way and one side of the age line are one step. States that cannot be told need to be asked for.
func TestPlanJoinsNeighbours(t *testing.T) {
	t.Parallel()
	at := time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC)
	hour := func(n int) Span {
		return Span{at.Add(time.Duration(n) * time.Hour), at.Add(time.Duration(n+1) * time.Hour)}
	}
	gap := func(n int, state State) Verdict {
		return Verdict{Due: Due{Span: hour(n)}, State: state, Rest: []Span{hour(n)}}
	}
	target := Target{Schedule: Schedule{Interval: "hour"}, Now: at.Add(9 * time.Hour)}
	verdicts := []Verdict{
		gap(0, StateFailed), gap(1, StateFailed), gap(2, StateNotScheduled), gap(3, StateCompleted), gap(4, StateUnknown), gap(6, StateFailed),
	}
	step := func(from, to, intervals int, states ...State) RepairStep {
		return RepairStep{Span: Span{hour(from).Start, hour(to).End}, Way: WayBackfill, Intervals: intervals, States: states}
	}
	assert.Equal(t, []RepairStep{step(0, 2, 3, StateFailed, StateNotScheduled), step(6, 6, 1, StateFailed)}, target.Plan(verdicts, false))
	assert.Equal(t, []RepairStep{step(0, 2, 3, StateFailed, StateNotScheduled), step(4, 4, 1, StateUnknown), step(6, 6, 1, StateFailed)},
		target.Plan(verdicts, true))
}
