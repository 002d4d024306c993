package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/cmd/hogimport/internal/clitest"
	"github.com/hogapi/hogapi/hogapitest"
)

func TestStatus(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	p.Ends(t, 0, "status").Out(t, "No import has begun")

	p.Events(t, "a.jsonl", 30_000, nil)
	p.Events(t, "b.jsonl", 100, nil)
	p.Ends(t, 0, "run", "b.jsonl", "--yes")
	cmd := p.Command(t.Context(), t, "run", "a.jsonl", "--yes", "--rate", "500")
	require.NoError(t, cmd.Start())
	is := func() string {
		r := p.Run(t, "status", "--json", "--state", "hogimport-state/a")
		var all []struct {
			Is       string
			Progress struct{ Acknowledged int64 }
		}
		if json.Unmarshal([]byte(r.Stdout), &all) != nil || all[0].Progress.Acknowledged == 0 {
			return ""
		}
		return all[0].Is
	}
	require.Eventually(t, func() bool { return is() == "running" }, time.Minute, 50*time.Millisecond)
	server.SetDown(true)
	require.Eventually(t, func() bool { return is() == "waiting" }, time.Minute, 50*time.Millisecond)
	r := p.Run(t, "status")
	assert.Regexp(t, `hogimport-state/a +waiting +[\d,]+ +0 +0 +about [\d,]+ +about 30,\d+\n`, r.Stdout)
	assert.Regexp(t, `hogimport-state/a waits since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC: `, r.Stdout)
	assert.Regexp(t, `hogimport-state/b +complete +100 +0 +0 +0 +100\n`, r.Stdout)
	clitest.Says(t, r.Stdout, "hogimport verify --state hogimport-state/b")
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	assert.Equal(t, "killed", is(), "at once")
	assert.Contains(t, p.Run(t, "status").Stdout, "Next for hogimport-state/a:\n  hogimport run --state hogimport-state/a --rate 500 --yes\n")
	server.SetDown(false)
}

// A fix holds the folder of its import and its own.
func TestStatusOfAFixThatIsKilled(t *testing.T) {
	t.Parallel()
	_, p := clitest.Serve(t)
	actions(t, p, 1000, func(i int) bool { return i > 0 })
	p.Ends(t, 0, runActions("--max-rejects", "none")...)
	is := func(word string) bool {
		return strings.Contains(clitest.Words(p.Run(t, "status").Stdout), "hogimport-state/actions/fix-1 "+word)
	}
	isHeld := func() bool {
		return is("running") && strings.Contains(p.Run(t, fixActions()...).Stderr, "another run uses the state folder hogimport-state/actions")
	}
	p.Until(t, isHeld, os.Kill, fixActions("--rate", "50")...)
	assert.True(t, is("killed"))
}

func TestStatusSaysWhatIsNext(t *testing.T) {
	t.Parallel()
	_, p := clitest.Serve(t)
	p.Events(t, "e.jsonl", 300, nil)
	p.With("POSTHOG_PROJECT_API_KEY=phc_wrong").Ends(t, 5, "run", "e.jsonl", "--yes")
	assert.Contains(t, p.Run(t, "status").Stdout, "with the right project key: hogimport run --state hogimport-state/e --yes\n")
	p.Ends(t, 0, "run", "e.jsonl", "--yes")
	r := p.Ends(t, 0, "status").Out(t, "STATUS", "hogimport verify")
	assert.Regexp(t, `complete +300 +0 +0 +0 +300\n`, r.Stdout)

	p.Ends(t, 0, "verify")
	assert.NotContains(t, p.Run(t, "status").Stdout, "Next")
	p.Write(t, "hogimport-state/e/verified.json", `{"digest":"another"}`)
	assert.Contains(t, p.Run(t, "status").Stdout, "hogimport verify", "more was sent since")
}

// The numbers of a row add up while an import runs. Once all is sorted and the links are known, its total is exact.
func TestStatusAddsUp(t *testing.T) {
	t.Parallel()
	_, p := clitest.Serve(t)
	mixpanelExport(t, p, 9000)
	args := []string{"run", "export/*.gz", "--format", "mixpanel", "--yes", "--rate", "500", "--links", "--sort", "--until", "2024-05-05"}
	row := func() []int {
		found := regexp.MustCompile(`(?:running|killed) +([\d,]+) +([\d,]+) +([\d,]+) +([\d,]+) +([\d,]+)\n`).FindStringSubmatch(p.Run(t, "status").Stdout)
		if found == nil {
			return nil
		}
		var numbers []int
		for _, text := range found[1:] {
			n, err := strconv.Atoi(strings.ReplaceAll(text, ",", ""))
			require.NoError(t, err)
			numbers = append(numbers, n)
		}
		return numbers
	}
	adds := func(n []int) bool { return len(n) == 5 && n[0] > 0 && n[0]+n[1]+n[2]+n[3] == n[4] && n[4] == 9005 }
	p.Until(t, func() bool { return adds(row()) }, os.Kill, args...)
	assert.True(t, adds(row()), "%v", row())
}

