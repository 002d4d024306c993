package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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
	r := p.Ends(t, 0, "status")
	assert.Contains(t, r.Stdout, "No import has begun")

	p.Events(t, "a.jsonl", 30_000, nil)
	p.Events(t, "b.jsonl", 100, nil)
	require.Equal(t, 0, p.Run(t, "run", "b.jsonl", "--yes").Code)
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
	r = p.Run(t, "status")
	assert.Regexp(t, `hogimport-state/a +waiting +[\d,]+ +0 +0 +about [\d,]+ +about 30,\d+\n`, r.Stdout)
	assert.Regexp(t, `hogimport-state/a waits since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC: `, r.Stdout)
	assert.Regexp(t, `hogimport-state/b +complete +100 +0 +0 +0 +100\n`, r.Stdout)
	assert.Contains(t, r.Stdout, "hogimport verify --state hogimport-state/b")
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
	args := append([]string{"run", "actions.csv", "--yes", "--max-rejects", "none", "--map", "time=when"}, mapped...)
	require.Equal(t, 0, p.Run(t, args...).Code)
	fix := append([]string{"fix", "--yes", "--rate", "50", "--zone", "UTC", "--map", "time=when|layout:02.01.2006 15:04"}, mapped...)
	cmd := p.Command(t.Context(), t, fix...)
	require.NoError(t, cmd.Start())
	is := func(word string) bool {
		stdout := p.Run(t, "status").Stdout
		return strings.Contains(strings.Join(strings.Fields(stdout), " "), "hogimport-state/actions/fix-1 "+word)
	}
	require.Eventually(t, func() bool { return is("running") }, time.Minute, 50*time.Millisecond)
	second := p.Ends(t, 1, fix...)
	says(t, second.Stderr, "another run uses the state folder hogimport-state/actions")
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	assert.True(t, is("killed"))
}

func TestStatusSaysWhatIsNext(t *testing.T) {
	t.Parallel()
	_, p := clitest.Serve(t)
	p.Events(t, "e.jsonl", 300, nil)
	right := p.Env
	p.Env = append(slices.Clip(p.Env), "POSTHOG_PROJECT_API_KEY=phc_wrong")
	require.Equal(t, 5, p.Run(t, "run", "e.jsonl", "--yes").Code)
	assert.Contains(t, p.Run(t, "status").Stdout, "with the right project key: hogimport run --state hogimport-state/e --yes\n")
	p.Env = right
	require.Equal(t, 0, p.Run(t, "run", "e.jsonl", "--yes").Code)
	r := p.Run(t, "status")
	assert.Contains(t, r.Stdout, "STATUS")
	assert.Regexp(t, `complete +300 +0 +0 +0 +300\n`, r.Stdout)
	assert.Contains(t, r.Stdout, "hogimport verify")

	verified := filepath.Join(p.Dir, "hogimport-state/e/verified.json")
	p.Ends(t, 0, "verify")
	assert.NotContains(t, p.Run(t, "status").Stdout, "Next")
	require.NoError(t, os.WriteFile(verified, []byte(`{"digest":"another"}`), 0o600))
	assert.Contains(t, p.Run(t, "status").Stdout, "hogimport verify", "more was sent since")
}

// With --links an import sends more events than there are records: the total is the final number.
func TestStatusHasTheRealTotal(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, hogapitest.New())
	mixpanelExport(t, p, 3000)
	args := []string{"run", "export/*.gz", "--format", "mixpanel", "--yes", "--rate", "none", "--links", "--zone", "US/Pacific"}
	r := p.Ends(t, 0, args...)
	says(t, r.Stdout, "Complete: 3,000 events and 5 links of persons acknowledged; no record left out or rejected.")
	assert.Regexp(t, `complete +3,005 +0 +0 +0 +3,005\n`, p.Run(t, "status").Stdout)
}

