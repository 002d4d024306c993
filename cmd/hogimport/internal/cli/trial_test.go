package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/cmd/hogimport/internal/clitest"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

// tried is a program with the keys of an import in its environment, and a file with the key of a
// test project.
func tried(t *testing.T, server *hogapitest.Server) *clitest.Program {
	t.Helper()
	p := clitest.New(t, server)
	p.Env = append(p.Env, "POSTHOG_PROJECT_API_KEY=phc_ofTheImport00000000000000000000000000000000")
	p.Write(t, "test.key", hogapitest.DefaultProjectKey+"\n")
	return p
}

func TestTrial(t *testing.T) {
	t.Parallel()
	server := hogapitest.New()
	p := tried(t, server)
	export(t, p, "export.jsonl", 2500, 0, time.UTC) // two years, without a few hours
	args := []string{"trial", "export.jsonl", "--format", "mixpanel", "--project-key", "@test.key", "--wait", "1s"}
	r := p.Ends(t, 0, args...).Narrow(t).Out(t, "sent 1,000 found by uuid 1,000 rejected 0", `stored 2023-01-01 00:00:00 UTC · Sign up · user-0`,
		`record {"event":"Sign up","properties":{"time":1672531200`)
	assert.Contains(t, r.Stdout, "\n1. export.jsonl:1\n", "the place of a record is its line")
	assert.Equal(t, 1000, server.Ledger().Unique())
	months := map[string]int{}
	for e := range server.Ledger().Events() {
		months[e.Time.UTC().Format("2006-01")]++
	}
	assert.Len(t, months, 24, "all of the time is there")
	for month, n := range months {
		assert.InDelta(t, 42, n, 4, month)
	}

	p.Ends(t, 0, args...)
	assert.Equal(t, 1000, server.Ledger().Len(), "the same command sends nothing twice")
	p.Ends(t, 0, append(args, "--zone", "Asia/Tokyo")...).Out(t, "stored 2022-12-31 15:00:00 UTC · Sign up · user-0")
}

func TestTrialThatCannotBeSeenYet(t *testing.T) {
	t.Parallel()
	server := hogapitest.New()
	server.HoldEvents()
	p := tried(t, server)
	export(t, p, "export.jsonl", 100, 0, time.UTC)
	args := []string{"trial", "export.jsonl", "--format", "mixpanel", "--project-key", "@test.key", "--wait", "10ms"}
	p.Ends(t, 7, args...).Err(t, "no event has arrived yet", "run the same command again later: it sends nothing twice")
	server.ReleaseEvents(30)
	p.Ends(t, 7, args...).Err(t, "30 of 100 events are there")
	server.ReleaseEvents(-1)
	p.Ends(t, 0, args...)
	assert.Equal(t, 100, server.Ledger().Len())

	p.With("POSTHOG_PERSONAL_API_KEY=").Ends(t, 7, args...).Err(t, "100 events were sent; it was not checked whether they arrived give --project-id of the test project")
}

func TestTrialShowsWhatTheProjectHasChanged(t *testing.T) {
	t.Parallel()
	server := hogapitest.New()
	p := tried(t, server)
	export(t, p, "export.jsonl", 12, 0, time.UTC)
	args := []string{"trial", "export.jsonl", "--format", "mixpanel", "--project-key", "@test.key", "--wait", "10ms"}
	p.Ends(t, 0, args...)
	entries, err := os.ReadDir(filepath.Join(p.Dir, "hogimport-state"))
	require.NoError(t, err)
	require.Len(t, entries, 1)
	server.Project(hogapitest.DefaultProject).MoveEvents(entries[0].Name(), 12, 40*time.Minute) // most stay on their day
	p.Ends(t, 7, args...).Out(t, " ! stored")
}

func TestTrialIsNotForTheImportsOwnProject(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	export(t, p, "export.jsonl", 10, 10, time.UTC)
	same := func(*testing.T) *clitest.Program { return p }
	requireWrong(t, same, []string{"trial", "export.jsonl", "--format", "mixpanel"}, map[string]wrong{
		"no key":       {nil, nil, 2, "the key of a test project is missing", ""},
		"the same key": {[]string{"--project-key", hogapitest.DefaultProjectKey}, nil, 2, "this is the project of the import itself", ""},
		"unknown key":  {[]string{"--project-key", "phc_unknown0000000000000000000000000000000000"}, nil, 5, "check --project-key", ""},
		"too many":     {[]string{"--project-key", "phc_x", "--events", "20000"}, nil, 2, "--events 20000", ""},
	})
	assert.Zero(t, server.Ledger().Len())
	p.Ends(t, 0, "trial", "export.jsonl", "--format", "mixpanel", "--project-key", hogapitest.DefaultProjectKey, "--yes", "--wait", "10ms")
	assert.NotEmpty(t, server.Calls(ops.Capture))
}

func TestTrialOfNothingGood(t *testing.T) {
	t.Parallel()
	p := tried(t, hogapitest.New())
	export(t, p, "export.jsonl", 10, 1, time.UTC) // the records have no time
	p.Ends(t, 3, "trial", "export.jsonl", "--format", "mixpanel", "--project-key", "@test.key").Err(t, "the files have no event with a time")
}

func TestTrialTakesEventsOfAllHours(t *testing.T) {
	t.Parallel()
	server := hogapitest.New()
	p := tried(t, server)
	p.Events(t, "events.jsonl", 2*24*60, nil) // two days, an event a minute
	p.Ends(t, 0, "trial", "events.jsonl", "--project-key", "@test.key", "--events", "48", "--wait", "1s")
	hours := map[string]bool{}
	for e := range server.Ledger().Events() {
		hours[e.Time.UTC().Format("2006-01-02 15")] = true
	}
	assert.Len(t, hours, 48)
}

// Events that the import refuses for their time have the weight that they have in the files, and
// are shown as rejected. The last line is the verdict.
func TestTrialOfEventsInTheFuture(t *testing.T) {
	t.Parallel()
	server := hogapitest.New()
	p := tried(t, server)
	p.Lines(t, "events.jsonl", 5100, func(i int) string {
		name, at := "visit", time.Date(2024, 1, 1+i%10, 0, 0, i/10, 0, time.UTC)
		if i >= 5000 {
			name, at = "later", time.Now().AddDate(0, 0, 1+i%10).Add(time.Duration(i)*time.Second)
		}
		return fmt.Sprintf(`{"event":%q,"distinct_id":"p","timestamp":%q,"properties":{}}`, name, at.UTC().Format(time.RFC3339))
	})
	r := p.Ends(t, 0, "trial", "events.jsonl", "--project-key", "@test.key", "--wait", "1s", "--events", "100")
	assert.Equal(t, 98, server.Ledger().Unique(), r.Stdout)
	r.Out(t, "rejected 2", " ! rejected future").Never(t, "not there yet")
	assert.Regexp(t, `OK: all 98 events arrived unchanged. Rejected: 2 of the sample, with their reasons in hogimport-state/trial-\S+/rejects.jsonl$`,
		clitest.Words(r.Stdout))

	asJSON := p.Run(t, "trial", "events.jsonl", "--project-key", "@test.key", "--wait", "1s", "--events", "100", "--json")
	assert.True(t, json.Valid([]byte(asJSON.Stdout)), asJSON.Stdout)
}
