package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/cmd/hogimport/internal/clitest"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/durable"
	"github.com/hogapi/hogapi/ops"
)

// wrong is a command that fails, with its exit code and the parts of its message.
type wrong struct {
	args       []string
	env        []string // more, which win
	code       int
	text, todo string
}

// requireWrong runs commands that end so. Their words have no key.
func requireWrong(t *testing.T, program func(t *testing.T) *clitest.Program, command []string, cases map[string]wrong) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := program(t).With(c.env...).Ends(t, c.code, slices.Concat(command, c.args)...).Err(t, c.text, c.todo)
			r.Never(t, hogapitest.DefaultPersonalKey, hogapitest.DefaultProjectKey, "phc_wrong", "phx_secret")
			if command != nil {
				r.Narrow(t)
			} else {
				assert.Empty(t, r.Stdout)
			}
		})
	}
}

func TestCheckOfGoodFiles(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, nil) // no key, no host, no HOME
	export(t, p, "export.jsonl", 2000, 0, time.UTC)
	r := p.Ends(t, 0, "check", "export.jsonl", "--format", "mixpanel", "--report", "report.html").Narrow(t)
	r.Out(t, "would be sent               2,000      100 %", "Sign up", "33.4 %", "from              2023-01-01 00:00:00 UTC",
		"less than a minute at 1,000 events a second", "The times fit UTC", "The whole report: report.html")
	page := p.Read(t, "report.html")
	clitest.Says(t, page, "Ready to import", "Events by month (UTC) and name", "2023-01", "The times fit UTC", "The project was not asked",
		"hogimport run export.jsonl --format mixpanel")
	assert.NotContains(t, page, "<script", "what a customer has written is text")
	left, err := os.ReadDir(p.Dir)
	require.NoError(t, err)
	assert.Len(t, left, 2, "only the page is written")
}

func TestCheckOfLocalTimes(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, nil)
	export(t, p, "export.jsonl", 2000, 0, pacific(t))
	wrong := p.Ends(t, 3, "check", "export.jsonl", "--format", "mixpanel") // a script must not go on
	clitest.Says(t, wrong.Stderr, "not ready to import: The times are local, not UTC", "--zone America/Los_Angeles")
	clitest.Says(t, wrong.Stdout, "Not ready to import", "The times are local, not UTC", "--zone America/Los_Angeles")
	inZone := []string{"check", "export.jsonl", "--format", "mixpanel", "--zone"}
	p.Ends(t, 0, append(inZone, "America/Los_Angeles")...).Out(t, "The times fit America/Los_Angeles", "Ready to import")
	p.Ends(t, 3, append(inZone, "Asia/Tokyo")...).Out(t, "Problem: The times")
}

func TestCheckOfTooManyRejects(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, nil)
	export(t, p, "export.jsonl", 2000, 30, time.UTC)
	p.Ends(t, 3, "check", "export.jsonl", "--format", "mixpanel", "--report", "report.html").Narrow(t).
		Err(t, "67 of 2,000 events (3.4 %) would be rejected, and --max-rejects").Out(t, "rejected because")
	clitest.Says(t, p.Read(t, "report.html"), "Not ready to import")
	for limit, code := range map[string]int{"66": 3, "67": 0, "4%": 0, "none": 0} {
		p.Ends(t, code, "check", "export.jsonl", "--format", "mixpanel", "--max-rejects", limit)
	}
	p.Ends(t, 3, "check", "export.jsonl", "--format", "amplitude").Err(t, "The files look like --format mixpanel.",
		"no event would be sent: the files have 2,000 records; rejected: 0, left out: 2,000")
}

func TestCheckAsksWhatTheProjectHas(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	export(t, p, "export.jsonl", 100, 0, time.UTC)
	for i := range 40 {
		server.Project(hogapitest.DefaultProject).AddEvent(hogapitest.StoredEvent{
			UUID: clitest.ID(i), Event: "live", DistinctID: "x", Time: time.Date(2023, 1, 25, i, 0, 0, 0, time.UTC),
		})
	}
	check := []string{"check", "export.jsonl", "--format", "mixpanel", "--report", "report.html"}
	p.Ends(t, 0, check...).Out(t, "The project already has 40 events in these days")
	clitest.Says(t, p.Read(t, "report.html"), "2023-01-26")

	server.Script(ops.Query, hogapitest.Status(401))
	p.Ends(t, 0, check...).Err(t, "warning: the project was not asked") // which is no fault of the files
	assert.Empty(t, server.Calls(ops.Capture), "nothing is sent")
}

func TestCheckOfWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, nil)
	p.Write(t, "cut.jsonl", `{"event":"a","properties":{"time":1672531200,`)
	p.Write(t, "bad.jsonl.gz", "\x1f\x8b\x08 this is not gzip")
	export(t, p, "good.jsonl", 10, 0, time.UTC)
	p.Write(t, "empty.json", "")
	p.Write(t, "my files/x", "")
	same := func(*testing.T) *clitest.Program { return p }
	requireWrong(t, same, []string{"check"}, map[string]wrong{
		"cut off":           {[]string{"cut.jsonl"}, nil, 1, "is not finished", ""},
		"damaged":           {[]string{"bad.jsonl.gz", "--format", "mixpanel"}, nil, 1, "bad.jsonl.gz", ""},
		"a folder":          {[]string{"good.jsonl", "--format", "mixpanel", "--report", "none/report.html"}, nil, 1, "the page none/report.html cannot be written: no such file or directory", "give a path that can be written with --report FILE"},
		"a folder of files": {[]string{"my files", "--format", "mixpanel"}, nil, 2, "my files: this is a folder", "name its files, such as 'my files/*'"},
		"an empty file":     {[]string{"empty.json", "--format", "mixpanel"}, nil, 3, "no event would be sent: the files have no records", "Is the export complete, and are they the right files?"},
	})
}

const anEarlierPage = "<!DOCTYPE html><title>Check: ready – hogimport</title>"

func TestAPageIsReplacedAtOnce(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, nil)
	export(t, p, "export.jsonl", 10, 0, time.UTC)
	p.Write(t, "report.html", anEarlierPage)
	p.Write(t, "report.html"+durable.TempEnding+"/x", "")
	p.Ends(t, 1, "check", "export.jsonl", "--format", "mixpanel", "--report", "report.html")
	assert.Equal(t, anEarlierPage, p.Read(t, "report.html"), "a page that cannot be written leaves the earlier one as it is")
}

// A report replaces an earlier one, and no other file: a shell can make FILE an export.
func TestAReportOverwritesNothingElse(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, hogapitest.New())
	p.Events(t, "e.jsonl", 3, nil)
	p.Ends(t, 0, "run", "e.jsonl", "--yes")
	files := map[string]string{
		"a.jsonl.gz": "\x1f\x8b", "page.html": "<!DOCTYPE html>\n<title>Mine</title>", "check.html": anEarlierPage, "empty": "",
		"verify.html": strings.Replace(anEarlierPage, "Check", "Verification", 1),
	}
	run := func(args ...string) (clitest.Result, string) {
		file := args[len(args)-1]
		if content, isMade := files[file]; isMade {
			p.Write(t, file, content)
		}
		return p.Run(t, append(args[:len(args)-1:len(args)-1], "--report", file)...), p.Read(t, file)
	}
	files["e.jsonl"] = p.Read(t, "e.jsonl")
	for _, args := range [][]string{
		{"check", "e.jsonl", "e.jsonl"}, {"check", "e.jsonl", "a.jsonl.gz"}, {"check", "e.jsonl", "page.html"}, {"check", "e.jsonl", "verify.html"},
		{"verify", "e.jsonl"}, {"verify", "a.jsonl.gz"}, {"verify", "check.html"},
	} {
		r, content := run(args...)
		assert.Equal(t, 2, r.Code, "%q: %s", args, r.Stderr)
		assert.Equal(t, files[args[len(args)-1]], content, "%q", args)
	}
	for _, args := range [][]string{{"check", "e.jsonl", "check.html"}, {"check", "e.jsonl", "empty"}, {"verify", "verify.html"}} {
		r, content := run(args...)
		assert.Equal(t, 0, r.Code, "%q: %s", args, r.Stderr)
		assert.Contains(t, content, "</html>", "%q", args)
		again, _ := run(args...)
		assert.Equal(t, 0, again.Code, "%q: %s", args, again.Stderr)
	}
}

