package verify

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/internal/statefile"
	"github.com/hogapi/hogapi/reasons"
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

// readRejects reads the rejects of one import from reject files.
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
	text, _ := statefile.AfterHole(bytes.TrimSpace(line))
	id, note, _ := statefile.ReadLine(text)
	switch {
	case id == uuid.Nil || note != nil && note.Import != "" && note.Import != importID:
	case note != nil && note.Reason == string(reasons.Unconfirmed):
		r.unconfirmed = append(r.unconfirmed, id)
	default:
		r.refused = append(r.refused, id)
	}
}
