package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/cmd/hogimport/internal/clitest"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
)

// edit replaces a text of the plan, which must be there once.
func edit(t *testing.T, p *clitest.Program, from, to string) {
	t.Helper()
	text := p.Read(t, "migration.yaml")
	require.Equal(t, 1, strings.Count(text, from), "%q in %s", from, text)
	p.Write(t, "migration.yaml", strings.Replace(text, from, to, 1))
}

// headOfPlan are the comments at the beginning of a plan, with its time.
var headOfPlan = regexp.MustCompile(`(?s)^.*?\nplan:`)

// One file goes all the way: it is planned, run, verified, and continued where nothing is left.
func TestAMigrationIsOneFile(t *testing.T) {
	t.Parallel()
	server := hogapitest.New(hogapitest.WithDataDeletions())
	p := clitest.New(t, server)
	ids := p.Events(t, "events.jsonl", 1000, func(i int) bool { return i == 7 })
	p.Ends(t, 0, "plan", "events.jsonl", "--write", "migration.yaml").Out(t,
		"migration.yaml: 1,000 records in 1 file, of which 999 events would be sent, 1 rejected, 0 left out.",
		"hogimport trial migration.yaml --project-key @test-project.key --project-id $TEST_PROJECT_ID",
		"hogimport run migration.yaml --yes", "hogimport verify migration.yaml").Narrow(t)
	require.Zero(t, server.Ledger().Len(), "planning sends nothing")
	plan := p.Read(t, "migration.yaml")
	clitest.Says(t, plan, "plan: 1 ", "import-id: hogimport-events-", "state: hogimport-state/events ", "  host: 127.0.0.1:", "  id: "+hogapitest.DefaultProject,
		"- {path: events.jsonl, bytes: ", ", records: 1000}", "format: jsonl", "max-rejects: 1% #: stops the import when more is rejected; now it would be 0.1 % of the events",
		"events: 999 #: would be sent", "- {month: 2024-01, events: 999, visitors: 0, views: 0, sessions: 0}")
	for _, secret := range []string{hogapitest.DefaultProjectKey, hogapitest.DefaultPersonalKey, "phc_", "phx_", p.Dir} {
		assert.NotContains(t, plan, secret)
	}

	p.Ends(t, 0, "run", "migration.yaml", "--yes").Out(t, "hogimport verify migration.yaml", "to correct them: hogimport fix migration.yaml")
	clitest.RequireWhole(t, server, ids)
	p.Ends(t, 0, "run", "migration.yaml")
	assert.Zero(t, server.Ledger().Duplicates(), "the same command again sends nothing")
	p.Ends(t, 0, "status", "migration.yaml").Out(t, "hogimport-state/events", "complete", "999", "hogimport verify migration.yaml")
	p.Ends(t, 0, "verify", "migration.yaml")
	p.Ends(t, 3, "fix", "migration.yaml", "--yes").Err(t, "too much would be rejected again; nothing was sent")
	p.Ends(t, 7, "undo", "migration.yaml").Out(t, "events there now  999").Err(t, "nothing was requested: this was the preview")

	// An import that has begun keeps its plan, except for a person's edits.
	p.Ends(t, 0, "plan", "migration.yaml")
	again := p.Read(t, "migration.yaml")
	assert.Equal(t, headOfPlan.ReplaceAllString(plan, ""), headOfPlan.ReplaceAllString(again, ""))
}

