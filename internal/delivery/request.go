package delivery

import (
	"time"

	"github.com/google/uuid"
)

// Request is what goes out together: items of one batch. Its id stays the same over all tries, also
// where some of its items are settled and only the others are sent again.
type Request struct {
	ID    uuid.UUID // random
	Try   int       // from 1
	Begun time.Time // when it was made
	Body  *Body

	batch  *batch
	parts  []part       // of the batch that are not settled; none is empty, and neighbours are one
	missed map[int]bool // items of the batch that an answer did not name, to this request or one that was halved
}

func newRequest(b *batch, parts []part, missed map[int]bool) *Request {
	return &Request{ID: uuid.New(), Begun: time.Now(), batch: b, parts: parts, missed: missed}
}

// Len is the number of its items.
func (r *Request) Len() (n int) {
	for _, p := range r.parts {
		n += p.len()
	}
	return n
}

// Items yields the number and the bytes of each item. The bytes are valid during the call.
func (r *Request) Items(yield func(i int, item []byte) bool) {
	i := 0
	for at := range r.at {
		if !yield(i, r.batch.items(part{at, at + 1})) {
			return
		}
		i++
	}
}

// at yields where each item is in the batch.
func (r *Request) at(yield func(int) bool) {
	for _, p := range r.parts {
		for at := p.from; at < p.to; at++ {
			if !yield(at) {
				return
			}
		}
	}
}

// seqs are the numbers of its items.
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

// size is that of its items, and of the commas between them.
func (r *Request) size() (n int) {
	for _, piece := range r.bytes() {
		n += len(piece)
	}
	return n
}

// bytes are those of its items in a body, with the commas between the parts.
func (r *Request) bytes() (pieces [][]byte) {
	for i, p := range r.parts {
		if i > 0 {
			pieces = append(pieces, []byte(","))
		}
		pieces = append(pieces, r.batch.items(p))
	}
	return pieces
}

// halves splits a request of two items or more.
func (r *Request) halves() (first, second []part) {
	left := r.Len() / 2
	for i, p := range r.parts {
		if p.len() > left {
			if left > 0 {
				first = append(first, part{p.from, p.from + left})
			}
			second = append([]part{{p.from + left, p.to}}, r.parts[i+1:]...)
			return first, second
		}
		first = append(first, p)
		left -= p.len()
	}
	return first, nil
}

// keep leaves the items at some places of the batch, which are in order.
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

// Fate is what became of one item of a request that was answered for each item.
type Fate struct {
	Outcome Outcome
	Reason  string // why it was refused or is unsure, or what the service says of one that it has accepted
}

// Outcome is the kind of a fate.
type Outcome uint8

// Outcomes.
const (
	Missing  Outcome = iota // the answer does not name the item: once, it is sent again
	Accepted                // settled
	Refused                 // for good
	Again                   // not stored: to be sent again
	Unsure                  // nobody knows, and it is not sent again
)

// fates is what an answer says of the items of a request, by their places in the batch.
type fates struct {
	accepted, again []int
	turned          []turned
	remarked        []turned // of the accepted ones
}

// turned is an item with a reason.
type turned struct {
	at int
	Fate
}

// fates reads an answer for each item. The fates of another answer are empty.
func (r *Request) fates(a Answer) (f fates) {
	if a.Verdict != Each {
		return f
	}
	i := 0
	for at := range r.at {
		fate := a.Fates[i]
		i++
		if fate.Outcome == Missing {
			fate.Outcome = Again
			if r.missed[at] {
				fate.Outcome = Unsure
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

// verdict is an answer as the throttle is to see it: where no item was settled, nothing got through.
func (f fates) verdict(a Answer) Answer {
	if a.Verdict == Each && len(f.accepted)+len(f.turned) == 0 {
		a.Verdict = Wait
	}
	return a
}

// settle settles what an answer settles, and leaves the rest in the request.
func (s *Sender) settle(r *Request, a Answer, f fates) error {
	switch a.Verdict {
	case Settled:
		s.cfg.Settled(r.seqs())
		r.parts = nil
	case Each:
		return s.settleEach(r, a, f)
	default:
	}
	return nil
}

func (s *Sender) settleEach(r *Request, a Answer, f fates) error {
	for _, i := range f.remarked {
		s.cfg.Remark(r.batch.seqs[i.at], i.Reason)
	}
	if len(f.accepted) > 0 {
		r.keep(f.accepted)
		s.cfg.Settled(r.seqs())
	}
	for _, i := range f.turned {
		turn := s.cfg.Refused
		if i.Outcome == Unsure {
			turn = s.cfg.Unsure
		}
		a.Reason = i.Reason
		if err := turn(r.batch.seqs[i.at], r.batch.items(part{i.at, i.at + 1}), a); err != nil {
			return err
		}
	}
	r.keep(f.again)
	return nil
}
