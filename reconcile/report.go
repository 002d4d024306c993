package reconcile

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/internal/narrow"
)

// Verdict is the answer in a word.
type Verdict string

// The verdicts.
const (
	// Complete means that every row that the exports send is in the destination once, as it is in the service, or
	// pending, and that nothing else is there.
	Complete Verdict = "complete"
	// CompleteWithDifferences means that no row is missing, but that rows are doubled, altered, replaced or only in the
	// destination.
	CompleteWithDifferences Verdict = "complete_with_differences"
	// Incomplete means that rows are missing.
	Incomplete Verdict = "incomplete"
	// Undecided means that no row is known to be missing, but that some rows could not be compared, or
	// that neither side has a row.
	Undecided Verdict = "cannot_tell"
)

// Report is the result of a comparison. It can be stored as JSON and read again.
type Report struct {
	Service     string          `json:"service"`
	Destination string          `json:"destination"`
	From        time.Time       `json:"from"`
	To          time.Time       `json:"to"` // not included
	CheckedAt   time.Time       `json:"checked_at"`
	Verdict     Verdict         `json:"verdict"`
	Counts      map[Class]int64 `json:"counts"` // of rows; delivered, never asked and filtered ones are only counted
	Days        []Day           `json:"days"`
	Findings    []Finding       `json:"findings"` // the rows that are not simply delivered
	Cut         int64           `json:"cut"`      // findings beyond Options.MaxFindings, which are not in Findings
	Unknown     []Unknown       `json:"unknown"`
	Notes       []string        `json:"notes"`
	Queries     [2]int          `json:"queries"`           // to the service and to the destination
	Arrived     []Span          `json:"arrived,omitempty"` // times in which rows arrived that are there: see Mark

	BytesRead  int64  `json:"bytes_read,omitempty"`  // by the queries to projects since their sides were made, as the service has said
	BudgetLeft *int64 `json:"budget_left,omitempty"` // bytes that the project's queries may read; nil: not known
}

// Day has the counts of a day.
type Day struct {
	Day         string          `json:"day"`         // in UTC, such as 2026-11-26
	Service     int64           `json:"service"`     // keys that the exports send
	Destination int64           `json:"destination"` // rows
	Counts      map[Class]int64 `json:"counts"`

	isUnknown bool  // as a whole
	unknown   int64 // rows of the service in parts that cannot be told
	open      int64 // rows of the service that are not delivered
	unasked   int64 // rows that no export sends, but that are in the destination or altered there
}

// Unknown is a part of the time with rows that could not be compared.
type Unknown struct {
	Part

	Rows int64  `json:"rows"` // as far as it is known
	Why  string `json:"why"`
}

func (r *Report) sideName(side int) string {
	if side == ofService {
		return r.Service
	}
	return r.Destination
}

// finish adds up.
func (r *Report) finish(c *comparison) {
	r.Counts = map[Class]int64{}
	var known time.Time // backfills of all exports
	for _, e := range c.Exports {
		known = narrow.Later(known, e.BackfillsFrom)
	}
	hidden := int64(0)
	for _, day := range slices.SortedFunc(maps.Keys(c.days), time.Time.Compare) {
		d := c.days[day]
		switch {
		case d.isUnknown:
			d.Counts[CannotTell] += max(d.Service, d.Destination) - d.open
		default:
			unknown := min(d.unknown, d.Service-d.open)
			d.Counts[CannotTell] += d.unknown
			d.Counts[Delivered] += d.Service - d.open - unknown
		}
		d.settleUnasked()
		if n := d.Counts[NeverAsked]; n > 0 && day.Before(known) {
			d.Counts[NeverAsked], hidden = 0, hidden+n
			d.Counts[CannotTell] += n
		}
		for class, n := range d.Counts {
			if n == 0 {
				delete(d.Counts, class)
				continue
			}
			r.Counts[class] += n
		}
		r.Days = append(r.Days, *d)
	}
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		byClass := cmp.Compare(slices.Index(Classes, b.Class), slices.Index(Classes, a.Class))
		return cmp.Or(a.Day.Compare(b.Day), byClass, slices.Compare(a.UUID[:], b.UUID[:]))
	})
	r.Queries = c.queries
	r.Arrived = joinSpans(slices.Collect(maps.Keys(c.arrived)))
	if hidden > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%s rows of days before %s are undecided: an unknown backfill may have sent them. Read the coverage since %s",
			number(hidden), known.Format(clock), r.From.Format(clock)))
	}
	switch {
	case len(r.Counts) == 0:
		r.Verdict = Undecided
		r.Notes = append(r.Notes, "neither side has rows in this time: check the project, the table and the range")
	case r.Counts[Missing] > 0:
		r.Verdict = Incomplete
	case r.Counts[CannotTell] > 0 || len(r.Unknown) > 0:
		r.Verdict = Undecided
	case r.Counts[Altered]+r.Counts[Doubled]+r.Counts[OnlyThere]+r.Counts[Replaced] > 0:
		r.Verdict = CompleteWithDifferences
	default:
		r.Verdict = Complete
	}
}

