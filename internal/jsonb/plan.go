package jsonb

import "strings"

// plan remembers the keys of a map in their order, and their text. Most maps of an import have the keys of one before, such
// as the rows of a table, and looking up known keys costs less than sorting them again.
type plan struct {
	keys   []string
	texts  []string // such as `,"key":`
	misses int      // maps since the last one that had these keys
}

// longestKey bounds what plans hold.
const longestKey = 128

// plan returns the plan for maps of a size, nil if they are not worth one.
func (e *Encoder) plan(size int) *plan {
	const smallest, largest = 3, 64
	if size < smallest || size > largest {
		return nil
	}
	return &e.plans[size%len(e.plans)]
}

// fetch adds the values of m to the members in the order of p. It is false, and adds nothing, unless m has just the keys of p.
func (e *Encoder) fetch(p *plan, m map[string]any) bool {
	const often, seldom = 4, 8 // a plan that keeps failing is tried less
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

// outdated tells whether p should give way to another plan.
func (p *plan) outdated() bool {
	const patience = 64
	return p.keys == nil || p.misses > patience
}

// note adds a key and its text. Both are copied: the caller's may be part of something large.
func (p *plan) note(key string, text []byte) {
	p.keys = append(p.keys, strings.Clone(key))
	p.texts = append(p.texts, string(text))
}
