//go:build unix

package cli_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/cmd/hogimport/internal/clitest"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/durable"
)

// suggested are the commands at the end of a check.
func suggested(t *testing.T, said string) (commands []string) {
	t.Helper()
	_, list, _ := strings.Cut(strings.ReplaceAll(said, " \\\n", ""), "What to do next:\n")
	for line := range strings.Lines(list) {
		if command, is := strings.CutPrefix(line, "    "); is {
			commands = append(commands, strings.TrimSpace(command))
		}
	}
	require.Len(t, commands, 3, said)
	return commands
}

// Each command that a check suggests is run as it stands, by a shell: with the key of the test project in the file and its
// number in the variable that are named, and the keys of the import in the environment.
func TestCheckSuggestsCommandsThatWork(t *testing.T) {
	t.Parallel()
	_, p := clitest.Serve(t)
	p.Events(t, "other.jsonl", 10, nil)
	p.Ends(t, 0, "run", "other.jsonl", "--yes")
	host := strings.TrimPrefix(p.Env[0], "POSTHOG_HOST=")
	p.Env = append(p.Env, "POSTHOG_HOST=", "POSTHOG_PROJECT_ID=")

	var text strings.Builder
	at := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range 200 {
		when := at.Add(time.Duration(i*37%200) * time.Hour).Format(time.RFC3339) // in no order
		if i%40 == 3 {
			when = "yesterday"
		}
		fmt.Fprintf(&text, `{"event":"visit","distinct_id":"p%d","timestamp":%q,"properties":{}}`+"\n", i%17, when)
	}
	p.Write(t, "my events.jsonl", text.String())
	p.Write(t, "test-project.key", hogapitest.DefaultProjectKey)

	unknown := p.Run(t, "check", "my events.jsonl", "--max-rejects", "5%")
	says(t, unknown.Stdout, "into the variable TEST_PROJECT_ID, and us, eu or a URL into POSTHOG_HOST.")
	r := p.Ends(t, 0, "check", "my events.jsonl", "--host", host, "--project-id", hogapitest.DefaultProject, "--rate", "none", "--max-rejects", "5%")
	says(t, r.Stdout, "1. Optional, and only with a test project: send 1,000 events there, and compare them. First put its key into the file test-project.key, and its number into the variable TEST_PROJECT_ID.",
		"3. Verify that all events have arrived: right after the import, and again in a few hours if it says that events are still arriving.")
	commands := suggested(t, r.Stdout)
	for i, env := range [][]string{
		{"POSTHOG_PROJECT_API_KEY=phc_ofTheImport00000000000000000000000000000000", "TEST_PROJECT_ID=" + hogapitest.DefaultProject}, nil, nil,
	} {
		p.With(env...).Shell(t, 0, commands[i])
	}
	assert.Contains(t, commands[1], " --sort")
	assert.FileExists(t, filepath.Join(p.Dir, "verify.html"))

	// Without the number nothing is sent to be looked for elsewhere.
	p.Shell(t, 2, commands[0]).Err(t, "flag needs an argument: --project-id")
}

// On a terminal run asks, so it needs no --yes.
func TestCheckOnATerminalSuggestsARunThatAsks(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, hogapitest.New())
	p.Events(t, "e.jsonl", 20, nil)
	assert.Contains(t, p.Run(t, "check", "e.jsonl").Stdout, "hogimport run e.jsonl --format jsonl --yes\n")
	s := startOnTerminal(t, p, "check", "e.jsonl")
	require.Equal(t, 0, s.exit(), s.String())
	assert.Contains(t, s.String(), "hogimport run e.jsonl --format jsonl\r\n")
}

