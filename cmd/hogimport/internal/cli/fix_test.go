package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/cmd/hogimport/internal/clitest"
	"github.com/hogapi/hogapi/hogapitest"
)

// actions is a table in which some times are written in another way.
func actions(t *testing.T, p *clitest.Program, n int, isOdd func(i int) bool) {
	t.Helper()
	var b bytes.Buffer
	b.WriteString("action,user,when\n")
	for i := range n {
		when := fmt.Sprintf("2024-05-%02dT12:%02d:00Z", 1+i%28, i%60)
		if isOdd(i) {
			when = fmt.Sprintf("%02d.05.2024 12:%02d", 1+i%28, i%60)
		}
		fmt.Fprintf(&b, "click,u%d,%s\n", i, when)
	}
	require.NoError(t, os.WriteFile(filepath.Join(p.Dir, "actions.csv"), b.Bytes(), 0o600))
}

var mapped = []string{"--format", "csv", "--map", "event=action", "--map", "person=user"}

func TestRejectsAreFixedWithACorrectedMapping(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	actions(t, p, 1000, func(i int) bool { return i%100 == 3 || i%100 == 4 })
	r := p.Ends(t, 0, append([]string{"run", "actions.csv", "--yes", "--rate", "none", "--max-rejects", "5%", "--map", "time=when"}, mapped...)...)
	require.Equal(t, 980, server.Ledger().Unique())
	assert.Contains(t, r.Stdout, "Rejected: 20; to correct them: hogimport fix --state hogimport-state/actions")

	r = p.Run(t, "fix", "--yes")
	require.Equal(t, 3, r.Code, "nothing is corrected: %s", r.Stderr)
	assert.Contains(t, strings.Join(strings.Fields(r.Stderr), " "), "too much would be rejected again; nothing was sent")
	assert.Equal(t, 980, server.Ledger().Unique())

	corrected := append([]string{"fix", "--yes", "--rate", "none", "--zone", "UTC", "--map", "time=when|layout:02.01.2006 15:04"}, mapped...)
	r = p.Ends(t, 0, corrected...)
	assert.Equal(t, 1000, server.Ledger().Unique())
	assert.Zero(t, server.Ledger().Duplicates())
	assert.NotContains(t, r.Stdout, "Rejected:")

	r = p.Ends(t, 0, corrected...)
	assert.Equal(t, "Nothing is rejected, so there is nothing to fix.\n", r.Stdout)

	// The events keep the uuids of the first import.
	whole := hogapitest.New()
	q := clitest.New(t, whole)
	actions(t, q, 1000, func(int) bool { return false })
	id := importID(t, p)
	r = q.Ends(t, 0, append([]string{"run", "actions.csv", "--yes", "--rate", "none", "--import-id", id, "--map", "time=when"}, mapped...)...)
	both := 0
	for e := range whole.Ledger().Events() {
		both += len(server.Ledger().Find(e.UUID))
	}
	assert.Equal(t, 980, both, "the rows that were written otherwise are other records, the others are the same")
}

func importID(t *testing.T, p *clitest.Program) string {
	t.Helper()
	r := p.Ends(t, 0, "status", "--json")
	var all []struct{ Import string }
	require.NoError(t, json.Unmarshal([]byte(r.Stdout), &all))
	return all[0].Import
}