// Everything that could start a wrong import is refused before anything is sent, with the line and the key.
func TestAPlanThatDoesNotFit(t *testing.T) {
	t.Parallel()
	server := hogapitest.New()
	program := func(t *testing.T) *clitest.Program {
		p := clitest.New(t, server)
		p.Events(t, "events.jsonl", 20, nil)
		p.Events(t, "more.jsonl", 20, nil)
		p.Lines(t, "mixpanel.jsonl", 20, func(i int) string {
			return fmt.Sprintf(`{"event":"Buy","properties":{"time":%d,"distinct_id":"p%d","$insert_id":"i%d","mp_processing_time_ms":%d}}`, 1700000000+i, i, i, 1700025200000+i*1000)
		})
		return p
	}
	for name, tt := range map[string]struct {
		plan   []string // arguments
		change func(t *testing.T, p *clitest.Program)
		run    []string
		env    []string
		code   int
		want   []string
	}{
		"a file that grew": {change: func(t *testing.T, p *clitest.Program) { p.Events(t, "events.jsonl", 21, nil) }, want: []string{
			"migration.yaml is stale: its file has changed since; nothing was sent", "events.jsonl: 2837 bytes in the plan, 2979 now", "hogimport plan migration.yaml"}},
		"a file of the same size": {change: func(t *testing.T, p *clitest.Program) {
			p.Write(t, "events.jsonl", strings.Replace(p.Read(t, "events.jsonl"), `"n":9}`, `"n":8}`, 1))
		}, want: []string{"events.jsonl: another content of the same size: sha256 "}},
		"a file that is gone": {plan: []string{"events.jsonl", "more.jsonl"}, change: func(t *testing.T, p *clitest.Program) {
			require.NoError(t, os.Remove(filepath.Join(p.Dir, "more.jsonl")))
		},
			want: []string{"more.jsonl: the file is gone", "1 of its 2 files has changed since"}},
		"another version of the mapping": {plan: []string{"mixpanel.jsonl", "--zone", "America/Denver"}, change: func(t *testing.T, p *clitest.Program) { edit(t, p, "mapping: 4", "mapping: 3") },
			want: []string{"the plan was made for version 3 of the mapping, and this release has version 4", "hogimport plan migration.yaml"}},
		"another project":                   {env: []string{"POSTHOG_PROJECT_ID=99"}, code: 5, want: []string{"project.id is " + hogapitest.DefaultProject + ", and this is 99"}},
		"another project key":               {env: []string{"POSTHOG_PROJECT_API_KEY=phc_another"}, code: 5, want: []string{"project.key is of another project API key than the one that is given"}},
		"another host":                      {run: []string{"--host", "eu"}, code: 5, want: []string{"project.host is 127.0.0.1:", "and this is eu.i.posthog.com"}},
		"an unknown key":                    {change: func(t *testing.T, p *clitest.Program) { edit(t, p, "\nformat:", "\nzon: UTC\nformat:") }, want: []string{"the key zon is not known", "did you mean zone?"}},
		"an unknown key below":              {change: func(t *testing.T, p *clitest.Program) { edit(t, p, "  rejected: 0", "  rejectd: 0") }, want: []string{"the key expected.rejectd is not known", "did you mean rejected?"}},
		"a key that comes again":            {change: func(t *testing.T, p *clitest.Program) { edit(t, p, "\nformat:", "\nformat: jsonl\nformat:") }, want: []string{"the key format stands in line"}},
		"no YAML":                           {change: func(t *testing.T, p *clitest.Program) { edit(t, p, "\nformat: jsonl", "\nformat: [jsonl") }, want: []string{"this is not YAML: "}},
		"a wrong value":                     {change: func(t *testing.T, p *clitest.Program) { edit(t, p, "\nformat:", "\nsort: maybe\nformat:") }, want: []string{`sort: "maybe" is neither true nor false`}},
		"a wrong limit":                     {change: func(t *testing.T, p *clitest.Program) { edit(t, p, "rate: 1000", "rate: fast") }, want: []string{"rate fast is not allowed", "write a number of events such as 1000"}},
		"a wrong choice":                    {change: func(t *testing.T, p *clitest.Program) { edit(t, p, "\nformat:", "\nset-policy: all\nformat:") }, want: []string{`set-policy "all" is not known`}},
		"a later version":                   {change: func(t *testing.T, p *clitest.Program) { edit(t, p, "\nplan: 1", "\nplan: 2") }, want: []string{"plan 2 is not allowed", "a plan of a version up to 1"}},
		"two plans":                         {change: func(t *testing.T, p *clitest.Program) { edit(t, p, "\nexpected:", "\n---\nexpected:") }, want: []string{"another document begins here"}},
		"no plan":                           {change: func(t *testing.T, p *clitest.Program) { p.Write(t, "migration.yaml", "services:\n  web: 1\n") }, want: []string{"migration.yaml is not a plan of hogimport"}},
		"a key as a flag":                   {run: []string{"--format", "jsonl"}, want: []string{"--format is given, and migration.yaml:", "has the key format too"}},
		"a key as a flag that is not there": {run: []string{"--zone", "UTC"}, want: []string{"--zone is given with the plan migration.yaml, in which it is the key zone", "write it into the plan: zone: UTC"}},
		"a key as a variable":               {env: []string{"HOGIMPORT_MAX_REJECTS=5%"}, want: []string{"--max-rejects is given, and migration.yaml:"}},
		"a file of entries":                 {run: []string{"--map-file", "events.jsonl"}, want: []string{"--map-file is given with the plan migration.yaml, in which it is the key map"}},
		"other files":                       {run: []string{"events.jsonl"}, want: []string{"a plan, migration.yaml, and other files"}},
		"no answer":                         {plan: []string{"mixpanel.jsonl"}, want: []string{"the answer about zone is missing", "write America/Denver, or UTC"}},
		"another answer": {plan: []string{"bad.jsonl", "--format", "jsonl"}, change: func(t *testing.T, p *clitest.Program) {
			edit(t, p, "answer:  #: write one of the answers here", "answer: 1.5")
		},
			want: []string{"max-rejects 1.5 is not allowed"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := program(t)
			if len(tt.plan) == 0 {
				tt.plan = []string{"events.jsonl"}
			}
			p.Events(t, "bad.jsonl", 20, func(i int) bool { return i%3 == 0 })
			before := server.Ledger().Len()
			p.Run(t, append([]string{"plan", "--write", "migration.yaml"}, tt.plan...)...)
			require.NotEmpty(t, p.Read(t, "migration.yaml"))
			if tt.change != nil {
				tt.change(t, p)
			}
			code := tt.code
			if code == 0 {
				code = 2
			}
			r := p.With(tt.env...).Ends(t, code, append([]string{"run", "migration.yaml", "--yes"}, tt.run...)...).Err(t, tt.want...)
			assert.Equal(t, before, server.Ledger().Len(), "nothing was sent")
			_, err := os.Stat(filepath.Join(p.Dir, "hogimport-state"))
			assert.ErrorIs(t, err, os.ErrNotExist, "and nothing has begun")
			if len(tt.run) == 0 && len(tt.env) == 0 && name != "no plan" && name != "two plans" {
				assert.Regexp(t, `migration\.yaml:[0-9]+: |HOGIMPORT`, clitest.Words(r.Stderr))
			}
		})
	}
}

