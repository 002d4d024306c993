package delivery

import "time"

// batch holds items as they appear in a request's body.
type batch struct {
	body   []byte // the items, joined by commas
	ends   []int  // where each item ends in body
	seqs   []uint64
	ids    map[[16]byte]bool
	held   int       // bytes of the items
	since  time.Time // arrival of the first item
	oldest time.Time
	newest time.Time
	lent   bool // a transport may still read its body
}

const day = 24 * time.Hour

// add appends an item, and reports whether it is more than a day older than an earlier one.
func (b *batch) add(i Item) (backwards bool) {
	if len(b.ends) == 0 {
		b.since = time.Now()
		b.oldest, b.newest = i.Time, i.Time
	} else {
		b.body = append(b.body, ',')
		backwards = i.Time.Before(b.newest.Add(-day))
		if i.Time.Before(b.oldest) {
			b.oldest = i.Time
		}
		if i.Time.After(b.newest) {
			b.newest = i.Time
		}
	}
	b.body = append(b.body, i.Wire...)
	b.ends = append(b.ends, len(b.body))
	b.seqs = append(b.seqs, i.Seq)
	b.held += len(i.Wire)
	if i.ID != [16]byte{} {
		if b.ids == nil {
			b.ids = map[[16]byte]bool{}
		}
		b.ids[i.ID] = true
	}
	return backwards
}

func (b *batch) reset() {
	clear(b.ids)
	*b = batch{ends: b.ends[:0], seqs: b.seqs[:0], ids: b.ids}
}

type part struct{ from, to int }

func (r part) len() int { return r.to - r.from }

func (b *batch) items(r part) []byte {
	begin := 0
	if r.from > 0 {
		begin = b.ends[r.from-1] + 1 // after the comma
	}
	return b.body[begin:b.ends[r.to-1]]
}
