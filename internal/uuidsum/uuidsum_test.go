package uuidsum

import (
	"math"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The sums use the last 16 digits, ignore the order, and count a repeated uuid again.
func TestSum(t *testing.T) {
	t.Parallel()
	a, b := uuid.MustParse("0193a1b2-0000-7000-80ff-ffff00000001"), uuid.MustParse("0193a1b2-0000-7000-8000-000100000002")
	var ab, ba Sum
	for _, add := range []struct {
		to *Sum
		id uuid.UUID
	}{{&ab, a}, {&ab, b}, {&ba, b}, {&ba, a}} {
		add.to.Add(Of(add.id))
	}
	assert.Equal(t, Sum{2, 0x80ffffff + 0x80000001, 3}, ab)
	assert.Equal(t, ab, ba)
	ab.Add(Of(a))
	assert.NotEqual(t, ab, ba)
	wrapped := Sum{1, math.MaxUint64, 0}
	wrapped.Add(Of(b))
	assert.Equal(t, Sum{2, 0x80000000, 2}, wrapped)
}

func TestText(t *testing.T) {
	t.Parallel()
	for _, s := range []Sum{{}, {2, math.MaxUint64, 17}} {
		text, err := s.MarshalText()
		require.NoError(t, err)
		var again Sum
		require.NoError(t, again.UnmarshalText(text))
		assert.Equal(t, s, again)
	}
	for _, bad := range []string{"x", "1-2", "0-0-0", "-1-2-3", "01-2-3", "1-2-3 ", "1-2--3", "1-99999999999999999999-3"} {
		require.Error(t, new(Sum).UnmarshalText([]byte(bad)), bad)
	}
}