// A plan is written over a plan only, and never over one that somebody has written meanwhile.
func TestAPlanReplacesOnlyAPlan(t *testing.T) {
	t.Parallel()
	_, p := clitest.Serve(t)
	p.Events(t, "events.jsonl", 20, nil)
	for name, text := range map[string]string{"other.yaml": "services:\n  plan: 1\n", "notes.yaml": "# what we plan\n", "data.yaml": "plan: gold\n"} {
		p.Write(t, name, text)
		p.Ends(t, 2, "plan", "events.jsonl", "--write", name).Err(t, name+" exists and is not a plan of hogimport")
		assert.Equal(t, text, p.Read(t, name))
	}
	p.Ends(t, 2, "plan", "events.jsonl", "--write", "events.jsonl").Err(t, "events.jsonl exists and is not a plan of hogimport")
	p.Ends(t, 0, "plan", "events.jsonl", "--write", "migration.yaml")
	edit(t, p, "\nformat:", "\nzon: UTC\nformat:")
	broken := p.Read(t, "migration.yaml")
	p.Ends(t, 2, "plan", "events.jsonl", "--write", "migration.yaml").Err(t, "the key zon is not known")
	assert.Equal(t, broken, p.Read(t, "migration.yaml"), "and a person's mistake is not written over")
	r := p.Ends(t, 0, "plan", "events.jsonl")
	assert.Contains(t, r.Stdout, "\nplan: 1\n", "without --write it is printed")
	var plan history.Plan
	require.NoError(t, json.Unmarshal([]byte(p.Ends(t, 0, "plan", "events.jsonl", "--json").Stdout), &plan))
	assert.EqualValues(t, 20, plan.Files[0].Records)
}

