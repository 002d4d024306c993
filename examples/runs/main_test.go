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
	assert.Regexp(t, `(?m)^persons to the .* FailedRetryable +the job was not found +completed, 1000 records`, out)
	assert.Regexp(t, `(?m)^events to the lake .* SlowDown.* +completed, 1000 records`, out)
	assert.Regexp(t, `(?m)^events to the lake .* AccessDenied.* +left alone: see below`, out, "a run of 20 days ago")
	assert.Regexp(t, `(?m)^Left alone without -rows-by-timestamp: .* of events to the lake\nhogapi: .*the new objects replace the old ones`, out)
	assert.Contains(t, out, "\n4 failed runs\n", "of five: one interval has been exported since")
}

func TestOldRunsAreRetriedOnDemand(t *testing.T) {
	server := failing()
	project := server.Project(hogapitest.DefaultProject)
	project.AddRun(project.Exports()[0].ID, hogapitest.Run{Status: hogapi.RunStatusFailed, Created: time.Now().AddDate(0, 0, -20)})
	out := demotest.Run(t, server, run, "-yes", "-rows-by-timestamp")
	assert.NotContains(t, out, "left alone")
	assert.Len(t, server.Calls(ops.RunsRetry), 2)
}

func failing() *hogapitest.Server {
	server := hogapitest.New(hogapitest.WithPolls(1))
	project := server.Project(hogapitest.DefaultProject)
	nightly := project.AddExport(hogapitest.Export{Name: "nightly"})
	project.AddRun(nightly, hogapitest.Run{Status: hogapi.RunStatusFailed, Error: "no such bucket"})
	return server
}

func TestTheRealServiceIsOnlyReadWithoutYes(t *testing.T) {
	server := failing()
	out := demotest.Run(t, server, run)
	assert.Contains(t, out, "Keys found: working with ")
	assert.Regexp(t, `nightly .* no such bucket +not retried: say -yes`, out)
	assert.Empty(t, server.Calls(ops.RunsRetry))
}

func TestARetryThatFailsIsSaidAndFailsTheProgram(t *testing.T) {
	server := failing()
	server.Script(ops.RunsRetry, hogapitest.Status(402))
	out, err := demotest.RunAt(t, server, run, "-yes")
	require.ErrorContains(t, err, "1 of 1 retries did not complete")
	assert.Regexp(t, `nightly .* 402`, out)
}
