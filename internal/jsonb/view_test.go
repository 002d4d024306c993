package jsonb

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// requireView compares the view of a text with what Object and Canonical say of it.
func requireView(t *testing.T, v *View, raw []byte) {
	t.Helper()
	type member struct {
		key, value string
		isInner    bool
	}
	var want, got, seen []member
	note := func(to *[]member, isInner bool) Visitor {
		return func(key, value []byte) { *to = append(*to, member{string(key), string(value), isInner}) }
	}
	err := Object(raw, func(key, value []byte) {
		note(&want, false)(key, value)
		if value[0] == '{' {
			_ = Object(value, note(&want, true))
		}
	})
	wantWithin, wantErr := ObjectWithin(raw, nil, "in", func(_, _ []byte) {})
	within, gotErr := ObjectInto(v, raw, note(&seen, false), "in", func(_, _ []byte) {})
	require.Equal(t, wantWithin, within)
	require.Equal(t, wantErr, gotErr)
	require.Equal(t, err == nil, v.IsOf(raw))
	if err != nil {
		return
	}
	v.Each(func(key, value []byte, isInner bool) { note(&got, isInner)(key, value) })
	require.Equal(t, want, got)
	var outer, all []member
	require.NoError(t, Object(raw, func(key, value []byte) {
		note(&outer, false)(key, value)
		require.True(t, v.Has(string(key)))
	}))
	require.False(t, v.Has("no member has this name"))
	if v.Object(note(&all, false)) {
		require.Equal(t, outer, all)
	} else {
		require.Greater(t, bytes.Count(raw, []byte("{"))+bytes.Count(raw, []byte("[")), MaxDepth)
	}
	err = Object(raw, func(_, value []byte) {
		var want, got []member
		isObject := value[0] == '{' && Object(value, note(&want, true)) == nil
		require.Equal(t, isObject, v.Within(value, note(&got, true)))
		if isObject {
			require.Equal(t, want, got)
		}
	})
	require.NoError(t, err)
	canonical, err := Canonical(nil, raw)
	require.NoError(t, err)
	require.Equal(t, string(canonical), string(v.AppendCanonical(nil)))
}

var viewed = []string{
	`{}`, ` {"a" : 1 , "b":"x" }`, `{"b":{"y":[{"d":1,"c":2}],"x":null},"a":{}}`, `{"\u0061":"\u0062","in":{"k":1,"k":2,"l":3}}`, `{"a":1,"a":2}`,
	`{"in":{"a":{"b":{"d":1,"c":"\/"}}},"ä":"\u00e4","a!":1,"a":2}`, `{"a":{`, `[]`, ``, `{"a":{"b":tru}}`,
}

func TestView(t *testing.T) {
	t.Parallel()
	v := new(View)
	for _, text := range viewed {
		requireView(t, v, []byte(text))
	}
	text := []byte(`{"a":1}`)
	_, err := ObjectInto(v, text, nil, "", nil)
	require.NoError(t, err)
	require.False(t, v.IsOf([]byte(`{"a":1}`)), "other bytes")
	require.False(t, (*View)(nil).IsOf(text))
	require.True(t, (*View)(nil).IsEmpty())
	require.False(t, (*View)(nil).Object(nil))
	deep := []byte(`{"a":` + strings.Repeat("[", MaxDepth-1) + strings.Repeat("]", MaxDepth-1) + `,"b":"["}`)
	var nested View
	_, err = ObjectInto(&nested, deep, nil, "", nil)
	require.NoError(t, err)
	require.False(t, nested.Object(nil), "perhaps too deep where it gets to")
	var other View
	v.CopyTo(&other)
	other.Move(append([]byte(nil), text...))
	other.Each(func(key, value []byte, _ bool) { require.Equal(t, "a 1", string(key)+" "+string(value)) })
}

func FuzzView(f *testing.F) {
	for _, text := range viewed {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		v := new(View)
		requireView(t, v, []byte(`{"x":{"y":1}}`))
		requireView(t, v, raw)
	})
}

func TestElements(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`[]`, `[ ]`, `[1]`, ` [ "a,]" , {"b":[1,"}"]},[[2],[]] ,null,-1.5e3 , "\\\"" ]`} {
		var want, got []string
		require.NoError(t, Array([]byte(text), func(element []byte) { want = append(want, string(element)) }))
		text = strings.TrimSpace(text)
		Elements([]byte(text[1:len(text)-1]), func(element []byte) { got = append(got, string(element)) })
		require.Equal(t, want, got)
	}
}
