// Package demotest helps the tests of the examples: it runs a program and keeps its output.
package demotest

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/testevents"
)

const (
	personalKey = "POSTHOG_PERSONAL_API_KEY"
	projectKey  = "POSTHOG_PROJECT_API_KEY"
)

// Program is the run function of an example.
type Program func(ctx context.Context, out io.Writer, args []string) error

// Run runs a program as [RunAt] does, requires that it succeeds, and returns its output.
func Run(t *testing.T, server *hogapitest.Server, program Program, args ...string) string {
	t.Helper()
	out, err := RunAt(t, server, program, args...)
	require.NoError(t, err, "it printed:\n%s", out)
	return out
}

// RunAt runs a program as if the server were the real service. With a nil server, the program has no keys, and so a
// fake of its own.
func RunAt(t *testing.T, server *hogapitest.Server, program Program, args ...string) (string, error) {
	t.Helper()
	var values map[string]string
	if server != nil {
		values = Service(t, server)
	}
	for _, name := range []string{"POSTHOG_HOST", "POSTHOG_REGION", "POSTHOG_PROJECT_ID", personalKey, projectKey} {
		t.Setenv(name, values[name])
	}
	var out testevents.Output
	err := program(t.Context(), &out, args)
	return out.String(), err
}

// Service returns the environment of a program that takes the server for the real service.
func Service(t *testing.T, server *hogapitest.Server) map[string]string {
	t.Helper()
	t.Cleanup(server.Close)
	return map[string]string{
		"POSTHOG_HOST": server.URL(), "POSTHOG_REGION": "", "POSTHOG_PROJECT_ID": hogapitest.DefaultProject,
		personalKey: hogapitest.DefaultPersonalKey, projectKey: hogapitest.DefaultProjectKey,
	}
}
