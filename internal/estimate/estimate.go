// Package estimate counts distinct items in little memory.
package estimate

import (
	"math"
	"math/bits"
)

const (
	indexBits = 14
	registers = 1 << indexBits
)

// Distinct estimates the number of different hashes with a standard error of 0.8 % in 16 KiB:
// HyperLogLog by Flajolet and others, with linear counting for small numbers. Its zero value is
// ready.
type Distinct struct {
	rank [registers]uint8
}

// Add adds a hash with evenly distributed bits.
func (d *Distinct) Add(hash uint64) {
	index := hash >> (64 - indexBits)
	rest := hash<<indexBits | 1<<(indexBits-1) // the added bit bounds the rank
	rank := uint8(bits.LeadingZeros64(rest)) + 1
	d.rank[index] = max(d.rank[index], rank)
}

// Count returns the estimate.
func (d *Distinct) Count() int64 {
	var sum float64
	empty := 0
	for _, rank := range d.rank {
		sum += math.Ldexp(1, -int(rank))
		if rank == 0 {
			empty++
		}
	}
	const m = float64(registers)
	estimate := 0.7213 / (1 + 1.079/m) * m * m / sum
	if estimate <= 2.5*m && empty > 0 {
		estimate = m * math.Log(m/float64(empty))
	}
	return int64(math.Round(estimate))
}

// Marks maps up to Most marks to a word each, in 15 bytes a mark with words of 4 bytes, and 10 with the empty struct;
// a Go map takes 30 or more. A mark is 64 bits of a hash or uuid, so items with equal marks are the same. Set Most
// before use; otherwise the zero value is ready.
type Marks[Word any] struct {
	Most int // limit; later marks are not kept

	slots []slot[Word]
	n     int
}

// slot holds a word and its mark in two halves: 12 bytes or 8, and one access to memory. The mark of an empty slot is 0.
type slot[Word any] struct {
	word      Word // first: an empty struct at the end would take room
	high, low uint32
}

func (s *slot[Word]) mark() uint64 { return uint64(s.high)<<32 | uint64(s.low) }

// Add notes a mark with its word, and returns the first word noted with it. Without room, it does
// not keep a new mark.
func (m *Marks[W]) Add(mark uint64, word W) (first W, known, kept bool) {
	mark = max(mark, 1)
	s, known := m.find(mark)
	if known {
		return s.word, true, true
	}
	if m.n >= m.Most {
		return first, false, false
	}
	const most, of = 4, 5 // largest load
	if m.n*of >= len(m.slots)*most {
		m.grow(most, of)
		s, _ = m.find(mark)
	}
	*s = slot[W]{word, uint32(mark >> 32), uint32(mark)}
	m.n++
	return word, false, true
}

// All yields all marks.
func (m *Marks[W]) All(yield func(mark uint64) bool) {
	for i := range m.slots {
		if mark := m.slots[i].mark(); mark != 0 && !yield(mark) {
			return
		}
	}
}

// Clear forgets all marks and keeps their room.
func (m *Marks[W]) Clear() {
	clear(m.slots)
	m.n = 0
}

// Word returns the first word noted with a mark.
func (m *Marks[W]) Word(mark uint64) (word W, known bool) {
	if s, known := m.find(max(mark, 1)); known {
		return s.word, true
	}
	return word, false
}

// find returns the slot of a mark, or the slot for adding it, nil without slots.
func (m *Marks[W]) find(mark uint64) (s *slot[W], found bool) {
	if len(m.slots) == 0 {
		return nil, false
	}
	hash := mark ^ mark>>33 // the finalizer of MurmurHash3
	hash *= 0xff51afd7ed558ccd
	hash ^= hash >> 33
	hash *= 0xc4ceb9fe1a85ec53
	hash ^= hash >> 33
	high, _ := bits.Mul64(hash, uint64(len(m.slots)))
	for i := int(high); ; {
		s := &m.slots[i]
		switch s.mark() {
		case mark:
			return s, true
		case 0:
			return s, false
		}
		if i++; i == len(m.slots) {
			i = 0
		}
	}
}

// grow makes the room four times as large, up to the need. So the old room is small, compared with the new one, while both exist.
func (m *Marks[W]) grow(most, of int) {
	const least, step = 1 << 10, 4
	old, room := m.slots, m.Most*of/most+1
	for room/step > max(least, len(old)) {
		room = (room + step - 1) / step
	}
	m.slots = make([]slot[W], max(least, room))
	for i := range old {
		if mark := old[i].mark(); mark != 0 {
			to, _ := m.find(mark)
			*to = old[i]
		}
	}
}
