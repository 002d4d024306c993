package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/internal/queries"
)

// findings are the results of comparing uuids, over all cells.
type findings struct {
	cells   []cellFinds
	outside map[Key]cellFinds  // the cells that the receipt does not have
	strange map[uuid.UUID]Key  // where uuids are that are not their cell's
	ours    map[uuid.UUID]bool // of strange: the source has it
	missing []uuid.UUID
	moved   []uuid.UUID // further ones: without the import's ID
	unnamed int64       // events outside, without a comparison of uuids
}

// cellFinds are the findings of a cell, as numbers of events.
type cellFinds struct {
	missing, arriving, moved, foreign int64

	arrived     int64  // since they were listed
	again       int64  // rejects that were imported since
	unconfirmed int64  // absent, and all of them can be unconfirmed ones, which are not missing or not yet
	why         string // not all of it was compared

	isShort bool // the service listed fewer uuids than it had counted
}

// isSuspect reports whether a cell's uuids are to be compared.
func (v *verifier) isSuspect(i int) bool {
	if _, failed := v.failed[i]; failed {
		return false
	}
	switch v.state[i] {
	case Missing, TooMany, CompleteUnconfirmed, ByCounts:
		return true
	case Unknown:
		return !isUncountable(v.table.Cells[i].Name)
	case StillArriving:
		return v.EveryUUID || v.every || v.mayBeShared(i)
	default: // complete by its sums
		return v.EveryUUID
	}
}

// explain finds out which events are missing, where that can be known.
func (v *verifier) explain(ctx context.Context) error {
	v.finds = findings{
		cells: make([]cellFinds, len(v.table.Cells)), outside: map[Key]cellFinds{},
		strange: map[uuid.UUID]Key{}, ours: map[uuid.UUID]bool{},
	}
	v.found = map[int]Found{}
	suspect, short := len(v.table.Outside) > 0, false
	for i, row := range v.table.Cells {
		isSuspect := v.isSuspect(i)
		suspect = suspect || isSuspect
		short = short || isSuspect && v.table.Seen[i].Seen < row.Acknowledged+row.Unconfirmed && !v.sight(i).canArrive()
	}
	if !suspect {
		return nil
	}
	v.memory.Comparing = true
	if err := v.save(); err != nil {
		return err
	}
	if look := &v.memory.Look; short && !look.Beyond && (v.Source == nil || !v.isCheap) { // otherwise uuids are looked for
		if err := v.lookBeyond(ctx, v.table.windowsOf(v.open())); err != nil {
			return err
		}
	}
	if v.Source != nil {
		if err := v.compare(ctx); err != nil {
			return err
		}
	}
	v.memory.Comparing, v.memory.Sorted = false, ""
	if err := v.files.forget(); err != nil {
		return err
	}
	return v.save()
}

// How much is asked to find events elsewhere.
const (
	maxBeyond   = 60 // queries
	minBeyond   = 31 * 24 * time.Hour
	maxLookups  = 1_000 // events, of one query
	maxPerEvent = 8     // queries in place of it
)

// lookBeyond counts the events of the import before and after all its days, and under other names. It leaves out windows that
// take the service too long, with a note.
func (v *verifier) lookBeyond(ctx context.Context, days []Window) error {
	todo, none := v.table.Beyond(v.Now()), []int{}
	if v.isCheap { // so far, only the names of cells were read
		todo = append(todo, days...)
		v.table.Outside, v.table.Left = map[Key]Counts{}, Counts{}
	}
	for n := 1; len(todo) > 0; n++ {
		w := todo[0]
		todo = todo[1:]
		rows, err := v.Project.Count(ctx, Scope{Window: w, OfImport: true})
		for _, r := range rows {
			v.table.Add(w, r.Day, r.Event, r.Counts, none)
		}
		switch {
		case err == nil:
		case ctx.Err() != nil || queries.KindOf(err) == queries.Hopeless:
			return err
		case queries.KindOf(err) == queries.TooMuch && n < maxBeyond && w.Until.Sub(w.From) > minBeyond:
			todo = append(w.Halves(), todo...)
		default:
			v.note("%v was not searched for events that have moved: %v", w, errtext.WithoutPrefix(err))
		}
		v.progress(Progress{Step: "look elsewhere", Done: int64(n), Total: int64(n + len(todo))})
	}
	v.memory.Look.Beyond = true
	return v.save()
}

