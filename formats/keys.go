package formats

// keyTable has what is known of keys, by their texts. Its zero value is empty.
type keyTable[T any] struct{ known map[string]*keyEntry[T] }

type keyEntry[T any] struct {
	name string
	of   T
}

// places are the keys of the object before, in its order: most objects of a file have the same keys in the same order, so
// that a comparison finds them.
type places[T any] []*keyEntry[T]

// at returns what is known of the key at a place of an object.
func (t *keyTable[T]) at(lately *places[T], place int, key []byte) *T {
	if place < len(*lately) && (*lately)[place].name == string(key) {
		return &(*lately)[place].of
	}
	e := t.known[string(key)]
	if e == nil {
		if t.known == nil {
			t.known = map[string]*keyEntry[T]{}
		}
		e = &keyEntry[T]{name: string(key)}
		t.known[e.name] = e
	}
	if place < len(*lately) {
		(*lately)[place] = e
	} else {
		*lately = append(*lately, e)
	}
	return &e.of
}
