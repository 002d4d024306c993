package hogapi

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/arrival"
	"github.com/hogapi/hogapi/internal/mask"
)

// result is what was found, as the caller gets it.
func (v *verifier) result(ctx context.Context) *Verification {
	r := &Verification{
		Unfinished: !v.receipt.Finished,
		ID:         v.id, CheckedAt: v.now().UTC(), Looks: v.memory.Looks, Acknowledged: v.receipt.Acknowledged, Unsure: v.receipt.Unconfirmed,
		Cells: []ArrivalCell{}, Gate: v.options.Gate, Protocol: v.receipt.Protocol, MissingIDs: v.finds.missing, Notes: v.notes,
	}
	worst, names := arrival.Complete, map[string]bool{}
	for i := range v.table.Cells {
		cell, state := v.cell(i)
		worst = max(worst, state)
		r.add(&r.Cells, cell)
		r.Seen, r.Copies = r.Seen+cell.Seen, r.Copies+cell.Copies
		if arrival.IsUncountable(cell.Event) {
			names[cell.Event] = true
		}
	}
	for _, key := range v.table.SortedOutside() {
		cell, state := v.outsideCell(key)
		worst = max(worst, state)
		r.add(&r.Outside, cell)
	}
	if v.table.Left.Seen > 0 {
		worst = max(worst, arrival.Moved)
		v.finds.unnamed += v.table.Left.Seen
		r.Notes = append(r.Notes, fmt.Sprintf("%d events are of further days and names that the receipt does not have", v.table.Left.Seen))
	}
	r.State = arrivalStates[worst]
	r.Uncountable = slices.Sorted(maps.Keys(names))
	r.MovedIDs, r.ForeignIDs = v.strangeIDs()
	r.MovedEvents = v.finds.unnamed + int64(len(v.finds.ours)+len(v.finds.moved))
	slices.SortFunc(r.MissingIDs, compareIDs)
	if r.MissingEvents > 0 && v.options.Source == nil {
		r.Notes = append(r.Notes, "without VerifyOptions.Source the missing events cannot be named; events with equal uuids, which count once, may be among them")
	}
	if r.MissingEvents > 0 || r.MovedEvents > 0 {
		v.addWarnings(ctx, r)
	}
	return r
}

func (v *Verification) add(to *[]ArrivalCell, cell ArrivalCell) {
	*to = append(*to, cell)
	v.MissingEvents += cell.Missing
	v.ForeignEvents += cell.Foreign
}

// cell is what was found of a cell of the receipt.
func (v *verifier) cell(i int) (ArrivalCell, arrival.State) {
	row, seen, state := v.table.Cells[i], v.table.Seen[i], v.state[i]
	c := ArrivalCell{
		Day: row.Period, Event: row.Name, Acknowledged: row.Acknowledged, Unsure: row.Unsure, Seen: seen.Seen, Copies: seen.Copies,
	}
	f, compared := v.found[i]
	switch {
	case compared:
		state = v.comparedCell(i, f, &c)
	case state == arrival.Complete && v.finds.why(i) != "": // its uuids were to be compared too
		state, c.Reason = arrival.Unknown, v.finds.why(i)
	case state == arrival.Missing:
		c.Missing = row.Acknowledged - seen.Seen
		c.Reason = v.finds.cells[i].why
		if v.options.Source == nil {
			c.Reason = "events of the source with equal uuids count once, and may be among them: a Source settles it"
		}
	case state == arrival.TooMany:
		c.Foreign = seen.Seen - row.Acknowledged - row.Unsure
		c.Reason = cmp.Or(v.finds.cells[i].why, "more than were sent: the ID was used for other data too, rejects were imported again, or the receipt is of an older checkpoint")
	default:
		c.Reason = v.reason(i)
	}
	c.State = arrivalStates[state]
	return c, state
}

