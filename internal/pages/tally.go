package pages

import "fmt"

// tally compares what a walk over counted pages has seen with what there is to see.
type tally struct {
	start, pages, seen int
	least, most        int // of the counts of its pages, which come in any order from a prefetch
}

func (t *tally) add(items, count int) {
	if t.pages++; t.pages == 1 {
		t.least, t.most = count, count
	}
	t.seen += items
	t.least, t.most = min(t.least, count), max(t.most, count)
}

// check is called at the end of a walk. Without a count there is nothing to compare with.
func (t *tally) check() error {
	switch {
	case t.most-t.start <= t.seen:
		return nil
	case t.least < t.most:
		return fmt.Errorf("rows were created or deleted during the walk (the list counted from %d to %d), "+
			"so that others have moved and may have been passed over", t.least, t.most)
	default:
		return fmt.Errorf("the list ended after %d of %d items: the service cut it short, "+
			"or rows were created and deleted during the walk", t.seen, t.most-t.start)
	}
}

// resume is where the rest of a list is: rows that have moved can be anywhere.
func (t *tally) resume() Place {
	if t.least < t.most {
		return Place{Offset: t.start}
	}
	return Place{Offset: t.start + t.seen}
}
