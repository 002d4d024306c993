package formats_test

import (
	"context"
	"encoding/json"
	"iter"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/history"
)

// all are the events of a source.
func all(t *testing.T, source history.Source) (events []hogapi.Event) {
	t.Helper()
	for ev, err := range source.Events(t.Context(), hogapi.Position{}) {
		require.NoError(t, err)
		events = append(events, ev)
	}
	return events
}

// each is a source of events.
func each(events ...hogapi.Event) history.Source {
	return history.Func("events", func(_ context.Context, after hogapi.Position) iter.Seq2[hogapi.Event, error] {
		return func(yield func(hogapi.Event, error) bool) {
			for i, ev := range events[after.Offset:] {
				ev.Position = hogapi.Position{Key: "event", Offset: after.Offset + int64(i) + 1}
				if ev.Timestamp.IsZero() {
					ev.Timestamp = longAgo
				}
				if !yield(ev, nil) {
					return
				}
			}
		}
	})
}

// Events leave persons alone, except events about persons.
func TestLeavePersons(t *testing.T) {
	t.Parallel()
	for properties, want := range map[string]string{
		`{}`: `{"$process_person_profile":false}`, ` { "a":1}`: `{"$process_person_profile":false, "a":1}`,
		`{"$process_person_profile":true}`: `{"$process_person_profile":true}`, `{"a"`: `{"a"`,
	} {
		got := all(t, formats.LeavePersons(each(hogapi.Event{Name: "e", DistinctID: "d", RawProperties: json.RawMessage(properties)})))
		assert.Equal(t, want, string(got[0].RawProperties))
	}
	own := map[string]any{"a": 1}
	got := all(t, formats.LeavePersons(each(hogapi.Event{Name: "e", DistinctID: "d", Properties: own}, hogapi.Event{Name: "e", DistinctID: "d"})))
	assert.Equal(t, map[string]any{"a": 1, "$process_person_profile": false}, got[0].Properties)
	assert.Equal(t, map[string]any{"$process_person_profile": false}, got[1].Properties)
	assert.Len(t, own, 1, "the map of the caller")
	for _, name := range []string{"$identify", "$create_alias", "$merge_dangerously", "$groupidentify", "$set"} {
		got := all(t, formats.LeavePersons(each(hogapi.Event{Name: name, DistinctID: "d", RawProperties: json.RawMessage(`{}`)})))
		assert.Equal(t, `{}`, string(got[0].RawProperties), name)
	}
}

// The merges of events are left to the links.
func TestWithoutMerges(t *testing.T) {
	t.Parallel()
	source := each(
		hogapi.Event{Name: "$identify", DistinctID: "d", RawProperties: json.RawMessage(`{"é\"":"x","$anon_distinct_id":"a","$set":{}}`)},
		hogapi.Event{Name: "$identify", DistinctID: "d", Properties: map[string]any{"$anon_distinct_id": "a"}},
		hogapi.Event{Name: "$create_alias", DistinctID: "d", Properties: map[string]any{"alias": "b"}},
		hogapi.Event{Name: "$identify", DistinctID: "d", RawProperties: json.RawMessage(`{"a":1}`)},
		hogapi.Event{Name: "other", DistinctID: "d", RawProperties: json.RawMessage(`{"$anon_distinct_id":"a","alias":"b"}`)},
	)
	before, got := all(t, source), all(t, formats.WithoutMerges(source))
	assert.JSONEq(t, `{"é\"":"x","import_anon_distinct_id":"a","$set":{}}`, string(got[0].RawProperties))
	assert.Equal(t, map[string]any{"import_anon_distinct_id": "a"}, got[1].Properties)
	assert.Equal(t, event.Skip(before[2].Position, formats.SkipMerge).Name, got[2].Name)
	assert.True(t, got[2].Timestamp.IsZero(), "skipped")
	assert.Equal(t, before[3].RawProperties, got[3].RawProperties)
	assert.Equal(t, before[4].RawProperties, got[4].RawProperties)
	report, err := history.Check(t.Context(), formats.WithoutMerges(source), &history.Options{ID: "merges"})
	require.NoError(t, err)
	assert.Equal(t, map[string]int64{formats.SkipMerge: 1}, report.Skips)
}
