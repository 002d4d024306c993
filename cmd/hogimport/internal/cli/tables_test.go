package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The tables of vendors have flags of their own, which other formats refuse, and errors name them.
func TestTablesOfVendors(t *testing.T) {
	t.Parallel()
	row := `{"event_id":"2","user_id":1,"time":"2024-02-29T23:59:59Z","type":"click"}`
	convert := func(in input, row string) string {
		events, err := in.format().Convert([]byte(row))
		if err != nil {
			return err.Error()
		}
		return events[0].Name
	}
	assert.Contains(t, convert(input{Format: "heap"}, row), "set --table to it")
	assert.Equal(t, "Buy", convert(input{Format: "heap", Table: "Buy"}, row))
	call := `{"id":"i","user_id":"u","timestamp":"2024-02-29 22:28:55","name":"Cart"}`
	assert.Contains(t, convert(input{Format: "segment-warehouse"}, call), "set --table")
	assert.Equal(t, "$screen", convert(input{Format: "segment-warehouse", Table: "screens"}, call))
	for want, in := range map[string]input{
		"--table is for the formats heap and segment-warehouse": {Format: "csv", Table: "x"},
		"--numbers is for the formats of warehouses":            {Format: "heap", Numbers: []string{"x"}},
	} {
		assert.ErrorContains(t, in.checkFormat(t.Context()), want)
	}
}

// A table of a vendor is recognized by its columns where the name of the file says only that it is a table.
func TestTablesAreRecognized(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, want string }{
		{"a.tsv", strings.Repeat("x\t", 130) + "x\n", "a.tsv looks like a file of the format snowplow"},
		{"b.csv", "website_id,session_id,visit_id,event_id,created_at\n", "b.csv looks like a file of the format umami"},
		{"c.csv", "event,distinct_id,timestamp\n", ""},
		{"d.tsv", "event\tdistinct_id\ttimestamp\n", ""},
		{"e.csv", "", ""},
	} {
		path := filepath.Join(t.TempDir(), tt.name)
		require.NoError(t, os.WriteFile(path, []byte(tt.text), 0o600))
		in := input{Files: []string{path}}
		if err := in.check(t.Context()); tt.want == "" {
			require.NoError(t, err, tt.name)
		} else {
			require.ErrorContains(t, err, tt.want)
		}
		for _, in := range []input{{Format: formatByName(path)}, {Map: []string{"event=const:x", "person=session_id", "time=created_at|unix"}}} {
			in.Files = []string{path}
			require.NoError(t, in.check(t.Context()), "%s: it was said how to read it", tt.name)
		}
	}
}
