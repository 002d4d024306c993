package ledger

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Two events with one uuid are compared first by the fields that the service merges by, and then by
// content, as long as one of them is remembered.
func TestRecent(t *testing.T) {
	t.Parallel()
	var r Recent[Word]
	add := func(id [16]byte, word Word) (found [2]bool) {
		found[0], found[1] = word.Compare(r.First(id, word))
		if _, known := r.Find(id); !known { // also the one that begins a generation
			t.Errorf("%x is forgotten at once", id)
		}
		return found
	}
	one := [16]byte{15: 1}
	for range 2 {
		assert.Equal(t, [2]bool{}, add(one, 0xa_0001), "the same event again")
	}
	assert.Equal(t, [2]bool{true, false}, add(one, 0xb_0001))
	assert.Equal(t, [2]bool{false, true}, add(one, 0xa_0002))
	numbered := func(kind byte, i int) [16]byte {
		return [16]byte{0: kind, 4: byte(i >> 16), 5: byte(i >> 8), 6: byte(i)}
	}
	for i := range maxRecent {
		add(numbered(1, i), 1)
	}
	for i := range maxRecent { // most are of the generation before
		if _, known := r.Find(numbered(1, i)); !known {
			t.Fatalf("%d is forgotten", i)
		}
		if _, known := r.Find(numbered(3, i)); known {
			t.Fatalf("%d was never seen", i)
		}
	}
	assert.Equal(t, [2]bool{true, false}, add(one, 0xb_0001), "of the generation before")
	for i := range 2 * maxRecent {
		add(numbered(2, i), 1)
	}
	assert.Equal(t, [2]bool{}, add(one, 0xb_0001), "forgotten")
}
