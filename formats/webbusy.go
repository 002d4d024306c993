package formats

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// busyIDs finds distinct ids with many events in a minute, in any order. It counts in two tables, in which other
// minutes may share a cell: the smaller count is at least the right one. Its zero value is ready.
type busyIDs struct {
	cells [2][]uint16
	found map[string]BusyID
}

const (
	busyEvents = 5000 // in a minute, above which PostHog stops to process persons
	busyCells  = 1 << 17
	maxBusy    = 100 // ids
)

func (b *busyIDs) add(id string, mark uint64, at time.Time) {
	if b.cells[0] == nil {
		for i := range b.cells {
			b.cells[i] = make([]uint16, busyCells)
		}
	}
	const half, minute = 32, 60
	hash := mixed(mark ^ uint64(at.Unix()/minute)*0x9E3779B97F4A7C15)
	first, second := &b.cells[0][hash%busyCells], &b.cells[1][hash>>half%busyCells]
	for _, cell := range []*uint16{first, second} {
		if *cell < math.MaxUint16 {
			*cell++
		}
	}
	n := int64(min(*first, *second))
	if n <= busyEvents {
		return
	}
	known, isKnown := b.found[id]
	if n <= known.Events || !isKnown && len(b.found) >= maxBusy {
		return
	}
	if b.found == nil {
		b.found = map[string]BusyID{}
	}
	id = strings.Clone(id)
	b.found[id] = BusyID{id, at.UTC().Truncate(time.Minute), n}
}

// list returns the busiest first.
func (b *busyIDs) list() []BusyID {
	return slices.SortedFunc(maps.Values(b.found), func(a, b BusyID) int {
		return cmp.Or(cmp.Compare(b.Events, a.Events), cmp.Compare(a.DistinctID, b.DistinctID))
	})
}

// webMark is a hash of a distinct id: FNV-1a, the same on every run.
func webMark(id string) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	hash := uint64(offset)
	for i := range len(id) {
		hash = (hash ^ uint64(id[i])) * prime
	}
	return mixed(hash)
}

// mixed is the finalizer of MurmurHash3, after which all bits depend on all others.
func mixed(hash uint64) uint64 {
	const shift = 33
	hash = (hash ^ hash>>shift) * 0xff51afd7ed558ccd
	hash = (hash ^ hash>>shift) * 0xc4ceb9fe1a85ec53
	return hash ^ hash>>shift
}