// A verification is about the events that a run has reported at its end. During a run, and after a
// kill, it says how far the run is.
func TestVerifyDuringARunAndAfterAKill(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	ids := p.Events(t, "a.jsonl", 20_000, nil)
	server.SetDown(true)
	p.Ends(t, 1, "run", "a.jsonl", "--yes", "--max-outage", "1s") // it has sent nothing
	p.Ends(t, 7, "verify").Err(t, "has sent nothing, so there is nothing to verify Check --host, and run it first. "+
		"hogimport run --state hogimport-state/a --max-outage 1s --yes")
	server.SetDown(false)
	const sends = "the import in hogimport-state/a is under way. It has sent at least"
	p.Until(t, func() bool { return strings.Contains(clitest.Words(p.Run(t, "verify").Stderr), sends) }, os.Kill,
		"run", "a.jsonl", "--yes", "--rate", "1000", "--max-rejects", "7")
	p.Ends(t, 7, "verify").Err(t, "the import in hogimport-state/a was killed. It has sent at least",
		"Continue it, and verify it then. hogimport run --state hogimport-state/a --max-rejects 7 --rate 1000 --yes")
	p.Ends(t, 0, "run", "--state", "hogimport-state/a", "--max-rejects", "7", "--rate", "none", "--yes")
	clitest.RequireWhole(t, server, ids)
	p.Ends(t, 0, "verify")
}

// A run that is refused before it begins leaves the status as it was.
func TestStatusAfterARefusedRun(t *testing.T) {
	t.Parallel()
	p, folder := imported(t, hogapitest.New())
	row := func() string { return strings.SplitN(p.Run(t, "status").Stdout, "\n", 3)[1] }
	before := row()
	require.Contains(t, before, "complete")
	require.NoError(t, os.Truncate(filepath.Join(folder, "checkpoint.json"), 100))
	p.Ends(t, 1, "run", "events.jsonl", "--yes")
	assert.Equal(t, before, row())
}

// Once all rejects are fixed there is nothing to fix.
func TestStatusAfterACompleteFix(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, hogapitest.New())
	actions(t, p, 200, func(i int) bool { return i > 100 })
	p.Ends(t, 0, runActions("--max-rejects", "none")...)
	next := func() string { _, next, _ := strings.Cut(p.Run(t, "status").Stdout, "Next"); return next }
	assert.Contains(t, next(), "hogimport fix --state hogimport-state/actions")
	p.Ends(t, 0, fixActions()...)
	assert.NotContains(t, next(), "fix --state")
	for _, state := range []string{"hogimport-state/actions", "hogimport-state/actions/fix-1"} {
		p.Ends(t, 0, "verify", "--state", state)
	}
	assert.Empty(t, next())
}

// toFull runs a program with a full disk as its standard output.
func toFull(t *testing.T, p *clitest.Program, args ...string) clitest.Result {
	t.Helper()
	const name = "/dev/full"
	full, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("there is no %s here: %v", name, err)
	}
	defer full.Close()
	cmd := p.Command(t.Context(), t, args...)
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = full, &stderr
	_ = cmd.Run() // its exit code says it
	return clitest.Result{Code: cmd.ProcessState.ExitCode(), Stderr: stderr.String()}
}

// A result that nobody can read is an error. All else is done as if it could be read.
func TestAResultThatCannotBeWrittenIsAnError(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	ids := p.Events(t, "events.jsonl", 1000, func(i int) bool { return i%500 == 7 })
	for _, args := range [][]string{
		{"check", "events.jsonl"}, {"check", "events.jsonl", "--json"},
		{"run", "events.jsonl", "--yes", "--rate", "none"}, {"run", "events.jsonl", "--rate", "none", "--json"},
		{"status"}, {"status", "--json"}, {"verify"}, {"verify", "--json"}, {"formats"}, {"formats", "--json"}, {"--help"}, {"run", "--help"}, {"--version"},
	} {
		r := toFull(t, p, args...)
		assert.Equal(t, 1, r.Code, "%v: %s", args, r.Stderr)
		clitest.Says(t, r.Stderr, "the result cannot be written to the standard output: no space left on device")
	}
	clitest.RequireWhole(t, server, ids)
	p.Ends(t, 0, "status").Out(t, "complete").Never(t, "hogimport verify") // which has kept its result

	asJSON := toFull(t, p, "run", "events.jsonl", "--log", "json")
	assert.Equal(t, 1, asJSON.Code)
	clitest.Says(t, asJSON.Stderr, `"exit":1`)

	p.Events(t, "bad.jsonl", 1000, func(i int) bool { return i%2 == 0 })
	r := toFull(t, p, "check", "bad.jsonl")
	assert.Equal(t, 3, r.Code, "the error of the command matters more")
	clitest.Says(t, r.Stderr, "500 of 1,000 events (50.0 %) would be rejected",
		"the result cannot be written to the standard output: no space left on device")
}