// compare names the missing, moved and foreign events.
func (v *verifier) compare(ctx context.Context) error {
	var err error
	if v.rejected, err = readRejects(ctx, v.Rejects, v.ID); err != nil {
		return err
	}
	sorted, err := v.sortSource(ctx)
	if err != nil {
		return err
	}
	if v.found, err = v.files.openCompared(v.memory.Looks); err != nil {
		return err
	}
	if err := v.compareCells(ctx, sorted); err != nil {
		return err
	}
	var absent int64
	for _, f := range v.found {
		absent += f.Absent
	}
	if v.isCheap && absent > maxLookups && !v.memory.Look.Beyond { // too many to look for their uuids
		if err := v.lookBeyond(ctx, v.table.Windows(v.Now())); err != nil {
			return err
		}
	}
	v.every = len(v.table.Outside) > 0
	for _, f := range v.found {
		v.every = v.every || f.Foreign > 0
	}
	if v.every {
		if err := v.compareCells(ctx, sorted); err != nil {
			return err
		}
	}
	if err := v.compareOutside(ctx, sorted); err != nil {
		return err
	}
	return v.settleAbsent(ctx)
}

// compareCells compares the suspect cells that were not compared before.
func (v *verifier) compareCells(ctx context.Context, sorted *sortedItems) error {
	for i := range v.table.Cells {
		if _, done := v.found[i]; done || !v.isSuspect(i) {
			continue
		}
		if err := v.compareCell(ctx, sorted, i); err != nil {
			return err
		}
		v.progress(Progress{Step: "compare uuids", Done: int64(i + 1), Total: int64(len(v.table.Cells))})
	}
	return nil
}

func (v *verifier) compareCell(ctx context.Context, sorted *sortedItems, i int) error {
	row := v.table.Cells[i]
	finds := &v.finds.cells[i]
	if n := sorted.count(i); n != row.Acknowledged+row.Unconfirmed {
		finds.why = fmt.Sprintf("the source has %d events for this day and name, not %d: the source has changed, the gate differs, or a reject file is not in Rejects", n, row.Acknowledged+row.Unconfirmed)
		return nil
	}
	if row.Period == Other {
		finds.why = "this row stands for many names, so their uuids cannot be listed"
		return nil
	}
	seen := v.table.Seen[i].Seen
	scope := Scope{Window: v.table.spans[i], Names: []string{row.Name}, OfImport: v.isByID(i), Rows: row.Acknowledged + row.Unconfirmed}
	f, err := v.narrow(ctx, sorted, i, scope)
	short, isShort := errors.AsType[*shortError](err)
	switch {
	case isShort:
		finds.why, finds.isShort = short.Error(), true
		return nil
	case err == nil && scope.OfImport && f.Listed+f.Doubled < seen: // a month counts a uuid on each of its days
		finds.why, finds.isShort = shorter(f.Listed, seen), true
		return nil
	case err == nil:
		v.found[i] = f
		return v.files.addCompared(comparedCell{v.memory.Looks, i, f})
	case ctx.Err() != nil || queries.KindOf(err) == queries.Hopeless:
		return err
	case !errors.As(err, new(*listError)):
		return v.files.failed(sortedName, err)
	}
	finds.why = "the uuids could not be listed: " + mask.Clean(errtext.WithoutPrefix(err).Error())
	return nil
}

func shorter(listed, counted int64) string {
	return fmt.Sprintf("the service lists %d uuids of the %d that it has counted: look again", listed, counted)
}