// An import by a plan continues after a kill, with the same command, and its messages name the plan.
func TestAPlanGoesOnAfterAKill(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	ids := p.Events(t, "events.jsonl", 6000, nil)
	p.Ends(t, 0, "plan", "events.jsonl", "--rate", "2000", "--max-outage", "1m", "--write", "migration.yaml")
	p.Ends(t, 7, "verify", "migration.yaml").Err(t, "the import of migration.yaml has not begun", "hogimport run migration.yaml")
	p.Until(t, func() bool { return server.Ledger().Len() > 1000 }, os.Kill, "run", "migration.yaml", "--yes")
	require.Less(t, server.Ledger().Unique(), len(ids), "it was killed in the middle")
	p.Ends(t, 0, "status", "migration.yaml").Out(t, "killed", "hogimport run migration.yaml --yes")
	p.Ends(t, 7, "verify", "migration.yaml").Err(t, "was killed", "hogimport run migration.yaml --yes")

	// The plan of an import that has begun cannot turn into another one.
	plan := p.Read(t, "migration.yaml")
	for from, to := range map[string]string{"format: jsonl": "format: jsonl\nuntil: 2024-01-01", "import-id: ": "import-id: x", "format: ": "drop: [n]\nformat: "} {
		edit(t, p, "\n"+from, "\n"+to)
		p.Ends(t, 2, "run", "migration.yaml", "--yes").Err(t, "migration.yaml:")
		p.Write(t, "migration.yaml", plan)
	}
	edit(t, p, "\nstate: hogimport-state/events ", "\nstate: hogimport-state/other ")
	p.Ends(t, 0, "run", "migration.yaml", "--yes", "--json") // the same events again, under the same uuids
	p.Write(t, "migration.yaml", plan)
	p.Ends(t, 2, "plan", "events.jsonl", "--drop", "n", "--write", "migration.yaml").Err(t, "the import in hogimport-state/events began with another drop")
	assert.Equal(t, plan, p.Read(t, "migration.yaml"))

	edit(t, p, "rate: 2000", "rate: none # it is night") // a limit may change
	p.Ends(t, 0, "run", "migration.yaml", "--yes").Err(t, "The last run was killed").Out(t, "Complete: 6,000 events acknowledged")
	clitest.RequireWhole(t, server, ids)
}

// An export grows by a file a month. A new plan marks new entries, and keeps a person's edits.
func TestAPlanOfAnExportThatGrows(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	month(t, p, "x/2024-01.jsonl", 30)
	month(t, p, "x/2024-02.jsonl", 20)
	plan := []string{"plan", "x/*", "--write", "migration.yaml"}
	p.Ends(t, 0, plan...)
	edit(t, p, "\nformat: jsonl", "\n# Anna: we agreed on this\n\nformat: jsonl # Bert agrees")
	edit(t, p, "\n  - {path: x/2024-02.jsonl", "\n  # Anna: without the 29th\n  - {path: x/2024-02.jsonl")
	edit(t, p, "max-rejects: 1%", "max-rejects: 2 # none before")
	edit(t, p, "\nexpected:", "\nuntil: 2024-02-01T00:00:10Z # Anna: later ones are there\n\nexpected:")
	p.Write(t, "migration.yaml", "# Migration of Anna and Bert\n\n"+p.Read(t, "migration.yaml")+"\n# the end\n")
	p.Ends(t, 0, plan...)
	first := p.Read(t, "migration.yaml")
	for _, kept := range []string{
		"# Migration of Anna and Bert\n", "\n# Anna: we agreed on this\n# Bert agrees\nformat: jsonl", "\n  # Anna: without the 29th\n  - {path: x/2024-02.jsonl",
		"\n# none before\nmax-rejects: 2 ", "\n# Anna: later ones are there\nuntil: 2024-02-01T00:00:10Z\n", "\n# the end\n", "events: 40 ", "left-out: 10 ",
	} {
		assert.Equal(t, 1, strings.Count(first, kept), kept)
	}
	p.Ends(t, 0, "run", "migration.yaml", "--yes")
	require.Equal(t, 40, server.Ledger().Unique())

	month(t, p, "x/2024-03.jsonl", 5)
	p.Ends(t, 2, "run", "x/*", "--until", "2024-02-01T00:00:10Z", "--state", "hogimport-state/x", "--drop", "q").Err(t, "began with another --drop")
	p.Ends(t, 0, plan...)
	grown := p.Read(t, "migration.yaml")
	assert.Regexp(t, `\{path: x/2024-03.jsonl, bytes: [0-9]+, sha256: [0-9a-f]{64}, records: 5\}`, grown)
	assert.Equal(t, 1, strings.Count(grown, "#: new\n"), grown)
	for _, kept := range []string{"# Migration of Anna and Bert\n", "  # Anna: without the 29th\n", "max-rejects: 2 ", "\n# the end\n"} {
		assert.Equal(t, 1, strings.Count(grown, kept), kept)
	}
	p.Ends(t, 0, "run", "migration.yaml", "--yes")
	require.Equal(t, 40, server.Ledger().Unique(), "the new file is after --until")
	p.Ends(t, 0, "verify", "migration.yaml")
}

