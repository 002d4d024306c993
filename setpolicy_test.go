package hogapi

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// personForms are the places where an event can have $set and $set_once. Each has both, with one key that is in both.
var personForms = map[string]func(*Event){
	"in the fields": func(e *Event) {
		e.Set, e.SetOnce = map[string]any{"plan": "pro", "n": 1}, map[string]any{"plan": "free", "first": true}
	},
	"in the properties": func(e *Event) {
		e.Properties = map[string]any{"a": 1, "$set": map[string]any{"plan": "pro", "n": 1}, "$set_once": map[string]any{"plan": "free", "first": true}}
	},
	"in raw properties": func(e *Event) {
		e.Properties, e.RawProperties = nil, json.RawMessage(`{"a":1,"$set_once":{"plan":"free","first":true},"$set":{"plan":"pro","n":1}}`)
	},
	"$set in the field": func(e *Event) {
		e.Set = map[string]any{"plan": "pro", "n": 1}
		e.Properties = map[string]any{"a": 1, "$set_once": map[string]any{"plan": "free", "first": true}}
	},
	"$set_once in the field": func(e *Event) {
		e.SetOnce = map[string]any{"plan": "free", "first": true}
		e.Properties, e.RawProperties = nil, json.RawMessage(`{"a":1,"$set":{"plan":"pro","n":1}}`)
	},
}

// personProperties are $set and $set_once of an event on the wire, with what else it says of "a".
func personProperties(t *testing.T, policy SetPolicy, ev Event) (set, once, a any) {
	t.Helper()
	out, refusal := testEncoder(GateOptions{SetPolicy: policy}).encode(&ev)
	require.Nil(t, refusal)
	require.True(t, json.Valid(out.wire), "%s", out.wire)
	var wire struct{ Properties map[string]any }
	require.NoError(t, json.Unmarshal(out.wire, &wire))
	return wire.Properties["$set"], wire.Properties["$set_once"], wire.Properties["a"]
}

// An event may have $set and $set_once, wherever it has them. SetToSetOnce makes one $set_once of both, in which $set wins.
func TestSetPolicyOfBoth(t *testing.T) {
	for name, form := range personForms {
		t.Run(name, func(t *testing.T) {
			event := func() Event {
				ev := testEvent()
				ev.Properties = map[string]any{"a": 1}
				form(&ev)
				return ev
			}
			set, once, _ := personProperties(t, SetKeep, event())
			assert.Equal(t, map[string]any{"plan": "pro", "n": 1.0}, set)
			assert.Equal(t, map[string]any{"plan": "free", "first": true}, once)
			set, once, a := personProperties(t, SetToSetOnce, event())
			assert.Nil(t, set)
			assert.Equal(t, map[string]any{"plan": "pro", "n": 1.0, "first": true}, once)
			assert.EqualValues(t, 1, a)
			set, once, a = personProperties(t, SetStrip, event())
			assert.Nil(t, set)
			assert.Nil(t, once)
			assert.EqualValues(t, 1, a)
		})
	}
}

// A lone $set or $set_once is treated as one of both, and identity events keep what they are for.
func TestSetPolicyOfOne(t *testing.T) {
	value := map[string]any{"plan": "pro"}
	for name, form := range map[string]func(e *Event, key string){
		"field": func(e *Event, key string) {
			if key == "$set" {
				e.Set = value
			} else {
				e.SetOnce = value
			}
		},
		"property": func(e *Event, key string) { e.Properties = map[string]any{"a": 1, key: value} },
		"raw property": func(e *Event, key string) {
			e.Properties, e.RawProperties = nil, json.RawMessage(`{"a":1,"`+key+`":{"plan":"pro"}}`)
		},
	} {
		for _, key := range []string{"$set", "$set_once"} {
			t.Run(name+" "+key, func(t *testing.T) {
				ev := testEvent()
				form(&ev, key)
				set, once, _ := personProperties(t, SetToSetOnce, ev)
				assert.Nil(t, set)
				assert.Equal(t, value, once)
				set, once, _ = personProperties(t, SetStrip, ev)
				assert.Nil(t, set)
				assert.Nil(t, once)
				ev.Name = "$identify"
				set, once, _ = personProperties(t, SetStrip, ev)
				assert.Equal(t, key == "$set", set != nil)
				assert.Equal(t, key == "$set_once", once != nil)
			})
		}
	}
}

// What is given in two places is refused under each policy that sends it: nobody can tell which one was meant.
func TestSetPolicyOfDoubles(t *testing.T) {
	for key, change := range map[string]func(*Event){
		"$set":      func(e *Event) { e.Set = map[string]any{"b": 1} },
		"$set_once": func(e *Event) { e.SetOnce = map[string]any{"b": 1} },
	} {
		for _, policy := range []SetPolicy{SetKeep, SetToSetOnce} {
			ev := testEvent()
			ev.Properties = map[string]any{key: map[string]any{"c": 1}}
			change(&ev)
			_, refusal := testEncoder(GateOptions{SetPolicy: policy}).encode(&ev)
			require.NotNil(t, refusal, "%s, %d", key, policy)
			assert.Equal(t, ReasonBadSpecial, refusal.Reason)
		}
	}
}
