package wire

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/jsonb"
)

// Cutting properties out by offset gives the same result as a walk through all members.
func FuzzLift(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"a":1}`, `{"$session_id":"s","a":{"$session_id":"t"},"b":[1 , 2]}`, `{"a":",","$window_id":"w","$session_id":5,"z":null}`,
		`{ "$session_id" : "s" , "a":"x\"$session_id" }`, `{"\u0024session_id":"s","b":2}`, `{"$lib":"web","$lib_version":"1","$process_person_profile":false}`,
		`{"distinct_id":"d","$ignore_sent_at":true,"$product_tour_id":"t","$cookieless_mode":false,"c":"}"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, object []byte) {
		var seen Reserved
		if jsonb.Object(object, seen.noteRaw) != nil {
			return
		}
		members := inner(object)
		var cut, walked root
		cut.lib, walked.lib = len(seen.lib) > 0, len(seen.lib) > 0
		if !cut.cut(members, seen.lifts) {
			return
		}
		jsonb.Members(members, walked.take)
		assert.Equal(t, string(walked.session), string(cut.session))
		assert.Equal(t, string(walked.window), string(cut.window))
		assert.Equal(t, string(walked.options), string(cut.options))
		assert.Equal(t, compactObject(t, walked.members), compactObject(t, cut.members))
	})
}

func compactObject(t *testing.T, members []byte) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, json.Compact(&b, append(append([]byte{'{'}, members...), '}')))
	return b.String()
}

// Most events are cut by offset: only rewritten events and events with whitespace need the walk.
func TestUsualEventsAreCut(t *testing.T) {
	object := []byte(`{"a":1,"$session_id":"s","b":"x","$window_id":"w"}`)
	var seen Reserved
	require.NoError(t, jsonb.Object(object, seen.noteRaw))
	var r root
	require.True(t, r.cut(inner(object), seen.lifts))
	assert.Equal(t, `"a":1,"b":"x"`, string(r.members))
	assert.Equal(t, `"s"`, string(r.session))
}
