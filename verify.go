package hogapi

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/arrival"
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

// VerifyOptions set up a comparison of a receipt with the project.
type VerifyOptions struct {
	// Source is the source that was imported, the same as for [Client.Import]. With it the events that
	// are missing are named; it is read only if the counts differ. It must give the same events.
	Source Source
	// Gate is the gate of the import.
	Gate GateOptions
	// Rejects are the paths of the import's reject files. They say which events of the source were not
	// taken, and which are unconfirmed.
	Rejects []string
	// EveryUUID compares the uuids of all cells, 10,000 a call, also where all counts are right: one event
	// too many can hide one too few. Without it that is done once an event is found that is foreign or has
	// moved. It needs the Source.
	EveryUUID bool
	// Dir is a folder for what has been found, so that a Verify that was ended continues, and later ones
	// remember the earlier looks. It needs 50 bytes for each event of the Source. One Verify at a time
	// owns it ([ErrHeld]). Without one, a temporary folder is used where it takes one.
	Dir string
	// Wait repeats the look until the import is complete or stands still, its unconfirmed events too:
	// after a minute, then after twice as long each time, up to half an hour. Without it there is one look.
	Wait bool
	// Patience is how long after the last acknowledgement events may arrive before they can be called
	// missing: default 24 h. The service promises no time.
	Patience time.Duration
	// OnProgress is called after each call and each 100,000 events of the source. A panic in it is caught
	// and logged.
	OnProgress func(VerifyProgress)
}

// VerifyProgress says how far a Verify is.
type VerifyProgress struct {
	Look     int       `json:"look"`               // from 1, over all runs with one Dir
	Step     string    `json:"step"`               // "count", "wait", "read the source", "compare uuids" or "look elsewhere"
	Done     int64     `json:"done"`               // of Total: windows of time, events, or cells
	Total    int64     `json:"total"`              // 0: not known
	Acked    int64     `json:"acknowledged"`       // by the receipt
	Seen     int64     `json:"seen"`               // in this look so far
	NextLook time.Time `json:"next_look,omitzero"` // while it waits
}

// String is the progress in a few words.
func (p VerifyProgress) String() string {
	text := fmt.Sprintf("look %d: %s", p.Look, p.Step)
	if p.Total > 0 || p.Done > 0 {
		text += " " + strconv.FormatInt(p.Done, 10)
	}
	if p.Total > 0 {
		text += fmt.Sprintf(" of %d", p.Total)
	}
	text += fmt.Sprintf(", seen %d of %d", p.Seen, p.Acked)
	if !p.NextLook.IsZero() {
		text += ", again at " + p.NextLook.UTC().Format(time.TimeOnly+" UTC")
	}
	return text
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

// Verify counts the events of an import in the project and compares them with the receipt, by day of UTC
// and name. An acknowledgement says that the service has queued an event; only this says that it is
// there. Historical events show after minutes to hours. It asks one query at a time: one for each month,
// and smaller ones where the service needs too long. While the service is busy it waits.
//
// Nothing is called missing that may still arrive; see [ArrivalMissing]. What cannot be counted is
// [ArrivalUnknown], never missing: the cells of [Verification.Uncountable] names, events with an
// $import_job_id of their own, cells whose count failed, and what the service lost while deletions of
// persons or data run. Events with equal uuids count once: without a Source, what as many copies as were
// acknowledged can explain is [ArrivalUnknown] too.
//
// With [VerifyOptions.Source] it names the missing events, and [Verification.Missing] gives them for
// another import. A missing event that is there under another day or name is moved and not missing: the
// first 20 missing ones are looked for in the whole project, all others by the import's ID only.
//
// It needs the scope query:read, and ingestion_warning:read for [Verification.Warnings]. The error is
// for what makes counting impossible, such as a key without the scope, and for a ctx that has ended;
// the Verification is then nil. If comparing uuids fails after that, such as for a full disk or a
// source that fails, the Verification has what the counts show. It is no error if events are missing:
// see [Verification.Complete]. An *[InputError] refuses a receipt without an ID, since its events
// cannot be found.
//
// POST /query/, scope query:read.
func (c *Client) Verify(ctx context.Context, receipt Receipt, o *VerifyOptions) (*Verification, error) {
	options := orDefault(o)
	if options.Patience == 0 {
		options.Patience = defaultPatience
	}
	if err := checkContext(ctx, ops.Verify); err != nil {
		return nil, err
	}
	if err := options.check(receipt); err != nil {
		return nil, err
	}
	v, err := newVerifier(c, receipt, options)
	if err != nil {
		return nil, err
	}
	result, err := v.run(ctx)
	if closeErr := v.close(); err == nil {
		err = closeErr
	}
	return result, err
}

const defaultPatience = 24 * time.Hour

func (o VerifyOptions) check(r Receipt) error {
	bad := func(field, value, want string) error {
		return &InputError{Op: ops.Verify, Field: field, Value: value, Want: want}
	}
	var acknowledged, unsure int64
	for _, row := range r.Days {
		acknowledged += row.Acknowledged
		unsure += row.Unsure
	}
	switch {
	case r.ID == "":
		return bad("receipt.ID", "", "the receipt of an import with an ID: by it the events are found")
	case acknowledged != r.Acknowledged || unsure != r.Unconfirmed:
		return bad("receipt.Days", strconv.FormatInt(acknowledged+unsure, 10), fmt.Sprintf(
			"rows that add up to the %d acknowledged and %d unconfirmed events: the receipt as Import returned it", r.Acknowledged, r.Unconfirmed))
	case r.Acknowledged > 0 && (r.Oldest.IsZero() || r.Newest.Before(r.Oldest)):
		return bad("receipt.Oldest", "", "a time, and Newest not before it: the receipt as Import returned it")
	case o.Source != nil && !canBeRead(o.Source):
		return bad("VerifyOptions.Source", "", "a source with a function to read, or none")
	case o.EveryUUID && o.Source == nil:
		return bad("VerifyOptions.EveryUUID", "true", "a Source too, whose uuids are compared")
	case o.Patience < 0:
		return bad("VerifyOptions.Patience", o.Patience.String(), "a duration, or 0 for the default of 24 h")
	}
	if err := checkImportID("receipt.ID", r.ID); err != nil {
		return err
	}
	for _, path := range o.Rejects {
		if err := checkReadable("VerifyOptions.Rejects", "a reject file", path); err != nil {
			return err
		}
	}
	if files, ok := unwrap[*formatSource](o.Source); ok {
		if err := files.check(); err != nil {
			return err
		}
	}
	for _, path := range filesOf(o.Source) {
		if err := checkReadable("VerifyOptions.Source", "files that can be read", path); err != nil {
			return err
		}
	}
	return o.Gate.check(ops.Verify)
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
