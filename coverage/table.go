package coverage

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/internal/mask"
)

// clock is the form of times in tables.
const clock = "2006-01-02 15:04"

// String returns a table of the states, in the order of time, for people. Neighbours in the same state share a line.
// The last line lists the gaps.
func (c *Coverage) String() string {
	var b errtext.Text
	b.AddLine("export %s: %s to %s, every %s, %s to %s UTC", mask.Shown(c.Name), c.Model, c.Destination,
		strings.TrimPrefix(string(c.Interval), "every "), c.From.Format(clock), c.To.Format(clock))
	b.AddLine("%-16s  %-16s  %9s  %-23s  %s", "from", "to", "intervals", "state", "records")
	for i := 0; i < len(c.Intervals); {
		first, n, records := &c.Intervals[i], 0, ""
		var total *int64
		for ; i < len(c.Intervals) && c.Intervals[i].inWords() == first.inWords(); i++ {
			n, total = n+1, sum(total, c.Intervals[i].Records)
		}
		if total != nil {
			records = strconv.FormatInt(*total, 10)
		}
		b.AddLine("%s  %s  %9d  %-23s  %s", first.span().Start.Format(clock), c.Intervals[i-1].span().End.Format(clock), n, first.inWords(), records)
	}
	for _, note := range c.Notes {
		b.AddLine("note: %s", note)
	}
	b.Add("%s", c.summary())
	return b.String()
}

// inWords is the state as the table has it.
func (x *Interval) inWords() string {
	if x.isTwice() {
		return x.State.String() + " perhaps twice"
	}
	return x.State.String()
}

func (c *Coverage) summary() string {
	count := map[State]int{}
	for i := range c.Intervals {
		count[c.Intervals[i].State]++
	}
	gaps, intervals := c.Gaps(), 0
	for _, g := range gaps {
		intervals += g.Intervals
	}
	open := ""
	if n := count[StateRunning] + count[StateNotDue]; n > 0 {
		open = fmt.Sprintf("; %d not over yet", n)
	}
	switch n := count[StateByTimestamp]; {
	case len(gaps) > 0:
		return fmt.Sprintf("NOT EXPORTED: %s in %s, since %s%s", counted(intervals, "interval"), counted(len(gaps), "gap"), gaps[0].Start.Format(clock), open)
	case n > 0:
		return fmt.Sprintf("every interval has a run, %s by timestamp: rows that arrived late may be missing%s", counted(n, "interval"), open)
	case count[StateCompleted] == 0:
		return "nothing exported, and nothing missing" + open
	case open != "":
		return "every other interval exported" + open
	}
	return "every interval exported"
}

// String returns the plan as a table, for people. The last line is its Summary.
func (p *Plan) String() string {
	var b errtext.Text
	b.AddLine("repair of export %s, planned at %s UTC", mask.Shown(p.Name), p.PlannedAt.Format(clock))
	b.AddLine("%-16s  %-16s  %9s  %-13s  %-12s  %12s  %-15s  %s", "from", "to", "intervals", "action", "rows", "estimate", "state", "note")
	for i := range p.Steps {
		s, span, estimate := &p.Steps[i], p.Steps[i].span(), ""
		if s.Estimate != nil {
			estimate = strconv.FormatInt(*s.Estimate, 10)
		}
		b.AddLine("%s  %s  %9d  %-13s  %-12s  %12s  %-15s  %s", span.Start.Format(clock), span.End.Format(clock), s.Intervals,
			inWords(s.Action), inWords(s.Rows), estimate, inWords(s.State), mask.OneLine(cmp.Or(s.Result, s.Note)))
	}
	for i := range p.Steps {
		s := &p.Steps[i]
		b.AddIf(s.Request != nil, "instead of the download from %s: create this paused export, and backfill it by timestamp: %s\n",
			s.span().Start.Format(clock), []byte(s.Request))
	}
	for _, note := range p.Notes {
		b.AddLine("note: %s", note)
	}
	b.Add("%s", p.Summary())
	return b.String()
}

// Summary counts the steps by their states. Begun steps are named if there are some.
func (p *Plan) Summary() string {
	if len(p.Steps) == 0 {
		return "nothing to repair"
	}
	count, begun := map[StepState]int{}, ""
	for i := range p.Steps {
		count[p.Steps[i].State]++
	}
	if n := count[StepBegun]; n > 0 {
		begun = fmt.Sprintf(", %d begun", n)
	}
	return fmt.Sprintf("%s: %d planned%s, %d done or covered, %d failed, %d left to you", counted(len(p.Steps), "step"),
		count[StepPlanned], begun, count[StepDone]+count[StepCovered], count[StepFailed], count[StepLeft])
}

// notesFor returns the notes of a plan for people.
func notesFor(isPlanned, leavesOutUnknown, staysPaused bool) (notes []string) {
	if leavesOutUnknown {
		notes = append(notes, "Intervals in an unknown state are left out: see RepairOptions.IncludeUnknown.")
	}
	if !isPlanned {
		return notes
	}
	if staysPaused {
		notes = append(notes, "The export is paused and stays so, without RepairOptions.Unpause.")
	}
	return append(notes, "PostHog bills every row that is exported again.")
}

// sum adds two numbers that may be unknown.
func sum(a, b *int64) *int64 {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return new(*a + *b)
}

// inWords returns an identifier as words.
func inWords[T ~string](s T) string { return strings.ReplaceAll(string(s), "_", " ") }

// counted returns a number with its noun, such as "1 gap" or "2 gaps".
func counted(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
