package formats

import (
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Ended sessions are removed now and then, not at each new session, for any SessionOptions.MaxOpen.
func TestSessionsAreSweptNowAndThen(t *testing.T) {
	t.Parallel()
	for most, isTooMany := range map[int]bool{1: true, 1_000: true, 15_000: true, 20_000: false, 250_000: false, math.MaxInt - 1: false, math.MaxInt: false} {
		s := newSessionState(&SessionOptions{MaxOpen: most}, nil)
		sweeps, err := 0, error(nil)
		for i := 0; i < 20_000 && err == nil; i++ {
			s.open[keyOfSession(strconv.Itoa(i), "", "")] = openSession{}
			if len(s.open) >= s.sweepAt {
				sweeps++
			}
			err = s.sweep(0)
		}
		require.Equal(t, isTooMany, err != nil, most)
		assert.LessOrEqual(t, sweeps, 10, most)
	}
}
