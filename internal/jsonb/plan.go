package jsonb

import (
	"cmp"
	"slices"
	"strings"
)

// plan remembers the sorted keys of a map and their encoding. Most maps of an import have the same
// keys as an earlier one, such as rows of a table, and looking up known keys is cheaper than
// sorting.
type plan struct {
	keys   []string
	texts  []string // such as `,"key":`
	misses int      // maps since the last one with these keys
}

// longestKey bounds the memory of plans.
const longestKey = 128

// plan returns the plan for maps of a size, or nil for sizes without a plan.
func (e *Encoder) plan(size int) *plan {
	const smallest, largest = 3, 64
	if size < smallest || size > largest {
		return nil
	}
	return &e.plans[size%len(e.plans)]
}

// fetch adds the values of m to the members in the order of p. Unless m has exactly the keys of p,
// it adds nothing and returns false.
func (e *Encoder) fetch(p *plan, m map[string]any) bool {
	const often, seldom = 4, 8 // try a plan that keeps failing less often
	p.misses++
	if len(p.keys) != len(m) || p.misses > often && p.misses%seldom != 0 {
		return false
	}
	first := len(e.members)
	for _, key := range p.keys {
		value, ok := m[key]
		if !ok {
			clear(e.members[first:])
			e.members = e.members[:first]
			return false
		}
		e.members = append(e.members, entry{key, value})
	}
	p.misses = 0
	return true
}

// note adds a key and its encoding. It copies both: they may be part of a large buffer.
func (p *plan) note(key string, text []byte) {
	p.keys = append(p.keys, strings.Clone(key))
	p.texts = append(p.texts, string(text))
}

type entry struct {
	key   string
	value any
}

// rank is a sort key for a member: the first bytes of its key, which usually decide, and its index.
type rank struct {
	prefix uint64
	index  uint
}

func (e *Encoder) add(key string, value any) {
	e.members = append(e.members, entry{key, value})
}

func (e *Encoder) sorted(first, start int) []rank {
	members := e.members[first:]
	for i := range members {
		e.order = append(e.order, rank{prefix(members[i].key), uint(i)})
	}
	order := e.order[start:]
	before := func(a, b rank) bool {
		return a.prefix < b.prefix || a.prefix == b.prefix && members[a.index].key < members[b.index].key
	}
	const few = 24 // up to this size an insertion sort is fastest
	if len(order) > few {
		slices.SortFunc(order, func(a, b rank) int {
			if a.prefix != b.prefix {
				return cmp.Compare(a.prefix, b.prefix)
			}
			return strings.Compare(members[a.index].key, members[b.index].key)
		})
		return order
	}
	for i := 1; i < len(order); i++ {
		next, j := order[i], i
		for ; j > 0 && before(next, order[j-1]); j-- {
			order[j] = order[j-1]
		}
		order[j] = next
	}
	return order
}

func (e *Encoder) drop(first, start int) {
	clear(e.members[first:])
	e.members, e.order = e.members[:first], e.order[:start]
}

// prefix returns the first eight bytes of key as a number that sorts as they do.
func prefix(key string) uint64 {
	if len(key) >= 8 {
		return uint64(key[7]) | uint64(key[6])<<8 | uint64(key[5])<<16 | uint64(key[4])<<24 |
			uint64(key[3])<<32 | uint64(key[2])<<40 | uint64(key[1])<<48 | uint64(key[0])<<56
	}
	var p uint64
	for i := range 8 {
		p <<= 8
		if i < len(key) {
			p |= uint64(key[i])
		}
	}
	return p
}
