package main

import (
	"strings"
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
	for _, want := range []string{
		"1. Store", "2. Test", "Check S3 bucket exists  Passed", "3. Create", "every hour to AwsS3", "4. Backfill",
		"3 runs completed, 0 failed",
	} {
		assert.Contains(t, out, want)
	}
}

func TestNothingIsDoneWithoutYes(t *testing.T) {
	server := hogapitest.New()
	out := demotest.Run(t, server, run)
	assert.Contains(t, out, "Nothing has been done. Say -yes")
	assert.Empty(t, server.Calls())
}

// A repeated run makes nothing twice, and no credential is printed.
func TestAFreshProject(t *testing.T) {
	server := hogapitest.New(hogapitest.WithPolls(1))
	project := server.Project(hogapitest.DefaultProject)
	var out strings.Builder
	s := &setup{
		client: server.Client(t), watch: &hogapi.WatchOptions{Interval: time.Millisecond}, out: &out,
		name: "lake", bucket: "b", region: "r", prefix: "p/", hours: 1,
		accessKeyID: "AKIACanary", secretAccessKey: "CanarySecret",
	}
	project.FailTestStep("Check S3 bucket exists", "no such bucket")
	require.ErrorContains(t, s.work(t.Context()), "does not work yet")
	assert.Contains(t, out.String(), "Check S3 bucket exists  Failed: no such bucket")
	assert.Empty(t, project.Exports())

	project.FailTestStep("Check S3 bucket exists", "")
	for range 2 {
		require.NoError(t, s.work(t.Context()), out.String())
	}
	assert.NotContains(t, out.String(), "Canary")
	require.Len(t, project.Exports(), 1)
	require.Len(t, project.Integrations(), 1)
	assert.Equal(t, "CanarySecret", project.Integrations()[0].Config["aws_secret_access_key"])
	assert.Len(t, server.Calls(ops.IntegrationsCreate), 1)
}

// The error of a server without integrations says where the credentials go instead.
func TestAnOldServer(t *testing.T) {
	server := hogapitest.New(hogapitest.WithOldService())
	_, err := demotest.RunAt(t, server, run, "-yes", "-role", "arn:aws:iam::1:role/r")
	require.ErrorIs(t, err, hogapi.ErrUnsupported)
	require.ErrorContains(t, err, "the credentials in the config of the destination")
}
