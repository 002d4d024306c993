package verify

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/internal/narrow"
	"github.com/hogapi/hogapi/internal/queries"
)

const maxShownMoved = 20

// lookUp looks for missing events in the whole project, by their uuids.
func (v *verifier) lookUp(ctx context.Context) error {
	missing := v.finds.missing
	if len(missing) == 0 {
		return nil
	}
	some := missing[:min(len(missing), maxLookups)]
	if len(some) < len(missing) {
		v.note("the first %d missing events were looked for in the whole project, and the others by the import's ID only", maxLookups)
	}
	rows, err := v.findWithin(ctx, some, Scope{Window: v.table.Wide(v.Now()), Rows: v.Acknowledged + v.Unconfirmed})
	switch {
	case err != nil && (ctx.Err() != nil || queries.KindOf(err) == queries.Hopeless):
		return err
	case err != nil:
		v.note("missing events were not looked for in the whole project: %v", errtext.WithoutPrefix(err))
		return nil
	}
	isThere := map[uuid.UUID]bool{}
	for _, r := range rows {
		if isThere[r.ID] {
			continue
		}
		switch err := v.isElsewhere(ctx, r); {
		case err != nil && (ctx.Err() != nil || queries.KindOf(err) == queries.Hopeless):
			return err
		case err != nil:
			v.note("missing events were not looked for in the whole project: %v", errtext.WithoutPrefix(err))
		default:
			isThere[r.ID] = true
		}
	}
	v.finds.missing = slices.DeleteFunc(missing, func(id uuid.UUID) bool { return isThere[id] })
	v.progress(Progress{Step: "look elsewhere", Done: int64(len(some)), Total: int64(len(some))})
	return nil
}

// isElsewhere counts an event that was found as moved, or as come meanwhile.
func (v *verifier) isElsewhere(ctx context.Context, r FoundRow) error {
	from := v.cellOf(r.ID)
	_, at := v.table.keyOf(r.Day, r.Event)
	finds := &v.finds.cells[from]
	if at == from {
		hasCome := !v.isByID(from)
		if !hasCome {
			ours, err := v.findWithin(ctx, []uuid.UUID{r.ID}, Scope{Window: v.table.spans[from], OfImport: true})
			if err != nil {
				return err
			}
			hasCome = len(ours) > 0
		}
		if hasCome {
			finds.missing, finds.arrived = finds.missing-1, finds.arrived+1
			return nil
		}
	}
	finds.missing, finds.moved = finds.missing-1, finds.moved+1
	v.finds.moved = append(v.finds.moved, r.ID)
	if len(v.finds.moved) <= maxShownMoved {
		without := " without the import's ID,"
		if v.isCheap { // it was not looked for by the ID
			without = ""
		}
		v.note("the event %v is there%s on %s as %s", r.ID, without, r.Day.Format(time.DateOnly), mask.Shown(r.Event))
	}
	return nil
}

func (v *verifier) cellOf(id uuid.UUID) int {
	for i, f := range v.found {
		if _, absent := slices.BinarySearchFunc(f.AbsentIDs, id, compareIDs); absent {
			return i
		}
	}
	return 0 // not reached: it is one of them
}

// findWithin looks for events in a window, or in smaller windows if the service needs too long.
func (v *verifier) findWithin(ctx context.Context, ids []uuid.UUID, scope Scope) ([]FoundRow, error) {
	n := 0
	return narrow.Ask(scope, func(s Scope) ([]FoundRow, error) {
		n++
		return v.Project.Find(ctx, ids, s)
	}, queries.IsTooMuch, func(s Scope) (parts []Scope) {
		if n >= maxPerEvent || s.Halves() == nil {
			return nil
		}
		return s.smaller()
	})
}
