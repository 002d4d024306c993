package pages

import "fmt"

// tally compares the rows that a walk has seen with the counts of its pages.
type tally struct {
	start, pages, seen int
	least, most, last  int  // counts of the pages
	anyOrder           bool // with prefetch, a later page may show an earlier state of the list
	hasMoved           bool // a row may have moved past the walk
	ids                map[any]bool
}

// add notes the next page. Its ids are nil for rows without ids.
func (t *tally) add(items, count int, ids []any) {
	if t.pages++; t.pages == 1 {
		t.least, t.most, t.last = count, count, count
	}
	t.seen += items
	t.least, t.most = min(t.least, count), max(t.most, count)
	t.hasMoved = t.hasMoved || count < t.last || t.anyOrder && t.least < t.most
	t.last = count
	for _, id := range ids {
		t.hasMoved = t.hasMoved || t.ids[id]
		t.ids[id] = true
	}
}

// check runs at the end of a walk. Equal counts prove nothing if one of them fell: a created row
// makes up for a deleted one.
func (t *tally) check() error {
	switch {
	case t.hasMoved || t.least < t.most && t.most-t.start > t.seen:
		return fmt.Errorf("rows were created or deleted during the walk (the list counted from %d to %d), "+
			"so others have moved and may have been passed over: begin again", t.least, t.most)
	case t.most-t.start > t.seen:
		return fmt.Errorf("the list ended after %d of %d items: the service cut it short, "+
			"or rows were created and deleted during the walk", t.seen, t.most-t.start)
	}
	return nil
}

// resume returns the place to continue at: the start, if rows have moved.
func (t *tally) resume() Place {
	if t.hasMoved || t.least < t.most {
		return Place{Offset: t.start}
	}
	return Place{Offset: t.start + t.seen}
}
