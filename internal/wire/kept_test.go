package wire

import (
	"math"
	"testing"
	"time"

	"github.com/hogapi/hogapi/event"

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
		"set":   {Fields: Fields{Set: map[string]any{"a": "b"}, SetOnce: map[string]any{}}, Position: event.Position{Key: "k", Offset: -1}, Origin: event.Position{Offset: math.MaxInt64}, IsLoose: true},
		"bad":   {Record: []byte("r"), Where: "w", Format: "f", Number: math.MaxUint64, Bad: &KeptBad{Raw: []byte("x"), Note: KeptNote{Skip: &skip}}, IsFinal: true},
		"row":   {Record: []byte("1,2"), Table: []byte(`{"columns":["a"]}`), Bad: &KeptBad{Raw: []byte("1,2")}},
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

// Bytes that an earlier release has kept are read as they were meant: whoever changes their form gives it another version.
func TestKeptByAnEarlierRelease(t *testing.T) {
	t.Parallel()
	const begin = "\x01\x02n\x02d\x02a\xe4\xef\xbc\xe3\v\a\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00" +
		"\x02k\x02\x02o\x04\b{\"p\":1}\n{\"a\":\"b\"}\n{\"c\":\"d\"}\x02r\x02w\x02f\x03"
	skip := "s"
	for flags, set := range map[string]func(*Kept){
		"!":  func(k *Kept) { k.IsMapped = true },
		"\"": func(k *Kept) { k.IsFinal = true },
		"$":  func(k *Kept) { k.NeedsMapping = true },
		"(":  func(k *Kept) { k.IsLoose = true },
		"0\x02xT{\"skip\":\"s\",\"refusal\":{\"Reason\":\"a\",\"Field\":\"b\",\"Value\":\"c\",\"Want\":\"d\",\"Text\":\"e\"}}": func(k *Kept) {
			k.Bad = &KeptBad{Raw: []byte("x"), Note: KeptNote{Skip: &skip, Refusal: &KeptRefusal{"a", "b", "c", "d", "e"}}}
		},
	} {
		want := Kept{
			Fields: Fields{
				Name: "n", DistinctID: "d", Timestamp: time.Date(2020, 2, 3, 4, 5, 6, 7, time.UTC), UUID: uuid.UUID{1},
				RawProperties: []byte(`{"p":1}`), Set: map[string]any{"a": "b"}, SetOnce: map[string]any{"c": "d"},
			},
			AnonymousID: "a", UserIDs: []string{"u", "v"}, Position: event.Position{Key: "k", Offset: 1}, Origin: event.Position{Key: "o", Offset: 2}, Record: []byte("r"), Where: "w", Format: "f", Number: 3,
		}
		set(&want)
		got, err := ReadKept([]byte(begin + flags + "\x02\x02u\x02v"))
		require.NoError(t, err, flags)
		assert.Equal(t, want, got, flags)
	}
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
