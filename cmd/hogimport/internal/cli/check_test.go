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

// wrong is a command that ends with an exit code, and with words about what is wrong and what to do next.
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

// says demands that a text has some words, wherever its lines are broken.
func says(t *testing.T, text string, want ...string) {
	t.Helper()
	clitest.Says(t, text, want...)
}

func TestCheckOfGoodFiles(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, nil) // no key, no host, no HOME
	export(t, p.Dir, "export.jsonl", 2000, 0, time.UTC)
	r := p.Ends(t, 0, "check", "export.jsonl", "--format", "mixpanel", "--report", "report.html")
	r.Narrow(t)
	for _, want := range []string{
		"would be sent               2,000      100 %", "Sign up", "33.4 %", "from              2023-01-01 00:00:00 UTC",
		"less than a minute at 1,000 events a second", "The times fit UTC", "The whole report: report.html",
	} {
		says(t, r.Stdout, want)
	}
	page := p.Read(t, "report.html")
	for _, want := range []string{"Ready to import", "Events by month (UTC) and name", "2023-01", "The times fit UTC", "The project was not asked", "hogimport run export.jsonl --format mixpanel"} {
		assert.Contains(t, page, want)
	}
	assert.NotContains(t, page, "<script", "what a customer has written is text")
	left, err := os.ReadDir(p.Dir)
	require.NoError(t, err)
	assert.Len(t, left, 2, "only the page is written")
}

func TestCheckOfLocalTimes(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, nil)
	export(t, p.Dir, "export.jsonl", 2000, 0, pacific(t))
	wrong := p.Run(t, "check", "export.jsonl", "--format", "mixpanel")
	require.Equal(t, 3, wrong.Code, "a script must not go on: %s", wrong.Stderr)
	says(t, wrong.Stderr, "not ready to import: The times are local, not UTC", "--zone America/Los_Angeles")
	says(t, wrong.Stdout, "Not ready to import", "The times are local, not UTC", "--zone America/Los_Angeles")
	right := p.Ends(t, 0, "check", "export.jsonl", "--format", "mixpanel", "--zone", "America/Los_Angeles")
	says(t, right.Stdout, "The times fit America/Los_Angeles", "Ready to import")
	p.Ends(t, 3, "check", "export.jsonl", "--format", "mixpanel", "--zone", "Asia/Tokyo").Out(t, "Problem: The times")
}

func TestCheckOfTooManyRejects(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, nil)
	export(t, p.Dir, "export.jsonl", 2000, 30, time.UTC)
	r := p.Ends(t, 3, "check", "export.jsonl", "--format", "mixpanel", "--report", "report.html")
	r.Narrow(t)
	says(t, r.Stderr, "67 of 2,000 events (3.4 %) would be rejected, and --max-rejects")
	says(t, r.Stdout, "rejected because")
	page := p.Read(t, "report.html")
	assert.Contains(t, page, "Not ready to import")
	for _, limit := range []string{"67", "4%", "none"} {
		assert.Equal(t, 0, p.Run(t, "check", "export.jsonl", "--format", "mixpanel", "--max-rejects", limit).Code, limit)
	}
	assert.Equal(t, 3, p.Run(t, "check", "export.jsonl", "--format", "mixpanel", "--max-rejects", "66").Code)

	nothing := p.Run(t, "check", "export.jsonl", "--format", "amplitude")
	require.Equal(t, 3, nothing.Code, "of another format")
	says(t, nothing.Stderr, "The files look like --format mixpanel.",
		"no event would be sent: the files have 2,000 records; rejected: 0, left out: 2,000")
}

func TestCheckOfLinesOfPostHog(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, nil)
	p.Events(t, "events.jsonl", 1000, func(i int) bool { return i == 7 })
	r := p.Ends(t, 0, "check", "events.jsonl", "--until", "2024-01-01T10:00:00Z", "--json")
	var report formats.CheckReport
	require.NoError(t, json.Unmarshal([]byte(r.Stdout), &report))
	assert.Equal(t, []int64{1000, 599, 1, 400}, []int64{report.Read, report.Good, report.Rejected, report.Skipped})
	assert.Equal(t, "jsonl", report.Format)
}

