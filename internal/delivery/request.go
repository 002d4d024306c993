package delivery

import (
	"time"

	"github.com/google/uuid"
)

// Request is a set of items of one batch that are sent together. Its id stays the same in all
// tries, even after some items are settled and only the others are sent again.
type Request struct {
	ID    uuid.UUID // random
	Try   int       // from 1
	Begun time.Time // creation time
	Body  *Body

	batch  *batch
	parts  []part       // the unsettled parts of the batch: not empty, not adjacent
	missed map[int]bool // items of the batch that an answer to this request or to its other half did not name

	patience int  // failures before it is halved
	alone    int  // failures while others succeeded
	maySend  bool // an earlier try may have sent its items
}

func newRequest(b *batch, parts []part, missed map[int]bool) *Request {
	return &Request{ID: uuid.New(), Begun: time.Now(), batch: b, parts: parts, missed: missed, patience: patience}
}

// Len returns the number of items.
func (r *Request) Len() (n int) {
	for _, p := range r.parts {
		n += p.to - p.from
	}
	return n
}

// Items yields the index and the bytes of each item. The bytes are valid during the call.
func (r *Request) Items(yield func(i int, item []byte) bool) {
	for i, at := range r.at {
		if !yield(i, r.batch.items(part{at, at + 1})) {
			return
		}
	}
}

// at yields the index of each item in the request and in the batch.
func (r *Request) at(yield func(i, at int) bool) {
	i := 0
	for _, p := range r.parts {
		for at := p.from; at < p.to; at++ {
			if !yield(i, at) {
				return
			}
			i++
		}
	}
}

func (r *Request) seqs() []uint64 {
	if len(r.parts) == 1 {
		return r.batch.seqs[r.parts[0].from:r.parts[0].to]
	}
	var seqs []uint64
	for _, p := range r.parts {
		seqs = append(seqs, r.batch.seqs[p.from:p.to]...)
	}
	return seqs
}

// size counts the bytes of the items and the commas between them.
func (r *Request) size() (n int) {
	for _, piece := range r.bytes() {
		n += len(piece)
	}
	return n
}

// bytes returns the items' bytes in a body, with the commas between the parts.
func (r *Request) bytes() (pieces [][]byte) {
	for i, p := range r.parts {
		if i > 0 {
			pieces = append(pieces, []byte(","))
		}
		pieces = append(pieces, r.batch.items(p))
	}
	return pieces
}

// halves splits a request of two or more items.
func (r *Request) halves() (first, second []part) {
	left := r.Len() / 2
	for i, p := range r.parts {
		if p.to-p.from > left {
			if left > 0 {
				first = append(first, part{p.from, p.from + left})
			}
			second = append([]part{{p.from + left, p.to}}, r.parts[i+1:]...)
			return first, second
		}
		first = append(first, p)
		left -= p.to - p.from
	}
	return first, nil
}

// keep reduces the request to the items at some indexes of the batch, which are in order.
func (r *Request) keep(places []int) {
	r.parts = nil
	for _, at := range places {
		if last := len(r.parts) - 1; last >= 0 && r.parts[last].to == at {
			r.parts[last].to++
			continue
		}
		r.parts = append(r.parts, part{at, at + 1})
	}
}

// Fate is the outcome of one item, if the service answers for each item.
type Fate struct {
	Outcome Outcome
	Reason  string // of a rejected or unconfirmed item, or the service's remark on an accepted one
}

// Outcome is the kind of a fate.
type Outcome uint8

// Outcomes.
const (
	Missing     Outcome = iota // the answer does not name the item: it is sent once more
	Accepted                   // settled
	Rejected                   // finally
	Again                      // not stored: send it again
	Unconfirmed                // nobody knows: it is not sent again
)

// fates are the outcomes of a request's items, by their indexes in the batch.
type fates struct {
	accepted, again []int
	turned          []turned
	remarked        []turned // accepted items
}

type turned struct {
	at int
	Fate
}

// fates reads the outcome of each item. It is empty unless the answer has fates.
func (r *Request) fates(a Answer) (f fates) {
	if a.Verdict != Each {
		return f
	}
	for i, at := range r.at {
		fate := a.Fates[i]
		if fate.Outcome == Missing {
			fate.Outcome = Again
			if r.missed[at] {
				fate.Outcome = Unconfirmed
			}
			r.missed[at] = true
		}
		switch fate.Outcome {
		case Accepted:
			f.accepted = append(f.accepted, at)
			if fate.Reason != "" {
				f.remarked = append(f.remarked, turned{at, fate})
			}
		case Again:
			f.again = append(f.again, at)
		default:
			f.turned = append(f.turned, turned{at, fate})
		}
	}
	return f
}

// settle settles items by an answer, and leaves the others in the request.
func (l *lane) settle(r *Request, a Answer, f fates) error {
	s := l.s
	if a.Verdict == Settled {
		l.keep(r)
		s.cfg.Settled(r.seqs())
		r.parts = nil
	}
	if a.Verdict != Each {
		return nil
	}
	for _, i := range f.remarked {
		s.cfg.Remark(r.batch.seqs[i.at], i.Reason)
	}
	if len(f.accepted) > 0 {
		r.keep(f.accepted)
		l.keep(r)
		s.cfg.Settled(r.seqs())
	}
	for _, i := range f.turned {
		turn := s.cfg.Rejected
		if i.Outcome == Unconfirmed {
			turn = s.cfg.Unconfirmed
		}
		a.Reason = i.Reason
		if err := turn(r.batch.seqs[i.at], r.batch.items(part{i.at, i.at + 1}), a); err != nil {
			return err
		}
	}
	r.keep(f.again)
	return nil
}

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

func (b *batch) items(r part) []byte {
	begin := 0
	if r.from > 0 {
		begin = b.ends[r.from-1] + 1 // after the comma
	}
	return b.body[begin:b.ends[r.to-1]]
}
