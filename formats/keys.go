package formats

// keyTable has what is known of keys, by their texts. Its zero value is empty.
type keyTable[T any] struct {
	known     map[string]*keyEntry[T]
	first     keyEntry[T] // before the first key of an object
	max       int         // keys that are kept; 0: all
	isPartial bool        // there were more
}

type keyEntry[T any] struct {
	name string
	of   T
	next [2]*keyEntry[T] // the keys that came after it lately: in most objects of a file, one of them is the next key again
}

// after returns what is known of a key that comes after another one.
func (t *keyTable[T]) after(e *keyEntry[T], key []byte) *keyEntry[T] {
	if next := e.next[0]; next != nil && next.name == string(key) {
		return next
	}
	next := e.next[1]
	if next == nil || next.name != string(key) {
		found, isKept := t.at(key)
		if !isKept {
			return found
		}
		next = found
	}
	e.next[0], e.next[1] = next, e.next[0]
	return next
}

// at returns what is known of a key. If there are too many, a new one is not kept: what is noted of it is forgotten.
func (t *keyTable[T]) at(key []byte) (e *keyEntry[T], isKept bool) {
	if e = t.known[string(key)]; e != nil {
		return e, true
	}
	e = &keyEntry[T]{name: string(key)}
	if t.isPartial = t.isPartial || t.max > 0 && len(t.known) >= t.max; t.isPartial {
		return e, false
	}
	if t.known == nil {
		t.known = map[string]*keyEntry[T]{}
	}
	t.known[e.name] = e
	return e, true
}
