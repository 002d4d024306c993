package wire_test

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/hogapi/hogapi/event"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/wire"
	"github.com/hogapi/hogapi/internal/wire/wiretest"
)

// personProperties returns $set and $set_once of the encoded event, and its property "a".
func personProperties(t *testing.T, policy event.PersonPolicy, f wire.Fields) (person [2]any, a any) {
	t.Helper()
	out, refusal := testEncoder(wire.Rules{PersonPolicy: policy}).Encode(&f)
	require.Nil(t, refusal)
	require.True(t, json.Valid(out.Wire), "%s", out.Wire)
	var sent struct{ Properties map[string]any }
	require.NoError(t, json.Unmarshal(out.Wire, &sent))
	return [2]any{sent.Properties["$set"], sent.Properties["$set_once"]}, sent.Properties["a"]
}

// An event may have $set, $set_once or both, in any place. PersonPolicySetOnce merges both into one $set_once, in which $set wins.
// Identity events keep their properties.
func TestSetPolicy(t *testing.T) {
	const pro, free = `{"plan":"pro","n":1}`, `{"plan":"free","first":true}`
	set, once := map[string]any{"plan": "pro", "n": 1.0}, map[string]any{"plan": "free", "first": true}
	merged := map[string]any{"plan": "pro", "n": 1.0, "first": true}
	with := func(properties map[string]any) func(*wire.Fields) {
		return func(f *wire.Fields) { maps.Copy(f.Properties, properties) }
	}
	for name, tt := range map[string]struct {
		change            func(*wire.Fields)
		set, once, merged any
	}{
		"both in the fields":           {func(f *wire.Fields) { f.Set, f.SetOnce = set, once }, set, once, merged},
		"both in the properties":       {with(map[string]any{"$set": set, "$set_once": once}), set, once, merged},
		"both in raw properties":       {wiretest.Having(`{"a" : "q\"q", "$set_once":` + free + `, "$set" : ` + pro + ` , "z":1 }`), set, once, merged},
		"$set in the field":            {func(f *wire.Fields) { f.Set, f.Properties["$set_once"] = set, once }, set, once, merged},
		"$set_once in the field":       {func(f *wire.Fields) { f.SetOnce = once; wiretest.Having(`{"a":"q\"q","$set":` + pro + `}`)(f) }, set, once, merged},
		"$set alone in the field":      {func(f *wire.Fields) { f.Set = set }, set, nil, set},
		"$set_once alone in the field": {func(f *wire.Fields) { f.SetOnce = once }, nil, once, once},
		"$set as a property":           {with(map[string]any{"$set": set}), set, nil, set},
		"$set_once as a property":      {with(map[string]any{"$set_once": once}), nil, once, once},
		"$set as a raw property":       {wiretest.Having(`{"a":"q\"q","$set":` + pro + `}`), set, nil, set},
		"$set_once as a raw property":  {wiretest.Having(`{"a":"q\"q","$set_once":` + free + `}`), nil, once, once},
	} {
		t.Run(name, func(t *testing.T) {
			f := wiretest.Event(func(f *wire.Fields) { f.Properties = map[string]any{"a": `q"q`} }, tt.change)
			for policy, want := range map[event.PersonPolicy][2]any{
				event.PersonPolicyKeep: {tt.set, tt.once}, event.PersonPolicySetOnce: {nil, tt.merged}, event.PersonPolicyStrip: {nil, nil},
			} {
				person, a := personProperties(t, policy, f)
				assert.Equal(t, want, person, policy)
				assert.Equal(t, `q"q`, a)
			}
			f.Name = "$identify"
			person, _ := personProperties(t, event.PersonPolicyStrip, f)
			assert.Equal(t, [2]any{tt.set, tt.once}, person)
		})
	}
}

// A value in two places is refused under each policy that sends it, since either may be meant.
func TestSetPolicyOfDoubles(t *testing.T) {
	for key, change := range map[string]func(*wire.Fields){
		"$set":      func(e *wire.Fields) { e.Set = map[string]any{"b": 1} },
		"$set_once": func(e *wire.Fields) { e.SetOnce = map[string]any{"b": 1} },
	} {
		for _, policy := range []event.PersonPolicy{event.PersonPolicyKeep, event.PersonPolicySetOnce} {
			f := wiretest.Event()
			f.Properties = map[string]any{key: map[string]any{"c": 1}}
			change(&f)
			_, refusal := testEncoder(wire.Rules{PersonPolicy: policy}).Encode(&f)
			require.NotNil(t, refusal, "%s, %d", key, policy)
			assert.Equal(t, event.ReasonBadSpecial, refusal.Reason)
		}
	}
}
