package verify

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hogapi/hogapi/internal/narrow"
	"github.com/hogapi/hogapi/internal/queries"
)

// The cheap reading has uuids, times and names of the events of all imports: the service need not read properties,
// which are nearly all of the bytes. A cell with the receipt's sum of hashes is proven for good. Only differing cells
// are read again with the import's ID. A Verify after one that has said "complete" reads all again: events may have
// gone since.

// proof is the knowledge about a cell for later looks.
type proof struct {
	Of     string    `json:"of,omitempty"`   // the digest of the receipt that is proven; empty: none
	At     time.Time `json:"at,omitzero"`    // when it was proven
	Shown  Counts    `json:"shown,omitzero"` // when it was proven
	All    Counts    `json:"all,omitzero"`   // of all events of the day and name, at the newest reading by the import's ID
	Exact  Counts    `json:"exact,omitzero"` // that this reading has shown
	IsRead bool      `json:"read,omitempty"` // there was one
}

func (v *verifier) isProven(i int) bool {
	return v.isCheap && v.memory.Proofs[i].Of != "" && v.memory.Proofs[i].Of == v.table.digests[i]
}

func (v *verifier) allCells() []int {
	cells := make([]int, len(v.table.Cells))
	for i := range cells {
		cells[i] = i
	}
	return cells
}

// open are the cells that are not proven.
func (v *verifier) open() (cells []int) {
	for i := range v.table.Cells {
		if !v.isProven(i) {
			cells = append(cells, i)
		}
	}
	return cells
}

// readNext reads the next window without the import's ID.
func (v *verifier) readNext(ctx context.Context, look *lookState) error {
	w, open := look.Cheap[0], v.open()
	rows, rest, err := v.readFirst(ctx, look.Cheap, Scope{Window: w, Names: v.table.namesIn(w, open), Rows: v.rowsIn(w, open)})
	if queries.KindOf(err) == queries.Refused { // the server has no hashes: everything is read by the import's ID
		clear(v.memory.Proofs)
		v.isCheap, look.Cheap, look.All, look.Todo = false, nil, nil, v.table.Windows(v.Now())
		return nil
	}
	if err != nil {
		return err
	}
	look.Cheap = rest
	for _, r := range rows {
		if i := v.table.cellOf(w, r.Day, r.Event); i >= 0 {
			sum := look.All[i]
			sum.add(r.Counts)
			look.All[i] = sum
		}
	}
	v.prove(w, look)
	if len(rest) == 0 {
		v.settleCheap(look)
		v.showProven()
	}
	return nil
}

// prove proves the cells of which a window was the last to be read: a killed Verify keeps its proven cells.
func (v *verifier) prove(w Window, look *lookState) {
	for _, i := range v.open() {
		row, all := v.table.Cells[i], look.All[i]
		if _, failed := v.failed[i]; !failed && row.Sum.Proves(all.Sum) && !v.table.spans[i].Until.After(w.Until) {
			all.Sum = row.Sum
			p := &v.memory.Proofs[i]
			p.Of, p.At, p.Shown = v.table.digests[i], v.Now(), all
		}
	}
}

// settleCheap chooses the cells that are read by the import's ID.
func (v *verifier) settleCheap(look *lookState) {
	look.Wanted = []int{}
	for _, i := range v.open() {
		if _, failed := v.failed[i]; failed {
			continue
		}
		if known, ok := v.knownWithoutID(i, look.All[i]); ok {
			v.table.Seen[i] = known
			continue
		}
		look.Wanted = append(look.Wanted, i)
	}
	look.Todo = v.table.windowsOf(look.Wanted)
}

// knownWithoutID returns the result of the cheap reading for a cell that differs, if that is enough for this look:
// there are too few events in total, or since the last reading by the import's ID fewer arrived than it lacked.
func (v *verifier) knownWithoutID(i int, all Counts) (Counts, bool) {
	row, p := v.table.Cells[i], v.memory.Proofs[i]
	may := func(n int64) bool {
		next, grew := v.memory.Cells[i].Next(n, v.Now())
		return v.sightWith(i, next, grew).canArrive()
	}
	known := Counts{Seen: all.Seen, Copies: all.Copies}
	if all.Seen < row.Acknowledged && (v.Source != nil || may(all.Seen)) {
		return known, true
	}
	more := all.Seen - p.All.Seen
	known = p.Exact
	switch {
	case !p.IsRead || more < 0 || p.Exact.Seen+more >= row.Acknowledged && all != p.All:
		return Counts{}, false
	case all != p.All: // so many more at most: they may be those of others
		known.Seen, known.Copies = known.Seen+more, max(known.Copies, known.Seen+more)
		known.Sum = p.Exact.Sum
	}
	return known, may(known.Seen)
}

