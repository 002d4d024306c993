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
	assert.NotContains(t, Refuse("A", "phx_0123456789abcdef", "").Value, "0123456789abcdef")
}

func TestDurations(t *testing.T) {
	t.Parallel()
	assert.Nil(t, Durations(map[string]time.Duration{"A": 0, "B": time.Millisecond}))
	assert.Equal(t, &Refusal{"A", "-1s", "a positive duration, or 0 for the default"}, Durations(map[string]time.Duration{"B": 5, "A": -time.Second}))
	assert.Equal(t, &Refusal{"A", "48ns", "a unit, such as 48*time.Hour or 48*time.Second"}, Durations(map[string]time.Duration{"A": 48}))
}
