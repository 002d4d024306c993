package ledger

import (
	"encoding/binary"

	"github.com/hogapi/hogapi/internal/estimate"
)

// Word distinguishes events with one uuid. Its high half is a hash of the fields by which the service tells
// them apart, its low half a hash of the content.
type Word uint32

// Compare says how an event differs from an earlier one with its uuid.
func (w Word) Compare(was Word) (isConflict, isReuse bool) {
	const half = 16
	isConflict = was>>half != w>>half
	return isConflict, !isConflict && was != w
}

// MarkOf returns the mark of a uuid for [estimate.Marks].
func MarkOf(id [16]byte) uint64 {
	const mixFactor = 0x9E3779B97F4A7C15
	return binary.BigEndian.Uint64(id[:8])*mixFactor ^ binary.BigEndian.Uint64(id[8:])
}

// Recent remembers the last maxRecent to 2*maxRecent uuids, each with the word of its first event.
type Recent[W any] struct{ now, before estimate.Marks[W] }

const maxRecent = 100_000

// Find returns the word of the first event with a uuid.
func (r *Recent[W]) Find(id [16]byte) (word W, known bool) {
	mark := MarkOf(id)
	if word, known = r.before.Word(mark); known {
		return word, true
	}
	return r.now.Word(mark)
}

// First returns the word of the first event with a uuid, or notes the word of this event.
func (r *Recent[W]) First(id [16]byte, word W) W {
	mark := MarkOf(id)
	if was, known := r.before.Word(mark); known {
		return was
	}
	r.now.Most = maxRecent
	was, known, kept := r.now.Add(mark, word)
	if !kept {
		r.before, r.now = r.now, r.before
		r.now.Clear()
		r.now.Most = maxRecent
		r.now.Add(mark, word)
	}
	if known {
		return was
	}
	return word
}
