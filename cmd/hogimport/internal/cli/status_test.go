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
	server := hogapitest.New()
	p := clitest.New(t, server)
	r := p.Run(t, "status")
	assert.Equal(t, 0, r.Code)
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
	assert.Contains(t, p.Run(t, "status").Stdout, "Next for hogimport-state/a:\n  the same command again\n")
	server.SetDown(false)
}

// A fix holds the folder of its import and its own.
func TestStatusOfAFixThatIsKilled(t *testing.T) {
	t.Parallel()
	server := hogapitest.New()
	p := clitest.New(t, server)
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
	second := p.Run(t, fix...)
	assert.Equal(t, 1, second.Code)
	says(t, second.Stderr, "another run uses the state folder hogimport-state/actions")
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	assert.True(t, is("killed"))
}

func TestStatusSaysWhatIsNext(t *testing.T) {
	t.Parallel()
	server := hogapitest.New()
	p := clitest.New(t, server)
	p.Events(t, "e.jsonl", 300, nil)
	right := p.Env
	p.Env = append(slices.Clip(p.Env), "POSTHOG_PROJECT_API_KEY=phc_wrong")
	require.Equal(t, 5, p.Run(t, "run", "e.jsonl", "--yes").Code)
	assert.Contains(t, p.Run(t, "status").Stdout, "the same command again, with the right project key\n")
	p.Env = right
	require.Equal(t, 0, p.Run(t, "run", "e.jsonl", "--yes").Code)
	r := p.Run(t, "status")
	assert.Contains(t, r.Stdout, "STATUS")
	assert.Regexp(t, `complete +300 +0 +0 +0 +300\n`, r.Stdout)
	assert.Contains(t, r.Stdout, "hogimport verify")

	verified := filepath.Join(p.Dir, "hogimport-state/e/verified.json")
	v := p.Run(t, "verify")
	require.Equal(t, 0, v.Code, v.Stderr)
	assert.NotContains(t, p.Run(t, "status").Stdout, "Next")
	require.NoError(t, os.WriteFile(verified, []byte(`{"digest":"another"}`), 0o600))
	assert.Contains(t, p.Run(t, "status").Stdout, "hogimport verify", "more was sent since")
}

// With --links more is sent than there are records: the total is what it was in the end.
func TestStatusHasTheRealTotal(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, hogapitest.New())
	mixpanelExport(t, p, 3000)
	args := []string{"run", "export/*.gz", "--format", "mixpanel", "--yes", "--rate", "none", "--links", "--zone", "US/Pacific"}
	r := p.Run(t, args...)
	require.Equal(t, 0, r.Code)
	says(t, r.Stdout, "Complete: 3,000 events and 5 links of persons acknowledged; no record left out or rejected.")
	assert.Regexp(t, `complete +3,005 +0 +0 +0 +3,005\n`, p.Run(t, "status").Stdout)
}

// The numbers of a row add up while an import runs. Once all is sorted and the links are known, its total is exact.
func TestStatusAddsUp(t *testing.T) {
	t.Parallel()
	server := hogapitest.New()
	p := clitest.New(t, server)
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
