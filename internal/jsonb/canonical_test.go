package jsonb_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/jsonb"
)

func TestCanonical(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		` {"b" : [ 1 , {"d":1.0,"c":null} ] , "a":"x y" } `: `{"a":"x y","b":[1,{"c":null,"d":1.0}]}`,
		`{"\u0061":"\u00e9\/\n"}`:                           `{"a":"é/\n"}`,
		`{}`:                                                `{}`,
		`[ ]`:                                               `[]`,
		`"x"`:                                               `"x"`,
		`{"b":1,"a":{},"b":2}`:                              `{"a":{},"b":1,"b":2}`,
	} {
		got, err := jsonb.Canonical([]byte("kept"), []byte(text))
		require.NoError(t, err)
		assert.Equal(t, "kept"+want, string(got))
	}
	_, err := jsonb.Canonical(nil, []byte(`{"a":`))
	require.Error(t, err)
}

// The canonical form has the value of its input, and is its own canonical form.
func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{`{"b":[1,{"d":1e5,"c":null}],"a":"\u00e9"}`, `[[],{}," "]`, `{"a":1,"a":2}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := jsonb.Canonical(nil, text)
		if err != nil {
			return
		}
		again, err := jsonb.Canonical(nil, got)
		require.NoError(t, err)
		require.Equal(t, string(got), string(again))
		var before, after any
		require.NoError(t, json.Unmarshal(text, &before))
		require.NoError(t, json.Unmarshal(got, &after))
		require.Equal(t, before, after)
	})
}