// comparedCell is what comparing the uuids of a cell has shown.
func (v *verifier) comparedCell(i int, f arrival.Found, c *ArrivalCell) arrival.State {
	finds := v.finds.cells[i]
	c.Seen = f.Listed + finds.come
	c.Copies = max(c.Copies, c.Seen)
	c.Missing, c.Moved, c.Foreign, c.Doubled = finds.missing, finds.moved, finds.foreign, f.Doubled
	switch {
	case c.Missing > 0:
		return arrival.Missing
	case c.Foreign > 0 && v.receipt.Pending > 0:
		c.Foreign, c.Reason = 0, unfinished
		return arrival.Unknown
	case c.Foreign > 0:
		c.Reason = "events with the import's ID that the source does not have"
		return arrival.TooMany
	case c.Moved > 0:
		c.Reason = "events of the source are under another day or name"
		return arrival.Moved
	case f.Hidden > 0:
		c.Reason = hiddenReason(f.Hidden)
		return arrival.Unknown
	case finds.arriving > 0:
		c.Reason = v.arriving(i)
		return arrival.Arriving
	case finds.unsure > 0:
		c.Reason = fmt.Sprintf("%d events are not there, and ", finds.unsure)
		switch {
		case v.sight(i).CanArrive():
			c.Reason += "the unconfirmed ones among them may still arrive: " + v.arriving(i)
		case len(v.options.Rejects) == 0:
			c.Reason += "without Rejects it is not known whether they are the unconfirmed ones"
		default:
			c.Reason += "they are unconfirmed ones: " + uncountable
		}
		return arrival.CompleteUnsure
	case finds.again > 0:
		c.Reason = fmt.Sprintf("%d rejected events are there too: they were imported again", finds.again)
	case f.Doubled > 0:
		c.Reason = fmt.Sprintf("%d events of the source share the uuid of another one, and are stored once", f.Doubled)
	}
	return arrival.Complete
}

const (
	uncountable = "the service drops, changes or keeps elsewhere events of this name"
	shared      = "as many copies are there as were acknowledged, of fewer uuids: events of the source with equal uuids count once. A Source settles it"
)

const unfinished = "the import is not finished: import the rest, and verify its last receipt"

func hiddenReason(n int64) string {
	return fmt.Sprintf("%d events of the import have an $import_job_id of their own, by which they are not found", n)
}

// reason is why a cell has its state, where that needs words.
func (v *verifier) reason(i int) string {
	switch state := v.state[i]; {
	case v.failed[i] != "":
		return v.failed[i]
	case state == arrival.Unknown && v.receipt.Pending > 0 && !v.sight(i).MayShareUUIDs():
		return unfinished
	case state == arrival.Unknown && arrival.IsUncountable(v.table.Cells[i].Name):
		return uncountable
	case state == arrival.Unknown && v.hidden() > 0:
		return hiddenReason(v.hidden())
	case state == arrival.Unknown:
		return cmp.Or(v.finds.why(i), shared)
	case state == arrival.CompleteUnsure:
		return cmp.Or(v.finds.why(i), "which of the unconfirmed events are there is not known: give Source and Rejects")
	case state == arrival.Arriving:
		return v.arriving(i)
	}
	return ""
}

func (f *findings) why(i int) string {
	if i < len(f.cells) {
		return f.cells[i].why
	}
	return ""
}

// arriving is why a cell is not called missing yet.
func (v *verifier) arriving(i int) string {
	s := v.sight(i)
	switch {
	case s.Grew:
		return "more have come since the last look"
	case s.Quiet < s.Patience:
		return fmt.Sprintf("the last acknowledgement came %v ago, and events may take %v", s.Quiet.Round(time.Minute), s.Patience)
	}
	return fmt.Sprintf("%d looks in %v have seen so many: it takes %d looks over %v, with Wait or the same Dir", s.Looks, s.Stood.Round(time.Minute), arrival.EnoughLooks, arrival.EnoughTime)
}

// outsideCell is a cell that the receipt does not have.
func (v *verifier) outsideCell(key arrival.Key) (ArrivalCell, arrival.State) {
	n := v.table.Outside[key]
	c := ArrivalCell{Day: key.Period, Event: key.Name, Seen: n.Seen, Copies: n.Copies}
	find, compared := v.finds.outside[key]
	state := arrival.Moved
	switch {
	case v.receipt.Pending > 0:
		state, c.Reason = arrival.Unknown, unfinished
	case compared && find.why == "":
		c.Moved, c.Foreign = find.moved, find.foreign
		c.Reason = "events of the source that have another day or name there"
		switch {
		case c.Foreign > 0:
			state, c.Reason = arrival.TooMany, "events with the import's ID that the source does not have"
		case c.Moved == 0:
			state, c.Reason = arrival.Complete, "rejected events that were imported again"
		}
	default:
		c.Moved = n.Seen
		v.finds.unnamed += n.Seen
		c.Reason = cmp.Or(find.why, "the receipt has no events of this day and name")
	}
	c.State = arrivalStates[state]
	return c, state
}