func TestRejectsAreFixedByHandAndInSteps(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	ids := p.Events(t, "events.jsonl", 500, func(i int) bool { return i == 17 || i == 200 })
	require.Equal(t, 0, p.Run(t, "run", "events.jsonl", "--yes", "--rate", "none").Code)

	path := filepath.Join(p.Dir, "hogimport-state/events/rejects.jsonl")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	lines := strings.SplitAfter(string(text), "\n")
	lines[0] = fmt.Sprintf(`{"uuid":%q,"event":"by hand","distinct_id":"p","timestamp":"2024-01-01T00:00:00Z"}`+"\n", clitest.ID(17))
	require.NoError(t, os.WriteFile(path, []byte(strings.Join(lines, "")), 0o600))
	r := p.Ends(t, 0, "fix", "--yes", "--rate", "none")
	assert.Contains(t, r.Stdout, "are in hogimport-state/events/fix-1/rejects.jsonl\nRejected: 1; to correct them: hogimport fix --state hogimport-state/events\n")
	clitest.RequireWhole(t, server, append(ids, clitest.ID(17)))

	path = filepath.Join(p.Dir, "hogimport-state/events/fix-1/rejects.jsonl")
	line := fmt.Sprintf(`{"uuid":%q,"event":"by hand","distinct_id":"p","timestamp":"2024-01-01T00:00:00Z"}`+"\n", clitest.ID(200))
	require.NoError(t, os.WriteFile(path, []byte(line), 0o600))
	r = p.Ends(t, 0, "fix", "--yes", "--rate", "none")
	clitest.RequireWhole(t, server, append(ids, clitest.ID(17), clitest.ID(200)))
	assert.Zero(t, server.Ledger().Duplicates(), "what is fixed is not sent again")

	r = p.Ends(t, 0, "status")
	for _, folder := range []string{"hogimport-state/events ", "hogimport-state/events/fix-1 ", "hogimport-state/events/fix-2 "} {
		assert.Regexp(t, folder+` +complete`, r.Stdout)
	}
}

// Where all was rejected, the run is begun again with a corrected mapping, and no reject is hidden.
func TestAWrongMappingIsCorrectedInTheSameFolder(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	actions(t, p, 3000, func(int) bool { return true })
	wrong := append([]string{"run", "actions.csv", "--yes", "--rate", "none", "--map", "time=when"}, mapped...)
	require.Equal(t, 3, p.Run(t, wrong...).Code)
	r := p.Ends(t, 0, append(wrong, "--max-rejects", "none")...)
	assert.Contains(t, r.Stdout, "Rejected: 3,000;")
	right := append([]string{"run", "actions.csv", "--yes", "--rate", "none", "--zone", "UTC", "--map", "time=when|layout:02.01.2006 15:04"}, mapped...)
	r = p.Ends(t, 0, right...)
	assert.Equal(t, 3000, server.Ledger().Unique())
	assert.NotContains(t, r.Stdout, "Rejected")
	rejects, err := os.ReadFile(filepath.Join(p.Dir, "hogimport-state/actions/rejects.jsonl"))
	require.NoError(t, err)
	assert.Empty(t, rejects, "the rejects of the wrong mapping are gone with it")
}

func TestAMappingWithAMistake(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, hogapitest.New())
	actions(t, p, 10, func(int) bool { return false })
	r := p.Ends(t, 2, "run", "actions.csv", "--format", "csv", "--map", "time=when|unx", "--yes")
	assert.Contains(t, r.Stderr, "  time=when|unx\n            ^ want unix, unixms, unixus, layout:…, number or json\n")
	r = p.Ends(t, 2, "run", "actions.csv", "--format", "csv", "--map", "person=usr", "--yes")
	says(t, r.Stderr, "the table has no column for 'person=usr'; nothing says which columns are the event, the time: name them with --map; "+
		"the table has action, user, when add --map event=COLUMN --map time=COLUMN with the names of the columns")
	p.Env = append(p.Env, "HOGIMPORT_MAP=event=action\nperson=user\ntime=when", "HOGIMPORT_RATE=none", "HOGIMPORT_YES=true")
	r = p.Ends(t, 0, "run", "actions.csv", "--format", "csv")
}

// A record that made no event is corrected where its line has it.
func TestARecordIsCorrectedWithinItsReject(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	ids := p.Events(t, "e.jsonl", 1000, func(i int) bool { return i%500 == 7 })
	p.Ends(t, 0, "run", "e.jsonl", "--yes", "--rate", "none")
	r := p.Ends(t, 3, "fix", "--yes")
	says(t, r.Stderr, "rejects.jsonl by hand: hogimport fix --help says how")
	says(t, p.Ends(t, 0, "fix", "--help").Stdout, `Where a record made no event, the line has it in "raw": correct it there, and leave "$reject"`)
	path := filepath.Join(p.Dir, "hogimport-state", "e", "rejects.jsonl")
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, []byte(strings.ReplaceAll(string(raw), `\"yesterday\"`, `\"2024-05-01T12:00:00Z\"`)), 0o600))
	p.Ends(t, 0, "fix", "--yes")
	assert.Equal(t, len(ids)+2, server.Ledger().Unique())
	assert.NotContains(t, p.Ends(t, 0, "status").Stdout, "hogimport fix")
}
