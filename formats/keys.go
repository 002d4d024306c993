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
		if next = t.known[string(key)]; next == nil {
			if next = t.add(string(key)); t.isPartial { // it is not kept
				return next
			}
		}
	}
	e.next[0], e.next[1] = next, e.next[0]
	return next
}

// add makes a key known, unless there are too many: then what is noted of it is forgotten.
func (t *keyTable[T]) add(key string) *keyEntry[T] {
	e := &keyEntry[T]{name: key}
	if t.isPartial = t.isPartial || t.max > 0 && len(t.known) >= t.max; t.isPartial {
		return e
	}
	if t.known == nil {
		t.known = map[string]*keyEntry[T]{}
	}
	t.known[key] = e
	return e
}
