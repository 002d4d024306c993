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

	marks []uint64 // 0: an empty slot
	words []uint32
	n     int
}

// Add notes a mark with its word, and returns the first word noted with it. Without room, it does
// not keep a new mark.
func (m *Marks) Add(mark uint64, word uint32) (first uint32, known, kept bool) {
	mark = max(mark, 1)
	if i, found := m.find(mark); found {
		return m.words[i], true, true
	}
	if m.n >= m.Most {
		return 0, false, false
	}
	const most, of = 4, 5 // largest load
	if m.n*of >= len(m.marks)*most {
		m.grow(most, of)
	}
	i, _ := m.find(mark)
	m.marks[i], m.words[i] = mark, word
	m.n++
	return word, false, true
}

// Clear forgets all marks and keeps their room.
func (m *Marks) Clear() {
	clear(m.marks)
	m.n = 0
}

// Word returns the first word noted with a mark.
func (m *Marks) Word(mark uint64) (word uint32, known bool) {
	i, known := m.find(max(mark, 1))
	if known {
		word = m.words[i]
	}
	return word, known
}

// find returns the slot of a mark, or the slot for adding it.
func (m *Marks) find(mark uint64) (slot int, found bool) {
	if len(m.marks) == 0 {
		return 0, false
	}
	hash := mark ^ mark>>33 // the finalizer of MurmurHash3
	hash *= 0xff51afd7ed558ccd
	hash ^= hash >> 33
	hash *= 0xc4ceb9fe1a85ec53
	hash ^= hash >> 33
	high, _ := bits.Mul64(hash, uint64(len(m.marks)))
	for i := int(high); ; {
		switch m.marks[i] {
		case mark:
			return i, true
		case 0:
			return i, false
		}
		if i++; i == len(m.marks) {
			i = 0
		}
	}
}

// grow doubles the room, up to the need.
func (m *Marks) grow(most, of int) {
	const least = 1 << 10
	slots := max(least, min(2*len(m.marks), m.Most*of/most+1))
	old := *m
	m.marks, m.words = make([]uint64, slots), make([]uint32, slots)
	for i, mark := range old.marks {
		if mark != 0 {
			to, _ := m.find(mark)
			m.marks[to], m.words[to] = mark, old.words[i]
		}
	}
}
