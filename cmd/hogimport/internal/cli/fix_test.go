package cli_test

import (
	"fmt"
	"path/filepath"
	"slices"
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
	p.Lines(t, "actions.csv", n+1, func(i int) string {
		i--
		switch {
		case i < 0:
			return "action,user,when"
		case isOdd(i):
			return fmt.Sprintf("click,u%d,%02d.05.2024 12:%02d", i, 1+i%28, i%60)
		}
		return fmt.Sprintf("click,u%d,2024-05-%02dT12:%02d:00Z", i, 1+i%28, i%60)
	})
}

var readOdd = []string{"--zone", "UTC", "--map", "time=when|layout:02.01.2006 15:04"}

// runActions imports the table, and rejects the odd times.
func runActions(more ...string) []string {
	return slices.Concat([]string{"run", "actions.csv", "--map", "time=when"}, ofActions, more)
}

// fixActions corrects the odd times.
func fixActions(more ...string) []string {
	return slices.Concat([]string{"fix"}, readOdd, ofActions, more)
}

var ofActions = []string{"--yes", "--rate", "none", "--format", "csv", "--map", "event=action", "--map", "person=user"}

func TestRejectsAreFixedWithACorrectedMapping(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	actions(t, p, 1000, func(i int) bool { return i%100 == 3 || i%100 == 4 })
	p.Ends(t, 0, runActions("--max-rejects", "5%")...).Out(t, "Rejected: 20; to correct them: hogimport fix --state hogimport-state/actions")
	require.Equal(t, 980, server.Ledger().Unique())

	p.Ends(t, 3, "fix", "--yes").Err(t, "too much would be rejected again; nothing was sent")
	assert.Equal(t, 980, server.Ledger().Unique())

	assert.NotContains(t, p.Ends(t, 0, fixActions()...).Stdout, "Rejected:")
	assert.Equal(t, 1000, server.Ledger().Unique())
	assert.Zero(t, server.Ledger().Duplicates())
	assert.Equal(t, "Nothing is rejected, so there is nothing to fix.\n", p.Ends(t, 0, fixActions()...).Stdout)

	// The events keep the uuids of the first import.
	whole, q := clitest.Serve(t)
	actions(t, q, 1000, func(int) bool { return false })
	q.Ends(t, 0, runActions("--import-id", idOf(t, filepath.Join(p.Dir, "hogimport-state/actions")))...)
	both := 0
	for e := range whole.Ledger().Events() {
		both += len(server.Ledger().Find(e.UUID))
	}
	assert.Equal(t, 980, both, "the rows that were written otherwise are other records, the others are the same")
}

func TestRejectsAreFixedByHandAndInSteps(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	ids := p.Events(t, "events.jsonl", 500, func(i int) bool { return i == 17 || i == 200 })
	p.Ends(t, 0, "run", "events.jsonl", "--yes", "--rate", "none")
	const folder = "hogimport-state/events"
	byHand := func(i int) string {
		return fmt.Sprintf(`{"uuid":%q,"event":"by hand","distinct_id":"p","timestamp":"2024-01-01T00:00:00Z"}`+"\n", clitest.ID(i))
	}
	lines := strings.SplitAfter(p.Read(t, folder, "rejects.jsonl"), "\n")
	p.Write(t, folder+"/rejects.jsonl", byHand(17)+strings.Join(lines[1:], ""))
	r := p.Ends(t, 0, "fix", "--yes", "--rate", "none")
	assert.Contains(t, r.Stdout, "are in hogimport-state/events/fix-1/rejects.jsonl\nRejected: 1; to correct them: hogimport fix --state hogimport-state/events\n")
	clitest.RequireWhole(t, server, append(ids, clitest.ID(17)))

	p.Write(t, folder+"/fix-1/rejects.jsonl", byHand(200))
	p.Ends(t, 0, "fix", "--yes", "--rate", "none")
	clitest.RequireWhole(t, server, append(ids, clitest.ID(17), clitest.ID(200)))
	assert.Zero(t, server.Ledger().Duplicates(), "fixed events are not sent again")
	p.Ends(t, 0, "status").Out(t, folder+" complete", folder+"/fix-1 complete", folder+"/fix-2 complete")
}

// Where all was rejected, the run is begun again with a corrected mapping, and no reject is hidden.
func TestAWrongMappingIsCorrectedInTheSameFolder(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	actions(t, p, 3000, func(int) bool { return true })
	p.Ends(t, 3, runActions()...)
	p.Ends(t, 0, runActions("--max-rejects", "none")...).Out(t, "Rejected: 3,000;")
	p.Ends(t, 0, slices.Concat([]string{"run", "actions.csv"}, readOdd, ofActions)...).Never(t, "Rejected")
	assert.Equal(t, 3000, server.Ledger().Unique())
	assert.Empty(t, p.Read(t, "hogimport-state/actions/rejects.jsonl"), "the rejects of the wrong mapping are gone with it")
}

