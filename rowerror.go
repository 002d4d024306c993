package hogapi

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/internal/httptry"
	"github.com/hogapi/hogapi/internal/mask"
)

// RowError is the error of one row of a page that can be read otherwise. The fields that cannot be decoded stay empty,
// and the others are set. All and AllLogs yield the row with this error at its place, and continue if the loop does.
type RowError struct {
	Index int             // of the row in the Results of its page
	Field string          // the first that stays empty; "" if the row lacks a value or is not an object
	Raw   json.RawMessage // the row as it came, with keys redacted
	Err   error           // *DecodeError
}

func (e *RowError) Error() string { return fmt.Sprint(e.Err) }

// Unwrap returns the *DecodeError.
func (e *RowError) Unwrap() error { return e.Err }

// rowErrors are the errors of the rows of one page, in their order.
type rowErrors []*RowError

const maxRowTexts = 3 // of rows that an error names

func (e rowErrors) Error() string {
	var b errtext.Text
	b.Add("%v", e[0])
	for _, row := range e[1:min(len(e), maxRowTexts)] {
		b.Add("; %v", errors.Unwrap(row.Err))
	}
	b.AddIf(len(e) > maxRowTexts, "; and %d more rows", len(e)-maxRowTexts)
	return b.String()
}

// Unwrap returns the errors of the rows.
func (e rowErrors) Unwrap() (all []error) {
	for _, row := range e {
		all = append(all, row)
	}
	return all
}

// At returns the row of this index and its error, or nil for a row without an error.
func (e rowErrors) At(i int) (raw []byte, err error) {
	at, found := slices.BinarySearchFunc(e, i, func(row *RowError, i int) int { return cmp.Compare(row.Index, i) })
	if !found {
		return nil, nil
	}
	return e[at].Raw, e[at]
}

func (x *exchange) rowErrors(faults httptry.RowFaults, body []byte) (all rowErrors) {
	shown := x.shown(body)
	for _, f := range faults {
		all = append(all, &RowError{Index: f.Index, Field: f.Field, Raw: mask.Bytes(f.Raw, x.Keys), Err: &DecodeError{
			CallInfo: x.info(x.Tries), StatusCode: x.Answer.StatusCode,
			Err: x.masked(fmt.Errorf("row %d: %w", f.Index, f.Err)), body: shown,
		}})
	}
	return all
}

// keepRows keeps the wanted rows of a page, and those with an error, which may be wanted.
func keepRows[T any](rows []T, err error, isWanted func(*T) bool) ([]T, error) {
	bad, isOfRows := errors.AsType[rowErrors](err)
	kept, moved := rows[:0], rowErrors{}
	for i := range rows {
		at, found := slices.BinarySearchFunc(bad, i, func(row *RowError, i int) int { return cmp.Compare(row.Index, i) })
		if found {
			here := *bad[at]
			here.Index = len(kept)
			moved = append(moved, &here)
		}
		if found || isWanted(&rows[i]) {
			kept = append(kept, rows[i])
		}
	}
	clear(rows[len(kept):])
	if isOfRows {
		err = moved
	}
	return kept, err
}
