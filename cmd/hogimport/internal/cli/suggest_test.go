//go:build unix

package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/cmd/hogimport/internal/clitest"
	"github.com/hogapi/hogapi/hogapitest"
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
	require.Equal(t, 0, p.Run(t, "run", "other.jsonl", "--yes").Code, "another import, which verify must not take")
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
	require.NoError(t, os.WriteFile(filepath.Join(p.Dir, "my events.jsonl"), []byte(text.String()), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(p.Dir, "test-project.key"), []byte(hogapitest.DefaultProjectKey), 0o600))

	unknown := p.Run(t, "check", "my events.jsonl", "--max-rejects", "5%")
	says(t, unknown.Stdout, "into the variable TEST_PROJECT_ID, and us, eu or a URL into POSTHOG_HOST.")
	r := p.Ends(t, 0, "check", "my events.jsonl", "--host", host, "--project-id", hogapitest.DefaultProject, "--rate", "none", "--max-rejects", "5%")
	says(t, r.Stdout, "1. Optional, and only with a test project: send 1,000 events there, and compare them. First put its key into the file test-project.key, and its number into the variable TEST_PROJECT_ID.")
	says(t, r.Stdout, "3. Verify that all events have arrived: right after the import, and again in a few hours if it says that events are still arriving.")
	commands := suggested(t, r.Stdout)
	for i, env := range [][]string{
		{"POSTHOG_PROJECT_API_KEY=phc_ofTheImport00000000000000000000000000000000", "TEST_PROJECT_ID=" + hogapitest.DefaultProject}, nil, nil,
	} {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", commands[i])
		cmd.Dir, cmd.Env = p.Dir, append(append(p.Env, "PATH="+filepath.Dir(clitest.Binary(t))), env...)
		done := clitest.Finish(t, cmd)
		require.Equal(t, 0, done.Code, "%s\n%s%s", commands[i], done.Stdout, done.Stderr)
	}
	assert.Contains(t, commands[1], " --sort")
	assert.FileExists(t, filepath.Join(p.Dir, "verify.html"))

	cmd := exec.CommandContext(t.Context(), "sh", "-c", commands[0])
	cmd.Dir, cmd.Env = p.Dir, append(p.Env, "PATH="+filepath.Dir(clitest.Binary(t)))
	done := clitest.Finish(t, cmd)
	assert.Equal(t, 2, done.Code, "without the number nothing is sent to be looked for elsewhere")
	says(t, done.Stderr, "flag needs an argument: --project-id")
}

// On a terminal run asks, so it needs no --yes.
func TestCheckOnATerminalSuggestsARunThatAsks(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, hogapitest.New())
	p.Events(t, "e.jsonl", 20, nil)
	assert.Contains(t, p.Run(t, "check", "e.jsonl").Stdout, "hogimport run e.jsonl --format jsonl --yes\n")
	s := startOnTerminal(t, p, "check", "e.jsonl")
	require.Equal(t, 0, s.exit(), s.shown())
	assert.Contains(t, s.shown(), "hogimport run e.jsonl --format jsonl\r\n")
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
	put := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(p.Dir, name), []byte(text), 0o600))
	}
	next := func(args ...string) string {
		r := p.Run(t, args...)
		return strings.Join(strings.Fields(strings.ReplaceAll(r.Stdout+r.Stderr, " \\\n", "")), " ")
	}
	assert.Contains(t, next("check", "bad.jsonl"), " --report report.html")
	put("report.html", anEarlierPage)
	assert.Contains(t, next("check", "bad.jsonl"), " --report report.html", "an earlier one is replaced")
	for _, name := range []string{"report.html", "report-2.html", "verify.html", "left-out.txt"} {
		put(name, "mine")
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
