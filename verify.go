package hogapi

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/hogapi/hogapi/internal/arrival"
	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/internal/hogql"
	"github.com/hogapi/hogapi/internal/verify"
	"github.com/hogapi/hogapi/internal/wire"
	"github.com/hogapi/hogapi/ops"
)

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
	found, err := verify.Verify(ctx, c.verifyConfig(ctx, receipt, options))
	if unfit, ok := errors.AsType[*verify.FolderError](err); ok {
		err = &InputError{Op: ops.Verify, Field: "VerifyOptions.Dir", Value: unfit.Value, Want: unfit.Want}
	}
	if found == nil {
		return nil, stateFileError(err)
	}
	v := options.verification(receipt, found, c.core.now())
	if v.MissingEvents > 0 || v.MovedEvents > 0 {
		c.addWarnings(ctx, v)
	}
	return v, err
}

func (c *Client) verifyConfig(ctx context.Context, r Receipt, o VerifyOptions) verify.Config {
	config := verify.Config{
		Import: verify.Import{
			ID: r.ID, Digest: r.Digest, Rows: make([]arrival.Row, len(r.Days)), Oldest: r.Oldest, Newest: r.Newest,
			LastAcknowledged: r.LastAcknowledged, Read: r.Read, IsOpen: r.Pending > 0, Hidden: r.Warnings[WarnOwnJobID],
		},
		Project: &hogql.Import{Service: queries{c}, ID: r.ID}, Rejects: o.Rejects, Dir: o.Dir, EveryUUID: o.EveryUUID,
		Wait: o.Wait, Patience: o.Patience, Now: c.core.now,
		Progress: func(p verify.Progress) {
			c.core.hook(ctx, o.OnProgress != nil, func() {
				o.OnProgress(VerifyProgress{p.Look, p.Step, p.Done, p.Total, r.Acknowledged, p.Seen, p.NextLook})
			})
		},
	}
	for i, d := range r.Days {
		config.Rows[i] = arrival.Row{Key: arrival.Key{Period: d.Day, Name: d.Event}, Acknowledged: d.Acknowledged, Unsure: d.Unsure}
	}
	if o.Source != nil {
		config.Source = func(ctx context.Context) iter.Seq2[verify.Event, error] { return o.sent(ctx, r) }
		config.SourceID = fmt.Sprintf("%q %+v %q", o.Source.Name(), o.Gate, o.Rejects)
	}
	return config
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

// sent gives the events that an import with this receipt has settled, as they were sent.
func (o VerifyOptions) sent(ctx context.Context, r Receipt) iter.Seq2[verify.Event, error] {
	return func(yield func(verify.Event, error) bool) {
		events := newRehearsal(r.ID, o.Gate, r.Protocol, maphash.MakeSeed())
		events.encoder.trust(o.Source)
		for ev, err := range sourceEvents(ctx, o.Source, r.Last) {
			if err != nil {
				yield(verify.Event{}, err)
				return
			}
			var is verify.Event
			if out, sent, _ := events.next(&ev); sent {
				is = verify.Event{ID: out.UUID, Name: ev.Name, Time: out.Time, IsHidden: out.Warnings&wire.OwnJobID != 0}
			}
			if !yield(is, nil) {
				return
			}
		}
	}
}

// sourceEvents gives the events of a source that an import with this receipt has settled.
func sourceEvents(ctx context.Context, source Source, last Position) iter.Seq2[Event, error] {
	ctx = context.WithValue(ctx, sourceNotesKey{}, &sourceNotes{isCheck: true, verifyGzip: -1, warn: func(Warning, string) {}})
	return func(yield func(Event, error) bool) {
		isLast := false
		for ev, err := range source.Events(ctx, Position{}) {
			if ctx.Err() != nil {
				yield(Event{}, context.Cause(ctx))
				return
			}
			if isLast && ev.Position != last {
				return // the rest came after the import
			}
			isLast = !last.IsZero() && ev.Position == last
			if !yield(ev, err) || err != nil {
				return
			}
		}
	}
}

// checkReadable refuses what is no file that can be read. Of a file it reads a byte, of a pipe nothing.
func checkReadable(field, want, path string) error {
	info, err := os.Stat(path)
	if err == nil && (info.Mode().IsRegular() || info.IsDir()) {
		var f *os.File
		if f, err = os.Open(path); err == nil { //nolint:gosec // the caller names it
			_, err = f.Read(make([]byte, 1))
			_ = f.Close()
		}
	}
	if err == nil || errors.Is(err, io.EOF) {
		return nil
	}
	return &InputError{Op: ops.Verify, Field: field, Value: filepath.Base(path), Want: want + ": " + errtext.Pathless(err).Error()}
}