// showProven shows the counts of proven cells.
func (v *verifier) showProven() {
	for i := range v.table.Cells {
		if v.isProven(i) {
			v.table.Seen[i] = v.memory.Proofs[i].Shown
		}
	}
}

// noteEarlier says which cells an earlier run has proven: they were not read again.
func (v *verifier) noteEarlier(r *Result) {
	n, newest := 0, time.Time{}
	for i := range v.table.Cells {
		if at := v.memory.Proofs[i].At; v.isProven(i) && at.Before(v.began) {
			n, newest = n+1, narrow.Later(newest, at)
		}
	}
	if n > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%d of %d days and names were proven before, until %s, and were not read again; another Dir reads them again",
			n, len(v.table.Cells), newest.UTC().Format(time.DateTime+" UTC")))
	}
}

// keepExact stores the result of the reading by the import's ID, beside the result for all events.
func (v *verifier) keepExact() {
	look := &v.memory.Look
	if !v.isCheap {
		return
	}
	for _, i := range look.Wanted {
		if _, failed := v.failed[i]; !failed {
			p := &v.memory.Proofs[i]
			p.All, p.Exact, p.IsRead = look.All[i], v.table.Seen[i], true
		}
	}
}

// isByID reports whether the newest look has read a cell by the import's ID.
func (v *verifier) isByID(i int) bool {
	return !v.isCheap || isWanted(v.memory.Look.Wanted, i)
}

const maxWindows = 60 // of the cells of a look, as long as gaps can be read too

// windowsOf returns the days of some cells, by month, with gaps between them only where there are very many.
func (t *table) windowsOf(cells []int) (list []Window) {
	if len(cells) == 0 {
		return nil
	}
	var spans []Window
	for _, i := range cells {
		spans = append(spans, t.spans[i])
	}
	slices.SortFunc(spans, func(a, b Window) int { return a.From.Compare(b.From) })
	for gap := time.Duration(0); ; gap = 2*gap + 24*time.Hour {
		list = nil
		for _, span := range spans {
			last := len(list) - 1
			if last >= 0 && !span.From.After(list[last].Until.Add(gap)) && (span.From.Before(list[last].Until) || sameMonth(list[last], span)) {
				list[last].Until = narrow.Later(list[last].Until, span.Until)
				continue
			}
			list = append(list, span)
		}
		if len(list) <= maxWindows || gap > 31*24*time.Hour {
			break
		}
	}
	var months []Window
	for _, w := range list {
		months = append(months, w.Months()...)
	}
	return months
}

func sameMonth(a, b Window) bool { return a.From.Format(monthLayout) == b.From.Format(monthLayout) }

// rowsIn is the number of rows that some cells have in a window, about, or all cells if cells is nil: as the cheap reading has
// shown them, or else as the receipt has them.
func (v *verifier) rowsIn(w Window, cells []int) (n int64) {
	if cells == nil {
		cells = v.allCells()
	}
	for _, i := range cells {
		if span := v.table.spans[i]; span.overlaps(w) {
			row := v.table.Cells[i]
			rows := max(row.Acknowledged+row.Unconfirmed, v.memory.Look.All[i].Copies)
			n += rows * min(w.days(), span.days()) / max(1, span.days())
		}
	}
	return n
}

func (w Window) days() int64 { return int64(w.Until.Sub(w.From) / (24 * time.Hour)) }

// namesIn returns the names of some cells that have days in a window, or nil where there are too many to be listed.
func (t *table) namesIn(w Window, cells []int) (names []string) {
	const maxNames = 50
	for _, i := range cells {
		row := t.Cells[i]
		if !t.spans[i].overlaps(w) {
			continue
		}
		if row.Period == Other {
			return nil
		}
		if !slices.Contains(names, row.Name) {
			names = append(names, row.Name)
		}
		if len(names) > maxNames {
			return nil
		}
	}
	return names
}