// The flags of run can be copied, and check and trial ignore some of them.
func TestCheckAndTrialTakeTheFlagsOfRun(t *testing.T) {
	t.Parallel()
	server := hogapitest.New()
	p := tried(t, server)
	export(t, p.Dir, "export.jsonl", 100, 0, time.UTC)
	r := p.Ends(t, 0, "check", "export.jsonl", "--format", "mixpanel", "--sort", "--links")
	assert.Contains(t, suggested(t, r.Stdout)[1], " --sort --links")
	assert.NotContains(t, suggested(t, r.Stdout)[0], "--sort")
	trial := []string{"trial", "export.jsonl", "--format", "mixpanel", "--project-key", "@test.key", "--wait", "1s"}
	for _, more := range [][]string{nil, {"--sort", "--links"}} {
		p.Ends(t, 0, append(trial, more...)...)
		assert.Equal(t, 100, server.Ledger().Len(), "it is the same trial")
	}
	for _, command := range []string{"check", "trial"} {
		says(t, p.Run(t, command, "--help").Stdout, "accepted, so that the flags of run can be copied: nothing is sorted here")
	}
}

// A suggested command writes to the report that was named, or to a name that nothing else has.
func TestSuggestedReportsAreFree(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	p.Events(t, "bad.jsonl", 10, func(i int) bool { return i > 2 })
	p.Events(t, "e.jsonl", 10, nil)
	p.Ends(t, 0, "run", "e.jsonl", "--yes")
	next := func(args ...string) string {
		r := p.Run(t, args...)
		return clitest.Words(r.Stdout + r.Stderr)
	}
	assert.Contains(t, next("check", "bad.jsonl"), " --report report.html")
	p.Write(t, "report.html", anEarlierPage)
	assert.Contains(t, next("check", "bad.jsonl"), " --report report.html", "an earlier one is replaced")
	for _, name := range []string{"report.html", "report-2.html", "verify.html", "left-out.txt"} {
		p.Write(t, name, "mine")
	}
	assert.Contains(t, next("check", "bad.jsonl"), " --report report-3.html")
	assert.Contains(t, next("check", "bad.jsonl", "--report", "my page.html"), " --report 'my page.html'")
	assert.Contains(t, next("check", "e.jsonl"), "hogimport verify --state hogimport-state/e --report verify-2.html")
	assert.Contains(t, next("check", "e.jsonl", "--until", "2024-01-01T00:02:00Z"), " --left-out left-out-2.txt")

	server.HoldEvents()
	p.Events(t, "f.jsonl", 10, nil)
	p.Ends(t, 0, "run", "f.jsonl", "--yes")
	assert.Contains(t, next("verify", "--state", "hogimport-state/f", "--report", "my page-2.html"),
		"hogimport verify --state hogimport-state/f --report 'my page-2.html'")
}

type leftOutLine struct {
	Where, Reason string
	Record        json.RawMessage
}

func listed(t *testing.T, path string) (lines []leftOutLine) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		var one leftOutLine
		require.NoError(t, json.Unmarshal([]byte(line), &one), line)
		lines = append(lines, one)
	}
	return lines
}

// nameless writes two packed exports in two folders, in which each of some lines names no person. It returns the places
// of these lines, with their text.
func nameless(t *testing.T, p *clitest.Program) (places, records []string) {
	t.Helper()
	at := time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC)
	for f, name := range []string{"2023/a.json.gz", "b.json.gz"} {
		var b bytes.Buffer
		packed := gzip.NewWriter(&b)
		for i := range 300 {
			id := fmt.Sprintf(`"distinct_id":"u%d",`, i%9)
			if i%7 == 3 {
				id = ""
			}
			line := fmt.Sprintf(`{"event":"a <b> & c","properties":{"time":%d,%s"$insert_id":"%d-%d","n":12345678901234567890}}`,
				at.Add(time.Duration(i)*time.Hour).Unix(), id, f, i)
			fmt.Fprintln(packed, line)
			if id == "" {
				places, records = append(places, fmt.Sprintf("%s:%d", name, i+1)), append(records, line)
			}
		}
		require.NoError(t, packed.Close())
		path := filepath.Join(p.Dir, "export", name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))
	}
	return places, records
}

// shown is the command of a text that lists records that are left out.
func shown(t *testing.T, text string) string {
	t.Helper()
	found := regexp.MustCompile(`(?m)^ +(hogimport check .* --left-out .*)$`).FindStringSubmatch(strings.ReplaceAll(text, " \\\n     ", ""))
	require.NotNil(t, found, text)
	return found[1]
}

