package pages

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// A circle is detected soon, for any length of the circle and the way to it. Other walks do not
// circle.
func TestCircle(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ before, around int }{{0, 1}, {0, 3}, {10, 3}, {7, 400}, {1000, 1}} {
		var c Circle[int]
		steps, at := 0, 0
		for !c.IsClosedBy(at) {
			if at++; at == tt.before+tt.around {
				at = tt.before
			}
			steps++
		}
		assert.LessOrEqual(t, steps, 3*(tt.before+tt.around)+3)
		assert.GreaterOrEqual(t, steps, tt.around)
	}
	var c Circle[int]
	for i := range 10_000 {
		assert.False(t, c.IsClosedBy(i))
	}
}
