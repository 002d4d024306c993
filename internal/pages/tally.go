package pages

import "fmt"

// tally compares what a walk over counted pages has seen with what there is to see.
type tally struct {
	start, pages, seen int
	least, most, last  int  // of the counts of its pages
	anyOrder           bool // pages are fetched ahead: a later page can be of an earlier state of the list
	hasMoved           bool // a row may have moved past the walk
	ids                map[any]bool
}

// add takes the next page. Its ids are nil where rows have none.
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

// check is called at the end of a walk. Equal counts prove nothing where one of them fell: a row that was
// created makes up for one that was deleted.
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

// resume is where the rest of a list is: rows that have moved can be anywhere.
func (t *tally) resume() Place {
	if t.hasMoved || t.least < t.most {
		return Place{Offset: t.start}
	}
	return Place{Offset: t.start + t.seen}
}
