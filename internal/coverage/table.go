package coverage

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hogapi/hogapi/internal/errtext"
)

// Row is a row of a table of intervals.
type Row struct {
	Span

	State   State
	Records *int64 // nil: not known
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
		for ; i < len(rows) && rows[i].State == first.State; i++ {
			n, sum = n+1, Sum(sum, rows[i].Records)
		}
		if sum != nil {
			records = strconv.FormatInt(*sum, 10)
		}
		b.AddLine("%s  %s  %9d  %-23s  %s", first.Start.Format(Clock), rows[i-1].End.Format(Clock), n, InWords(first.State), records)
	}
	for _, note := range notes {
		b.AddLine("note: %s", note)
	}
	b.Add("%s", summary(rows))
	return b.String()
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

func summary(rows []Row) string {
	count := map[State]int{}
	var gaps []Row
	intervals := 0
	for _, row := range rows {
		count[row.State]++
		if !row.State.IsGap() {
			continue
		}
		if last := len(gaps) - 1; last < 0 || row.Start.After(gaps[last].End) {
			gaps = append(gaps, row)
		}
		gaps[len(gaps)-1].End = row.End
		intervals++
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
	case open != "":
		return "every other interval exported" + open
	}
	return "every interval exported"
}