func TestAMappingWithAMistake(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, hogapitest.New())
	actions(t, p, 10, func(int) bool { return false })
	r := p.Ends(t, 2, "run", "actions.csv", "--format", "csv", "--map", "time=when|unx", "--yes")
	assert.Contains(t, r.Stderr, "  time=when|unx\n            ^ want unix, unixms, unixus, unixns, layout:… or zone:…\n")
	p.Ends(t, 2, "run", "actions.csv", "--format", "csv", "--map", "person=usr", "--yes").
		Err(t, "the table has no column for 'person=usr'; nothing says which columns are the event, the time: name them with --map; "+
			"the table has action, user, when add --map event=COLUMN --map time=COLUMN with the names of the columns")
	p.Env = append(p.Env, "HOGIMPORT_MAP=event=action\nperson=user\ntime=when", "HOGIMPORT_RATE=none", "HOGIMPORT_YES=true")
	p.Ends(t, 0, "run", "actions.csv", "--format", "csv")
}

// A record that made no event is corrected where its line has it.
func TestARecordIsCorrectedWithinItsReject(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	ids := p.Events(t, "e.jsonl", 1000, func(i int) bool { return i%500 == 7 })
	p.Ends(t, 0, "run", "e.jsonl", "--yes", "--rate", "none")
	p.Ends(t, 3, "fix", "--yes").Err(t, "rejects.jsonl by hand: hogimport fix --help says how")
	clitest.Says(t, p.Ends(t, 0, "fix", "--help").Stdout, `If a record made no event, the line has the record in "raw": correct it there and leave "$reject"`)
	const rejects = "hogimport-state/e/rejects.jsonl"
	p.Write(t, rejects, strings.ReplaceAll(p.Read(t, rejects), `\"yesterday\"`, `\"2024-05-01T12:00:00Z\"`))
	p.Ends(t, 0, "fix", "--yes")
	assert.Equal(t, len(ids)+2, server.Ledger().Unique())
	assert.NotContains(t, p.Ends(t, 0, "status").Stdout, "hogimport fix")
}

// A row with too few or too many fields is corrected as its file has it, also in steps, and keeps the vendor's id.
func TestARowIsCorrectedAsItsFileHasIt(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		file, comma string
		flags       []string
	}{
		"CSV":         {"a.csv", ",", nil},
		"sorted":      {"a.csv", ",", []string{"--sort"}},
		"tabs":        {"a.tsv", "\t", nil},
		"no header":   {"a.csv", ",", []string{"--header", "id,event,distinct_id,timestamp,note"}},
		"before June": {"a.csv", ",", []string{"--until", "2024-06-01"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, p := clitest.Serve(t)
			row := func(i int, more ...string) string {
				return strings.Join(append([]string{clitest.ID(i).String(), "click", "u1", fmt.Sprintf("2024-05-01T12:%02d:00Z", i)}, more...), tc.comma)
			}
			p.Lines(t, tc.file, 21, func(i int) string {
				switch {
				case i == 0 && name == "no header":
					return row(20, "NULL")
				case i == 0:
					return strings.Join([]string{"id", "event", "distinct_id", "timestamp", "note"}, tc.comma)
				case i == 7:
					return row(i)
				case i == 13:
					return row(i, "Rome", "Italy")
				}
				return row(i, "NULL")
			})
			p.Ends(t, 0, slices.Concat([]string{"run", tc.file, "--map", "uuid=id", "--yes", "--rate", "none", "--max-rejects", "50%"}, tc.flags)...).Out(t, "Rejected: 2;")
			want := server.Ledger().Unique() + 2
			folder := "hogimport-state/" + strings.TrimSuffix(strings.TrimSuffix(tc.file, ".csv"), ".tsv")
			correct := func(rejects, wrong, right string) {
				quote := func(s string) string { return strings.Trim(fmt.Sprintf("%q", s), `"`) }
				text := p.Read(t, folder, rejects)
				require.Contains(t, text, quote(wrong))
				p.Write(t, folder+"/"+rejects, strings.Replace(text, quote(wrong), quote(right), 1))
			}
			correct("rejects.jsonl", row(7), row(7, `\N`))
			p.Ends(t, 0, "fix", "--yes").Err(t, "the row has 6 fields, and the table 5 columns")
			correct("fix-1/rejects.jsonl", row(13, "Rome", "Italy"), row(13, "Rome"))
			p.Ends(t, 0, "fix", "--yes")
			assert.Equal(t, want, server.Ledger().Unique())
			for _, i := range []int{7, 13} {
				require.Len(t, server.Ledger().Find(clitest.ID(i)), 1, "the id of the vendor is its uuid")
			}
			assert.NotContains(t, string(server.Ledger().Find(clitest.ID(7))[0].Properties), "note")
			assert.Contains(t, string(server.Ledger().Find(clitest.ID(13))[0].Properties), `"note":"Rome"`)
		})
	}
}
