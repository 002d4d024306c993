package hogbeam

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
)

func someEvents(n int) []Event {
	dice := rand.New(rand.NewPCG(3, 4))
	events := make([]Event, n)
	for i := range events {
		events[i] = Event{
			Name: "a", DistinctID: "ann", Timestamp: time.Unix(dice.Int64N(1<<32)-1<<31, dice.Int64N(1e9)).UTC(),
			Properties: bytes.Repeat([]byte{'x'}, dice.IntN(400)), UUID: uuid.Must(uuid.NewRandomFromReader(zeros{})),
			Position: hogapi.Position{Key: []string{"", "a", "a\x00", "a\x00b", "ab"}[dice.IntN(5)], Offset: dice.Int64() - 1<<62},
		}
		if i%3 == 0 && i > 0 {
			events[i].Timestamp = events[i-1].Timestamp
		}
	}
	return events
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// However little memory there is, the events come out once each, in the order of time and position.
func TestSorter(t *testing.T) {
	events := someEvents(20_000)
	want := slices.Clone(events)
	slices.SortStableFunc(want, func(a, b Event) int {
		if c := a.Timestamp.Compare(b.Timestamp); c != 0 {
			return c
		}
		if before(a.Position, b.Position) {
			return -1
		}
		return 1
	})
	for _, memory := range []int64{1 << 20, 1 << 16, 64 << 20} {
		folder := t.TempDir()
		s := newSorter(1, SortOptions{Memory: memory, MaxBytes: 1 << 30, Folder: folder})
		for i := range events {
			require.NoError(t, s.add(appendEvent(nil, &events[i])))
		}
		assert.LessOrEqual(t, s.held(), 4*memory)
		var got []Event
		for encoded, err := range s.sorted() {
			require.NoError(t, err)
			ev, err := parseEvent(bytes.Clone(encoded))
			require.NoError(t, err)
			got = append(got, ev)
		}
		require.Len(t, got, len(want))
		for i := range want {
			if len(want[i].Properties) == 0 {
				want[i].Properties = nil
			}
			require.Equal(t, want[i], got[i])
		}
		s.close()
		left, err := os.ReadDir(folder)
		require.NoError(t, err)
		assert.Empty(t, left)
	}
}

func TestALaneThatIsTooLargeIsAnError(t *testing.T) {
	s := newSorter(3, SortOptions{Memory: 1 << 20, MaxBytes: 100_000, Folder: t.TempDir()})
	defer s.close()
	events := someEvents(1000)
	var err error
	for i := 0; err == nil && i < len(events); i++ {
		err = s.add(appendEvent(nil, &events[i]))
	}
	large, ok := errors.AsType[*LaneTooLargeError](err)
	require.True(t, ok)
	assert.Equal(t, LaneTooLargeError{Lane: 3, MaxBytes: 100_000}, *large)
	assert.ErrorContains(t, err, "take more lanes")
}

func TestADiskThatFailsIsAnError(t *testing.T) {
	s := newSorter(3, SortOptions{Memory: 1 << 16, MaxBytes: 1 << 30, Folder: filepath.Join(t.TempDir(), "missing")})
	events := someEvents(1000)
	var err error
	for i := 0; err == nil && i < len(events); i++ {
		err = s.add(appendEvent(nil, &events[i]))
	}
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "lane 3 sorts its events on disk")
}

func TestAReadErrorIsNoEnd(t *testing.T) {
	s := newSorter(3, SortOptions{Memory: 1 << 16, MaxBytes: 1 << 30, Folder: t.TempDir()})
	defer s.close()
	events := someEvents(1000)
	for i := range events {
		require.NoError(t, s.add(appendEvent(nil, &events[i])))
	}
	require.NoError(t, s.spill())
	require.NoError(t, s.file.Truncate(100_000))
	var last error
	n := 0
	for _, err := range s.sorted() {
		last = err
		n++
	}
	require.ErrorContains(t, last, "lane 3 reads its sorted events")
	assert.Less(t, n, len(events))
}

// Damaged bytes are an error or an event that is encoded again, never a panic.
func TestDamagedEventsAreNoPanic(t *testing.T) {
	dice := rand.New(rand.NewPCG(5, 6))
	damaged := 0
	for _, ev := range someEvents(200) {
		whole := appendEvent(nil, &ev)
		for range 50 {
			b := bytes.Clone(whole[:dice.IntN(len(whole)+1)])
			for range dice.IntN(4) {
				if len(b) > 0 {
					b[dice.IntN(len(b))] = byte(dice.Uint32())
				}
			}
			got, err := parseEvent(b)
			if err != nil {
				require.ErrorIs(t, err, errDamaged)
				damaged++
				continue
			}
			again, err := parseEvent(appendEvent(nil, &got))
			require.NoError(t, err)
			require.Equal(t, got, again)
		}
	}
	assert.Positive(t, damaged)
}

func TestAPersonHasOneLane(t *testing.T) {
	f := &stampFn{Lanes: 64}
	byField := f.lane(&Event{DistinctID: "ann"})
	assert.Equal(t, byField, f.lane(&Event{Properties: []byte(`{"a":1,"distinct_id":"ann"}`)}))
	assert.Equal(t, byField, f.lane(&Event{Properties: []byte(`{"distinct_id":"\u0061nn"}`)}))
	assert.Equal(t, f.lane(&Event{DistinctID: "42"}), f.lane(&Event{Properties: []byte(`{"distinct_id":42}`)}))
	used := map[int]bool{}
	for i := range 1000 {
		used[f.lane(&Event{UUID: uuid.UUID{byte(i), byte(i >> 8)}})] = true
	}
	assert.Len(t, used, 64, "what has no person is spread")
}

func TestEventOf(t *testing.T) {
	at := time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)
	ev, err := EventOf(hogapi.Identify("ann", at, map[string]any{"plan": "pro"}))
	require.NoError(t, err)
	assert.JSONEq(t, `{"$set":{"plan":"pro"}}`, string(ev.Properties))
	assert.Equal(t, "$identify", ev.Name)
	ev, err = EventOf(hogapi.Event{RawProperties: []byte(`{"n":1.10}`)})
	require.NoError(t, err)
	assert.Equal(t, `{"n":1.10}`, string(ev.Properties))
	_, err = EventOf(hogapi.Event{RawProperties: []byte(`{}`), Set: map[string]any{"a": 1}})
	require.Error(t, err)
	_, err = EventOf(hogapi.Event{Properties: map[string]any{"a": func() {}}})
	require.Error(t, err)
	_, err = EventOf(hogapi.Event{Properties: map[string]any{"a": "caf\xe9"}})
	require.Error(t, err, "no text is replaced")
	for _, key := range []string{"$set", "$set_once"} {
		both := map[string]any{"plan": "pro"}
		_, err = EventOf(hogapi.Event{Properties: map[string]any{key: map[string]any{"a": 1}}, Set: both, SetOnce: both})
		require.Error(t, err, "no value gives way to another")
	}
}

func TestAPackGivesItsEvents(t *testing.T) {
	events := someEvents(50)
	var pack []byte
	for i := range events {
		pack = appendPacked(pack, &events[i])
	}
	i := 0
	require.NoError(t, eachPacked(pack, func(event []byte) error {
		assert.Equal(t, appendEvent(nil, &events[i]), event)
		i++
		return nil
	}))
	assert.Equal(t, len(events), i)
	require.ErrorIs(t, eachPacked(pack[:len(pack)-1], func([]byte) error { return nil }), errDamaged)
	require.ErrorIs(t, eachPacked(pack, func([]byte) error { return errDamaged }), errDamaged)
}