// strangeIDs are the uuids of events that are elsewhere, and of those that the source does not have.
func (v *verifier) strangeIDs() (moved, foreign []uuid.UUID) {
	moved = v.finds.moved
	for id := range v.finds.strange {
		if v.finds.ours[id] {
			moved = append(moved, id)
		} else {
			foreign = append(foreign, id)
		}
	}
	slices.SortFunc(moved, compareIDs)
	slices.SortFunc(foreign, compareIDs)
	return moved[:min(len(moved), mostOtherIDs)], foreign[:min(len(foreign), mostOtherIDs)]
}

// addWarnings adds the service's warnings that can explain what is missing.
func (v *verifier) addWarnings(ctx context.Context, r *Verification) {
	list, err := v.client.IngestionWarnings.List(ctx, nil)
	if err != nil {
		r.Notes = append(r.Notes, "the service's ingestion warnings could not be read: "+mask.Clean(bare(err).Error()))
		return
	}
	for _, w := range list {
		isLoss := w.Severity == WarningSeverityError || w.Type == "event_dropped_too_old" || w.Type == "event_dropped_by_transformation"
		if isLoss {
			r.Warnings = append(r.Warnings, w)
		}
	}
}

// String is the verification as a table of the cells that are not complete, with what is known of them.
func (v *Verification) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "import %q: %s", v.ID, v.State)
	if v.Unfinished {
		b.WriteString("; but " + unfinished)
	}
	fmt.Fprintf(&b, "\nacknowledged %d", v.Acknowledged)
	if v.Unsure > 0 {
		fmt.Fprintf(&b, ", unsure %d", v.Unsure)
	}
	fmt.Fprintf(&b, ", seen %d", v.Seen)
	if v.Copies > v.Seen {
		fmt.Fprintf(&b, " (%d copies, not merged yet)", v.Copies)
	}
	fmt.Fprintf(&b, ", after look %d", v.Looks)
	for _, n := range []struct {
		what  string
		count int64
		ids   []uuid.UUID
	}{{"missing", v.MissingEvents, v.MissingIDs}, {"moved", v.MovedEvents, v.MovedIDs}, {"foreign", v.ForeignEvents, v.ForeignIDs}} {
		if n.count > 0 {
			fmt.Fprintf(&b, "\n%s: %d", n.what, n.count)
			for _, id := range n.ids[:min(len(n.ids), mostExamples)] {
				b.WriteString("\n  " + id.String())
			}
		}
	}
	v.writeCells(&b)
	if len(v.Uncountable) > 0 {
		b.WriteString("\nnames that counting can miss:")
		for _, name := range v.Uncountable {
			b.WriteString(" " + mask.Shown(name))
		}
	}
	for _, w := range v.Warnings {
		fmt.Fprintf(&b, "\ningestion warning %s: %d, last seen %s", mask.Shown(w.Type), w.Count, w.LastSeen.UTC().Format(time.RFC3339))
	}
	for _, note := range v.Notes {
		b.WriteString("\nnote: " + mask.Clean(note))
	}
	return b.String()
}

const mostShownCells = 50

// writeCells writes the table of the cells that are not complete.
func (v *Verification) writeCells(b *strings.Builder) {
	var rows bytes.Buffer
	n := 0
	for _, c := range slices.Concat(v.Cells, v.Outside) {
		if c.State == ArrivalComplete {
			continue
		}
		if n++; n > mostShownCells {
			continue
		}
		fmt.Fprintf(&rows, "\n  %-10s %-30s %12d %12d  %s", c.Day, mask.Shown(c.Event), c.Acknowledged, c.Seen, c.State)
		if c.Reason != "" {
			rows.WriteString(": " + mask.Clean(c.Reason))
		}
	}
	if n > 0 {
		fmt.Fprintf(b, "\n  %-10s %-30s %12s %12s  %s%s", "day", "event", "acknowledged", "seen", "state", rows.String())
	}
	if n > mostShownCells {
		fmt.Fprintf(b, "\n  and %d more", n-mostShownCells)
	}
}
