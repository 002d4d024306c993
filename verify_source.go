package hogapi

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/arrival"
	"github.com/hogapi/hogapi/internal/statefile"
	"github.com/hogapi/hogapi/ops"
)

func compareIDs(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) }

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

// rejectedIDs are the uuids in reject files: those of events that were not taken, and those of events
// whose fate is not known. Each is sorted.
type rejectedIDs struct{ refused, unsure []uuid.UUID }

func (r *rejectedIDs) has(id uuid.UUID) bool {
	_, found := slices.BinarySearchFunc(r.refused, id, compareIDs)
	return found
}

func (r *rejectedIDs) isUnsure(id uuid.UUID) bool {
	_, found := slices.BinarySearchFunc(r.unsure, id, compareIDs)
	return found
}

// readRejects reads reject files, as far as they are of an import.
func readRejects(ctx context.Context, paths []string, importID string) (r rejectedIDs, err error) {
	for _, path := range paths {
		if err := r.read(ctx, path, importID); err != nil {
			return r, fmt.Errorf("hogapi: verify: the reject file: %w", err)
		}
	}
	slices.SortFunc(r.refused, compareIDs)
	slices.SortFunc(r.unsure, compareIDs)
	return r, nil
}

func (r *rejectedIDs) read(ctx context.Context, path, importID string) error {
	if err := checkReadable("VerifyOptions.Rejects", "a reject file", path); err != nil {
		return err
	}
	f, err := os.Open(path) //nolint:gosec // the caller names it
	if err != nil {
		return err
	}
	defer f.Close()
	for lines := bufio.NewReader(f); ; {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			r.add(line, importID)
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
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
	return &InputError{Op: ops.Verify, Field: field, Value: filepath.Base(path), Want: want + ": " + pathless(err).Error()}
}

// pathless is an error without the path of a file.
func pathless(err error) error {
	if of, ok := errors.AsType[*os.PathError](err); ok {
		return of.Err
	}
	if of, ok := errors.AsType[*os.LinkError](err); ok {
		return of.Err
	}
	return err
}

func (r *rejectedIDs) add(line []byte, importID string) {
	text, _ := statefile.AfterHole(bytes.TrimSpace(line))
	id, note, _ := statefile.ReadLine(text)
	switch {
	case id == uuid.Nil || note != nil && note.Import != "" && note.Import != importID:
	case note != nil && note.Reason == string(ReasonUnconfirmed):
		r.unsure = append(r.unsure, id)
	default:
		r.refused = append(r.refused, id)
	}
}

const (
	sortedName      = "verify.uuids"
	sourceSteps     = 100_000
	mostMissingIDs  = 1_000_000
	mostOtherIDs    = 100_000
	mostOutsideList = 1000 // cells whose uuids are listed
)

// sortSource sorts the uuids of the source by the cells of the receipt.
func (v *verifier) sortSource(ctx context.Context) (*arrival.Sorted, error) {
	folder, err := v.files.folder()
	if err != nil {
		return nil, v.files.failed(sortedName, err)
	}
	name := filepath.Join(folder, sortedName)
	of := fmt.Sprintf("%q %+v %q", v.options.Source.Name(), v.options.Gate, v.options.Rejects)
	if v.memory.Sorted == of {
		if sorted, err := arrival.OpenSorted(name); err == nil {
			return sorted, nil
		}
	}
	sorter := arrival.NewSorter(folder)
	if err := v.feed(ctx, sorter); err != nil {
		return nil, err
	}
	if err := sorter.Close(name); err != nil {
		return nil, v.files.failed(sortedName, err)
	}
	v.memory.Sorted = of
	if err := v.save(); err != nil {
		return nil, err
	}
	sorted, err := arrival.OpenSorted(name)
	return sorted, v.files.failed(sortedName, err)
}

// feed gives the sorter all events of the source that were sent.
func (v *verifier) feed(ctx context.Context, sorter *arrival.Sorter) error {
	var read, strange int64
	d := newRehearsal(v.id, v.options.Gate, v.receipt.Protocol, maphash.MakeSeed())
	d.encoder.trust(v.options.Source)
	for ev, err := range sourceEvents(ctx, v.options.Source, v.receipt.Last) {
		if err != nil {
			return fmt.Errorf("hogapi: verify: the source failed: %w", bare(err))
		}
		if read++; read%sourceSteps == 0 {
			v.progress(ctx, VerifyProgress{Step: "read the source", Done: read, Total: v.receipt.Read})
		}
		out, sent, _ := d.next(&ev)
		if !sent || v.rejected.has(out.UUID) {
			continue
		}
		item := arrival.Item{Cell: v.table.Find(out.Time.Truncate(24*time.Hour), ev.Name), ID: out.UUID}
		if item.Cell < 0 {
			strange++
			continue
		}
		for name := range out.Warnings.All {
			if Warning(name) == WarnOwnJobID {
				item.Mark |= arrival.Hidden
			}
		}
		if err := sorter.Add(item); err != nil {
			return v.files.failed(sortedName, err)
		}
	}
	if strange > 0 {
		v.note("%d events of the source are of days and names that the receipt does not have: is it the source that was imported, with the same gate and all its reject files?", strange)
	}
	return nil
}
