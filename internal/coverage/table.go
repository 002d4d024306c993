package coverage

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hogapi/hogapi/internal/errtext"
)

// Row is a row of a table of intervals.
type Row struct {
	Span

	State   State
	Records *int64 // nil: not known
	IsTwice bool   // perhaps
}

// inWords is the state as the table has it.
func (r Row) inWords() string {
	if r.IsTwice {
		return InWords(r.State) + " perhaps twice"
	}
	return InWords(r.State)
}

// Clock is the form of times in tables.
const Clock = "2006-01-02 15:04"

// Table returns the intervals as text, with one line for neighbours of the same state. The last line says
// what is not exported.
func Table(title string, rows []Row, notes []string) string {
	var b errtext.Text
	b.AddLine("%s", title)
	b.AddLine("%-16s  %-16s  %9s  %-23s  %s", "from", "to", "intervals", "state", "records")
	for i := 0; i < len(rows); {
		first, n, records := rows[i], 0, ""
		var sum *int64
		for ; i < len(rows) && rows[i].inWords() == first.inWords(); i++ {
			n, sum = n+1, Sum(sum, rows[i].Records)
		}
		if sum != nil {
			records = strconv.FormatInt(*sum, 10)
		}
		b.AddLine("%s  %s  %9d  %-23s  %s", first.Start.Format(Clock), rows[i-1].End.Format(Clock), n, first.inWords(), records)
	}
	for _, note := range notes {
		b.AddLine("note: %s", note)
	}
	b.Add("%s", summary(rows))
	return b.String()
}

// PlanRow is a step of a repair.
type PlanRow struct {
	Span

	Intervals                 int
	Estimate                  *int64 // nil: not known
	Action, Rows, State, Note string
	Request                   []byte // of a second export, as JSON; nil for most
}

// PlanTable returns the steps of a repair as text. The last line counts them by their states.
func PlanTable(title string, rows []PlanRow, notes []string) string {
	var b errtext.Text
	states := make([]string, len(rows))
	b.AddLine("%s", title)
	b.AddLine("%-16s  %-16s  %9s  %-13s  %-12s  %12s  %-15s  %s", "from", "to", "intervals", "action", "rows", "estimate", "state", "note")
	for i, r := range rows {
		estimate := ""
		if r.Estimate != nil {
			estimate = strconv.FormatInt(*r.Estimate, 10)
		}
		b.AddLine("%s  %s  %9d  %-13s  %-12s  %12s  %-15s  %s",
			r.Start.Format(Clock), r.End.Format(Clock), r.Intervals, InWords(r.Action), InWords(r.Rows), estimate, InWords(r.State), r.Note)
		states[i] = r.State
	}
	for _, r := range rows {
		b.AddIf(r.Request != nil, "instead of the download from %s: create this paused export, and backfill it by timestamp: %s\n",
			r.Start.Format(Clock), r.Request)
	}
	for _, note := range notes {
		b.AddLine("note: %s", note)
	}
	if len(rows) == 0 {
		return b.String() + "nothing to repair"
	}
	b.Add("%s", PlanSummary(states))
	return b.String()
}

// PlanSummary counts the steps of a repair by their states. Begun steps are named if there are some.
func PlanSummary[T ~string](states []T) string {
	count := map[T]int{}
	for _, state := range states {
		count[state]++
	}
	begun := ""
	if n := count["begun"]; n > 0 {
		begun = fmt.Sprintf(", %d begun", n)
	}
	return fmt.Sprintf("%s: %d planned%s, %d done or covered, %d failed, %d left to you", Counted(len(states), "step"),
		count["planned"], begun, count["done"]+count["covered_already"], count["failed"], count["left_to_you"])
}

// Sum adds two numbers that may be unknown.
func Sum(a, b *int64) *int64 {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return new(*a + *b)
}

// InWords returns an identifier as words.
func InWords[T ~string](s T) string { return strings.ReplaceAll(string(s), "_", " ") }

// Counted returns a number with its noun, such as "1 gap" or "2 gaps".
func Counted(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// Missing is a time without cover: the gaps of neighbouring intervals.
type Missing struct {
	Span

	Intervals int
	States    []State // each once
}

// Gaps merges the gaps of intervals, which are in the order of their ends.
func Gaps(rows []Row) (gaps []Missing) {
	for _, row := range rows {
		if !row.State.IsGap() {
			continue
		}
		if last := len(gaps) - 1; last < 0 || row.Start.After(gaps[last].End) {
			gaps = append(gaps, Missing{Span: row.Span})
		}
		g := &gaps[len(gaps)-1]
		g.End = row.End
		g.Intervals++
		if !slices.Contains(g.States, row.State) {
			g.States = append(g.States, row.State)
		}
	}
	return gaps
}

// As converts identifiers to another type.
func As[T, S ~string](list []S) (all []T) {
	for _, s := range list {
		all = append(all, T(s))
	}
	return all
}

func summary(rows []Row) string {
	count := map[State]int{}
	for _, row := range rows {
		count[row.State]++
	}
	gaps, intervals := Gaps(rows), 0
	for _, g := range gaps {
		intervals += g.Intervals
	}
	open := ""
	if n := count[StateRunning] + count[StateNotDue]; n > 0 {
		open = fmt.Sprintf("; %d not over yet", n)
	}
	switch n := count[StateByTimestamp]; {
	case len(gaps) > 0:
		return fmt.Sprintf("NOT EXPORTED: %s in %s, since %s%s", Counted(intervals, "interval"), Counted(len(gaps), "gap"), gaps[0].Start.Format(Clock), open)
	case n > 0:
		return fmt.Sprintf("every interval has a run, %s by timestamp: rows that arrived late may be missing%s", Counted(n, "interval"), open)
	case count[StateCompleted] == 0:
		return "no interval exported, and none missing" + open
	case open != "":
		return "every other interval exported" + open
	}
	return "every interval exported"
}

// PlanNotes returns the notes of a plan for people.
func PlanNotes(isPlanned, leavesOutUnknown, staysPaused bool) (notes []string) {
	if leavesOutUnknown {
		notes = append(notes, "Intervals whose state cannot be told are left out: RepairOptions.IncludeUnknown.")
	}
	if !isPlanned {
		return notes
	}
	if staysPaused {
		notes = append(notes, "The export is paused and stays so, without RepairOptions.Unpause.")
	}
	return append(notes, "PostHog bills every row that is exported again.")
}
