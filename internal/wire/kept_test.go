package wire

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/inside"
	"github.com/hogapi/hogapi/internal/lines"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// from returns an event with what the import knows of its record.
func from(ev event.Event, p inside.Provenance) event.Event {
	ev.Inside(inside.Key{}).Provenance = p
	return ev
}

func TestKept(t *testing.T) {
	t.Parallel()
	at := time.Date(2020, 2, 3, 4, 5, 6, 7, time.UTC)
	for name, ev := range map[string]event.Event{
		"zero": {},
		"event": from(event.Event{
			Name: "e", DistinctID: "d", Timestamp: at, UUID: uuid.UUID{1}, RawProperties: []byte("{}"), AnonymousID: "a", UserIDs: []string{"u", ""},
		}, inside.Provenance{IsMapped: true, Where: "w"}),
		"set": from(event.Event{
			Set: map[string]any{"a": "b"}, SetOnce: map[string]any{}, Position: event.Position{Key: "k", Offset: -1}, Origin: event.Position{Offset: math.MaxInt64},
		}, inside.Provenance{IsLoose: true}),
		"bad": from(event.Bad(event.Position{}, []byte("x"), &event.SkipError{}), inside.Provenance{
			Record: []byte("r"), Where: "w", Format: "f", Number: math.MaxUint64, IsFinal: true,
		}),
		"row": from(event.Bad(event.Position{}, []byte("1,2"), errors.New("short")), inside.Provenance{
			Record: []byte("1,2"), Table: &lines.Table{Layout: lines.CSV, Columns: []string{"a"}},
		}),
		"refused": from(event.Bad(event.Position{}, nil, &event.Error{
			Reason: "r", Also: []*event.Error{{Field: "f", Value: "v", Want: "w", Err: errors.New("t")}},
		}), inside.Provenance{NeedsMapping: true}),
	} {
		data, err := AppendEvent([]byte("before"), &ev)
		require.NoError(t, err, name)
		require.Equal(t, "before", string(data[:6]), name)
		data = data[6:]
		var got event.Event
		require.NoError(t, ReadEvent(data, &got), name)
		if in := ev.Inside(inside.Key{}); in.Where == "" {
			in.IsLoose = true // it is from no file
		}
		assert.Equal(t, ev, got, name)
		for n := range data {
			require.Error(t, ReadEvent(data[:n], &got), "%s: %d bytes of %d", name, n, len(data))
		}
		require.ErrorIs(t, ReadEvent(append(data, 0), &got), errDamaged, name)
		assert.Equal(t, ev, got, "%s: an error changes nothing", name)
	}
	require.ErrorIs(t, ReadEvent([]byte{keptVersion + 1}, new(event.Event)), errNotKept)
}

// Bytes that an earlier release has kept are read as they were meant, and written again: whoever changes their form gives it
// another version.
func TestKeptByAnEarlierRelease(t *testing.T) {
	t.Parallel()
	const (
		begin = "\x01\x02n\x02d\x02a\xe4\xef\xbc\xe3\v\a\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00" +
			"\x02k\x02\x02o\x04\b{\"p\":1}\n{\"a\":\"b\"}\n{\"c\":\"d\"}\x02r\x02w\x02f\x03"
		refusal = `"refusal":{"Reason":"a","Field":"b","Value":"c","Want":"d","Text":"e"}`
		both    = "0\x02xT{\"skip\":\"s\"," + refusal + "}"
	)
	for flags, set := range map[string]func(in *inside.Event){
		"!":  func(in *inside.Event) { in.IsMapped = true },
		"\"": func(in *inside.Event) { in.IsFinal = true },
		"$":  func(in *inside.Event) { in.NeedsMapping = true },
		"(":  func(in *inside.Event) { in.IsLoose = true },
		both: func(in *inside.Event) {
			in.Bad = &inside.BadRecord{Raw: []byte("x"), Err: &event.SkipError{Reason: "s"}}
		},
		"0\x02xI{" + refusal + "}": func(in *inside.Event) {
			in.Bad = &inside.BadRecord{Raw: []byte("x"), Err: &event.Error{Reason: "a", Field: "b", Value: "c", Want: "d", Err: errors.New("e")}}
		},
	} {
		want := from(event.Event{
			Name: "n", DistinctID: "d", Timestamp: time.Date(2020, 2, 3, 4, 5, 6, 7, time.UTC), UUID: uuid.UUID{1},
			RawProperties: []byte(`{"p":1}`), Set: map[string]any{"a": "b"}, SetOnce: map[string]any{"c": "d"},
			AnonymousID: "a", UserIDs: []string{"u", "v"}, Position: event.Position{Key: "k", Offset: 1}, Origin: event.Position{Key: "o", Offset: 2},
		}, inside.Provenance{Record: []byte("r"), Where: "w", Format: "f", Number: 3})
		set(want.Inside(inside.Key{}))
		data := []byte(begin + flags + "\x02\x02u\x02v")
		var got event.Event
		require.NoError(t, ReadEvent(data, &got), flags)
		assert.Equal(t, want, got, flags)
		if flags != both { // which no release writes
			again, err := AppendEvent(nil, &got)
			require.NoError(t, err, flags)
			assert.Equal(t, string(data), string(again), flags)
		}
	}
}

// Properties become raw and keep the digits of numbers; properties that JSON cannot hold are an
// error.
func TestKeptProperties(t *testing.T) {
	t.Parallel()
	ev := event.Event{Properties: map[string]any{"n": int64(math.MaxInt64)}}
	data, err := AppendEvent(nil, &ev)
	require.NoError(t, err)
	var got event.Event
	require.NoError(t, ReadEvent(data, &got))
	assert.JSONEq(t, `{"n":9223372036854775807}`, string(got.RawProperties))
	ev.RawProperties = []byte("{}")
	_, err = AppendEvent(nil, &ev)
	require.ErrorContains(t, err, "hogapi: the event cannot be kept: the event has both Properties and RawProperties")
	data, err = AppendEvent([]byte("before"), &event.Event{Set: map[string]any{"n": math.NaN()}})
	require.Error(t, err)
	assert.Equal(t, "before", string(data))
}
