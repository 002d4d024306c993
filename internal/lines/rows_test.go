package lines

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
		rows, err := readTable(t, layout, of(mostColumns, same)+of(mostColumns, func(int) string { return "1" }))
		require.NoError(t, err)
		require.Len(t, rows, 1)
		assert.Contains(t, rows[0], fmt.Sprintf(`"a_%d":"1"}`, mostColumns))
		_, err = readTable(t, layout, of(40_000, func(i int) string { return fmt.Sprint("c", i) }))
		require.ErrorContains(t, err, "t.csv: the header: it has 40000 columns, and at most 10000 are read: is it the header of a table?")
		_, err = readTable(t, layout, of(3, func(int) string { return strings.Repeat("x", mostNames/3+1) }))
		require.ErrorContains(t, err, "the names of its columns have over 1048576 bytes")
	}
}