// Each record that is left out can be had, with its place and its reason, by a command that check and run show.
func TestAllRecordsThatAreLeftOutAreListed(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, hogapitest.New())
	places, records := nameless(t, p)
	files := []string{"export/2023/a.json.gz", "export/b.json.gz", "--format", "mixpanel", "--zone", "UTC"}
	r := p.Ends(t, 0, append([]string{"check"}, files...)...)
	r.Narrow(t)
	done := p.Ends(t, 0, append([]string{"run", "--yes", "--rate", "none", "--sort", "--links"}, files...)...)
	assert.Contains(t, done.Stdout, fmt.Sprintf("Left out: %d,", len(places)))
	for _, text := range []string{r.Stdout, done.Stdout} {
		said := p.Shell(t, 0, shown(t, text))
		says(t, said.Stdout, fmt.Sprintf("All %d records that are left out are in left-out.txt.", len(places)))
		assert.NotContains(t, said.Stdout, "--left-out", "the list is there")
		lines := listed(t, filepath.Join(p.Dir, "left-out.txt"))
		require.Len(t, lines, len(places))
		for i, line := range lines {
			require.Equal(t, leftOutLine{places[i], "no id", json.RawMessage(records[i])}, line)
		}
		require.NoError(t, os.Remove(filepath.Join(p.Dir, "left-out.txt")))
	}
}

// The list has records that --until leaves out, of formats and of lines that are events.
func TestWhatUntilLeavesOutIsListed(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, nil)
	p.Events(t, "e.jsonl", 100, func(i int) bool { return i == 70 })
	export(t, p.Dir, "export.jsonl", 100, 0, time.UTC)
	for _, c := range []struct {
		args []string
		want int
	}{
		{[]string{"e.jsonl", "--until", "2024-01-01T01:00:00Z", "--max-rejects", "5%"}, 39},
		{[]string{"export.jsonl", "--format", "mixpanel", "--until", "2023-01-08"}, 76},
		{[]string{"e.jsonl", "--max-rejects", "5%"}, 0},
	} {
		p.Ends(t, 0, append([]string{"check", "--left-out", "list"}, c.args...)...)
		lines := listed(t, filepath.Join(p.Dir, "list"))
		require.Len(t, lines, c.want)
		for i, line := range lines {
			require.Equal(t, "at or after --until", line.Reason)
			require.Regexp(t, `^e(xport)?\.jsonl:\d+$`, line.Where, i)
		}
	}
}

// A list is whole or not there, and no other file is overwritten: a shell can make FILE an export.
func TestAListOverwritesNothingElse(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, nil)
	nameless(t, p)
	a, b := "export/2023/a.json.gz", "export/b.json.gz"
	whole := p.Read(t, a)
	for want, args := range map[string][]string{
		a + " is there already, and it is no list of records that are left out": {"--left-out", a, b},
		a + " is one of the files that are read":                                {"--left-out", a, a},
	} {
		r := p.Run(t, append([]string{"check", "--format", "mixpanel"}, args...)...)
		assert.Equal(t, 2, r.Code, want)
		says(t, r.Stderr, want)
		kept := p.Read(t, a)
		require.Equal(t, whole, kept, want)
	}
	list := filepath.Join(p.Dir, "list")
	p.Ends(t, 0, "check", b, "--format", "mixpanel", "--left-out", "list")
	p.Ends(t, 0, "check", a, b, "--format", "mixpanel", "--left-out", "list")
	before := listed(t, list)
	require.Len(t, before, 86)
	assert.NoFileExists(t, list+durable.TempEnding)

	require.NoError(t, os.Mkdir(list+durable.TempEnding, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(list+durable.TempEnding, "x"), nil, 0o600))
	p.Ends(t, 1, "check", b, "--format", "mixpanel", "--left-out", "list").Err(t, "list cannot be written")
	assert.Equal(t, before, listed(t, list), "the earlier one is as it was")
}
