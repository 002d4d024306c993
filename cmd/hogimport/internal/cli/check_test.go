package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/cmd/hogimport/internal/clitest"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/durable"
	"github.com/hogapi/hogapi/ops"
)

// requireNarrow demands that a text fits 80 columns.
func requireNarrow(t *testing.T, text string) {
	t.Helper()
	for line := range strings.SplitSeq(text, "\n") {
		require.LessOrEqual(t, utf8.RuneCountInString(line), 80, line)
	}
}

// says demands that a text has some words, wherever its lines are broken.
func says(t *testing.T, text, want string) {
	t.Helper()
	assert.Contains(t, strings.Join(strings.Fields(text), " "), strings.Join(strings.Fields(want), " "))
}

func TestCheckOfGoodFiles(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, nil) // no key, no host, no HOME
	export(t, p.Dir, "export.jsonl", 2000, 0, time.UTC)
	r := p.Ends(t, 0, "check", "export.jsonl", "--format", "mixpanel", "--report", "report.html")
	requireNarrow(t, r.Stdout)
	requireNarrow(t, r.Stderr)
	for _, want := range []string{
		"would be sent               2,000      100 %", "Sign up", "33.4 %", "from              2023-01-01 00:00:00 UTC",
		"less than a minute at 1,000 events a second", "The times fit UTC", "The whole report: report.html",
	} {
		says(t, r.Stdout, want)
	}
	page, err := os.ReadFile(filepath.Join(p.Dir, "report.html"))
	require.NoError(t, err)
	for _, want := range []string{"Ready to import", "Events by month (UTC) and name", "2023-01", "The times fit UTC", "The project was not asked", "hogimport run export.jsonl --format mixpanel"} {
		assert.Contains(t, string(page), want)
	}
	assert.NotContains(t, string(page), "<script", "what a customer has written is text")
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
	says(t, wrong.Stderr, "not ready to import: The times are local, not UTC")
	says(t, wrong.Stderr, "--zone America/Los_Angeles")
	says(t, wrong.Stdout, "Not ready to import")
	says(t, wrong.Stdout, "The times are local, not UTC")
	says(t, wrong.Stdout, "--zone America/Los_Angeles")
	right := p.Ends(t, 0, "check", "export.jsonl", "--format", "mixpanel", "--zone", "America/Los_Angeles")
	says(t, right.Stdout, "The times fit America/Los_Angeles")
	says(t, right.Stdout, "Ready to import")
	other := p.Ends(t, 3, "check", "export.jsonl", "--format", "mixpanel", "--zone", "Asia/Tokyo")
	says(t, other.Stdout, "Problem: The times")
}

func TestCheckOfTooManyRejects(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, nil)
	export(t, p.Dir, "export.jsonl", 2000, 30, time.UTC)
	r := p.Ends(t, 3, "check", "export.jsonl", "--format", "mixpanel", "--report", "report.html")
	requireNarrow(t, r.Stdout+r.Stderr)
	says(t, r.Stderr, "67 of 2,000 events (3.4 %) would be rejected, and --max-rejects")
	says(t, r.Stdout, "rejected because")
	page, err := os.ReadFile(filepath.Join(p.Dir, "report.html"))
	require.NoError(t, err, "the page is written all the same")
	assert.Contains(t, string(page), "Not ready to import")
	for _, limit := range []string{"67", "4%", "none"} {
		assert.Equal(t, 0, p.Run(t, "check", "export.jsonl", "--format", "mixpanel", "--max-rejects", limit).Code, limit)
	}
	assert.Equal(t, 3, p.Run(t, "check", "export.jsonl", "--format", "mixpanel", "--max-rejects", "66").Code)

	nothing := p.Run(t, "check", "export.jsonl", "--format", "amplitude")
	require.Equal(t, 3, nothing.Code, "of another format")
	says(t, nothing.Stderr, "The files look like --format mixpanel.")
	says(t, nothing.Stderr, "no event would be sent: the files have 2,000 records; rejected: 0, left out: 2,000")
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

func TestUntilLeavesOutEventsOfAFormat(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, nil)
	export(t, p.Dir, "export.jsonl", 100, 0, time.UTC) // of 29 days and 4 hours
	r := p.Ends(t, 0, "check", "export.jsonl", "--format", "mixpanel", "--until", "2023-01-08", "--json")
	var report formats.CheckReport
	require.NoError(t, json.Unmarshal([]byte(r.Stdout), &report))
	assert.Equal(t, []int64{100, 24, 76}, []int64{report.Read, report.Good, report.Skipped})
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
	page, err := os.ReadFile(filepath.Join(p.Dir, "report.html"))
	require.NoError(t, err)
	assert.Contains(t, string(page), "2023-01-26")

	server.Script(ops.Query, hogapitest.Status(401))
	without := p.Run(t, "check", "export.jsonl", "--format", "mixpanel")
	require.Equal(t, 0, without.Code, "what the project cannot say is no fault of the files: %s", without.Stderr)
	says(t, without.Stderr, "warning: the project was not asked")
	assert.Empty(t, server.Calls(ops.Capture), "nothing is sent")
}

func TestCheckOfWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, nil)
	require.NoError(t, os.WriteFile(filepath.Join(p.Dir, "cut.jsonl"), []byte(`{"event":"a","properties":{"time":1672531200,`), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(p.Dir, "bad.jsonl.gz"), []byte("\x1f\x8b\x08 this is not gzip"), 0o600))
	export(t, p.Dir, "good.jsonl", 10, 0, time.UTC)
	require.NoError(t, os.WriteFile(filepath.Join(p.Dir, "empty.json"), nil, 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(p.Dir, "my files"), 0o700))
	for name, c := range map[string]struct {
		args []string
		code int
		text string
	}{
		"cut off":           {[]string{"cut.jsonl"}, 1, "is not finished"},
		"no file":           {[]string{"none.jsonl"}, 2, "none.jsonl: there is no such file"},
		"no format":         {[]string{"cut.jsonl", "--format", "excel"}, 2, `--format "excel" is not known`},
		"a rate":            {[]string{"cut.jsonl", "--rate", "0"}, 2, `--rate "0"`},
		"a limit":           {[]string{"cut.jsonl", "--max-rejects", "0"}, 2, `--max-rejects "0" is not a limit`},
		"damaged":           {[]string{"bad.jsonl.gz", "--format", "mixpanel"}, 1, "bad.jsonl.gz"},
		"a folder":          {[]string{"good.jsonl", "--format", "mixpanel", "--report", "none/report.html"}, 1, "the page none/report.html cannot be written: no such file or directory give a path that can be written with --report FILE"},
		"no more files":     {nil, 2, "no files are named"},
		"a folder of files": {[]string{"my files", "--format", "mixpanel"}, 2, "my files: this is a folder name its files, such as 'my files/*'"},
		"an empty file":     {[]string{"empty.json", "--format", "mixpanel"}, 3, "no event would be sent: the files have no records Is the export complete, and are they the right files?"},
	} {
		t.Run(name, func(t *testing.T) {
			r := p.Run(t, append([]string{"check"}, c.args...)...)
			assert.Equal(t, c.code, r.Code, r.Stderr)
			says(t, r.Stderr, c.text)
			requireNarrow(t, r.Stderr)
		})
	}
}

const anEarlierPage = "<!DOCTYPE html><title>Check: ready – hogimport</title>"

func TestAPageIsReplacedAtOnce(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, nil)
	export(t, p.Dir, "export.jsonl", 10, 0, time.UTC)
	path := filepath.Join(p.Dir, "report.html")
	require.NoError(t, os.WriteFile(path, []byte(anEarlierPage), 0o600))
	require.NoError(t, os.Mkdir(path+durable.TempEnding, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(path+durable.TempEnding, "x"), nil, 0o600))
	p.Ends(t, 1, "check", "export.jsonl", "--format", "mixpanel", "--report", "report.html")
	kept, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, anEarlierPage, string(kept), "a page that cannot be written leaves the earlier one as it is")
}

// A report replaces an earlier one, and no other file: a shell can make FILE an export.
func TestAReportOverwritesNothingElse(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, hogapitest.New())
	p.Events(t, "e.jsonl", 3, nil)
	require.Equal(t, 0, p.Run(t, "run", "e.jsonl", "--yes").Code)
	files := map[string]string{
		"a.jsonl.gz": "\x1f\x8b", "page.html": "<!DOCTYPE html>\n<title>Mine</title>", "check.html": anEarlierPage, "empty": "",
		"verify.html": strings.Replace(anEarlierPage, "Check", "Verification", 1),
	}
	run := func(args ...string) (clitest.Result, string) {
		file := args[len(args)-1]
		if content, isMade := files[file]; isMade {
			require.NoError(t, os.WriteFile(filepath.Join(p.Dir, file), []byte(content), 0o600))
		}
		r := p.Run(t, append(args[:len(args)-1:len(args)-1], "--report", file)...)
		content, err := os.ReadFile(filepath.Join(p.Dir, file))
		require.NoError(t, err)
		return r, string(content)
	}
	events, err := os.ReadFile(filepath.Join(p.Dir, "e.jsonl"))
	require.NoError(t, err)
	files["e.jsonl"] = string(events)
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
	require.NoError(t, os.WriteFile(filepath.Join(p.Dir, "e.jsonl"), []byte(text.String()), 0o600))
	assert.Regexp(t, `\n1,\d\d\d more `, p.Ends(t, 0, "check", "e.jsonl").Stdout)
	assert.Regexp(t, `and 1,\d\d\d more names`, p.Ends(t, 0, "run", "e.jsonl", "--yes", "--rate", "none").Stderr)
}
