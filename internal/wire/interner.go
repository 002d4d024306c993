package wire

import "hash/maphash"

// interner returns the same string for repeated texts, which saves allocations. Its table has a
// fixed size: a new text replaces another.
type interner struct {
	seed  maphash.Seed
	table []string // its length is a power of two
}

func newInterner(size int) interner {
	return interner{seed: maphash.MakeSeed(), table: make([]string, size)}
}

func (n *interner) intern(text []byte) string {
	const longest = 256 // bounds the memory
	if len(text) > longest {
		return string(text)
	}
	place := &n.table[maphash.Bytes(n.seed, text)&uint64(len(n.table)-1)]
	if *place != string(text) {
		*place = string(text)
	}
	return *place
}
