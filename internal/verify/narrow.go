package verify

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/internal/narrow"
	"github.com/hogapi/hogapi/internal/queries"
	"github.com/hogapi/hogapi/internal/uuidsum"
)

const (
	maxListed = 20_000 // uuids of one list
	maxSlices = 200    // of one list
)

// slice has the uuids of a cell that end with the same digits, or all of them.
type slice struct {
	digits       string
	ours, theirs uuidsum.Sum
}

// narrow compares the uuids of a cell with those of the source: first by sums of slices, then by lists of the slices
// that differ. Uuids that the source lacks are foreign if they have the import's ID. Among the events of all imports, a
// few are checked for the ID; if there are very many, they are left to others, with a note.
func (v *verifier) narrow(ctx context.Context, sorted *sortedItems, i int, scope Scope) (f Found, err error) {
	row := v.table.Cells[i]
	digits := narrow.Digits(max(row.Acknowledged+row.Unconfirmed, v.table.Seen[i].Seen))
	sums := map[string]*slice{}
	at := func(digits string) *slice {
		if sums[digits] == nil {
			sums[digits] = &slice{digits: digits}
		}
		return sums[digits]
	}
	if digits == 0 {
		at("")
	} else {
		rows, err := within(scope, func(s Scope) ([]SliceRow, error) { return v.Project.Sums(ctx, s, digits) })
		if err != nil {
			return f, err
		}
		for _, r := range rows {
			at(r.Slice).theirs.Add(r.Sum)
		}
	}
	var last uuid.UUID
	for ours, err := range sorted.cell(i) {
		if err != nil {
			return f, err
		}
		if ours.id == last {
			f.Doubled++
			continue
		}
		last = ours.id
		at(ending(ours.id, digits)).ours.Add(uuidsum.Of(ours.id))
	}
	var differing []*slice
	var strangers int64
	for _, s := range sums {
		f.Listed += s.theirs.N
		strangers += max(0, s.theirs.N-s.ours.N)
	}
	isOfOthers := !scope.OfImport && strangers > maxLookups
	for _, s := range sums {
		if digits == 0 || !s.ours.Proves(s.theirs) && (s.ours.N > 0 || !isOfOthers) {
			differing = append(differing, s)
		}
	}
	slices.SortFunc(differing, func(a, b *slice) int { return strings.Compare(a.digits, b.digits) })
	rowsOf := func(s *slice) int64 { return max(s.ours.N, s.theirs.N) }
	for _, group := range narrow.Groups(differing, maxListed, maxSlices, rowsOf) {
		if err := v.compareSlices(ctx, sorted, i, scope, group, &f); err != nil {
			return f, err
		}
	}
	if !scope.OfImport {
		if err := v.ofImport(ctx, scope, isOfOthers || f.Foreign > maxLookups, &f); err != nil {
			return f, err
		}
		f.Listed = sorted.count(i) - f.Doubled - f.Absent + f.Foreign
	}
	slices.SortFunc(f.AbsentIDs, compareIDs)
	return f, nil
}

// ofImport keeps only the foreign uuids that have the import's ID.
func (v *verifier) ofImport(ctx context.Context, scope Scope, isOfOthers bool, f *Found) error {
	strangers := f.ForeignIDs
	f.Foreign, f.ForeignIDs = 0, nil
	switch {
	case isOfOthers:
		v.note("%v has too many events of others with the name %s to ask which of them have the import's ID", scope.Window, mask.Shown(scope.Names[0]))
		return nil
	case len(strangers) == 0:
		return nil
	}
	scope.OfImport = true
	rows, err := v.findWithin(ctx, strangers, scope)
	if err != nil {
		return &listError{scope.Window, err}
	}
	for _, r := range rows {
		if !slices.Contains(f.ForeignIDs, r.ID) {
			f.Foreign, f.ForeignIDs = f.Foreign+1, append(f.ForeignIDs, r.ID)
		}
	}
	return nil
}

