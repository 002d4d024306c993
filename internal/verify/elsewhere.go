package verify

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/internal/queries"
)

func (v *verifier) lookUp(ctx context.Context) error {
	var left []uuid.UUID
	for n, id := range v.finds.missing {
		if n == mostLookups {
			v.note("the first %d missing events were looked for in the whole project, and the others by the import's ID only", mostLookups)
			left = append(left, v.finds.missing[n:]...)
			break
		}
		isThere, err := v.lookUpOne(ctx, id)
		switch {
		case err != nil && (ctx.Err() != nil || queries.KindOf(err) == queries.Hopeless):
			return err
		case err != nil:
			v.note("missing events were not looked for in the whole project: %v", errtext.Bare(err))
			v.finds.missing = append(left, v.finds.missing[n:]...)
			return nil
		case !isThere:
			left = append(left, id)
		}
		v.progress(Progress{Step: "look elsewhere", Done: int64(n + 1), Total: int64(min(len(v.finds.missing), mostLookups))})
	}
	v.finds.missing = left
	return nil
}

func (v *verifier) lookUpOne(ctx context.Context, id uuid.UUID) (isThere bool, err error) {
	rows, err := v.findWithin(ctx, id, false, v.table.Wide(v.Now()))
	if err != nil || len(rows) == 0 {
		return false, err
	}
	from := v.cellOf(id)
	_, at := v.table.keyOf(rows[0].Day, rows[0].Event)
	finds := &v.finds.cells[from]
	if at == from {
		ours, err := v.findWithin(ctx, id, true, v.table.Span(v.table.Cells[from].Key))
		if err != nil {
			return false, err
		}
		if len(ours) > 0 { // it has come meanwhile
			finds.missing, finds.come = finds.missing-1, finds.come+1
			return true, nil
		}
	}
	finds.missing, finds.moved = finds.missing-1, finds.moved+1
	v.finds.moved = append(v.finds.moved, id)
	v.note("the event %v is there without the import's ID, on %s as %s", id, rows[0].Day.Format(time.DateOnly), mask.Shown(rows[0].Event))
	return true, nil
}

func (v *verifier) cellOf(id uuid.UUID) int {
	for i, f := range v.found {
		if _, absent := slices.BinarySearchFunc(f.AbsentIDs, id, compareIDs); absent {
			return i
		}
	}
	return 0 // not reached: it is one of them
}

// findWithin looks for an event in a window, or in smaller windows if the service needs too long.
func (v *verifier) findWithin(ctx context.Context, id uuid.UUID, ofImport bool, w Window) ([]CountRow, error) {
	todo := []Window{w}
	for n := 1; len(todo) > 0; n++ {
		w := todo[0]
		todo = todo[1:]
		rows, err := v.Project.Find(ctx, id, ofImport, w)
		if queries.KindOf(err) == queries.TooMuch && n < mostPerEvent && w.Halves() != nil {
			todo = append(w.Halves(), todo...)
			continue
		}
		if err != nil || len(rows) > 0 {
			return rows, err
		}
	}
	return nil, nil
}
