package reconcile

import (
	"fmt"
	"slices"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/coverage"
	"github.com/hogapi/hogapi/internal/configs"
	"github.com/hogapi/hogapi/internal/narrow"
)

// Export describes one batch export that writes into the destination: which rows it sends, and up to when it has run.
type Export struct {
	Name string `json:"name"`
	// Since is the beginning of the first interval that the schedule has exported: it sends the rows that arrived since
	// then. Zero means all rows.
	Since time.Time `json:"since,omitzero"`
	// Until is the end of the newest interval that is exported. Rows that arrived after Until less the margin are
	// [Pending]. The default is the beginning of the comparison.
	Until time.Time `json:"until,omitzero"`
	// Backfills are the times of completed backfills before Since, which send rows by their timestamp. They count in whole
	// hours.
	Backfills []Span `json:"backfills,omitempty"`
	// BackfillsFrom is the time from which Backfills are known. Rows of earlier days that no export asks for are
	// [CannotTell], since a backfill may have sent them. Zero means that all are known.
	BackfillsFrom time.Time `json:"backfills_from,omitzero"`
	// Include and Exclude are the export's names of events. An empty Include means all names.
	Include []string `json:"include,omitempty"`
	Exclude []string `json:"exclude,omitempty"`
	// Where is a HogQL condition that says the same as the export's filters, such as
	// "properties.plan = 'paid'". It becomes a part of the queries as it is.
	Where string `json:"where,omitempty"`
	// Unknown says why it is not known which rows the export sends or sent: another model, filters that no condition
	// can say, or a list that was changed. Rows that arrived before UnknownUntil and are not in the destination are then
	// [CannotTell].
	Unknown string `json:"unknown,omitempty"`
	// MergesByUUID says that the table keeps one row per uuid, the newest, as the service's Redshift tables with
	// SUPER properties do. A row is then [Replaced], not [Missing], if another row there has its uuid.
	MergesByUUID bool `json:"merges_by_uuid,omitempty"`
	// UnknownUntil is the time up to which Unknown holds, such as that of the change. The default is always.
	UnknownUntil time.Time `json:"unknown_until,omitzero"`
}

// Span is a time.
type Span struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"` // not included
}

// asks reports whether the export covers the time of a row.
func (e Export) asks(r Row) bool {
	return e.Since.IsZero() || !r.arrived().Before(e.Since) || slices.ContainsFunc(e.Backfills, func(s Span) bool {
		return !r.Hour.Before(s.From) && r.Hour.Before(s.To)
	})
}

// passes reports whether the names of the export let a row through.
func (e Export) passes(r Row) bool {
	return (len(e.Include) == 0 || slices.Contains(e.Include, r.Event)) && !slices.Contains(e.Exclude, r.Event)
}

// mayHaveFiltered reports whether it is not known if the export sent the row.
func (e Export) mayHaveFiltered(r Row) bool {
	return e.Unknown != "" && (e.UnknownUntil.IsZero() || r.arrived().Before(e.UnknownUntil))
}

// arrived is the time at which the row arrived, as far as it is known.
func (r Row) arrived() time.Time {
	if r.CreatedAt.IsZero() {
		return r.Hour
	}
	return r.CreatedAt
}

// ExportOf describes an export of the service for [Options]: its names of events and, from its coverage, when it began,
// how far it has run, and which backfills sent rows by timestamp. Without a coverage, rows of an interval that is not
// exported yet are [Missing] once the margin is over, and rows from before the export was created are [NeverAsked]. The
// coverage should begin where the comparison does: earlier backfills are unknown.
//
// An export of another model, or one with filters, is Unknown: for filters, set Where to a condition that says the same, and
// Unknown to "". One with a list of events is Unknown until its settings were last changed, since the service keeps no
// earlier lists: if you know that the list was the same, set Unknown to "".
func ExportOf(e *hogapi.BatchExport, c *coverage.Coverage) Export {
	x := Export{
		Name: e.Name, Since: e.CreatedAt.UTC(), MergesByUUID: configs.MergesByUUID(string(e.Destination.Type), e.Destination.Config),
	}
	var isAll bool
	x.Include, x.Exclude, isAll = configs.Events(e.Destination.Config, e.Filters)
	switch {
	case e.Model != "" && e.Model != hogapi.ModelEvents:
		x.Unknown = fmt.Sprintf("the export has the model %s", e.Model)
	case !isAll:
		x.Unknown = "the export has filters, or names of events that cannot be read: set Export.Where to a HogQL condition that says the same"
	case len(x.Include)+len(x.Exclude) > 0 && e.LastUpdatedAt.Sub(e.CreatedAt) > time.Minute: // later than its making
		x.UnknownUntil = e.LastUpdatedAt.UTC()
		x.Unknown = "its settings were changed at " + x.UnknownUntil.Format(clock) + " UTC, and its list of events may have been changed with them"
	}
	if c == nil {
		return x
	}
	for _, i := range c.Intervals {
		isDone := i.State == coverage.StateCompleted || i.State == coverage.StateByTimestamp
		if isDone && i.End.After(x.Until) {
			x.Until = i.End.UTC()
		}
		if isDone && i.Start.Before(x.Since) && !i.End.Before(e.CreatedAt) { // the first interval
			x.Since = i.Start.UTC()
		}
	}
	x.Backfills, x.BackfillsFrom = backfillsOf(c, x.Since), c.From.UTC()
	return x
}

// backfillsOf are the times before since that completed runs sent by timestamp, joined, in whole hours.
func backfillsOf(c *coverage.Coverage, since time.Time) []Span {
	var spans []Span
	for _, i := range c.Intervals {
		for _, run := range i.Runs {
			s := Span{run.Start.UTC().Add(time.Hour - 1).Truncate(time.Hour), run.End.UTC().Truncate(time.Hour)}
			if run.Status == hogapi.RunStatusCompleted && run.Rows == coverage.RowsByTimestamp && s.From.Before(since) && s.From.Before(s.To) {
				spans = append(spans, s)
			}
		}
	}
	return joinSpans(spans)
}

// joinSpans sorts times, and joins times that touch.
func joinSpans(spans []Span) (all []Span) {
	slices.SortFunc(spans, func(a, b Span) int { return a.From.Compare(b.From) })
	for _, s := range spans {
		if last := len(all) - 1; last >= 0 && !s.From.After(all[last].To) {
			all[last].To = narrow.Later(all[last].To, s.To)
			continue
		}
		all = append(all, s)
	}
	return all
}
