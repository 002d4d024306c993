package estimate

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Of more marks than there is room for, an even share is kept, wherever they come, and each with its first word.
func TestSample(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	s, marks := Sample[uint32]{Most: 1000}, make([]uint64, 50_000)
	for i := range marks {
		marks[i] = r.Uint64()
		s.Add(marks[i], uint32(i))
	}
	kept := 0
	for i, mark := range marks {
		if first, isKnown, isKept := s.Add(mark, 1<<31); isKept {
			kept++
			assert.True(t, isKnown)
			assert.EqualValues(t, i, first)
		}
	}
	assert.EqualValues(t, 64, s.Share())
	assert.InDelta(t, 50_000/64, kept, 100)
	few := Sample[uint32]{Most: 1000}
	for _, mark := range marks[:1000] {
		_, _, isKept := few.Add(mark, 0)
		assert.True(t, isKept)
	}
	assert.EqualValues(t, 1, few.Share())
}