func TestNumbersOfManyNamesHaveTheirThousandsDivided(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, hogapitest.New())
	p.Lines(t, "e.jsonl", 1500, func(i int) string {
		return fmt.Sprintf(`{"event":"name %d","distinct_id":"p","timestamp":"2024-01-01T00:00:00Z"}`, i)
	})
	assert.Regexp(t, `\n1,\d\d\d more `, p.Ends(t, 0, "check", "e.jsonl").Stdout)
	assert.Regexp(t, `and 1,\d\d\d more names`, p.Ends(t, 0, "run", "e.jsonl", "--yes", "--rate", "none").Stderr)
}

// During an import and after it, a check knows its events: it advises to continue or to verify, and
// not to leave out events that the import has sent.
func TestCheckKnowsTheEventsOfItsOwnImport(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	p.Events(t, "e.jsonl", 9000, nil)
	p.Run(t, "check", "e.jsonl").Out(t, "Nothing has been sent so far.", "OK: The project has no events in these days")

	p.Until(t, func() bool { return server.Ledger().Len() > 6000 }, os.Kill, "run", "e.jsonl", "--yes", "--rate", "2000")
	killed := p.Ends(t, 0, "check", "e.jsonl", "--report", "report.html", "--max-rejects", "3%").Narrow(t)
	killed.Never(t, "--until", "Nothing has been sent", "hogimport trial").Out(t, "An import of these files has begun: hogimport-state/e (killed, at least ",
		"Its flags are kept, except for --max-rejects and --rate: give these two again.", "events in these days, all of this import",
		"They are of hogimport-state/e: continue it with hogimport run")
	assert.Contains(t, strings.ReplaceAll(killed.Stdout, " \\\n     ", ""), "    hogimport run --state hogimport-state/e --max-rejects 3%\n")
	page := p.Read(t, "report.html")
	assert.NotContains(t, page, "--until")
	assert.Contains(t, page, ">This import</th>")

	p.Ends(t, 0, "run", "--state", "hogimport-state/e", "--max-rejects", "3%", "--rate", "none")
	complete := p.Run(t, "check", "e.jsonl").Never(t, "Ready", "hogimport run")
	complete.Out(t, "An import of these files is complete: hogimport-state/e (9,000 acknowledged).",
		"They are of hogimport-state/e: compare them with hogimport verify")
	assert.Contains(t, complete.Stdout, "    hogimport verify --state hogimport-state/e --report verify.html\n")
	p.Ends(t, 0, "verify")
	p.Run(t, "check", "e.jsonl").Out(t, "They are of hogimport-state/e, which is verified").Never(t, "What to do next")

	// Events of a live SDK on the last day are others.
	for i := range 40 {
		server.Project(hogapitest.DefaultProject).AddEvent(hogapitest.StoredEvent{
			UUID: clitest.ID(100_000 + i), Event: "live", DistinctID: "x", Time: time.Date(2024, 1, 7, 2, i, 0, 0, time.UTC),
		})
	}
	p.Run(t, "check", "e.jsonl").Out(t, "The project already has 40 other events in these days", "--until 2024-01-07.",
		"more are of this import: they are of hogimport-state/e, which is verified")

	// A file that was moved is the same one. The state folder of an import of other files says nothing of these.
	require.NoError(t, os.Mkdir(filepath.Join(p.Dir, "other"), 0o700))
	require.NoError(t, os.Rename(filepath.Join(p.Dir, "e.jsonl"), filepath.Join(p.Dir, "other", "e.jsonl")))
	clitest.Says(t, p.Run(t, "check", "other/e.jsonl").Stdout, "An import of these files is complete")
	p.Events(t, "e.jsonl", 100, nil)
	require.NoError(t, os.Rename(filepath.Join(p.Dir, "e.jsonl"), filepath.Join(p.Dir, "other", "e.jsonl")))
	clitest.Says(t, p.Run(t, "check", "other/e.jsonl").Stdout, "Nothing has been sent so far.")
}

