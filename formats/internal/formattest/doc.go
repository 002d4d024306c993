package formattest

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/formats/internal/record"
)

// Doc checks that the section on the mapping in doc.go has the table of the format, and nothing else that is
// indented. The flag -update writes it there.
func Doc(t *testing.T, table record.Table) {
	t.Helper()
	DocIn(t, "Mapping", table)
}

// DocIn is Doc for a section of another name.
func DocIn(t *testing.T, section string, table record.Table) {
	t.Helper()
	text, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	const mark = "//\t"
	at := strings.Index(string(text), "// # "+section+"\n")
	require.Positive(t, at, "doc.go has no section %s", section)
	from := at + strings.Index(string(text[at:]), mark)
	require.Greater(t, from, at, "the section has no table")
	to := from
	for strings.HasPrefix(string(text[to:]), mark) {
		to += strings.IndexByte(string(text[to:]), '\n') + 1
	}
	want := "//\t" + strings.ReplaceAll(strings.TrimSuffix(table.String(), "\n"), "\n", "\n//\t") + "\n"
	if *update {
		//nolint:gosec // the file of the package
		require.NoError(t, os.WriteFile("doc.go", []byte(string(text[:from])+want+string(text[to:])), 0o600))
		return
	}
	assert.Equal(t, want, string(text[from:to]), "go test -update writes it")
}
