package hogapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/arrival"
	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/internal/verify"
	"github.com/hogapi/hogapi/ops"
)

// ArrivalState says what counting the events of an import in the project has shown.
type ArrivalState string

// The states, from the best to the worst. A whole import has the worst of its cells.
const (
	// ArrivalComplete: all events that were sent are there.
	ArrivalComplete ArrivalState = "complete"
	// ArrivalCompleteUnsure: as many events are there as were acknowledged, or more, but fewer than were
	// sent: unconfirmed ones are not there, or have taken the place of others. It is no success. With
	// Source and Rejects those that are not there are missing once they can no longer arrive.
	ArrivalCompleteUnsure ArrivalState = "complete, with unsure"
	// ArrivalInProgress: fewer are there, and they may still arrive. Hours are normal.
	ArrivalInProgress ArrivalState = "still arriving"
	// ArrivalUnknown: counting cannot tell, and the reason says why.
	ArrivalUnknown ArrivalState = "cannot tell"
	// ArrivalMoved: events are there under another day or name.
	ArrivalMoved ArrivalState = "moved"
	// ArrivalTooMany: there are more than were sent: the ID was used twice, or the receipt is of an
	// older checkpoint.
	ArrivalTooMany ArrivalState = "too many"
	// ArrivalMissing: fewer are there, and no more have come in three looks over an hour or more, and
	// since [VerifyOptions.Patience].
	ArrivalMissing ArrivalState = "missing"
)

var arrivalStates = []ArrivalState{
	arrival.Complete: ArrivalComplete, arrival.CompleteUnsure: ArrivalCompleteUnsure, arrival.Arriving: ArrivalInProgress,
	arrival.Unknown: ArrivalUnknown, arrival.Moved: ArrivalMoved, arrival.TooMany: ArrivalTooMany, arrival.Missing: ArrivalMissing,
}

// Verification is what the project shows of an import. As JSON it can be kept and read again.
type Verification struct {
	ID           string       `json:"id"` // of the import
	State        ArrivalState `json:"state"`
	CheckedAt    time.Time    `json:"checked_at"`
	Looks        int          `json:"looks"`        // over all runs with one Dir
	Acknowledged int64        `json:"acknowledged"` // by the receipt
	Unsure       int64        `json:"unsure"`       // by the receipt
	Seen         int64        `json:"seen"`         // different events of the import's days and names
	Copies       int64        `json:"copies"`       // rows: the service merges those of one event later

	MissingEvents int64 `json:"missing_events"` // without a Source: as many as the counts lack
	MovedEvents   int64 `json:"moved_events"`   // under another day or name; without a Source: all that are not in the receipt's
	ForeignEvents int64 `json:"foreign_events"` // with the import's ID, and not in the Source; without: as many as there are too many

	Cells   []ArrivalCell `json:"cells"`             // by day and name, as the receipt has them
	Outside []ArrivalCell `json:"outside,omitempty"` // days and names that the receipt does not have

	MissingIDs []uuid.UUID `json:"missing_ids,omitempty"` // the first 1,000,000, sorted; they need the Source
	MovedIDs   []uuid.UUID `json:"moved_ids,omitempty"`   // the first 100,000
	ForeignIDs []uuid.UUID `json:"foreign_ids,omitempty"` // the first 100,000

	Unfinished  bool               `json:"unfinished,omitempty"`  // the receipt is of an import that did not reach its end
	Uncountable []string           `json:"uncountable,omitempty"` // names in the import whose events the service keeps elsewhere
	Warnings    []IngestionWarning `json:"warnings,omitempty"`    // of the service, that can explain what is missing
	Notes       []string           `json:"notes,omitempty"`       // what could not be found out, and why
	Gate        GateOptions        `json:"gate"`                  // of the import
	Protocol    Protocol           `json:"protocol,omitempty"`    // of the import
}

