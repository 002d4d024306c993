package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/examples/internal/demotest"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

func TestWithoutKeys(t *testing.T) {
	out := demotest.Run(t, nil, run)
	assert.Regexp(t, `(?m)^NOT EXPORTED: 3 intervals in 2 gaps, since `, out)
	assert.Regexp(t, `(?m)^.* 2  never scheduled`, out)
	assert.Regexp(t, `(?m)^.* 2  paused`, out)
	assert.Regexp(t, `(?m)^2 steps: 0 planned, 2 done or covered, 0 failed, 0 left to you$`, out)
	assert.Regexp(t, `(?m)^1 step: 0 planned, 1 done or covered, 0 failed, 0 left to you$`, out)
}

// failing has an export with a single due run, which failed.
func failing() *hogapitest.Server {
	server := hogapitest.New(hogapitest.WithPolls(1))
	project := server.Project(hogapitest.DefaultProject)
	end := time.Now().UTC().Truncate(time.Hour).Add(-time.Hour)
	nightly := project.AddExport(hogapitest.Export{Name: "nightly", Created: end.Add(-time.Minute)})
	project.AddRun(nightly, hogapitest.Run{Status: hogapi.RunStatusFailed, End: end, Created: end.Add(time.Minute), Error: "no such bucket"})
	return server
}

func TestTheRealServiceIsOnlyReadWithoutYes(t *testing.T) {
	server := failing()
	out, err := demotest.RunAt(t, server, run)
	require.ErrorContains(t, err, "nightly: gaps that are not exported: 1")
	assert.Contains(t, out, "Keys found: working with ")
	assert.Contains(t, out, "1 step: 1 planned")
	assert.Empty(t, server.Calls(ops.BackfillsCreate))
}

func TestARepairThatFailsFailsTheProgram(t *testing.T) {
	server := failing()
	server.Script(ops.BackfillsCreate, hogapitest.Status(402))
	_, err := demotest.RunAt(t, server, run, "-yes")
	require.ErrorContains(t, err, "402")
}
