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
