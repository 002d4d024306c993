package ledger

import (
	"time"

	"github.com/hogapi/hogapi/event"
)

// window is a queue with access by sequence number. Elements are finished in any order and leave
// from the front only, so the front is the low watermark. It keeps the memory of its greatest
// length. It is not safe for concurrent use.
type window struct {
	ring  []entry // its length is a power of two
	first uint64
	next  uint64
}

// push appends v and returns its sequence number.
func (w *window) push(v entry) uint64 {
	if w.len() == len(w.ring) {
		w.grow()
	}
	seq := w.next
	w.next++
	*w.at(seq) = v
	return seq
}

// at returns the element with a sequence number from first up to next.
func (w *window) at(seq uint64) *entry { return &w.ring[seq&uint64(len(w.ring)-1)] }

func (w *window) pop() entry {
	front := w.at(w.first)
	v := *front
	*front = entry{} // release references
	w.first++
	return v
}

func (w *window) len() int { return int(w.next - w.first) }

func (w *window) grow() {
	old := *w
	w.ring = make([]entry, max(64, 2*len(old.ring)))
	for seq := old.first; seq < old.next; seq++ {
		*w.at(seq) = *old.at(seq)
	}
}

// entry is an event between its admission and its commit.
type entry struct {
	position event.Position
	id       [16]byte
	time     time.Time
	row      *row // nil if skipped
	held     int
	warnings uint32
	state    state
	word     Word // 0: not compared
	ends     bool // the record ends here
	sent     bool // the service may have it

	isConflict, isReuse bool // with an earlier event of its uuid; set by compare
}

type state uint8

const (
	pending state = iota
	acknowledged
	rejected
	rejectedByService // after it was sent
	unconfirmed
	skipped
)

func (e *entry) isLateReject() bool { return e.state == rejectedByService || e.state == unconfirmed }