// settleUnasked removes the rows that are in the destination from the counts of rows that no export sends.
func (d *Day) settleUnasked() {
	for _, class := range []Class{Filtered, NeverAsked} {
		n := min(d.unasked, d.Counts[class])
		d.Counts[class] -= n
		d.unasked -= n
	}
}

// String returns the report as a table by day, for people. Days on which all rows are delivered are joined.
func (r *Report) String() string {
	var b errtext.Text
	b.AddLine("%s and %s, %s to %s UTC", r.Service, r.Destination, r.From.Format(clock), r.To.Format(clock))
	columns := r.columns()
	header := []string{}
	for _, class := range columns {
		header = append(header, pad(class.String(), class))
	}
	b.AddLine("%-24s  %s", "days", strings.Join(header, "  "))
	for _, span := range r.spans() {
		var cells []string
		for _, class := range columns {
			cells = append(cells, pad(number(span.counts[class]), class))
		}
		b.AddLine("%-24s  %s", span.Name(), strings.Join(cells, "  "))
	}
	const maxUnknown = 20
	for i, u := range r.Unknown {
		if i == maxUnknown {
			b.AddLine("cannot tell: %d further parts", len(r.Unknown)-maxUnknown)
			break
		}
		b.AddLine("cannot tell: %v: %s", u.Part, mask.OneLine(u.Why))
	}
	for _, note := range r.Notes {
		b.AddLine("note: %s", note)
	}
	b.Add("%s", r.Summary())
	return b.String()
}

// columns are the classes that a table has.
func (r *Report) columns() (columns []Class) {
	for _, class := range Classes {
		if r.Counts[class] > 0 || class == Delivered || class == Missing {
			columns = append(columns, class)
		}
	}
	return columns
}

// spanOfDays is a day, or several quiet ones.
type spanOfDays struct {
	first, last string
	Quiet       bool
	counts      map[Class]int64
}

// Name is the day, or the first and the last one.
func (s spanOfDays) Name() string {
	if s.first == s.last {
		return s.first
	}
	return s.first + " … " + s.last
}

// spans joins adjacent days with all rows delivered, or left out on purpose. Other days stay separate.
func (r *Report) spans() (all []spanOfDays) {
	for i, d := range r.Days {
		last := len(all) - 1
		if isJoined := i > 0 && d.isQuiet() && all[last].Quiet; isJoined {
			all[last].last = d.Day
		} else {
			all, last = append(all, spanOfDays{d.Day, d.Day, d.isQuiet(), map[Class]int64{}}), last+1
		}
		for class, n := range d.Counts {
			all[last].counts[class] += n
		}
	}
	return all
}

// isQuiet reports whether all rows of a day are delivered, or left out on purpose.
func (d Day) isQuiet() bool {
	for class, n := range d.Counts {
		if n > 0 && class != Delivered && class != NeverAsked && class != Filtered {
			return false
		}
	}
	return true
}

// Summary says the result in a line, such as "INCOMPLETE: 3 rows are missing".
func (r *Report) Summary() string {
	var parts []string
	for _, class := range []Class{Missing, CannotTell, Doubled, Altered, Replaced, OnlyThere, Collapsed, Pending} {
		if n := r.Counts[class]; n > 0 {
			parts = append(parts, number(n)+" "+class.String())
		}
	}
	words := map[Verdict]string{
		Complete: "COMPLETE", CompleteWithDifferences: "COMPLETE, WITH DIFFERENCES", Incomplete: "INCOMPLETE", Undecided: "CANNOT TELL",
	}
	text := words[r.Verdict] + ": " + number(r.Counts[Delivered]) + " rows delivered"
	if len(parts) > 0 {
		text += ", " + strings.Join(parts, ", ")
	}
	return text
}

// pad writes a text to the right of a column.
func pad(text string, class Class) string {
	const least = 9
	return strings.Repeat(" ", max(0, max(least, len(class.String()))-len(text))) + text
}

// number writes a number with commas.
func number(n int64) string {
	const group = 1000
	if n < 0 {
		return "-" + number(-n)
	}
	if n < group {
		return strconv.FormatInt(n, 10)
	}
	return number(n/group) + "," + fmt.Sprintf("%03d", n%group)
}
