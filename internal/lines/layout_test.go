package lines

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

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

// readTable returns the rows of a table as JSON, and the error.
func readTable(t *testing.T, layout Layout, text string) (rows []string, err error) {
	t.Helper()
	files := NewFilesOf(fstest.MapFS{"t.csv": {Data: []byte(text)}}, []string{"t.csv"})
	err = files.Read(t.Context(), "", 0, Walk{
		Options: Options{Layout: layout, Longest: 8 << 20},
		Take: func(_ *File, l Line) bool {
			rows = append(rows, string(l.Text))
			return true
		},
	})
	return rows, err
}

func TestColumnsOfOneName(t *testing.T) {
	t.Parallel()
	rows, err := readTable(t, CSV, "a,b,a, a ,a_2,a,,\n1,2,3,4,5,6,7,8\n")
	require.NoError(t, err)
	assert.Equal(t, []string{`{"a":"1","b":"2","a_2":"3","a_3":"4","a_2_2":"5","a_4":"6","":"7","_2":"8"}`}, rows)
}

// The time for a header grows linearly with its length; the number of columns is limited.
func TestHeadersOfManyColumns(t *testing.T) {
	t.Parallel()
	for _, layout := range []Layout{CSV, TSV} {
		comma := map[Layout]string{CSV: ",", TSV: "\t"}[layout]
		of := func(n int, name func(i int) string) string {
			var b strings.Builder
			for i := range n {
				if i > 0 {
					b.WriteString(comma)
				}
				b.WriteString(name(i))
			}
			return b.String() + "\n"
		}
		same := func(int) string { return "a" }
		rows, err := readTable(t, layout, of(maxColumns, same)+of(maxColumns, func(int) string { return "1" }))
		require.NoError(t, err)
		require.Len(t, rows, 1)
		assert.Contains(t, rows[0], fmt.Sprintf(`"a_%d":"1"}`, maxColumns))
		_, err = readTable(t, layout, of(40_000, func(i int) string { return fmt.Sprint("c", i) }))
		require.ErrorContains(t, err, "t.csv: the header has 40000 columns, and at most 10000 are read: is it the header of a table?")
		_, err = readTable(t, layout, of(3, func(int) string { return strings.Repeat("x", maxNames/3+1) }))
		require.ErrorContains(t, err, "the column names in the header have over 1048576 bytes")
	}
}
