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
	assert.Equal(t, Sum{2, 0x80ffffff + 0x80000001, 3, hashOf(a) + hashOf(b), 2}, ab)
	assert.Equal(t, ab, ba)
	ab.Add(Of(a))
	assert.NotEqual(t, ab, ba)
	wrapped := Sum{1, math.MaxUint64, 0, 7, 1}
	wrapped.Add(Of(b))
	assert.Equal(t, Sum{2, 0x80000000, 2, 7 + hashOf(b), 2}, wrapped)
	older := Sum{N: 1, High: math.MaxUint64}
	older.Add(Of(b))
	assert.Equal(t, "2-2147483648-2", older.String(), "a hash of a part is none")
	assert.True(t, older.IsSame(wrapped))
}

// The text of a uuid is that of package uuid, for each byte at each place.
func TestTextOfUUID(t *testing.T) {
	t.Parallel()
	for i := range 16 {
		for b := range 256 {
			id := uuid.UUID{0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0xff, 0xf0, 0x0f, 0x9a, 0xa9, 0x00, 0x5c, 0xc5}
			id[i] = byte(b)
			text := Text(id)
			require.Equal(t, id.String(), string(text[:]))
		}
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	for _, s := range []Sum{{}, {2, math.MaxUint64, 17, 0, 0}, {2, math.MaxUint64, 17, math.MaxUint64, 2}} {
		text, err := s.MarshalText()
		require.NoError(t, err)
		var again Sum
		require.NoError(t, again.UnmarshalText(text))
		assert.Equal(t, s, again)
	}
	for _, bad := range []string{"x", "1-2", "0-0-0", "-1-2-3", "01-2-3", "1-2-3 ", "1-2--3", "1-99999999999999999999-3", "1-2-3-", "1-2-3-x", "1-2-3-4-5"} {
		require.Error(t, new(Sum).UnmarshalText([]byte(bad)), bad)
	}
}

// Uuids that end in 4 and 6 have the same sums of digits as uuids that end in 3 and 7. Their hashes differ.
func TestTheHashIsNotLinear(t *testing.T) {
	t.Parallel()
	pair := func(a, b byte) (s Sum) {
		s.Add(Of(uuid.UUID{0: 0xab, 6: 0x40, 8: 0x80, 15: a}))
		s.Add(Of(uuid.UUID{0: 0xab, 6: 0x40, 8: 0x80, 15: b}))
		return s
	}
	a, b := pair(4, 6), pair(3, 7)
	assert.Equal(t, [3]uint64{uint64(a.N), a.High, a.Low}, [3]uint64{uint64(b.N), b.High, b.Low})
	assert.False(t, a.IsSame(b))
}

// The numbers come from ClickHouse; the tests with real engines compare more of them.
func TestCity(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]uint64{
		"0193a1b2-0000-7000-80ff-ffff00000001":                             7769581791789370630,
		"00000000-0000-0000-0000-000000000000":                             3617567523365099007,
		"ffffffff-ffff-ffff-ffff-ffffffffffff":                             13067947320731413991,
		"000000000000000000000000000000033":                                12915729133199201350,
		"0000000000000000000000000000000000000000000000000000000000000064": 14003727802906737651,
	} {
		got, ok := City([]byte(text))
		require.True(t, ok)
		assert.Equal(t, want, got, text)
	}
	_, ok := City(make([]byte, 32))
	assert.False(t, ok)
}
