package jsonb

import "strings"

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

// outdated reports whether another plan should replace p.
func (p *plan) outdated() bool {
	const patience = 64
	return p.keys == nil || p.misses > patience
}

// note adds a key and its encoding. It copies both: they may be part of a large buffer.
func (p *plan) note(key string, text []byte) {
	p.keys = append(p.keys, strings.Clone(key))
	p.texts = append(p.texts, string(text))
}
