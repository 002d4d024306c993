package jsonb

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
)

type visited struct{ key, value, member string }

func membersOf(object []byte) (all []visited) {
	object = bytes.TrimSpace(object)
	Members(object[1:len(object)-1], func(key, value, m []byte) { all = append(all, visited{string(key), string(value), string(m)}) })
	return all
}

func TestMembers(t *testing.T) {
	got := membersOf([]byte(`{ "a" : 1 ,"b\"\u0041":"x\\","c":{"d":["}",{"e":"]"}]} , "":null,"f":-1.5e3 }`))
	assert.Equal(t, []visited{
		{"a", "1", `"a" : 1`}, {`b"A`, `"x\\"`, `"b\"\u0041":"x\\"`}, {"c", `{"d":["}",{"e":"]"}]}`, `"c":{"d":["}",{"e":"]"}]}`},
		{"", "null", `"":null`}, {"f", "-1.5e3", `"f":-1.5e3`},
	}, got)
	assert.Empty(t, membersOf([]byte(`{}`)))
	assert.Empty(t, membersOf([]byte(` { } `)))
}

// For each object that Object accepts, Members visits the same members.
func FuzzMembers(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":1}`, `{"a\\":"\\","b":[{"c":"]"}]}`, `{"\u0061":{} , "x" : "\"" }`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, object []byte) {
		type pair struct{ key, value string }
		var want, got []pair
		if Object(object, func(key, value []byte) { want = append(want, pair{string(key), string(value)}) }) != nil {
			return
		}
		for _, m := range membersOf(object) {
			got = append(got, pair{m.key, m.value})
		}
		assert.Equal(t, want, got)
	})
}
