package wire

import "hash/maphash"

// interner keeps texts that come again and again, so that they are made once. It is a table of fixed
// size: a new text takes the place of another.
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