// With sessions, new files are another import, whose sessions go on. A second one that is planned again stays the second.
func TestAPlanOfFilesAfterASortedImport(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	view := func(i int) string {
		return fmt.Sprintf(`{"event":"$pageview","distinct_id":"p1","timestamp":"2024-01-01T00:%02d:00Z"}`, i)
	}
	p.Lines(t, "a.jsonl", 10, view)
	plan := func(files ...string) clitest.Result {
		return p.Ends(t, 0, append([]string{"plan", "--write", "migration.yaml"}, files...)...)
	}
	plan("a.jsonl")
	clitest.Says(t, p.Read(t, "migration.yaml"), "sort: true #: the sessions are made", "sessions: 30m #: the silence that ends a session: 1 session, with 100 % of the events", "{month: 2024-01, events: 10, visitors: 1, views: 10, sessions: 1}")
	p.Ends(t, 0, "run", "migration.yaml", "--yes")
	p.Lines(t, "b.jsonl", 5, func(i int) string { return view(10 + i) })
	plan("a.jsonl", "b.jsonl").Err(t, "becomes another import")
	second := p.Read(t, "migration.yaml")
	clitest.Says(t, second, "state: hogimport-state/b #:", "sessions-after: hogimport-state/a/sessions.json")
	assert.NotContains(t, second, "{path: a.jsonl")
	plan("a.jsonl", "b.jsonl")
	body := func(text string) string {
		return strings.Replace(headOfPlan.ReplaceAllString(text, ""), "  #: new\n", "", 1)
	}
	assert.Equal(t, body(second), body(p.Read(t, "migration.yaml")))
	p.Ends(t, 0, "run", "migration.yaml", "--yes")
	require.Equal(t, 15, server.Ledger().Unique())
	sessions := map[string]bool{}
	for ev := range server.Ledger().Events() {
		var properties struct {
			Session string `json:"$session_id"`
		}
		require.NoError(t, json.Unmarshal(ev.Properties, &properties))
		sessions[properties.Session] = true
	}
	assert.Len(t, sessions, 1, "one session goes through both files")
}

// An import that flags have begun gets a plan, which goes on with it; one that cannot is refused.
func TestAPlanOfAnImportThatHasBegun(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	ids := p.Events(t, "events.jsonl", 5000, nil)
	flags := []string{"events.jsonl", "--yes", "--state", "s", "--import-id", "mine", "--drop", "nothing"}
	p.Until(t, func() bool { return server.Ledger().Len() > 500 }, os.Kill, append([]string{"run", "--rate", "2000"}, flags...)...)
	adopt := []string{"plan", "--from-checkpoint", "s", "--write", "migration.yaml"}
	p.Ends(t, 2, append(adopt, "events.jsonl")...).Err(t, "--from-checkpoint takes the files and the choices of the import")
	p.Ends(t, 2, append(adopt, "--drop", "n")...).Err(t, "--drop is given")
	p.Ends(t, 2, "plan", "--from-checkpoint", "nothing").Err(t, "nothing is not a state folder")
	whole := p.Read(t, "events.jsonl")
	p.Write(t, "events.jsonl", strings.Replace(whole, `"n":9}`, `"n":8}`, 1))
	p.Ends(t, 2, adopt...).Err(t, "events.jsonl")
	p.Write(t, "events.jsonl", whole)

	p.Ends(t, 0, append(adopt, "--rate", "none")...)
	clitest.Says(t, p.Read(t, "migration.yaml"), "import-id: mine", "state: s ", "- {path: events.jsonl, ", "drop: - nothing", "rate: none")
	p.Ends(t, 0, "run", "migration.yaml", "--yes").Out(t, "Complete: 5,000 events acknowledged", "hogimport verify migration.yaml")
	clitest.RequireWhole(t, server, ids)
	p.Ends(t, 2, adopt...).Err(t, "give --write a new FILE")
}

