package verify

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/engine"
	"github.com/hogapi/hogapi/internal/errtext"
)

// rejectedIDs are the uuids in reject files: of rejected events, and of unconfirmed events. Each list is
// sorted.
type rejectedIDs struct{ refused, unconfirmed []uuid.UUID }

func (r *rejectedIDs) has(id uuid.UUID) bool {
	_, found := slices.BinarySearchFunc(r.refused, id, compareIDs)
	return found
}

func (r *rejectedIDs) isUnconfirmed(id uuid.UUID) bool {
	_, found := slices.BinarySearchFunc(r.unconfirmed, id, compareIDs)
	return found
}

func readRejects(ctx context.Context, paths []string, importID string) (r rejectedIDs, err error) {
	for _, path := range paths {
		if err := r.read(ctx, path, importID); err != nil {
			return r, fmt.Errorf("hogapi: verify: the reject file %s: %w", filepath.Base(path), errtext.Pathless(err))
		}
	}
	slices.SortFunc(r.refused, compareIDs)
	slices.SortFunc(r.unconfirmed, compareIDs)
	return r, nil
}

func (r *rejectedIDs) read(ctx context.Context, path, importID string) error {
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

func (r *rejectedIDs) add(line []byte, importID string) {
	text, _ := engine.AfterHole(bytes.TrimSpace(line))
	id, note, _ := engine.ReadLine(text)
	switch {
	case id == uuid.Nil || note != nil && note.Import != "" && note.Import != importID:
	case note != nil && note.Reason == event.ReasonUnconfirmed:
		r.unconfirmed = append(r.unconfirmed, id)
	default:
		r.refused = append(r.refused, id)
	}
}

// MissingEvents has the missing events of an import: the known uuids, each once and in order, and the number of
// the other events.
type MissingEvents struct {
	ids     []uuid.UUID
	unnamed int64 // further ones, with unknown uuids
}

// NewMissingEvents makes MissingEvents of this many events, with the known uuids.
func NewMissingEvents(ids []uuid.UUID, events int64) MissingEvents {
	ids = slices.Clone(ids)
	slices.SortFunc(ids, compareIDs)
	ids = slices.Compact(ids)
	return MissingEvents{ids, events - int64(len(ids))}
}

// String identifies the missing events: other events have another text.
func (m MissingEvents) String() string {
	digest := sha256.New()
	for _, id := range m.ids {
		digest.Write(id[:])
	}
	return fmt.Sprintf("%d missing events (%.4x)", len(m.ids), digest.Sum(nil))
}

// Search finds missing events in a source after a position. It reads the source from its start, so that it
// knows in the end which missing events the source does not have. It is for one goroutine.
type Search[P comparable] struct {
	MissingEvents

	after   P
	passed  bool // the position was seen
	isAfter bool
	found   []bool // of the ids
	left    int    // of the ids
}

// NewSearch begins a search. After the zero position it takes all missing events.
func NewSearch[P comparable](missing MissingEvents, after P) *Search[P] {
	var start P
	n := len(missing.ids)
	return &Search[P]{MissingEvents: missing, after: after, isAfter: after == start, found: make([]bool, n), left: n}
}

// Takes looks at the next event of the source: its uuid, and whether the import sent it. Takes reports
// whether the event is missing and after the position.
func (s *Search[P]) Takes(position P, id uuid.UUID, sent bool) bool {
	s.isAfter = s.isAfter || s.passed && position != s.after
	s.passed = s.passed || position == s.after
	if !sent {
		return false
	}
	i, isMissing := slices.BinarySearchFunc(s.ids, id, compareIDs)
	if isMissing && !s.found[i] {
		s.found[i] = true
		s.left--
	}
	return isMissing && s.isAfter
}

// End returns an error if the source lacks the position to continue after or a missing event, or if some
// missing events are not named.
func (s *Search[P]) End() error {
	switch {
	case !s.isAfter && !s.passed:
		return errors.New("hogapi: Verification.Missing: the source no longer has the position to continue after: " +
			"give the source that was verified, or a new checkpoint")
	case s.left > 0:
		return fmt.Errorf("hogapi: Verification.Missing: %d of the %d missing events were not found in the source: "+
			"give the source that was verified, and verify the first receipt again", s.left, len(s.ids))
	case s.unnamed > 0:
		return fmt.Errorf("hogapi: Verification.Missing: all %d missing events that are named were given, and %d more are not named: "+
			"verify the first receipt again with Source, Gate and Rejects", len(s.ids), s.unnamed)
	}
	return nil
}
