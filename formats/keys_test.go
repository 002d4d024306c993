package formats

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A key that is not kept is not found by the one before it either, which would keep it.
func TestKeysThatAreTooMany(t *testing.T) {
	table := keyTable[int]{max: 2}
	for i := range 100 {
		e := &table.first
		for j := range 5 {
			e = table.after(e, []byte(strconv.Itoa(10*j+i%2)))
			e.of++
		}
	}
	assert.True(t, table.isPartial)
	assert.Len(t, table.known, 2)
	kept := map[*keyEntry[int]]bool{}
	var walk func(e *keyEntry[int])
	walk = func(e *keyEntry[int]) {
		if e != nil && !kept[e] {
			kept[e] = true
			walk(e.next[0])
			walk(e.next[1])
		}
	}
	walk(&table.first)
	assert.Len(t, kept, 1+2)
	assert.Equal(t, 50, table.known["0"].of)
}
