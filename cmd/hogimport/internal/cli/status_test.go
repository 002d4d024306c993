package cli_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/cmd/hogimport/internal/clitest"
	"github.com/hogapi/hogapi/hogapitest"
)

func TestStatus(t *testing.T) {
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
