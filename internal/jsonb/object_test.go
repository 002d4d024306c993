package jsonb

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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

func TestArray(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string][]string{
		`[]`:                      nil,
		` [ ] `:                   nil,
		`[1]`:                     {"1"},
		` [1 , "a,]" ,{"b":[2]}]`: {"1", `"a,]"`, `{"b":[2]}`},
		`[[],null]`:               {"[]", "null"},
	} {
		var got []string
		require.NoError(t, Array([]byte(raw), func(element []byte) { got = append(got, string(element)) }), raw)
		assert.Equal(t, want, got, raw)
	}
	for raw, want := range map[string]string{
		``: "bad JSON", `{}`: "bad JSON", `1`: "bad JSON", `[`: "bad JSON", `[1,]`: "bad JSON in [1]", `[1 2]`: "bad JSON",
		`[1]]`: "bad JSON", `[{"a":1e999}]`: "not a finite JSON number", `["a`: "bad JSON",
	} {
		require.ErrorContains(t, Array([]byte(raw), func([]byte) {}), want, raw)
	}
}
