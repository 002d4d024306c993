package hogapi

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/arrival"
	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/internal/verify"
	"github.com/hogapi/hogapi/internal/wire"
	"github.com/hogapi/hogapi/ops"
)

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