// To leave out every event is no advice.
func TestCheckNeverSaysToLeaveOutAll(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	p.Events(t, "e.jsonl", 3000, nil)
	for i := range 3 {
		server.Project(hogapitest.DefaultProject).AddEvent(hogapitest.StoredEvent{
			UUID: clitest.ID(100_000 + i), Event: "live", DistinctID: "x", Time: time.Date(2024, 1, 1+i, 0, 0, 0, 0, time.UTC),
		})
	}
	p.Run(t, "check", "e.jsonl").Never(t, "--until").
		Out(t, "The project already has 3 events in these days", "In 3 days both the project and the files have events")
	var report formats.CheckReport
	require.NoError(t, json.Unmarshal([]byte(p.Run(t, "check", "e.jsonl", "--json").Stdout), &report))
	assert.Empty(t, report.CutFrom)
	assert.Len(t, report.Held, 3)
}

// The text says that the project was not asked, as the page does.
func TestCheckSaysThatTheProjectWasNotAsked(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, nil)
	p.Events(t, "e.jsonl", 10, nil)
	p.Run(t, "check", "e.jsonl").Out(t, "Note: The project was not asked Set POSTHOG_PERSONAL_API_KEY (scope query:read) and POSTHOG_PROJECT_ID")
	p.Env = append(p.Env, "POSTHOG_PERSONAL_API_KEY=phx_x", "POSTHOG_PROJECT_ID=1", "POSTHOG_HOST=nowhere")
	p.Run(t, "check", "e.jsonl").Out(t, `Note: The project could not be asked POSTHOG_HOST "nowhere" is neither a region nor a URL`)
}

// A user can run the commands that a check advises as they are written: with flags that the command
// has for this format, and with the zone and format that the check has found.
func TestAdviceCanBeFollowed(t *testing.T) {
	t.Parallel()
	const event = `{"event":"e","distinct_id":"p","timestamp":"2024-05-01T12:00:00Z"`
	young := time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
	live := liveEvents()
	for name, c := range map[string]struct {
		file, content string
		args          []string
		says, never   []string
	}{
		"a table that needs a zone": {
			"a.csv", "event,distinct_id,timestamp\ne,p,2024-05-01 12:00:00\n", nil,
			[]string{`the time "2024-05-01 12:00:00" has no offset: give --zone, such as UTC`, "hogimport check a.csv --format csv --zone ZONE --report report.html"},
			[]string{"look like --format", "another format", "Options.", "allow it with --max-rejects"}, // an import needs one good event
		},
		"no good event": {
			"a.csv", "event,distinct_id,timestamp\na,b,2024-05-01 12:00:00\n", []string{"--max-rejects", "none"},
			[]string{"no event would be sent: the files have 1 record; rejected: 1, left out: 0 Are they the right files, and is it the right --format, --zone or --map?"}, nil,
		},
		"no zone that fits": {
			"live.json", live, []string{"--format", "mixpanel"},
			[]string{"Say in which zone the times are, such as UTC or US/Pacific. Then check again.", "hogimport check live.json --format mixpanel --zone ZONE --report report.html"}, nil,
		},
		"no event in a file": {
			"live.json", live, []string{"--format", "amplitude"},
			[]string{"Warning: Check some files 1 file has no record that makes an event. Is --format right?"}, []string{"?."},
		},
		"a time of a zone that is not named": {
			"a.csv", "event,distinct_id,at\ne,p,2024-05-01 12:00 PST\n", []string{"--map", "time=at|layout:2006-01-02 15:04 MST"},
			[]string{`PST of the time "2024-05-01 12:00 PST" is not known in UTC: give --zone, a time zone whose clocks have it`}, nil,
		},
		"another format": {
			"a.jsonl", `{"event":"e","properties":{"time":1714564800,"distinct_id":"p"}}` + "\n", nil,
			[]string{"The files look like --format mixpanel.", "hogimport check a.jsonl --format mixpanel --report"}, []string{"--map", "--zone"},
		},
		"lines of PostHog": {
			"a.jsonl", event + `,"what":1}` + "\n", nil, []string{"Correct --format, or the files"}, []string{"--map", "--zone"},
		},
		"two ids in a table": {
			"a.csv", "event,user,distinct_id,timestamp\ne,p,q,2024-05-01T12:00:00Z\n", []string{"--map", "person=user"},
			[]string{"Take the property with --map person=distinct_id, or leave it out with --map drop=distinct_id"}, nil,
		},
		"two ids in lines": {
			"a.jsonl", event + `,"properties":{"distinct_id":"q"}}` + "\n", nil, []string{"Leave the wrong one out of the files"}, []string{"--map"},
		},
		"a young event": {
			"a.jsonl", strings.ReplaceAll(event, "2024-05-01T12:00:00Z", young) + "}\n", nil,
			[]string{"an age of at least 2 days: the service bills younger events (a.jsonl:1"}, []string{"GateOptions"},
		},
		"a merge for good": {
			"a.jsonl", strings.ReplaceAll(event, `"e"`, `"$merge_dangerously"`) + `,"properties":{"alias":"a"}}` + "\n", nil,
			[]string{"so hogimport does not send it", "want another name, since hogimport does not send this: it merges persons"}, []string{"GateOptions", "Allow it"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := clitest.New(t, nil)
			p.Write(t, c.file, c.content)
			r := p.Ends(t, 3, append([]string{"check", c.file}, c.args...)...).Never(t, c.never...)
			clitest.Says(t, r.Stdout+r.Stderr, c.says...)
		})
	}
}

