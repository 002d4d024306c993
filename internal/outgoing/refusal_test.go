package outgoing

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestNegative(t *testing.T) {
	t.Parallel()
	assert.Nil(t, Negative(map[string]int{"A": 0, "B": 1}))
	assert.Equal(t, &Refusal{"A", "-1", "0 or more"}, Negative(map[string]int{"B": -2, "A": -1, "C": 3}), "the first by name")
	assert.Equal(t, &Refusal{"A", "-1s", "0 or more"}, Negative(map[string]time.Duration{"A": -time.Second}))
	assert.NotContains(t, Refuse("A", "phx_0123456789abcdef", "").Value, "0123456789abcdef")
}