func TestCheckAsksWhatTheProjectHas(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	export(t, p.Dir, "export.jsonl", 100, 0, time.UTC)
	for i := range 40 {
		server.Project(hogapitest.DefaultProject).AddEvent(hogapitest.StoredEvent{
			UUID: clitest.ID(i), Event: "live", DistinctID: "x", Time: time.Date(2023, 1, 25, i, 0, 0, 0, time.UTC),
		})
	}
	r := p.Ends(t, 0, "check", "export.jsonl", "--format", "mixpanel", "--report", "report.html")
	says(t, r.Stdout, "The project already has 40 events in these days")
	page := p.Read(t, "report.html")
	assert.Contains(t, page, "2023-01-26")

	server.Script(ops.Query, hogapitest.Status(401))
	without := p.Run(t, "check", "export.jsonl", "--format", "mixpanel")
	require.Equal(t, 0, without.Code, "what the project cannot say is no fault of the files: %s", without.Stderr)
	says(t, without.Stderr, "warning: the project was not asked")
	assert.Empty(t, server.Calls(ops.Capture), "nothing is sent")
}

func TestCheckOfWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, nil)
	p.Write(t, "cut.jsonl", `{"event":"a","properties":{"time":1672531200,`)
	p.Write(t, "bad.jsonl.gz", "\x1f\x8b\x08 this is not gzip")
	export(t, p.Dir, "good.jsonl", 10, 0, time.UTC)
	p.Write(t, "empty.json", "")
	p.Write(t, "my files/x", "")
	same := func(*testing.T) *clitest.Program { return p }
	requireWrong(t, same, []string{"check"}, map[string]wrong{
		"cut off":           {[]string{"cut.jsonl"}, nil, 1, "is not finished", ""},
		"no file":           {[]string{"none.jsonl"}, nil, 2, "none.jsonl: there is no such file", ""},
		"no format":         {[]string{"cut.jsonl", "--format", "excel"}, nil, 2, `--format "excel" is not known`, ""},
		"a rate":            {[]string{"cut.jsonl", "--rate", "0"}, nil, 2, `--rate "0"`, ""},
		"a limit":           {[]string{"cut.jsonl", "--max-rejects", "0"}, nil, 2, `--max-rejects "0" is not a limit`, ""},
		"damaged":           {[]string{"bad.jsonl.gz", "--format", "mixpanel"}, nil, 1, "bad.jsonl.gz", ""},
		"a folder":          {[]string{"good.jsonl", "--format", "mixpanel", "--report", "none/report.html"}, nil, 1, "the page none/report.html cannot be written: no such file or directory", "give a path that can be written with --report FILE"},
		"no more files":     {nil, nil, 2, "no files are named", ""},
		"a folder of files": {[]string{"my files", "--format", "mixpanel"}, nil, 2, "my files: this is a folder", "name its files, such as 'my files/*'"},
		"an empty file":     {[]string{"empty.json", "--format", "mixpanel"}, nil, 3, "no event would be sent: the files have no records", "Is the export complete, and are they the right files?"},
	})
}

const anEarlierPage = "<!DOCTYPE html><title>Check: ready – hogimport</title>"