// compareOutside finds out which of the uuids that are not in their cell the source has.
func (v *verifier) compareOutside(ctx context.Context, sorted *sortedItems) error {
	for i, f := range v.found {
		finds := &v.finds.cells[i]
		finds.foreign = f.Foreign
		for n, id := range f.ForeignIDs {
			switch {
			case v.rejected.has(id):
				finds.foreign, finds.again = finds.foreign-1, finds.again+1
			case n < maxOtherIDs:
				v.finds.strange[id] = v.table.Cells[i].Key
			}
		}
	}
	for n, key := range v.table.SortedOutside() {
		if n == maxOutsideList || len(v.finds.strange) >= 2*maxOtherIDs {
			v.note("%d days and names that are not in the receipt were not compared with the source: there are too many", len(v.table.Outside)-n)
			break
		}
		if err := v.listOutside(ctx, key); err != nil {
			return err
		}
	}
	if len(v.finds.strange) == 0 {
		return nil
	}
	for ours, err := range sorted.all() {
		if err != nil {
			return v.files.failed(sortedName, err)
		}
		key, strange := v.finds.strange[ours.id]
		if !strange || v.finds.ours[ours.id] {
			continue
		}
		v.finds.ours[ours.id] = true
		v.countOne(key, func(f *cellFinds) { f.foreign, f.moved = f.foreign-1, f.moved+1 })
	}
	return nil
}

// listOutside notes the uuids of a cell that the receipt does not have.
func (v *verifier) listOutside(ctx context.Context, key Key) error {
	find := cellFinds{}
	counted := v.table.Outside[key].Seen
	var ids []uuid.UUID
	var err error
	hasRoom := counted <= int64(2*maxOtherIDs-len(v.finds.strange))
	if hasRoom {
		ids, err = v.listWithin(ctx, Scope{Window: v.table.Span(key), Names: []string{key.Name}, OfImport: true, Rows: counted})
	}
	if err != nil && (ctx.Err() != nil || queries.KindOf(err) == queries.Hopeless) {
		return err
	}
	for _, id := range ids {
		if v.rejected.has(id) { // it was imported again
			continue
		}
		find.foreign++
		v.finds.strange[id] = key
	}
	switch listed := int64(len(ids)); {
	case err != nil, !hasRoom:
		find.why = "not all uuids could be listed"
	case listed < counted:
		find.why = shorter(listed, counted)
	}
	v.finds.outside[key] = find
	return nil
}

// countOne changes the findings of a cell, of the receipt or not.
func (v *verifier) countOne(key Key, change func(*cellFinds)) {
	if i, ok := v.table.index[key]; ok {
		change(&v.finds.cells[i])
		return
	}
	f := v.finds.outside[key]
	change(&f)
	v.finds.outside[key] = f
}

// settleAbsent decides for each event that is absent from its cell: it has moved, may still arrive, may be
// unconfirmed, or is missing.
func (v *verifier) settleAbsent(ctx context.Context) error {
	for i := range v.table.Cells {
		f, ok := v.found[i]
		if !ok {
			continue
		}
		finds, canArrive := &v.finds.cells[i], v.sight(i).canArrive()
		absent := slices.DeleteFunc(slices.Clone(f.AbsentIDs), func(id uuid.UUID) bool { return v.finds.ours[id] })
		elsewhere := int64(len(f.AbsentIDs) - len(absent))
		finds.moved += elsewhere
		lacking, areUnconfirmed := f.Absent-elsewhere, v.canBeUnconfirmed(i, f.Absent-elsewhere, absent)
		isOpen := len(v.Rejects) == 0 || isUncountable(v.table.Cells[i].Name)
		switch {
		case lacking == 0:
		case areUnconfirmed && (canArrive || isOpen):
			finds.unconfirmed = lacking
		case canArrive:
			finds.arriving = lacking
		default:
			finds.missing = lacking
			room := maxMissingIDs - len(v.finds.missing)
			v.finds.missing = append(v.finds.missing, absent[:min(room, len(absent))]...)
		}
	}
	return v.lookUp(ctx)
}

// canBeUnconfirmed reports whether all events that a cell lacks can be unconfirmed ones.
func (v *verifier) canBeUnconfirmed(i int, lacking int64, absent []uuid.UUID) bool {
	if len(v.Rejects) == 0 {
		return lacking <= v.table.Cells[i].Unconfirmed
	}
	return lacking == int64(len(absent)) && !slices.ContainsFunc(absent, func(id uuid.UUID) bool { return !v.rejected.isUnconfirmed(id) })
}
