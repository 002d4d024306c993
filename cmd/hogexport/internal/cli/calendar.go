package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/internal/term"
	"github.com/hogapi/hogapi/coverage"
)

// letters are the cells of the calendar, from good to bad. A cell of several intervals has the worst one.
var letters = []struct {
	letter byte
	words  string
	states []coverage.State
}{
	{' ', "", []coverage.State{coverage.StateBeforeStart, coverage.StateAfterEnd}},
	{'.', "exported", []coverage.State{coverage.StateCompleted}},
	{'w', "not yet due", []coverage.State{coverage.StateNotDue}},
	{'r', "running", []coverage.State{coverage.StateRunning}},
	{'t', "exported by timestamp", []coverage.State{coverage.StateByTimestamp}},
	{'?', "cannot tell", []coverage.State{coverage.StateUnknown}},
	{'S', "stuck", []coverage.State{coverage.StateStuck}},
	{'P', "paused", []coverage.State{coverage.StatePaused}},
	{'-', "partly covered", []coverage.State{coverage.StatePartly}},
	{'C', "cancelled", []coverage.State{coverage.StateCancelled}},
	{'N', "never scheduled (no run began)", []coverage.State{coverage.StateNeverScheduled, coverage.StateSkipped}},
	{'B', "failed billing (the limit of the PostHog plan)", []coverage.State{coverage.StateFailedBilling}},
	{'F', "failed", []coverage.State{coverage.StateFailed, coverage.StateRecordsFailed}},
}

// rank returns the number of the cell of a state.
func rank(state coverage.State) int {
	for i, l := range letters {
		if slices.Contains(l.states, state) {
			return i
		}
	}
	return len(letters) - 1
}

// calendar has a row for each day, with a cell for each hour; or, of daily and weekly exports, a row for each month,
// with a cell for each day. A cell shows the worst of its intervals: the ones that end in the hour, or that cover most
// of the day.
type calendar struct {
	columns, first int // the number of the first column
	rows           []string
	cells          map[string][]int // by row
}

func newCalendar(c *coverage.Coverage) *calendar {
	const hours, days = 24, 31
	k := &calendar{columns: hours, cells: map[string][]int{}}
	isDays := c.Interval == hogapi.IntervalDay || c.Interval == hogapi.IntervalWeek
	row, column := func(t time.Time) string { return t.Format(time.DateOnly) }, time.Time.Hour
	if isDays {
		k.columns, k.first = days, 1
		row, column = func(t time.Time) string { return t.Format("2006-01") }, func(t time.Time) int { return t.Day() - 1 }
	}
	for _, x := range c.Intervals {
		if !isDays {
			k.mark(row, column, x.End.Add(-1), x.State)
			continue
		}
		const day = 24 * time.Hour
		for at := x.Start.Add(min(day, x.End.Sub(x.Start)) / 2); at.Before(x.End); at = at.Add(day) {
			k.mark(row, column, at, x.State)
		}
	}
	return k
}

func (k *calendar) mark(row func(time.Time) string, column func(time.Time) int, at time.Time, state coverage.State) {
	at = at.UTC()
	name := row(at)
	if k.cells[name] == nil {
		k.cells[name] = make([]int, k.columns)
		k.rows = append(k.rows, name)
	}
	k.cells[name][column(at)] = max(k.cells[name][column(at)], rank(state))
}

// exportedFrom returns how many days from a row of hours on are exported as a whole.
func (k *calendar) exportedFrom(first int) (n int) {
	isOther := func(cell int) bool { return cell != rank(coverage.StateCompleted) }
	for k.first == 0 && first+n < len(k.rows) && !slices.ContainsFunc(k.cells[k.rows[first+n]], isOther) {
		n++
	}
	return n
}

// legend explains the letters that are used.
func (k *calendar) legend() string {
	var words []string
	for i, l := range letters {
		isUsed := slices.ContainsFunc(k.rows, func(name string) bool { return slices.Contains(k.cells[name], i) })
		if isUsed && l.words != "" {
			words = append(words, string(l.letter)+" "+l.words)
		}
	}
	return strings.Join(words, ", ")
}

// printCalendar writes the calendar of a coverage.
func printCalendar(w io.Writer, c *coverage.Coverage) {
	k := newCalendar(c)
	if len(k.rows) == 0 {
		fmt.Fprintln(w, "no interval of the schedule is in this time")
		return
	}
	if k.first == 0 {
		fmt.Fprintln(w, "            0     6     12    18")
	} else {
		fmt.Fprintln(w, "            1    6    11   16   21   26")
	}
	for i := 0; i < len(k.rows); i++ {
		name, same := k.rows[i], k.exportedFrom(i)
		var b strings.Builder
		for _, r := range k.cells[name] {
			cell := string(letters[r].letter)
			switch {
			case r >= firstBad:
				cell = term.Problem(cell)
			case r >= firstOdd:
				cell = term.Warning(cell)
			}
			b.WriteString(cell)
		}
		if same > 1 { // many days in one row
			i += same - 1
			fmt.Fprintf(&b, "  to %s (%d days)", k.rows[i], same)
		}
		fmt.Fprintf(w, "%-10s  %s\n", name, strings.TrimRight(b.String(), " "))
	}
	fmt.Fprintln(w, term.Flow(k.legend()))
}

// The cells from firstBad on are gaps, and from firstOdd on no plain success.
var firstOdd, firstBad = rank(coverage.StateByTimestamp), rank(coverage.StateStuck)