func TestAPageIsReplacedAtOnce(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, nil)
	export(t, p.Dir, "export.jsonl", 10, 0, time.UTC)
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
	var text strings.Builder
	for i := range 1500 {
		fmt.Fprintf(&text, `{"event":"name %d","distinct_id":"p","timestamp":"2024-01-01T00:00:00Z"}`+"\n", i)
	}
	p.Write(t, "e.jsonl", text.String())
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
	killed := p.Ends(t, 0, "check", "e.jsonl", "--report", "report.html", "--max-rejects", "3%")
	killed.Narrow(t)
	assert.NotContains(t, killed.Stdout, "--until")
	assert.NotContains(t, killed.Stdout, "Nothing has been sent")
	assert.NotContains(t, killed.Stdout, "hogimport trial")
	says(t, killed.Stdout, "An import of these files has begun: hogimport-state/e (killed, at least ",
		"Its flags are kept, except for --max-rejects and --rate: give these two again.", "events in these days, all of this import",
		"They are of hogimport-state/e: continue it with hogimport run")
	assert.Contains(t, strings.ReplaceAll(killed.Stdout, " \\\n     ", ""), "    hogimport run --state hogimport-state/e --max-rejects 3%\n")
	page := p.Read(t, "report.html")
	assert.NotContains(t, page, "--until")
	assert.Contains(t, page, ">This import</th>")

	p.Ends(t, 0, "run", "--state", "hogimport-state/e", "--max-rejects", "3%", "--rate", "none")
	complete := p.Run(t, "check", "e.jsonl")
	says(t, complete.Stdout, "An import of these files is complete: hogimport-state/e (9,000 acknowledged).")
	assert.NotContains(t, complete.Stdout, "Ready")
	says(t, complete.Stdout, "They are of hogimport-state/e: compare them with hogimport verify")
	assert.NotContains(t, complete.Stdout, "hogimport run")
	assert.Contains(t, complete.Stdout, "    hogimport verify --state hogimport-state/e --report verify.html\n")
	p.Ends(t, 0, "verify")
	verified := p.Run(t, "check", "e.jsonl")
	says(t, verified.Stdout, "They are of hogimport-state/e, which is verified")
	assert.NotContains(t, verified.Stdout, "What to do next")

	// Events of a live SDK on the last day are others.
	for i := range 40 {
		server.Project(hogapitest.DefaultProject).AddEvent(hogapitest.StoredEvent{
			UUID: clitest.ID(100_000 + i), Event: "live", DistinctID: "x", Time: time.Date(2024, 1, 7, 2, i, 0, 0, time.UTC),
		})
	}
	live := p.Run(t, "check", "e.jsonl")
	says(t, live.Stdout, "The project already has 40 other events in these days", "--until 2024-01-07.",
		"more are of this import: they are of hogimport-state/e, which is verified")

	// A file that was moved is the same one. The state folder of an import of other files says nothing of these.
	require.NoError(t, os.Mkdir(filepath.Join(p.Dir, "other"), 0o700))
	require.NoError(t, os.Rename(filepath.Join(p.Dir, "e.jsonl"), filepath.Join(p.Dir, "other", "e.jsonl")))
	says(t, p.Run(t, "check", "other/e.jsonl").Stdout, "An import of these files is complete")
	p.Events(t, "e.jsonl", 100, nil)
	require.NoError(t, os.Rename(filepath.Join(p.Dir, "e.jsonl"), filepath.Join(p.Dir, "other", "e.jsonl")))
	says(t, p.Run(t, "check", "other/e.jsonl").Stdout, "Nothing has been sent so far.")
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
	r := p.Run(t, "check", "e.jsonl")
	says(t, r.Stdout, "The project already has 3 events in these days", "In 3 days both the project and the files have events")
	assert.NotContains(t, r.Stdout, "--until")
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
	r := p.Run(t, "check", "e.jsonl")
	says(t, r.Stdout, "Note: The project was not asked Set POSTHOG_PERSONAL_API_KEY (scope query:read) and POSTHOG_PROJECT_ID")
	p.Env = append(p.Env, "POSTHOG_PERSONAL_API_KEY=phx_x", "POSTHOG_PROJECT_ID=1", "POSTHOG_HOST=nowhere")
	p.Run(t, "check", "e.jsonl").Out(t, `Note: The project could not be asked --host "nowhere" is neither a region nor a URL`)
}