// The zone that was given stays in the next command where the test of it finds no better one.
func TestTheNextCommandKeepsTheZone(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, nil)
	export(t, p, "e.json", 300, 0, time.FixedZone("", 20*3600+900))
	p.Ends(t, 3, "check", "e.json", "--format", "mixpanel", "--zone", "Asia/Tokyo").
		Out(t, "hogimport check e.json --format mixpanel --zone Asia/Tokyo --report")
}

// A fix sorts nothing, so nothing is said of --sort.
func TestAFixDoesNotAdviseToSort(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, hogapitest.New())
	p.Lines(t, "e.csv", 61, func(i int) string {
		at := time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, (i*7)%60).Format(time.RFC3339)
		switch {
		case i == 0:
			return "event,distinct_id,timestamp,at"
		case i <= 40:
			return "e,p,never," + at
		}
		return "e,p," + at + "," + at
	})
	p.Ends(t, 0, "run", "e.csv", "--yes", "--rate", "none", "--max-rejects", "none").Out(t, "--sort")
	p.Ends(t, 0, "fix", "--yes", "--rate", "none", "--map", "time=at").Out(t, "40 events acknowledged").Never(t, "--sort")
}

// liveEvents are records of Mixpanel with times that fit no zone.
func liveEvents() string {
	var live strings.Builder
	for i := range 12 {
		at := 1652825148 + int64(i)*600
		stored := (at + 7*3600 - int64(i%4/3)*3600) * 1000
		fmt.Fprintf(&live, `{"event":"a","properties":{"time":%d,"distinct_id":"p","$insert_id":"i%d","$mp_api_timestamp_ms":%d,"mp_processing_time_ms":%d}}`+"\n",
			at, i, stored, stored+50)
	}
	return live.String()
}

// Advice at the end of a run that sends nothing, and of a check that cannot ask the project.
func TestAdviceOfARunThatSendsNothing(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	p.Write(t, "loc.csv", "event,distinct_id,timestamp\na,b,2024-05-01 12:00:00\n")
	p.Ends(t, 3, "run", "loc.csv", "--yes").Err(t, "Checked the only record: 0 good, 1 rejected, 0 left out.",
		"All reasons with examples: hogimport check "+filepath.Join(p.Dir, "loc.csv")+" --format csv")
	p.Events(t, "own.jsonl", 3, nil)
	p.Ends(t, 3, "run", "own.jsonl", "--format", "mixpanel", "--yes").Err(t, "all of this would be left out; nothing was sent "+
		"The files look like --format jsonl. Is it the right --format or --zone? Check them as that format: hogimport check "+filepath.Join(p.Dir, "own.jsonl")+" --format jsonl")
	server.Script(ops.Query, hogapitest.Status(401))
	p.Write(t, "live.json", liveEvents())
	p.Run(t, "check", "live.json", "--format", "mixpanel", "--zone", "US/Pacific").
		Err(t, "warning: the project was not asked which days it has: counting what the project has: query.run: 401 ").Never(t, "hogapi: ")
}