// The numbers of a row add up while an import runs. Once all is sorted and the links are known, its total is exact.
func TestStatusAddsUp(t *testing.T) {
	t.Parallel()
	_, p := clitest.Serve(t)
	mixpanelExport(t, p, 9000)
	args := []string{"run", "export/*.gz", "--format", "mixpanel", "--yes", "--rate", "500", "--links", "--sort", "--until", "2024-05-05"}
	cmd := p.Command(t.Context(), t, args...)
	require.NoError(t, cmd.Start())
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
	require.Eventually(t, func() bool { return adds(row()) }, time.Minute, 50*time.Millisecond)
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	assert.True(t, adds(row()), "%v", row())
}

// A verification is about the events that a run has reported at its end. During a run, and after a
// kill, it says how far the run is.
func TestVerifyDuringARunAndAfterAKill(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	ids := p.Events(t, "a.jsonl", 20_000, nil)
	server.SetDown(true)
	require.Equal(t, 1, p.Run(t, "run", "a.jsonl", "--yes", "--max-outage", "1s").Code, "it has sent nothing")
	r := p.Ends(t, 7, "verify")
	says(t, r.Stderr, "has sent nothing, so there is nothing to verify Check --host, and run it first. hogimport run --state hogimport-state/a --max-outage 1s --yes")
	server.SetDown(false)
	cmd := p.Command(t.Context(), t, "run", "a.jsonl", "--yes", "--rate", "1000", "--max-rejects", "7")
	require.NoError(t, cmd.Start())
	sends := func() bool { return strings.Contains(p.Run(t, "verify").Stderr, "It has sent at least") }
	require.Eventually(t, sends, time.Minute, 50*time.Millisecond)
	r = p.Ends(t, 7, "verify")
	says(t, r.Stderr, "the import in hogimport-state/a is under way. It has sent at least")
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	r = p.Ends(t, 7, "verify")
	says(t, r.Stderr, "the import in hogimport-state/a was killed. It has sent at least")
	says(t, r.Stderr, "Continue it, and verify it then. hogimport run --state hogimport-state/a --max-rejects 7 --rate 1000 --yes")
	require.Equal(t, 0, p.Run(t, "run", "--state", "hogimport-state/a", "--max-rejects", "7", "--rate", "none", "--yes").Code)
	clitest.RequireWhole(t, server, ids)
	require.Equal(t, 0, p.Run(t, "verify").Code)
}

// A run that is refused before it begins leaves the status as it was.
func TestStatusAfterARefusedRun(t *testing.T) {
	t.Parallel()
	p, folder, _ := imported(t, hogapitest.New())
	row := func() string { return strings.SplitN(p.Run(t, "status").Stdout, "\n", 3)[1] }
	before := row()
	require.Contains(t, before, "complete")
	checkpoint := filepath.Join(folder, "checkpoint.json")
	whole, err := os.ReadFile(checkpoint)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(checkpoint, whole[:len(whole)/2], 0o600))
	p.Ends(t, 1, "run", "events.jsonl", "--yes")
	assert.Equal(t, before, row())
}

// Once all rejects are fixed there is nothing to fix.
func TestStatusAfterACompleteFix(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, hogapitest.New())
	actions(t, p, 200, func(i int) bool { return i > 100 })
	args := append([]string{"run", "actions.csv", "--yes", "--rate", "none", "--max-rejects", "none", "--map", "time=when"}, mapped...)
	require.Equal(t, 0, p.Run(t, args...).Code)
	next := func() string { _, next, _ := strings.Cut(p.Run(t, "status").Stdout, "Next"); return next }
	assert.Contains(t, next(), "hogimport fix --state hogimport-state/actions")
	fix := append([]string{"fix", "--yes", "--rate", "none", "--zone", "UTC", "--map", "time=when|layout:02.01.2006 15:04"}, mapped...)
	p.Ends(t, 0, fix...)
	assert.NotContains(t, next(), "fix --state")
	for _, state := range []string{"hogimport-state/actions", "hogimport-state/actions/fix-1"} {
		p.Ends(t, 0, "verify", "--state", state)
	}
	assert.Empty(t, next())
}
