package reconcile

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/coverage"
	calendar "github.com/hogapi/hogapi/internal/coverage"
	"github.com/hogapi/hogapi/internal/errtext"
)

// Repair says how the differences of a report are repaired. Nothing of it is done by this package.
type Repair struct {
	// Arrivals are the hours in which the missing rows arrived at the service, joined. An export by schedule sends rows by
	// their arrival: see [Report.Mark] for its intervals.
	Arrivals []Span `json:"arrivals"`
	// Days are the days of the missing rows' timestamps, each with the uuids. A file download by [hogapi.FileDownloadsService]
	// of the time in Arrivals has these rows; take only these uuids from it, and no row comes twice.
	Days []RepairDay `json:"days"`
	// Doubled is the number of further rows of the same keys. Dedupe is the statement that removes them, if it is known.
	Doubled int64  `json:"doubled"`
	Dedupe  string `json:"dedupe,omitempty"`
	// Replaced is the number of rows that the table keeps another row of the same uuid for: nothing brings them there.
	Replaced int64 `json:"replaced,omitempty"`
}

// RepairDay has the missing rows of a day.
type RepairDay struct {
	Day   string      `json:"day"` // in UTC
	UUIDs []uuid.UUID `json:"uuids"`
}

// Repair says how the missing and the doubled rows are repaired. The destination may be nil, or the one of the comparison:
// a [SQLSide] knows its statement.
func (r *Report) Repair(destination Side) *Repair {
	repair := &Repair{Arrivals: []Span{}, Days: []RepairDay{}, Doubled: r.Counts[Doubled], Replaced: r.Counts[Replaced]}
	days := map[string][]uuid.UUID{}
	var arrivals []Span
	for _, f := range r.Findings {
		if f.Class != Missing {
			continue
		}
		day := f.Day.Format(time.DateOnly)
		days[day] = append(days[day], f.UUID)
		if at := f.ArrivedAt.UTC(); !at.IsZero() {
			last := at.Add(slack).Truncate(time.Hour)
			arrivals = append(arrivals, Span{at.Truncate(time.Hour), last.Add(time.Hour)})
		}
	}
	for _, day := range slices.Sorted(maps.Keys(days)) {
		repair.Days = append(repair.Days, RepairDay{day, days[day]})
	}
	repair.Arrivals = append(repair.Arrivals, joinSpans(arrivals)...)
	if known, ok := destination.(interface{ Dedupe() string }); ok && repair.Doubled > 0 {
		repair.Dedupe = known.Dedupe()
	}
	return repair
}

// slack is the time from the arrival of a row to its storing, by which an export goes.
const slack = 2 * time.Minute

// Mark returns a copy of a coverage with the findings of the comparison, for [coverage.MakePlan]. A completed interval
// that should have sent a missing row counts as failed, and is exported again. In a table that does not merge by uuid,
// this duplicates its other rows: see Repair for a way to send only the missing rows. If a run may have left rows in a
// gap, Mark tells whether the destination is free of them: rows that arrived in the gap are missing, every row of the
// gap that was listed is missing, and no hour of it is complete. Otherwise the gap needs
// coverage.RepairOptions.AcceptCopies.
func (r *Report) Mark(c *coverage.Coverage) *coverage.Coverage {
	marked := *c
	marked.Intervals = slices.Clone(c.Intervals)
	for i := range marked.Intervals {
		x := &marked.Intervals[i]
		isDone := x.State == coverage.StateCompleted || x.State == coverage.StateByTimestamp
		isEmpty := r.Cut == 0 && len(r.Unknown) == 0 && !r.hasRowsIn(x.Start, x.End.Add(-slack))
		switch {
		case !isDone && !(x.Leftovers && x.State.IsGap()) || !r.hasMissingIn(x.Start, x.End):
		case isDone:
			x.State, x.Runs, x.Records, x.Bytes = coverage.StateFailed, nil, nil, nil
			x.Leftovers, x.ComparedAt = !isEmpty && !calendar.IsObjectStore(string(c.Destination)), r.CheckedAt
		case isEmpty && !r.From.After(x.Start) && !r.To.Before(x.End):
			x.Leftovers, x.ComparedAt = false, r.CheckedAt
		}
	}
	marked.Notes = append(slices.Clone(c.Notes), "Intervals that lack rows by a comparison of rows count as failed.")
	return &marked
}

// hasRowsIn reports whether the destination has a row that arrived in a time, as far as the comparison has seen.
func (r *Report) hasRowsIn(from, to time.Time) bool {
	return slices.ContainsFunc(r.Arrived, func(s Span) bool { return s.From.Before(to) && from.Before(s.To) }) ||
		slices.ContainsFunc(r.Findings, func(f Finding) bool {
			isThere := slices.Contains([]Class{Altered, Doubled, Collapsed, CannotTell}, f.Class)
			return isThere && !f.ArrivedAt.Before(from) && f.ArrivedAt.Before(to)
		})
}

// hasMissingIn reports whether a missing row may have been stored in a time.
func (r *Report) hasMissingIn(from, to time.Time) bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool {
		return f.Class == Missing && f.ArrivedAt.Before(to) && f.ArrivedAt.Add(slack).After(from)
	})
}

// String describes the repair for people.
func (p *Repair) String() string {
	var b errtext.Text
	for _, s := range p.Arrivals {
		b.AddLine("missing rows arrived %s to %s UTC", s.From.Format(clock), s.To.Format(clock))
	}
	for _, d := range p.Days {
		if len(d.UUIDs) == 1 {
			b.AddLine("%s: 1 row is missing", d.Day)
			continue
		}
		b.AddLine("%s: %d rows are missing", d.Day, len(d.UUIDs))
	}
	if len(p.Arrivals) > 0 {
		b.AddLine("Either export these intervals again: MakePlan, with the coverage that Mark returns.")
		b.AddLine("Or download the time of arrival with coverage.DownloadRange, and load only the rows with the uuids of missing.uuids.")
	}
	if p.Doubled > 0 && p.Dedupe == "" {
		b.AddLine("Doubled rows: %s. No statement is known to remove them.", number(p.Doubled))
	}
	if p.Dedupe != "" {
		b.AddLine("Doubled rows: read this, try it on a copy, and run it yourself:")
		b.AddLine("%s", p.Dedupe)
	}
	if p.Replaced > 0 {
		b.AddLine("Replaced rows: %s. The table merges events by uuid and keeps the newest row of each, so exporting them again changes nothing.", number(p.Replaced))
	}
	if b.Len() == 0 {
		return "nothing to repair: no row is known to be missing or doubled"
	}
	return strings.TrimSuffix(b.String(), "\n")
}
