package reconcile

import (
	"slices"
	"time"
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
