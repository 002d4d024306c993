package estimate

import "math/bits"

// Marks remembers up to Most marks with a word each: 15 bytes a mark, where a map takes 30 and more. Marks are 64 bits of a
// hash or of a uuid: two things of one mark are the same. Its zero value with a Most is empty and ready to use.
type Marks struct {
	Most int // marks that are remembered; those after them are not

	marks []uint64 // 0: an empty place
	words []uint32
	n     int
}

// Add notes a mark with its word, and returns the word that the mark came with first. Without room, a mark that is not
// known is not kept.
func (m *Marks) Add(mark uint64, word uint32) (first uint32, known, kept bool) {
	mark = max(mark, 1)
	if i, found := m.find(mark); found {
		return m.words[i], true, true
	}
	if m.n >= m.Most {
		return 0, false, false
	}
	const most, of = 4, 5 // of all places are taken
	if m.n*of >= len(m.marks)*most {
		m.grow(most, of)
	}
	i, _ := m.find(mark)
	m.marks[i], m.words[i] = mark, word
	m.n++
	return word, false, true
}

// Word is the word that a mark came with first.
func (m *Marks) Word(mark uint64) (word uint32, known bool) {
	i, known := m.find(max(mark, 1))
	if known {
		word = m.words[i]
	}
	return word, known
}

// find returns the place of a mark, or the one that it would have.
func (m *Marks) find(mark uint64) (place int, found bool) {
	if len(m.marks) == 0 {
		return 0, false
	}
	hash := mark ^ mark>>33 // spread as MurmurHash3 does it at its end
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

// grow makes room for twice as many, and not for more than are needed.
func (m *Marks) grow(most, of int) {
	const least = 1 << 10
	places := max(least, min(2*len(m.marks), m.Most*of/most+1))
	old := *m
	m.marks, m.words = make([]uint64, places), make([]uint32, places)
	for i, mark := range old.marks {
		if mark != 0 {
			to, _ := m.find(mark)
			m.marks[to], m.words[to] = mark, old.words[i]
		}
	}
}
