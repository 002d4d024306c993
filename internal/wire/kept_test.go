package wire

import (
	"math"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestKept(t *testing.T) {
	t.Parallel()
	skip := ""
	at := time.Date(2020, 2, 3, 4, 5, 6, 7, time.UTC)
	for name, k := range map[string]Kept{
		"zero":  {},
		"event": {Fields: Fields{Name: "e", DistinctID: "d", Timestamp: at, UUID: uuid.UUID{1}, RawProperties: []byte("{}")}, AnonymousID: "a", UserIDs: []string{"u", ""}, IsMapped: true},
		"set":   {Fields: Fields{Set: map[string]any{"a": "b"}, SetOnce: map[string]any{}}, Position: Position{"k", -1}, Origin: Position{Offset: math.MaxInt64}, IsLoose: true},
		"bad":   {Record: []byte("r"), Where: "w", Format: "f", Number: math.MaxUint64, Bad: &KeptBad{Raw: []byte("x"), Note: KeptNote{Skip: &skip}}, IsFinal: true},
		"refused": {NeedsMapping: true, Bad: &KeptBad{Note: KeptNote{
			Refusal: &KeptRefusal{Reason: "r"}, Also: []KeptRefusal{{Field: "f", Value: "v", Want: "w", Text: "t"}},
		}}},
	} {
		data, err := k.Append([]byte("before"))
		require.NoError(t, err, name)
		require.Equal(t, "before", string(data[:6]), name)
		data = data[6:]
		got, err := ReadKept(data)
		require.NoError(t, err, name)
		if k.Timestamp.IsZero() {
			assert.True(t, got.Timestamp.IsZero(), name)
			got.Timestamp = k.Timestamp
		}
		assert.Equal(t, k, got, name)
		for n := range data {
			_, err := ReadKept(data[:n])
			require.Error(t, err, "%s: %d bytes of %d", name, n, len(data))
		}
		_, err = ReadKept(append(data, 0))
		require.ErrorIs(t, err, ErrDamaged, name)
	}
	_, err := ReadKept([]byte{keptVersion + 1})
	require.ErrorIs(t, err, ErrNotKept)
}

// Properties become raw and keep the digits of numbers; properties that JSON cannot hold are an
// error.
func TestKeptProperties(t *testing.T) {
	t.Parallel()
	k := Kept{Fields: Fields{Properties: map[string]any{"n": int64(math.MaxInt64)}}}
	data, err := k.Append(nil)
	require.NoError(t, err)
	got, err := ReadKept(data)
	require.NoError(t, err)
	assert.JSONEq(t, `{"n":9223372036854775807}`, string(got.RawProperties))
	k.RawProperties = []byte("{}")
	_, err = k.Append(nil)
	require.ErrorContains(t, err, "both Properties and RawProperties")
	k = Kept{Fields: Fields{Set: map[string]any{"n": math.NaN()}}}
	data, err = k.Append([]byte("before"))
	require.Error(t, err)
	assert.Equal(t, "before", string(data))
}