// ArrivalCell compares the events of one name in one period.
type ArrivalCell struct {
	Day          string       `json:"day"` // as [DayCount]; days before 1970 are months
	Event        string       `json:"event"`
	Acknowledged int64        `json:"acknowledged"`
	Unsure       int64        `json:"unsure,omitempty"`
	Seen         int64        `json:"seen"` // different uuids
	Copies       int64        `json:"copies"`
	Missing      int64        `json:"missing,omitempty"`
	Moved        int64        `json:"moved,omitempty"`   // to another cell, or from one
	Foreign      int64        `json:"foreign,omitempty"` // not in the source
	Doubled      int64        `json:"doubled,omitempty"` // events of the source that share the uuid of another one
	State        ArrivalState `json:"state"`
	Reason       string       `json:"reason,omitempty"`
}

// Complete reports whether the import is finished ([Receipt.Finished]), all events that were sent are
// there, and nothing else. It is what a program should exit with 0 for.
func (v *Verification) Complete() bool {
	return v != nil && v.State == ArrivalComplete && !v.Unfinished
}

// verification is what was found, as the caller gets it.
func (o VerifyOptions) verification(r Receipt, found *verify.Result, now time.Time) *Verification {
	return &Verification{
		ID: r.ID, State: arrivalStates[found.State], CheckedAt: now.UTC(), Looks: found.Looks,
		Acknowledged: r.Acknowledged, Unsure: r.Unconfirmed, Seen: found.Seen, Copies: found.Copies,
		MissingEvents: found.Missing, MovedEvents: found.Moved, ForeignEvents: found.Foreign,
		Cells: append([]ArrivalCell{}, cellsOf(found.Cells)...), Outside: cellsOf(found.Outside),
		MissingIDs: found.MissingIDs, MovedIDs: found.MovedIDs, ForeignIDs: found.ForeignIDs,
		Unfinished: !r.Finished, Uncountable: found.Uncountable, Notes: found.Notes, Gate: o.Gate, Protocol: r.Protocol,
	}
}

func cellsOf(found []verify.Cell) (cells []ArrivalCell) {
	for _, c := range found {
		cells = append(cells, ArrivalCell{
			c.Period, c.Name, c.Acknowledged, c.Unsure, c.Seen, c.Copies, c.Missing, c.Moved, c.Foreign, c.Doubled,
			arrivalStates[c.State], c.Reason,
		})
	}
	return cells
}

