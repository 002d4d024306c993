package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
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
	assert.Regexp(t, `hogimport-state/a +waiting +[\d,]+ +0 +30,\d+\n`, r.Stdout)
	assert.Regexp(t, `hogimport-state/a waits since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC: `, r.Stdout)
	assert.Regexp(t, `hogimport-state/b +complete +100 +0 +100\n`, r.Stdout)
	assert.Contains(t, r.Stdout, "hogimport verify --state hogimport-state/b")
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	server.SetDown(false)
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
	assert.Regexp(t, `complete +300 +0 +300\n`, r.Stdout)
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
	require.Equal(t, 0, p.Run(t, args...).Code)
	assert.Regexp(t, `complete +3,005 +0 +3,005\n`, p.Run(t, "status").Stdout)
}
