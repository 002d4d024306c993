package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/internal/pages"
	"github.com/hogapi/hogapi/internal/verify"
	"github.com/hogapi/hogapi/ops"
)

// VerificationState is the result of a verification, for an import or for one of its cells.
type VerificationState string

// The states, from the best to the worst. An import has the worst state of its cells.
const (
	// VerificationComplete means that all events that were sent are in the project: the digests of their uuids are
	// equal, or all uuids were compared.
	VerificationComplete VerificationState = "complete"
	// VerificationCompleteByCounts means that the project has as many events as were sent, but it is not known
	// whether they are the same events: the receipt has no digests, or the service does not compute them. It is
	// not a success. With VerifyOptions.Source, Verify compares all uuids instead.
	VerificationCompleteByCounts VerificationState = "complete_by_counts"
	// VerificationCompleteUnconfirmed means that the project has at least as many events as were acknowledged, but
	// fewer than were sent: some unconfirmed events are absent, or are there in place of acknowledged ones. It is
	// not a success. With VerifyOptions.Source and Rejects, absent events become missing once they can no longer
	// arrive.
	VerificationCompleteUnconfirmed VerificationState = "complete_with_unconfirmed"
	// VerificationUnfinished means that nothing is wrong with the events sent so far, but the import did not reach
	// its end. Only an import has this state, not a cell.
	VerificationUnfinished VerificationState = "not_finished"
	// VerificationStillArriving means that the project has fewer events, and the others may still arrive, which can
	// take hours.
	VerificationStillArriving VerificationState = "still_arriving"
	// VerificationUnknown means that Verify cannot tell; [VerificationCell.Reason] says why.
	VerificationUnknown VerificationState = "cannot_tell"
	// VerificationMoved means that events are in the project under another day or name.
	VerificationMoved VerificationState = "moved"
	// VerificationTooMany means that the project has more events than were sent: the ID was used for other data
	// too, or the receipt is older than the last run.
	VerificationTooMany VerificationState = "too_many"
	// VerificationMissing means that the project has fewer events, that at least three looks, over an hour or
	// more, saw the same number, and that [VerifyOptions.Patience] is over.
	VerificationMissing VerificationState = "missing"
)

// String returns the state in words, such as "still arriving".
func (s VerificationState) String() string { return strings.ReplaceAll(string(s), "_", " ") }

var verificationStates = []VerificationState{
	verify.Complete: VerificationComplete, verify.ByCounts: VerificationCompleteByCounts, verify.CompleteUnconfirmed: VerificationCompleteUnconfirmed,
	verify.Unfinished: VerificationUnfinished, verify.StillArriving: VerificationStillArriving,
	verify.Unknown: VerificationUnknown, verify.Moved: VerificationMoved, verify.TooMany: VerificationTooMany, verify.Missing: VerificationMissing,
}

// Verification is the result of [Verify]. It can be stored as JSON and read again.
type Verification struct {
	ID           string            `json:"id"` // of the import
	State        VerificationState `json:"state"`
	CheckedAt    time.Time         `json:"checked_at"`
	Looks        int               `json:"looks"`        // over all runs with one Dir
	Acknowledged int64             `json:"acknowledged"` // by the receipt
	Unconfirmed  int64             `json:"unconfirmed"`  // by the receipt
	Seen         int64             `json:"seen"`         // different events in the project, by the import's days and names
	Copies       int64             `json:"copies"`       // rows: the service merges the copies of an event later

	// MissingEvents is the number of missing events. Without a Source it is computed from the counts.
	MissingEvents int64 `json:"missing_events"`
	// MovedEvents is the number of events under another day or name. Without a Source it includes all events
	// outside of the receipt's days and names.
	MovedEvents int64 `json:"moved_events"`
	// ForeignEvents is the number of events with the import's ID that are not in the Source. Without a Source it
	// is the number of events above the counts of the receipt.
	ForeignEvents int64 `json:"foreign_events"`

	Cells   []VerificationCell `json:"cells"`             // by day and name, as the receipt has them
	Outside []VerificationCell `json:"outside,omitempty"` // days and names that the receipt does not have, if they were read

	MissingIDs []uuid.UUID `json:"missing_ids,omitempty"` // the first 1,000,000, sorted; they need the Source
	MovedIDs   []uuid.UUID `json:"moved_ids,omitempty"`   // the first 100,000
	ForeignIDs []uuid.UUID `json:"foreign_ids,omitempty"` // the first 100,000

	Unfinished  bool                      `json:"unfinished,omitempty"`  // the receipt is of an import that did not reach its end
	Uncountable []string                  `json:"uncountable,omitempty"` // names of events that the service keeps elsewhere
	Warnings    []hogapi.IngestionWarning `json:"warnings,omitempty"`    // of the service, as possible reasons of missing events
	Notes       []string                  `json:"notes,omitempty"`       // facts that could not be found out, and why
	Gate        hogapi.GateOptions        `json:"gate"`                  // of the import
	Protocol    event.Protocol            `json:"protocol,omitempty"`    // of the import

	BytesRead  int64  `json:"bytes_read,omitempty"`  // by the queries of this call, as the service has said
	BudgetLeft *int64 `json:"budget_left,omitempty"` // bytes that the project's queries may read; nil: not known
}

