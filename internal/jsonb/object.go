package jsonb

import "bytes"

// Visitor is given a member of an object: the key's text and the raw value. Both are valid only during the call.
type Visitor func(key, value []byte)

// Object is Valid for a value that must be an object, and refuses a key that the object itself has twice; objects inside
// it are not searched for duplicates. It calls visit, which may be nil, for each member of the object in order, also for
// those before a fault.
func Object(raw []byte, visit Visitor) error {
	s := scanner{data: raw}
	i := s.space(0)
	if i >= len(raw) || raw[i] != '{' {
		return &Error{Kind: KindSyntax, Offset: i}
	}
	var seen keys
	i, more := s.open(i, '}')
	for more {
		m, kind := s.member(i, 1)
		if kind != 0 {
			return faultIn(raw, m.end, kind)
		}
		key := raw[i+1 : m.keyEnd-1]
		if m.escaped {
			key = appendUnescaped(nil, raw[i:m.keyEnd])
		}
		if !seen.add(key) {
			return &Error{Kind: KindDuplicate, Path: keyStep(string(key)), Offset: i}
		}
		if visit != nil {
			visit(key, raw[m.value:m.end])
		}
		if i, more, kind = s.next(m.end, '}'); kind != 0 {
			return faultIn(raw, i, kind)
		}
	}
	if i, kind := s.end(i); kind != 0 {
		return faultIn(raw, i, kind)
	}
	return nil
}

// keys is a set of the keys of one object: a list for the few that events have, a map beyond.
type keys struct {
	marks uint64 // a bit that is not set tells that a key is new
	n     int
	few   [32][]byte
	many  map[string]struct{}
}

// add is false when the set has the key.
func (k *keys) add(key []byte) bool {
	if k.many != nil {
		before := len(k.many)
		k.many[string(key)] = struct{}{}
		return len(k.many) > before
	}
	mark := uint64(1) << (hash(key) % 64)
	if k.marks&mark != 0 {
		for _, other := range k.few[:k.n] {
			if bytes.Equal(key, other) {
				return false
			}
		}
	}
	if k.n == len(k.few) {
		k.many = make(map[string]struct{}, 2*len(k.few))
		for _, other := range k.few {
			k.many[string(other)] = struct{}{}
		}
		return k.add(key)
	}
	k.marks |= mark
	k.few[k.n] = key
	k.n++
	return true
}

// hash need not be good: it only saves comparisons.
func hash(key []byte) uint {
	n := uint(len(key))
	if n == 0 {
		return 0
	}
	return n + 3*uint(key[0]) + 5*uint(key[n/2]) + 17*uint(key[n-1])
}