// A trial takes the plan, in another project than that of the plan.
func TestATrialOfAPlan(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	p.Events(t, "events.jsonl", 100, nil)
	p.Write(t, "test.key", hogapitest.DefaultProjectKey)
	p.Ends(t, 0, "plan", "events.jsonl", "--write", "migration.yaml")
	edit(t, p, "id: "+hogapitest.DefaultProject, "id: 7")
	p.With("POSTHOG_PROJECT_API_KEY=phc_of_the_import").Ends(t, 0, "trial", "migration.yaml", "--project-key", "@test.key").Out(t, "OK: all 100 events")
	sent := server.Ledger().Len()
	p.Events(t, "events.jsonl", 101, nil)
	p.Ends(t, 2, "trial", "migration.yaml", "--project-key", "@test.key", "--yes").Err(t, "migration.yaml is stale")
	assert.Equal(t, sent, server.Ledger().Len())
}

// Where the files alone do not suffice, the next command is ready to be typed, and nothing is written.
func TestFilesThatNeedMoreForAPlan(t *testing.T) {
	t.Parallel()
	_, p := clitest.Serve(t)
	p.Write(t, "actions.csv", "action,user,when\nclick,u1,2024-05-01 12:00:00\n")
	p.Write(t, "empty.jsonl", "")
	p.Write(t, "x.bin", "x")
	flags := []string{"--map", "event=action", "--map", "person=user", "--map", "time=when", "--write", "migration.yaml"}
	p.Ends(t, 2, "plan", "actions.csv", "--write", "migration.yaml").Err(t, "add --map event=COLUMN --map person=COLUMN --map time=COLUMN")
	p.Ends(t, 3, append([]string{"plan", "actions.csv"}, flags...)...).Err(t, "Say in which zone the times are",
		"hogimport plan actions.csv --map event=action --map person=user --map time=when --write migration.yaml --zone ZONE")
	p.Ends(t, 3, "plan", "empty.jsonl", "--write", "migration.yaml").Err(t, "the files have no records")
	p.Ends(t, 2, "plan", "x.bin", "--write", "migration.yaml").Err(t, "the format of the files is not named")
	p.Ends(t, 2, "plan", "--write", "migration.yaml").Err(t, "no files are named")
	p.Ends(t, 2, "plan", "none.yaml").Err(t, "none.yaml: ")
	_, err := os.Stat(filepath.Join(p.Dir, "migration.yaml"))
	require.ErrorIs(t, err, os.ErrNotExist)
	p.Ends(t, 0, append(append([]string{"plan", "actions.csv"}, flags...), "--zone", "Europe/Berlin")...)
	clitest.Says(t, p.Read(t, "migration.yaml"), "format: csv", "map: - event=action - person=user - time=when", "zone: Europe/Berlin #: given with --zone")
	p.Ends(t, 0, "run", "migration.yaml", "--yes")

	// GA4 has a day twice: its earlier tables are left out, and the plan says so.
	row := `{"event_name":"page_view","event_timestamp":"1693612800000000","user_pseudo_id":"1.2","event_params":[]}` + "\n"
	p.Write(t, "g/events_20230902.json", row)
	p.Write(t, "g/events_intraday_20230902.json", row)
	p.Run(t, "plan", "g/*", "--write", "ga4.yaml")
	plan := p.Read(t, "ga4.yaml")
	clitest.Says(t, plan, "no-intraday: true #: leaves out the earlier files of days that have a final one", "1 file, 1 record in")
	assert.NotContains(t, plan, "path: g/events_intraday")
}