// UnmarshalJSON reads cells of v0.1.0 too, where unconfirmed events have the key "unsure".
func (c *VerificationCell) UnmarshalJSON(b []byte) error {
	type plain VerificationCell
	cell := struct {
		*plain
		Unsure int64 `json:"unsure"`
	}{plain: (*plain)(c)}
	err := json.Unmarshal(b, &cell)
	c.Unconfirmed += cell.Unsure
	return err
}

// VerificationCell compares the events of one name in one period.
type VerificationCell struct {
	Day          string            `json:"day"` // as [event.DayCount]; days before 1970 are months
	Event        string            `json:"event"`
	Acknowledged int64             `json:"acknowledged"`
	Unconfirmed  int64             `json:"unconfirmed,omitempty"`
	Seen         int64             `json:"seen"` // different uuids
	Copies       int64             `json:"copies"`
	Missing      int64             `json:"missing,omitempty"`
	Moved        int64             `json:"moved,omitempty"`   // to another cell, or from one
	Foreign      int64             `json:"foreign,omitempty"` // not in the source
	Doubled      int64             `json:"doubled,omitempty"` // events of the source that share the uuid of another one
	State        VerificationState `json:"state"`
	Reason       string            `json:"reason,omitempty"`
}

// Complete reports whether the import is finished ([event.Receipt.Finished]), and the project has all events that
// were sent and no others, by the digests of their uuids or by all uuids, never by counts alone. A program
// should exit with 0 only if Complete returns true.
func (v Verification) Complete() bool {
	return v.State == VerificationComplete && !v.Unfinished
}

func (o VerifyOptions) verification(r event.Receipt, found *verify.Result, now time.Time) Verification {
	return Verification{
		ID: r.ID, State: verificationStates[found.State], CheckedAt: now.UTC(), Looks: found.Looks,
		Acknowledged: r.Acknowledged, Unconfirmed: r.Unconfirmed, Seen: found.Seen, Copies: found.Copies,
		MissingEvents: found.Missing, MovedEvents: found.Moved, ForeignEvents: found.Foreign,
		Cells: append([]VerificationCell{}, cellsOf(found.Cells)...), Outside: cellsOf(found.Outside),
		MissingIDs: found.MissingIDs, MovedIDs: found.MovedIDs, ForeignIDs: found.ForeignIDs,
		Unfinished: !r.Finished, Uncountable: found.Uncountable, Notes: found.Notes, Gate: o.Gate, Protocol: r.Protocol,
		BytesRead: found.BytesRead, BudgetLeft: found.BudgetLeft,
	}
}

func cellsOf(found []verify.Cell) (cells []VerificationCell) {
	for _, c := range found {
		cells = append(cells, VerificationCell{
			c.Period, c.Name, c.Acknowledged, c.Unconfirmed, c.Seen, c.Copies, c.Missing, c.Moved, c.Foreign, c.Doubled,
			verificationStates[c.State], c.Reason,
		})
	}
	return cells
}

// addWarnings adds the service's warnings that can explain missing events.
func (v *Verification) addWarnings(ctx context.Context, client *hogapi.Client) {
	list, err := client.IngestionWarnings.List(ctx, nil)
	if err != nil {
		v.Notes = append(v.Notes, "the service's ingestion warnings could not all be read: "+mask.Clean(errtext.WithoutPrefix(err).Error()))
	}
	for _, w := range list {
		isLoss := w.Severity == hogapi.WarningSeverityError || w.Type == "event_dropped_too_old" || w.Type == "event_dropped_by_transformation"
		if isLoss {
			v.Warnings = append(v.Warnings, w)
		}
	}
}

