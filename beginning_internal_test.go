package hogapi

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Many small files behind one that is not settled are no memory. What is known of the newest ones is enough.
func TestBeginningsOfManyFiles(t *testing.T) {
	b := beginningsOf(JSONLinesFile("a.jsonl"), nil)
	head := make([]byte, mostOfBeginning)
	for i := range 10 * mostOpened {
		assert.NoError(t, b.open(fmt.Sprint(i), head))
	}
	assert.Len(t, b.opened, mostOpened)
	assert.Zero(t, b.upTo(Position{Key: "0", Offset: 100}))
	last := fmt.Sprint(10*mostOpened - 1)
	assert.Equal(t, beginning{99, digestOf(head[:99])}, b.upTo(Position{Key: last, Offset: 100}))
}
