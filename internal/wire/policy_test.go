package wire_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/wire"
	"github.com/hogapi/hogapi/internal/wire/wiretest"
)

// personForms are the places for $set and $set_once in an event. Each has both, with one common
// key.
var personForms = map[string]func(*wire.Fields){
	"in the fields": func(e *wire.Fields) {
		e.Set, e.SetOnce = map[string]any{"plan": "pro", "n": 1}, map[string]any{"plan": "free", "first": true}
	},
	"in the properties": func(e *wire.Fields) {
		e.Properties = map[string]any{"a": `q"q`, "$set": map[string]any{"plan": "pro", "n": 1}, "$set_once": map[string]any{"plan": "free", "first": true}}
	},
	"in raw properties": wiretest.Having(`{"a" : "q\"q", "$set_once":{"plan":"free","first":true}, "$set" : {"plan":"pro","n":1} , "z":1 }`),
	"$set in the field": func(e *wire.Fields) {
		e.Set = map[string]any{"plan": "pro", "n": 1}
		e.Properties = map[string]any{"a": `q"q`, "$set_once": map[string]any{"plan": "free", "first": true}}
	},
	"$set_once in the field": func(e *wire.Fields) {
		e.SetOnce = map[string]any{"plan": "free", "first": true}
		e.Properties, e.RawProperties = nil, json.RawMessage(`{"a":"q\"q","$set":{"plan":"pro","n":1}}`)
	},
}

// personProperties returns $set and $set_once of the encoded event, and its other values of "a".
func personProperties(t *testing.T, policy wire.PersonPolicy, f wire.Fields) (set, once, a any) {
	t.Helper()
	out, refusal := testEncoder(wire.Rules{PersonPolicy: policy}).Encode(&f)
	require.Nil(t, refusal)
	require.True(t, json.Valid(out.Wire), "%s", out.Wire)
	var sent struct{ Properties map[string]any }
	require.NoError(t, json.Unmarshal(out.Wire, &sent))
	return sent.Properties["$set"], sent.Properties["$set_once"], sent.Properties["a"]
}

// An event may have $set and $set_once, in any place. PersonPolicySetOnce merges both into one
// $set_once, in which $set wins.
func TestSetPolicyOfBoth(t *testing.T) {
	for name, form := range personForms {
		t.Run(name, func(t *testing.T) {
			event := func() wire.Fields {
				f := wiretest.Event()
				f.Properties = map[string]any{"a": `q"q`}
				form(&f)
				return f
			}
			set, once, a := personProperties(t, wire.PersonPolicyKeep, event())
			assert.Equal(t, map[string]any{"plan": "pro", "n": 1.0}, set)
			assert.Equal(t, map[string]any{"plan": "free", "first": true}, once)
			assert.Equal(t, `q"q`, a)
			set, once, a = personProperties(t, wire.PersonPolicySetOnce, event())
			assert.Nil(t, set)
			assert.Equal(t, map[string]any{"plan": "pro", "n": 1.0, "first": true}, once)
			assert.Equal(t, `q"q`, a)
			set, once, a = personProperties(t, wire.PersonPolicyStrip, event())
			assert.Nil(t, set)
			assert.Nil(t, once)
			assert.Equal(t, `q"q`, a)
		})
	}
}

// A lone $set or $set_once is treated like both together, and identity events keep their
// properties.
func TestSetPolicyOfOne(t *testing.T) {
	value := map[string]any{"plan": "pro"}
	for name, form := range map[string]func(e *wire.Fields, key string){
		"field": func(e *wire.Fields, key string) {
			if key == "$set" {
				e.Set = value
			} else {
				e.SetOnce = value
			}
		},
		"property": func(e *wire.Fields, key string) { e.Properties = map[string]any{"a": 1, key: value} },
		"raw property": func(e *wire.Fields, key string) {
			e.Properties, e.RawProperties = nil, json.RawMessage(`{"a":1,"`+key+`":{"plan":"pro"}}`)
		},
	} {
		for _, key := range []string{"$set", "$set_once"} {
			t.Run(name+" "+key, func(t *testing.T) {
				f := wiretest.Event()
				form(&f, key)
				set, once, _ := personProperties(t, wire.PersonPolicyKeep, f)
				assert.Equal(t, any(value), map[string]any{"$set": set, "$set_once": once}[key])
				set, once, _ = personProperties(t, wire.PersonPolicySetOnce, f)
				assert.Nil(t, set)
				assert.Equal(t, value, once)
				set, once, _ = personProperties(t, wire.PersonPolicyStrip, f)
				assert.Nil(t, set)
				assert.Nil(t, once)
				f.Name = "$identify"
				set, once, _ = personProperties(t, wire.PersonPolicyStrip, f)
				assert.Equal(t, key == "$set", set != nil)
				assert.Equal(t, key == "$set_once", once != nil)
			})
		}
	}
}

// A value in two places is refused under each policy that sends it, since either may be meant.
func TestSetPolicyOfDoubles(t *testing.T) {
	for key, change := range map[string]func(*wire.Fields){
		"$set":      func(e *wire.Fields) { e.Set = map[string]any{"b": 1} },
		"$set_once": func(e *wire.Fields) { e.SetOnce = map[string]any{"b": 1} },
	} {
		for _, policy := range []wire.PersonPolicy{wire.PersonPolicyKeep, wire.PersonPolicySetOnce} {
			f := wiretest.Event()
			f.Properties = map[string]any{key: map[string]any{"c": 1}}
			change(&f)
			_, refusal := testEncoder(wire.Rules{PersonPolicy: policy}).Encode(&f)
			require.NotNil(t, refusal, "%s, %d", key, policy)
			assert.Equal(t, wire.ReasonBadSpecial, refusal.Reason)
		}
	}
}
