package ledger

import (
	"encoding/binary"
	"time"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/estimate"
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
		old := *w
		w.ring = make([]entry, max(64, 2*len(old.ring)))
		for seq := old.first; seq < old.next; seq++ {
			*w.at(seq) = *old.at(seq)
		}
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

// Word distinguishes events with one uuid. Its high half is a hash of the fields by which the service tells
// them apart, its low half a hash of the content.
type Word uint32

// Compare says how an event differs from an earlier one with its uuid.
func (w Word) Compare(was Word) (isConflict, isReuse bool) {
	const half = 16
	isConflict = was>>half != w>>half
	return isConflict, !isConflict && was != w
}

const mixFactor = 0x9E3779B97F4A7C15

// MarkOf returns the mark of a uuid for [estimate.Marks], which is not zero.
func MarkOf(id [16]byte) uint64 {
	return max(binary.BigEndian.Uint64(id[:8])*mixFactor^binary.BigEndian.Uint64(id[8:]), 1)
}

// Recent remembers the last maxRecent to 2*maxRecent uuids, each with the word of its first event.
type Recent[W any] struct {
	now, before estimate.Marks[W]
	sieve       []uint64 // has the bits of each mark in before; nil: that is empty
}

const (
	maxRecent = 100_000
	wordBits  = 14 // of the number of a word of the sieve
)

// sieved returns the word of a mark in the sieve, and its two bits there. Of new marks, one in thirty has both by chance.
func sieved(mark uint64) (word int, mask uint64) {
	hash := mark * mixFactor
	return int(hash >> (64 - wordBits)), 1<<(hash>>32%64) | 1<<(hash>>40%64)
}

// earlier returns the word of a uuid among those before. The sieve fits the processor's caches and the marks do not, so
// that most new uuids need no search.
func (r *Recent[W]) earlier(mark uint64) (word W, known bool) {
	if r.sieve == nil {
		return word, false
	}
	if i, mask := sieved(mark); r.sieve[i]&mask != mask {
		return word, false
	}
	return r.before.Word(mark)
}

// Find returns the word of the first event with a uuid.
func (r *Recent[W]) Find(id [16]byte) (word W, known bool) {
	mark := MarkOf(id)
	if word, known = r.earlier(mark); known {
		return word, true
	}
	return r.now.Word(mark)
}

// First returns the word of the first event with a uuid, or notes the word of this event.
func (r *Recent[W]) First(id [16]byte, word W) W {
	mark := MarkOf(id)
	if was, known := r.earlier(mark); known {
		return was
	}
	r.now.Most = maxRecent
	was, known, kept := r.now.Add(mark, word)
	if !kept {
		r.next()
		r.now.Add(mark, word)
	}
	if known {
		return was
	}
	return word
}

// next makes the present marks those before.
func (r *Recent[W]) next() {
	r.before, r.now = r.now, r.before
	r.now.Clear()
	r.now.Most = maxRecent
	if r.sieve == nil {
		r.sieve = make([]uint64, 1<<wordBits)
	}
	clear(r.sieve)
	for mark := range r.before.All {
		i, mask := sieved(mark)
		r.sieve[i] |= mask
	}
}
