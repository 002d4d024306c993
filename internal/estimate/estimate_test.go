package estimate

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDistinct(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	for _, n := range []int{0, 1, 10, 1000, 20_000, 100_000, 1_000_000} {
		var d Distinct
		hashes := make([]uint64, n)
		for i := range hashes {
			hashes[i] = random.Uint64()
		}
		for range 2 { // a second time adds nothing
			for _, h := range hashes {
				d.Add(h)
			}
		}
		assert.InDelta(t, n, d.Count(), 0.03*float64(n)+1)
	}
}

func TestMarksAreThoseOfAMap(t *testing.T) {
	for name, next := range map[string]func(*rand.Rand, int) uint64{
		"random":   func(r *rand.Rand, _ int) uint64 { return r.Uint64N(30_000) * 0x9E3779B97F4A7C15 },
		"in order": func(_ *rand.Rand, i int) uint64 { return uint64(i % 25_000) },
		"high":     func(_ *rand.Rand, i int) uint64 { return uint64(i%25_000) << 48 },
	} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			const most = 20_000
			set, oracle := Marks[uint32]{Most: most}, map[uint64]uint32{}
			for i := range 100_000 {
				mark, word := max(next(r, i), 1), r.Uint32()
				was, isKnown := oracle[mark]
				if !isKnown && len(oracle) < most {
					oracle[mark] = word
				}
				first, known, kept := set.Add(mark, word)
				require.Equal(t, isKnown, known)
				_, isKept := oracle[mark]
				require.Equal(t, isKept, kept)
				if known {
					require.Equal(t, was, first)
				}
			}
		})
	}
}

func TestMarksAreSmall(t *testing.T) {
	const most = 1_000_000
	set, r := Marks[uint32]{Most: most}, rand.New(rand.NewPCG(3, 4))
	for range most + 1000 {
		set.Add(r.Uint64(), 0)
	}
	assert.LessOrEqual(t, 12*len(set.slots), 16*most, "bytes")
}
