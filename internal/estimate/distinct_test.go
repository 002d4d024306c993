package estimate

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
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