// String returns a table of the cells that are not complete, for people.
func (v Verification) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "import %q: %v", v.ID, v.State)
	switch {
	case v.State == VerificationUnfinished:
		b.WriteString("; " + verify.FinishIt)
	case v.Unfinished:
		b.WriteString("; but the import is not finished: " + verify.FinishIt)
	}
	fmt.Fprintf(&b, "\nacknowledged %d", v.Acknowledged)
	if v.Unconfirmed > 0 {
		fmt.Fprintf(&b, ", unconfirmed %d", v.Unconfirmed)
	}
	fmt.Fprintf(&b, ", seen %d", v.Seen)
	if v.Copies > v.Seen {
		fmt.Fprintf(&b, " (%d copies, not merged yet)", v.Copies)
	}
	fmt.Fprintf(&b, ", after look %d", v.Looks)
	for _, found := range []struct {
		kind   string
		events int64
		ids    []uuid.UUID
	}{{"missing", v.MissingEvents, v.MissingIDs}, {"moved", v.MovedEvents, v.MovedIDs}, {"foreign", v.ForeignEvents, v.ForeignIDs}} {
		const shown = 5
		if found.events == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n%s: %d", found.kind, found.events)
		for _, id := range found.ids[:min(len(found.ids), shown)] {
			b.WriteString("\n  " + id.String())
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

func (v Verification) writeCells(b *strings.Builder) {
	const shown = 50
	var doubled, open int64
	var rows strings.Builder
	for _, c := range slices.Concat(v.Cells, v.Outside) {
		doubled += c.Doubled
		if c.State == VerificationComplete {
			continue
		}
		if open++; open > shown {
			continue
		}
		fmt.Fprintf(&rows, "\n  %-10s %-30s %12d %12d  %v", c.Day, mask.Shown(c.Event), c.Acknowledged, c.Seen, c.State)
		if c.Reason != "" {
			rows.WriteString(": " + mask.Clean(c.Reason))
		}
	}
	if doubled > 0 {
		fmt.Fprintf(b, "\nstored once: %d, which share the uuid of another event of the source", doubled)
	}
	if open > 0 {
		fmt.Fprintf(b, "\n  %-10s %-30s %12s %12s  %s", "day", "event", "acknowledged", "seen", "state")
	}
	b.WriteString(rows.String())
	if open > shown {
		fmt.Fprintf(b, "\n  and %d more", open-shown)
	}
}

// UnmarshalJSON reads the form that json.Marshal has written, also that of v0.1.0 with the key "unsure".
func (v *Verification) UnmarshalJSON(b []byte) error {
	type plain Verification
	*v = Verification{}
	whole := struct {
		*plain
		Unsure int64 `json:"unsure"`
	}{plain: (*plain)(v)}
	if err := json.Unmarshal(b, &whole); err != nil {
		return err
	}
	v.Unconfirmed += whole.Unsure
	if !slices.Contains(verificationStates, v.State) {
		return &hogapi.InputError{Op: ops.Verify, Field: "state", Value: string(v.State), Want: "the JSON of a Verification of this release"}
	}
	return nil
}

// Missing returns a source of the missing events, each with the uuid that it had. To send them, import it with
// the same ID, the same gate and a new checkpoint; then verify the first receipt again. Give Missing the source
// that was verified. An event that is sent again is stored once, but its $set, its merges and the destinations
// act again.
//
// The name of the returned source depends on the missing events, so an import of it refuses the checkpoint of
// other events. The source ends with an error, after its events, if it did not find all missing events or the
// Verification does not name all of them. If the Verification names no missing event, the source yields only an
// error, which says why.
func (v Verification) Missing(source Source) Source {
	if err := v.canBeSentAgain(source); err != nil {
		return Func("missing events", func(context.Context, event.Position) iter.Seq2[event.Event, error] {
			return pages.Failed[event.Event](err)
		})
	}
	return missingSource{source, v.ID, v.Gate, v.Protocol, verify.NewMissingEvents(v.MissingIDs, v.MissingEvents)}
}

// canBeSentAgain returns the reason why no missing events are known, or nil if some are.
func (v Verification) canBeSentAgain(source Source) error {
	const op = "hogapi: Verification.Missing: "
	switch {
	case v.State == "":
		return errors.New(op + "no Verification: look at the error of Verify")
	case source == nil || !canBeRead(source):
		return &hogapi.InputError{Op: ops.Verify, Field: "Verification.Missing", Want: "the source that was verified"}
	case len(v.MissingIDs) > 0:
		return nil
	case v.State == VerificationComplete:
		return errors.New(op + "nothing is missing: the import is complete")
	case v.MissingEvents > 0:
		return fmt.Errorf(op+"the %d missing events are not identified: verify with Source, Gate and all Rejects of the import; "+
			"the reasons of the cells say what else is in the way", v.MissingEvents)
	}
	return fmt.Errorf(op+"no event is known to be missing: the import is %q; verify with Source and Rejects, and Wait until the result no longer changes", v.State)
}

type missingSource struct {
	source   Source
	importID string
	gate     hogapi.GateOptions
	protocol event.Protocol
	missing  verify.MissingEvents
}

// Name implements Source. The name depends on the missing events: a checkpoint of other ones is of no use.
func (s missingSource) Name() string { return s.source.Name() + ", " + s.missing.String() }

func (s missingSource) Unwrap() Source { return s.source }

// Events implements Source. It reads the source from its start after any position.
func (s missingSource) Events(ctx context.Context, after event.Position) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		rules, _ := VerifyOptions{Gate: s.gate}.rules(s.protocol)
		events := newDryRun(s.importID, rules, maphash.MakeSeed())
		search := verify.NewSearch(s.missing, after)
		var ev event.Event
		for taken, err := range taken(ctx, s.source, event.Position{}) {
			if err != nil {
				yield(event.Event{}, err)
				return
			}
			out, _ := events.Next(taken)
			ev = *taken.Public(&ev)
			if out != nil {
				ev.UUID = out.UUID
			}
			if search.Takes(ev.Position, ev.UUID, out != nil) && !yield(ev, nil) {
				return
			}
		}
		err := search.End()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			yield(event.Event{}, err)
		}
	}
}
