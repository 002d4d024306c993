package formats_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fieldTables are the packages with a table of fields in their documentation, which the tests of the packages compare
// with the code.
var fieldTables = []struct{ vendor, folder, section string }{
	{"Amplitude", "amplitude", "Mapping"},
	{"Amplitude in a warehouse", "warehouse", "Amplitude"},
	{"Google Analytics 4", "ga4", "Mapping"},
	{"Google Analytics 4 in a warehouse", "warehouse", "Google Analytics 4"},
	{"Heap", "heap", "Mapping"},
	{"Matomo", "matomo", "Mapping"},
	{"Mixpanel", "mixpanel", "Mapping"},
	{"Pendo", "pendo", "Mapping"},
	{"PostHog's own exports", "posthogexport", "Mapping"},
	{"Segment and RudderStack: calls", "segment", "Calls"},
	{"Segment and RudderStack", "segment", "Mapping"},
	{"Segment and RudderStack in a warehouse", "warehouse", "Segment and RudderStack"},
	{"Snowplow", "snowplow", "Mapping"},
	{"Umami", "umami", "Mapping"},
}

// tablesOf are the indented lines of a section in the doc.go of a package.
func tablesOf(t *testing.T, folder, section string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "doc.go"))
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(text), "// # "+section+"\n")
	require.True(t, ok, "%s has no section %s", folder, section)
	rest, _, _ = strings.Cut(rest, "\n// # ")
	var lines []string
	for line := range strings.Lines(rest) {
		switch row, isIndented := strings.CutPrefix(line, "//\t"); {
		case isIndented:
			lines = append(lines, row)
		case len(lines) > 0 && lines[len(lines)-1] != "\n":
			lines = append(lines, "\n")
		}
	}
	return strings.TrimSpace(strings.Join(lines, "")) + "\n"
}

// docs/formats.md has the tables of the documentation of all formats.
func TestTablesOfFields(t *testing.T) {
	var tables strings.Builder
	for _, of := range fieldTables {
		table := tablesOf(t, of.folder, of.section)
		assert.Greater(t, strings.Count(table, "\n"), 5, "%s has no table", of.vendor)
		tables.WriteString("\n### " + of.vendor + "\n\nPackage `formats/" + of.folder + "`.\n\n```text\n" + table + "```\n")
	}
	const path, begin, end = "../docs/formats.md", "<!-- tables -->\n", "<!-- end of tables -->"
	page, err := os.ReadFile(path)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(page), begin)
	require.True(t, ok)
	was, after, ok := strings.Cut(rest, end)
	require.True(t, ok)
	if *updateDocs {
		require.NoError(t, os.WriteFile(path, []byte(before+begin+tables.String()+"\n"+end+after), 0o600))
		return
	}
	assert.Equal(t, tables.String(), strings.TrimSuffix(was, "\n"), "go test ./formats -run TablesOfFields -update-docs writes it")
}
