package lines

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLayoutOfATextByItsBeginning(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Layout{
		"":                       Lines,
		"{\"a\":1}\n{\"a\":2}\n": Lines,
		"{\"a\":1}":              Lines,
		"\n\n {\"a\":1}\n":       Lines,
		"{\"a\":\n{\"a\":2}\n":   Lines, // the first one is damaged
		"{\"a\":} rubbish\n{}":   Lines,
		"{}{}":                   jsonValues,
		"{} {}\n":                jsonValues,
		"{\n  \"a\": 1\n}\n":     jsonValues,
		"{\n}\n{\n}":             jsonValues,
		"[{}]":                   jsonArrays,
		"\xef\xbb\xbf [\n{}]":    jsonArrays,
		"a,b\n1,2":               CSV,
		"a;b\n1;2":               semicolons,
		"\"a,b\"\tc\td\n":        TSV,
		"a\n1":                   CSV,
	} {
		got, err := Any.of([]byte(text), true)
		require.NoError(t, err)
		assert.Equal(t, want, got, "%q", text)
	}
	_, err := JSON.of([]byte("a,b\n"), true)
	require.ErrorContains(t, err, "looks like CSV")
	_, err = CSV.of([]byte("{}"), true)
	require.ErrorContains(t, err, "begins as JSON")
}

func TestByNumber(t *testing.T) {
	t.Parallel()
	for i, names := range [][2]string{{"9", "10"}, {"a9b", "a10"}, {"a", "b"}, {"a", "a1"}, {"a1", "a01"}, {"2020-1-9", "2020-01-10"}, {"x_9#627.gz", "x_10#1.gz"}} {
		assert.Negative(t, ByNumber(names[0], names[1]), i)
		assert.Positive(t, ByNumber(names[1], names[0]), i)
		assert.Zero(t, ByNumber(names[0], names[0]), i)
	}
}

func TestNamesBelowTheirFolder(t *testing.T) {
	t.Parallel()
	for _, tt := range [][2][]string{
		{{"/a/b/c"}, {"c"}}, {{"c"}, {"c"}}, {{"/a/b/c", "/a/b/d"}, {"c", "d"}}, {{"/a/b/c", "/a/x"}, {"b/c", "x"}}, {{"/a/bc/x", "/a/bd/x"}, {"bc/x", "bd/x"}}, {{"a", "/b"}, {"a", "/b"}},
	} {
		assert.Equal(t, tt[1], below(tt[0]))
	}
}