// addWarnings adds the service's warnings that can explain what is missing.
func (c *Client) addWarnings(ctx context.Context, r *Verification) {
	list, err := c.IngestionWarnings.List(ctx, nil)
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
		b.WriteString("; but " + verify.Unfinished)
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
	var doubled int64
	for _, c := range v.Cells {
		doubled += c.Doubled
	}
	if doubled > 0 {
		fmt.Fprintf(&b, "\nstored once: %d, which share the uuid of another event of the source", doubled)
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

// UnmarshalJSON reads what json.Marshal has written.
func (v *Verification) UnmarshalJSON(b []byte) error {
	type plain Verification
	*v = Verification{}
	if err := json.Unmarshal(b, (*plain)(v)); err != nil {
		return err
	}
	if !slices.Contains(arrivalStates, v.State) {
		return &InputError{Op: ops.Verify, Field: "state", Value: string(v.State), Want: "the JSON of a Verification of this release"}
	}
	return nil
}

// Missing is the source with the missing events alone, each with the uuid that it had. To send them,
// import it with the same ID and a new checkpoint; then verify the first receipt again. The source and
// the gate must be those that were verified. Sent again, an event is stored once, but its $set, merges
// and destinations act again.
//
// Its name says which events it gives, so a checkpoint of another source is refused. It ends with an
// error if not all missing events were found in the source or named by the Verification, after those
// that were. Where no event is named as missing it gives none, and the error says why.
func (v *Verification) Missing(source Source) Source {
	if err := v.canBeSentAgain(source); err != nil {
		return SourceFunc("missing events", func(context.Context, Position) iter.Seq2[Event, error] {
			return func(yield func(Event, error) bool) { yield(Event{}, err) }
		})
	}
	ids := slices.Clone(v.MissingIDs)
	slices.SortFunc(ids, arrival.CompareIDs)
	ids = slices.Compact(ids)
	return missingSource{source, v.ID, v.Gate, v.Protocol, ids, v.MissingEvents - int64(len(ids))}
}

// canBeSentAgain says why no missing events are known, or nil where some are.
func (v *Verification) canBeSentAgain(source Source) error {
	const op = "hogapi: Verification.Missing: "
	switch {
	case v == nil:
		return errors.New(op + "there is no Verification: look at the error of Verify")
	case source == nil || !canBeRead(source):
		return &InputError{Op: ops.Verify, Field: "Verification.Missing", Want: "the source that was verified"}
	case len(v.MissingIDs) > 0:
		return nil
	case v.State == ArrivalComplete:
		return errors.New(op + "nothing is missing: the import is complete")
	case v.MissingEvents > 0:
		return fmt.Errorf(op+"it is not known which %d events are missing: verify with Source, Gate and all Rejects of the import; "+
			"the reasons of the cells say what else is in the way", v.MissingEvents)
	}
	return fmt.Errorf(op+"no event is known to be missing: the import is %q; verify with Source and Rejects, and Wait until it stands still", v.State)
}

// missingSource is the missing events of a source.
type missingSource struct {
	source   Source
	importID string
	gate     GateOptions
	protocol Protocol
	ids      []uuid.UUID // sorted
	unnamed  int64       // missing ones that are not in ids
}

// Name implements Source. With other ids it is another one: a checkpoint of theirs is of no use.
func (s missingSource) Name() string {
	digest := sha256.New()
	for _, id := range s.ids {
		digest.Write(id[:])
	}
	return fmt.Sprintf("%s, %d missing events (%.4x)", s.source.Name(), len(s.ids), digest.Sum(nil))
}

// Unwrap returns the source that the events are of.
func (s missingSource) Unwrap() Source { return s.source }

// Events implements Source. It reads the source from its start after any position: so it knows in the
// end which events the source does not have.
func (s missingSource) Events(ctx context.Context, after Position) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		d := newRehearsal(s.importID, s.gate, s.protocol, maphash.MakeSeed())
		found, left := make([]bool, len(s.ids)), len(s.ids)
		isAfter, passed := after.IsZero(), false
		for ev, err := range s.source.Events(ctx, Position{}) {
			if err != nil {
				yield(ev, err)
				return
			}
			if passed && ev.Position != after {
				isAfter = true
			}
			passed = passed || ev.Position == after
			out, sent, _ := d.next(&ev)
			if !sent {
				continue
			}
			i, missing := slices.BinarySearchFunc(s.ids, out.UUID, arrival.CompareIDs)
			if !missing {
				continue
			}
			if !found[i] {
				found[i] = true
				left--
			}
			ev.UUID = out.UUID
			if isAfter && !yield(ev, nil) {
				return
			}
		}
		if err := s.lacks(ctx, left, isAfter || passed); err != nil {
			yield(Event{}, err)
		}
	}
}

// lacks is what the source did not give, or nil.
func (s missingSource) lacks(ctx context.Context, left int, passed bool) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case !passed:
		return errors.New("hogapi: Verification.Missing: the source no longer has the position to continue after: " +
			"give the source that was verified, or a new checkpoint")
	case left > 0:
		return fmt.Errorf("hogapi: Verification.Missing: %d of the %d missing events were not found in the source: "+
			"give the source that was verified, and verify the first receipt again", left, len(s.ids))
	case s.unnamed > 0:
		return fmt.Errorf("hogapi: Verification.Missing: all %d missing events that are named were given, and %d more are not named: "+
			"verify the first receipt again with Source, Gate and Rejects", len(s.ids), s.unnamed)
	}
	return nil
}