// ending is the last digits of a uuid.
func ending(id uuid.UUID, digits int) string {
	var text [2 * len(id)]byte
	for n := range digits {
		at := len(text) - 1 - n
		text[at] = narrow.Hex[id[at/2]>>(4*(1-at%2))&0xf]
	}
	return string(text[len(text)-digits:])
}

// compareSlices lists some slices, and adds the differences to f.
func (v *verifier) compareSlices(ctx context.Context, sorted *sortedItems, i int, scope Scope, group []*slice, f *Found) error {
	var listed, counted int64
	in := map[string]bool{}
	for _, s := range group {
		in[s.digits] = true
		counted += s.theirs.N
		if s.digits != "" {
			scope.Slices = append(scope.Slices, s.digits)
		}
	}
	digits := len(group[0].digits)
	theirs := map[uuid.UUID]bool{} // whether the source has it
	if counted > 0 || digits == 0 {
		ids, err := v.listWithin(ctx, scope)
		if err != nil {
			return err
		}
		for _, id := range ids {
			theirs[id] = false
		}
	}
	if listed = int64(len(theirs)); listed < counted {
		return &shortError{listed, counted}
	}
	f.Listed += listed - counted
	var last uuid.UUID
	for ours, err := range sorted.cell(i) {
		_, isThere := theirs[ours.id]
		switch {
		case err != nil:
			return err
		case ours.id == last || !in[ending(ours.id, digits)]:
		case isThere:
			theirs[ours.id] = true
		case ours.isHidden && scope.OfImport:
			f.Hidden++
		default:
			f.Absent, f.AbsentIDs = f.Absent+1, appended(f.AbsentIDs, ours.id)
		}
		last = ours.id
	}
	for id, isOurs := range theirs {
		if !isOurs {
			f.Foreign, f.ForeignIDs = f.Foreign+1, appended(f.ForeignIDs, id)
		}
	}
	return nil
}

func appended(ids []uuid.UUID, id uuid.UUID) []uuid.UUID {
	if len(ids) == maxMissingIDs {
		return ids
	}
	return append(ids, id)
}

// listWithin lists the uuids of a scope, each once.
func (v *verifier) listWithin(ctx context.Context, scope Scope) ([]uuid.UUID, error) {
	ids, err := within(scope, func(s Scope) ([]uuid.UUID, error) { return v.Project.List(ctx, s) })
	slices.SortFunc(ids, compareIDs)
	return slices.Compact(ids), err
}

// within asks about a scope, and about parts of it where that is too much.
func within[A any](scope Scope, ask func(Scope) ([]A, error)) ([]A, error) {
	return narrow.Ask(scope, func(s Scope) ([]A, error) {
		answer, err := ask(s)
		if err != nil {
			err = &listError{s.Window, err}
		}
		return answer, err
	}, queries.IsTooMuch, Scope.smaller)
}

// smaller divides a scope by its slices, then by time, then by uuids. It returns nil for one that has no parts.
func (s Scope) smaller() (parts []Scope) {
	const maxDigits = 5
	divided := [][]string{}
	switch n := len(s.Slices); {
	case n > 1:
		divided = [][]string{s.Slices[:n/2], s.Slices[n/2:]}
	case s.Halves() != nil:
		for _, half := range s.Halves() {
			part := s
			part.Window, part.Rows = half, s.Rows/2
			parts = append(parts, part)
		}
		return parts
	case n == 1 && len(s.Slices[0]) == maxDigits:
		return nil
	default:
		for _, digit := range narrow.Hex {
			divided = append(divided, []string{string(digit) + strings.Join(s.Slices, "")})
		}
	}
	for _, some := range divided {
		part := s
		part.Slices = some
		parts = append(parts, part)
	}
	return parts
}

// listError is the error of a query in a window, as opposed to a disk error.
type listError struct {
	window Window
	err    error
}

func (e *listError) Error() string {
	return fmt.Sprintf("%v: %v", e.window, errtext.WithoutPrefix(e.err))
}

func (e *listError) Unwrap() error { return e.err }

// shortError says that a list has fewer events than were counted.
type shortError struct{ listed, counted int64 }

func (e *shortError) Error() string { return shorter(e.listed, e.counted) }
