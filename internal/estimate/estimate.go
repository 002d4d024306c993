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

// Marks maps up to Most marks to a word each, in 15 bytes a mark; a Go map takes 30 or more. A mark
// is 64 bits of a hash or uuid, so items with equal marks are the same. Set Most before use;
// otherwise the zero value is ready.
type Marks struct {
	Most int // limit; later marks are not kept

	slots []slot
	n     int
}

// slot holds a mark in two halves, and its word: 12 bytes, and one access to memory. The mark of an
// empty slot is 0.
type slot struct{ high, low, word uint32 }

func (s *slot) mark() uint64 { return uint64(s.high)<<32 | uint64(s.low) }

// Add notes a mark with its word, and returns the first word noted with it. Without room, it does
// not keep a new mark.
func (m *Marks) Add(mark uint64, word uint32) (first uint32, known, kept bool) {
	mark = max(mark, 1)
	s, known := m.find(mark)
	if known {
		return s.word, true, true
	}
	if m.n >= m.Most {
		return 0, false, false
	}
	const most, of = 4, 5 // largest load
	if m.n*of >= len(m.slots)*most {
		m.grow(most, of)
		s, _ = m.find(mark)
	}
	*s = slot{uint32(mark >> 32), uint32(mark), word}
	m.n++
	return word, false, true
}

// Clear forgets all marks and keeps their room.
func (m *Marks) Clear() {
	clear(m.slots)
	m.n = 0
}

// Word returns the first word noted with a mark.
func (m *Marks) Word(mark uint64) (word uint32, known bool) {
	if s, known := m.find(max(mark, 1)); known {
		return s.word, true
	}
	return 0, false
}

// find returns the slot of a mark, or the slot for adding it, nil without slots.
func (m *Marks) find(mark uint64) (s *slot, found bool) {
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

// grow doubles the room, up to the need.
func (m *Marks) grow(most, of int) {
	const least = 1 << 10
	old := m.slots
	m.slots = make([]slot, max(least, min(2*len(old), m.Most*of/most+1)))
	for i := range old {
		if mark := old[i].mark(); mark != 0 {
			to, _ := m.find(mark)
			*to = old[i]
		}
	}
}
