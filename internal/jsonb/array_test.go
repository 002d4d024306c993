package jsonb

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