// A plan sends the same events as the flags that it stands for: links first, then the sorted events with their
// sessions, also after a kill.
func TestAPlanSendsWhatItsFlagsSend(t *testing.T) {
	t.Parallel()
	events := func(p *clitest.Program) {
		p.Lines(t, "e.jsonl", 6000, func(i int) string {
			at := 1700000000 + (i*7919)%6000*60
			user := fmt.Sprintf(`,"$user_id":"u%d","distinct_id":"u%d"`, i%50, i%50)
			if i%3 == 0 {
				user = fmt.Sprintf(`,"distinct_id":"$device:d%d"`, i%50)
			}
			return fmt.Sprintf(`{"event":"Buy","properties":{"time":%d,"$device_id":"d%d"%s,"$insert_id":"i%d","mp_processing_time_ms":%d}}`, at-7*3600, i%50, user, i, at*1000+100)
		})
	}
	stored := func(server *hogapitest.Server) map[string]string {
		all := map[string]string{}
		for ev := range server.Ledger().Events() {
			all[ev.UUID.String()] = string(ev.Raw)
		}
		return all
	}
	byFlags, p := clitest.Serve(t)
	events(p)
	p.Ends(t, 0, "run", "e.jsonl", "--format", "mixpanel", "--zone", "Etc/GMT+7", "--links", "--device-prefix", "--sort", "--sessions", "30m", "--import-id", "one", "--yes", "--rate", "none")

	byPlan, p := clitest.Serve(t)
	events(p)
	p.Ends(t, 0, "plan", "e.jsonl", "--zone", "Etc/GMT+7", "--import-id", "one", "--rate", "2500", "--write", "migration.yaml")
	clitest.Says(t, p.Read(t, "migration.yaml"), "links: true", "device-prefix: true", "sort: true", "sessions: 30m", "import-id: one")
	p.Until(t, func() bool { return byPlan.Ledger().Len() > 1500 }, os.Kill, "run", "migration.yaml", "--yes")
	require.Less(t, byPlan.Ledger().Unique(), byFlags.Ledger().Unique(), "it was killed in the middle")
	p.Ends(t, 0, "run", "migration.yaml", "--yes")
	require.Equal(t, stored(byFlags), stored(byPlan))
	first := ""
	for ev := range byPlan.Ledger().Events() {
		first = ev.Event
		break
	}
	assert.Equal(t, "$identify", first, "links come first")
}

// An import that an earlier release has begun goes on under its mapping, also by a plan. One that has not begun is
// refused under another one.
func TestAPlanKeepsTheMappingOfItsImport(t *testing.T) {
	t.Parallel()
	server, p := withOldState(t, "mapping3/killed", "rows")
	table, err := os.ReadFile("testdata/mapping3/rows.csv")
	require.NoError(t, err)
	p.Write(t, "rows.csv", string(table))
	readdress(t, p, "hogimport-state/rows/checkpoint.json")
	p.Ends(t, 0, "plan", "--from-checkpoint", "hogimport-state/rows", "--max-rejects", "none", "--write", "migration.yaml")
	assert.NotContains(t, p.Read(t, "migration.yaml"), "mapping: 4")
	p.Ends(t, 0, "run", "migration.yaml", "--yes")
	texts := 0
	for ev := range server.Ledger().Events() {
		if ev.Event == "visit" && strings.Contains(string(ev.Properties), `"plan":`) {
			texts++
		}
	}
	assert.Equal(t, 10, texts, "NULLs are texts, as in the 30 rows that were sent before")

	// Without a state, the same plan would be of another mapping.
	require.NoError(t, os.RemoveAll(filepath.Join(p.Dir, "hogimport-state")))
	before := server.Ledger().Len()
	p.Ends(t, 2, "run", "migration.yaml", "--yes").Err(t, "and this release has version 4, which makes other properties", "hogimport plan migration.yaml")
	assert.Equal(t, before, server.Ledger().Len())
}