// logins writes an export of ten people of a project with simplified ID merge: each has three records before login and
// two after it.
func logins(t *testing.T, p *clitest.Program, name string) {
	t.Helper()
	at := time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC)
	p.Lines(t, name, 50, func(i int) string {
		id := fmt.Sprintf(`"distinct_id":"$device:d%d"`, i%10)
		if i >= 30 {
			id = fmt.Sprintf(`"distinct_id":"user-%d","$user_id":"user-%[1]d","$device_id":"d%[1]d"`, i%10)
		}
		when := at.Add(time.Duration(i) * time.Hour)
		return fmt.Sprintf(`{"event":"Search","properties":{"time":%d,%s,"$insert_id":"id%06d","mp_processing_time_ms":%d}}`, when.Unix(), id, i, when.UnixMilli()+700)
	})
}

// A record that is left out is shown with its reason, its place and advice.
func TestCheckSaysWhatIsLeftOutAndWhere(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, nil)
	logins(t, p, "export.jsonl")
	lines := strings.SplitAfter(p.Read(t, "export.jsonl"), "\n")
	for _, i := range []int{4, 40} {
		lines[i] = fmt.Sprintf(`{"event":"Search","properties":{"time":1672531200,"$insert_id":"none%d"}}`+"\n", i)
	}
	p.Write(t, "export.jsonl", strings.Join(lines, ""))
	r := p.Ends(t, 0, "check", "export.jsonl", "--format", "mixpanel", "--report", "report.html").Narrow(t)
	page := p.Read(t, "report.html")
	for _, text := range []string{r.Stdout, page} {
		clitest.Says(t, text, "2 records name no person (no distinct_id, $user_id or $device_id), so PostHog cannot store them. "+
			"For example export.jsonl:5, export.jsonl:41.", "hogimport check export.jsonl --format mixpanel --left-out left-out.txt")
		assert.NotContains(t, text, "on purpose")
	}
	assert.Equal(t, 2, strings.Count(page, ">In the file<"), "a record from before login, and one from after it")
}

// Without the two flags every person would be there twice, so check says it wherever it is read, and the command has them.
func TestCheckSaysHowPeopleAreJoined(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, nil)
	logins(t, p, "export.jsonl")
	says := []string{"30 records are from before login", "Add --device-prefix --links, or each person appears twice"}
	const command = "hogimport run export.jsonl --format mixpanel --device-prefix --sort --links --sessions 30m"
	r := p.Ends(t, 0, "check", "export.jsonl", "--format", "mixpanel", "--report", "report.html").Narrow(t)
	for _, text := range []string{r.Stdout, p.Read(t, "report.html")} {
		clitest.Says(t, text, append(says, command, "--links joins the ids of each person first")...)
	}
	asJSON := p.Run(t, "check", "export.jsonl", "--format", "mixpanel", "--zone", "UTC", "--json")
	var report formats.CheckReport
	require.NoError(t, json.Unmarshal([]byte(asJSON.Stdout), &report))
	clitest.Says(t, report.Test, says...)
	assert.NotContains(t, report.Test, "Options.", "flags, and not names of the library")

	check := []string{"check", "export.jsonl", "--format", "mixpanel"}
	p.Run(t, append(check, "--device-prefix")...).Out(t, "Add --links, or each person appears twice").Never(t, "Add --device-prefix")
	p.Run(t, append(check, "--links")...).Out(t, "Add --device-prefix, or each person appears twice", command)
	p.Run(t, append(check, "--device-prefix", "--links")...).Out(t, "OK: 30 records are from before login", command).Never(t, "Warning")
	export(t, p, "export.jsonl", 100, 0, time.UTC)
	p.Run(t, check...).Never(t, "--links")
}

