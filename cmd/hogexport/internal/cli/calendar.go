package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/internal/term"
)

// letters are the cells of the calendar, from good to bad. A cell of several intervals has the worst one.
var letters = []struct {
	letter byte
	words  string
	states []hogapi.IntervalState
}{
	{' ', "", []hogapi.IntervalState{hogapi.IntervalBeforeStart, hogapi.IntervalAfterEnd}},
	{'.', "exported", []hogapi.IntervalState{hogapi.IntervalCompleted}},
	{'w', "not yet due", []hogapi.IntervalState{hogapi.IntervalNotDue}},
	{'r', "running", []hogapi.IntervalState{hogapi.IntervalRunning}},
	{'t', "exported by timestamp", []hogapi.IntervalState{hogapi.IntervalByTimestamp}},
	{'?', "cannot tell", []hogapi.IntervalState{hogapi.IntervalUnknown}},
	{'S', "stuck", []hogapi.IntervalState{hogapi.IntervalStuck}},
	{'P', "paused", []hogapi.IntervalState{hogapi.IntervalPaused}},
	{'-', "partly covered", []hogapi.IntervalState{hogapi.IntervalPartly}},
	{'C', "cancelled", []hogapi.IntervalState{hogapi.IntervalCancelled}},
	{'N', "never scheduled (no run began)", []hogapi.IntervalState{hogapi.IntervalNeverScheduled, hogapi.IntervalSkipped}},
	{'B', "failed billing", []hogapi.IntervalState{hogapi.IntervalFailedBilling}},
	{'F', "failed", []hogapi.IntervalState{hogapi.IntervalFailed}},
}

// rank returns the number of the cell of a state.
func rank(state hogapi.IntervalState) int {
	for i, l := range letters {
		if slices.Contains(l.states, state) {
			return i
		}
	}
	return len(letters) - 1
}

// printCalendar writes a line for each day, with a cell for each hour; or, of daily and weekly exports, a line for
// each month, with a cell for each day. A cell has the worst interval that ends in it.
func printCalendar(w io.Writer, c *hogapi.Coverage) {
	row, column, columns := func(t time.Time) string { return t.Format(time.DateOnly) }, time.Time.Hour, 24
	head := "            0     6     12    18"
	if !isShort(c.Interval) {
		const days = 31
		row, column, columns = func(t time.Time) string { return t.Format("2006-01") }, func(t time.Time) int { return t.Day() - 1 }, days
		head = "            1    6    11   16   21   26"
	}
	cells, rows, used := map[string][]int{}, []string{}, map[int]bool{}
	for _, x := range c.Intervals {
		last := x.End.Add(-1).UTC() // an interval is in the cell of its last moment
		name := row(last)
		if cells[name] == nil {
			cells[name] = make([]int, columns)
			rows = append(rows, name)
		}
		r := rank(x.State)
		used[r] = true
		cells[name][column(last)] = max(cells[name][column(last)], r)
	}
	if len(rows) == 0 {
		fmt.Fprintln(w, "no interval of the schedule is in this time")
		return
	}
	fmt.Fprintln(w, head)
	for _, name := range rows {
		var b strings.Builder
		for _, r := range cells[name] {
			cell := string(letters[r].letter)
			switch {
			case r >= firstBad:
				cell = term.Problem(cell)
			case r >= firstOdd:
				cell = term.Warning(cell)
			}
			b.WriteString(cell)
		}
		fmt.Fprintf(w, "%-10s  %s\n", name, strings.TrimRight(b.String(), " "))
	}
	var legend []string
	for i, l := range letters {
		if used[i] && l.words != "" {
			legend = append(legend, string(l.letter)+" "+l.words)
		}
	}
	fmt.Fprintln(w, term.Flow(strings.Join(legend, ", ")))
}

// The cells from firstBad on are gaps, and from firstOdd on no plain success.
var firstOdd, firstBad = rank(hogapi.IntervalByTimestamp), rank(hogapi.IntervalStuck)

// isShort reports whether an interval is an hour or less.
func isShort(interval hogapi.Interval) bool {
	return interval != hogapi.IntervalDay && interval != hogapi.IntervalWeek
}
