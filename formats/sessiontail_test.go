package formats_test

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/history"
)

// A later source goes on with the sessions of an earlier one where its tail is given, with the ids of a whole one.
func TestSessionsContinue(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 31))
	source := formats.Sorted(history.Files(orders, write(t, "orders.jsonl", visitsOf(random, 30))), t.TempDir())
	var events []hogapi.Event
	for ev, err := range source.Events(t.Context(), hogapi.Position{}) {
		require.NoError(t, err)
		ev.RawProperties = slices.Clone(ev.RawProperties)
		events = append(events, ev)
	}
	whole := sessionsIn(t, timeline("whole", events...), nil)
	cut := 0
	for k := 10; k < len(events); k += len(events) / 10 {
		tail := filepath.Join(t.TempDir(), "tail")
		var counts formats.SessionCounts
		note := func(c formats.SessionCounts) { counts = c }
		require.Equal(t, whole[:k], sessionsIn(t, timeline("first", events[:k]...), &formats.SessionOptions{Tail: tail}))
		second := timeline("second", events[k:]...)
		require.Equal(t, whole[k:], sessionsIn(t, second, &formats.SessionOptions{After: tail, OnEnd: note}))
		require.Zero(t, counts.First)
		require.NotEmpty(t, sessionsIn(t, second, &formats.SessionOptions{OnEnd: note}))
		open := map[string]bool{} // on both sides
		for _, id := range whole[k:] {
			if slices.Contains(whole[:k], id) {
				open[id] = true
			}
		}
		require.GreaterOrEqual(t, counts.First, int64(len(open)), "sessions that may have begun before are counted")
		cut += len(open)
	}
	assert.Positive(t, cut)
}

// The files of open sessions are refused where they do not fit, and replace nothing else.
func TestSessionTails(t *testing.T) {
	t.Parallel()
	at := func(after time.Duration) hogapi.Event {
		return hogapi.Event{Name: "e", DistinctID: "ann@example.com", Timestamp: longAgo.Add(after)}
	}
	dir := t.TempDir()
	tail := filepath.Join(dir, "tail")
	read := func(o formats.SessionOptions, events ...hogapi.Event) error {
		_, err := readSorted(t, formats.Sessions(timeline("t", events...), &o), hogapi.Position{})
		return err
	}
	require.NoError(t, read(formats.SessionOptions{Tail: tail}, at(time.Hour)))
	text := readFile(t, tail)
	assert.NotContains(t, text, "ann@")
	require.NoError(t, read(formats.SessionOptions{Tail: tail}, at(time.Hour)))
	assert.Equal(t, text, readFile(t, tail))

	var counts formats.SessionCounts
	late := formats.SessionOptions{After: tail, OnEnd: func(c formats.SessionCounts) { counts = c }}
	own := at(1)
	own.Properties = map[string]any{"$session_id": formats.SessionID(longAgo, "of its own", "").String()}
	assert.Equal(t, "-abbc", letters(sessionsIn(t, timeline("t", at(0), own, at(time.Hour), at(time.Hour+1), at(3*time.Hour)), &late)))
	assert.Equal(t, formats.SessionCounts{Sessions: 1, Events: 3, Kept: 1, None: 1, Late: 1}, counts)
	next := filepath.Join(dir, "next")
	require.NoError(t, read(formats.SessionOptions{After: tail, Tail: next}, at(0)))
	assert.Equal(t, text, readFile(t, next), "late events do not set the end back")

	first := formats.Sessions(timeline("t"), &formats.SessionOptions{After: tail})
	require.ErrorContains(t, read(formats.SessionOptions{After: tail, Silence: time.Hour}), "the same options Silence, Key and Device; this one has 30m0s")
	require.ErrorIs(t, read(formats.SessionOptions{After: tail, Key: "x"}), hogapi.ErrInvalid)
	require.ErrorContains(t, read(formats.SessionOptions{After: tail, Tail: tail}), "another file than After")
	require.ErrorContains(t, read(formats.SessionOptions{After: filepath.Join(dir, "none")}), "cannot be read")
	require.ErrorContains(t, read(formats.SessionOptions{Tail: dir}), "cannot be written")
	for i := 0; i < len(text); i += 3 {
		other := []byte(text)
		other[i] ^= 1
		path := write(t, "other", string(other))
		require.ErrorIs(t, read(formats.SessionOptions{After: path}), hogapi.ErrInvalid, "byte %d", i)
		require.ErrorIs(t, read(formats.SessionOptions{Tail: path}), hogapi.ErrInvalid, "byte %d", i)
		require.Equal(t, string(other), readFile(t, path))
	}
	require.NoError(t, read(formats.SessionOptions{Tail: tail}, at(2*time.Hour)))
	assert.NotEqual(t, first.Name(), formats.Sessions(timeline("t"), &formats.SessionOptions{After: tail}).Name(), "an import does not go on with another tail")
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

// Sessions that are over take no room, and too many that are open are an error.
func TestOpenSessions(t *testing.T) { // alone, since it measures memory
	every := func(gap time.Duration, devices int) history.Source {
		return history.Func("many", func(context.Context, hogapi.Position) iter.Seq2[hogapi.Event, error] {
			return func(yield func(hogapi.Event, error) bool) {
				properties := []byte(`{"a":1}`)
				for i := range devices {
					ev := hogapi.Event{Name: "e", DistinctID: fmt.Sprint("device ", i), Timestamp: longAgo.Add(time.Duration(i) * gap), RawProperties: properties}
					if !yield(ev, nil) {
						return
					}
				}
			}
		})
	}
	held := func(source history.Source) (mib uint64, err error) {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		o := &formats.SessionOptions{OnEnd: func(formats.SessionCounts) {
			runtime.GC()
			runtime.ReadMemStats(&after)
		}}
		for _, err := range formats.Sessions(source, o).Events(t.Context(), hogapi.Position{}) {
			if err != nil {
				return 0, err
			}
		}
		return (max(after.HeapAlloc, before.HeapAlloc) - before.HeapAlloc) >> 20, nil
	}
	many, err := held(every(time.Second, 500_000)) // 1,800 at a time
	require.NoError(t, err)
	assert.Less(t, many, uint64(2))
	most, err := held(every(time.Millisecond, 250_000))
	require.NoError(t, err)
	assert.Less(t, most, uint64(48))
	_, err = held(every(time.Millisecond, 500_000))
	require.ErrorContains(t, err, "more than 250000 sessions are open at 2024-05-01T12:0")
	require.ErrorContains(t, err, "SessionOptions.MaxOpen")
	few := formats.Sessions(every(time.Hour, 100), &formats.SessionOptions{MaxOpen: 1})
	events, err := readSorted(t, few, hogapi.Position{})
	require.NoError(t, err)
	assert.Len(t, events, 100)
	_, err = readSorted(t, formats.Sessions(every(time.Minute, 100), &formats.SessionOptions{MaxOpen: 10}), hogapi.Position{})
	require.ErrorContains(t, err, "more than 10 sessions")
}
