package formattest

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/formats/internal/record"
)

// Table compares a table with the one in a package's doc.go, which stands between its head and the next empty line of the
// comment. With the flag -update it writes it there.
func Table(t *testing.T, table record.Table) {
	t.Helper()
	const path = "doc.go"
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	lines := strings.Split(string(text), "\n")
	want := tableLines(table)
	from := slices.IndexFunc(lines, func(line string) bool { return line == "//\tfield" || strings.HasPrefix(line, "//\tfield ") })
	require.GreaterOrEqual(t, from, 0, "doc.go has no table that begins with the word field")
	to := from
	for to < len(lines) && lines[to] != "//" {
		to++
	}
	if *update {
		lines = slices.Replace(lines, from, to, want...)
		//nolint:gosec // the file of the package
		require.NoError(t, os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600))
		return
	}
	assert.Equal(t, strings.Join(want, "\n"), strings.Join(lines[from:to], "\n"), "the table in doc.go is not that of the code: write it with -update")
}

func tableLines(table record.Table) (lines []string) {
	rows := [][]string{{"field", "PostHog", "of", "remark"}}
	var widths [3]int
	for _, row := range table {
		rows = append(rows, []string{row.From, row.To, row.Kind.String(), row.Note})
	}
	for _, row := range rows {
		for i := range widths {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
	}
	for _, row := range rows {
		line := fmt.Sprintf("//\t%-*s  %-*s  %-*s  %s", widths[0], row[0], widths[1], row[1], widths[2], row[2], row[3])
		lines = append(lines, strings.TrimRight(line, " "))
	}
	return lines
}