// A check previews web analytics by month, and names the running exports that will also send the events.
func TestCheckSaysWhatWebAnalyticsWillShow(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	project := server.Project(hogapitest.DefaultProject)
	project.AddExport(hogapitest.Export{Name: "nightly copy"})
	project.AddExport(hogapitest.Export{Name: "sleeping", Paused: true})
	project.AddExport(hogapitest.Export{Name: "people", Model: "persons"})
	var lines strings.Builder
	for i := range 6 { // two visits of two and four views
		visit := min(i/2, 1)
		fmt.Fprintf(&lines, `{"event":"$pageview","distinct_id":"p%d","timestamp":"2024-0%d-01T12:00:%02dZ","properties":{"$session_id":"%s-7000-8000-00000000000%d","$current_url":"https://x.example/p%d","$referring_domain":"google.com","$geoip_country_code":"DE","price":%s}}`+"\n",
			visit, 1+visit, i, []string{"018cc4e5-2200", "018d648a-4600"}[visit], visit, i, []string{"1", `"free"`}[visit])
	}
	p.Write(t, "e.jsonl", lines.String())
	r := p.Ends(t, 0, "check", "e.jsonl", "--report", "report.html")
	clitest.Says(t, r.Stdout, "web analytics visitors views sessions bounces duration 2024-01 1 2 1 0 % 1 s 2024-02 1 4 1 0 % 3 s all 2 6 2 0 % 2 s 100 % of the events are in a session",
		"channel sessions share Organic Search 2 100 %", "country sessions share DE 2 100 %", "1 running batch export sends this history too", "nightly copy", "1 property has values of several types price:")
	r.Never(t, "sleeping").Narrow(t)
	page := p.Read(t, "report.html")
	clitest.Says(t, page, "What web analytics will show", "1 running batch export sends this history too", "nightly copy")
	assert.NotContains(t, page, "sleeping")
	var report struct {
		formats.CheckReport
		Exports []struct{ Name string } `json:"running_exports"`
	}
	require.NoError(t, json.Unmarshal([]byte(p.Run(t, "check", "e.jsonl", "--json").Stdout), &report))
	assert.EqualValues(t, 2, report.Web.Total.Sessions)
	require.Len(t, report.Exports, 1)
	assert.Equal(t, "nightly copy", report.Exports[0].Name)
	checkWithoutScope(t)

	p = clitest.New(t, nil)
	p.Events(t, "e.jsonl", 10, nil)
	p.Run(t, "check", "e.jsonl").Out(t, "which running batch exports will send and bill this history too, set POSTHOG_PERSONAL_API_KEY (scope batch_export:read)")
	assert.NotContains(t, p.Run(t, "check", "e.jsonl").Stdout, "bounces", "no event is in a session")

	lines.Reset()
	for _, at := range []string{"13:03", "13:02", "13:01", "13:00", "12:29", "12:00"} { // a silence of more than half an hour
		fmt.Fprintf(&lines, `{"event":"$pageview","distinct_id":"ann","timestamp":"2024-01-01T%s:00Z"}`+"\n", at)
	}
	p.Write(t, "views.jsonl", lines.String())
	p.Run(t, "check", "views.jsonl", "--sort", "--sessions", "30m").Out(t, "2024-01 1 6 2 0 % 16 min all", "100 % of the events are in a session")
}

// A key without the scope is no fault of the check, which says the scope instead.
func checkWithoutScope(t *testing.T) {
	t.Helper()
	server := hogapitest.New(hogapitest.WithPersonalKey("phx_no_exports", "query:read"))
	server.Project(hogapitest.DefaultProject).AddExport(hogapitest.Export{Name: "nightly copy"})
	p := clitest.New(t, server).With("POSTHOG_PERSONAL_API_KEY=phx_no_exports", "POSTHOG_PROJECT_ID="+hogapitest.DefaultProject)
	p.Events(t, "e.jsonl", 10, nil)
	const says = "To see which running batch exports will send and bill this history too, the key needs the scope batch_export:read"
	p.Ends(t, 0, "check", "e.jsonl", "--report", "report.html").Out(t, says).Narrow(t).Never(t, "nightly copy", "phx_no_exports")
	clitest.Says(t, p.Read(t, "report.html"), says)
	assert.Contains(t, p.Ends(t, 0, "check", "e.jsonl", "--json").Stdout, `"running_exports":null`)
	p.With("POSTHOG_PROJECT_ID=99999").Ends(t, 0, "check", "e.jsonl").Out(t, "the project must be readable: batch_exports.list: page 1: 404").Never(t, "scope")
}
