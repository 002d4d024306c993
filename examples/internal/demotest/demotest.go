// Package demotest helps the tests of the examples: it runs a program and keeps what it prints.
package demotest

import (
	"bytes"
	"context"
	"io"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/examples/internal/demo"
	"github.com/hogapi/hogapi/hogapitest"
)

// Program is the run function of an example.
type Program func(ctx context.Context, out io.Writer, args []string) error

// Run runs a program without keys, so with the fake of its own, and returns what it prints.
func Run(t *testing.T, program Program, args ...string) string {
	t.Helper()
	env(t, nil)
	var out bytes.Buffer
	require.NoError(t, program(t.Context(), &out, args), "it printed:\n%s", &out)
	return out.String()
}

// RunAt runs a program as if the server were the real service. Variables in more win.
func RunAt(t *testing.T, server *hogapitest.Server, more map[string]string, program Program, args ...string) (string, error) {
	t.Helper()
	t.Cleanup(server.Close)
	values := map[string]string{
		"POSTHOG_HOST": server.URL(), "POSTHOG_PROJECT_ID": hogapitest.DefaultProject,
		demo.PersonalKey: hogapitest.DefaultPersonalKey, demo.ProjectKey: hogapitest.DefaultProjectKey,
	}
	maps.Copy(values, more)
	env(t, values)
	var out bytes.Buffer
	err := program(t.Context(), &out, args)
	return out.String(), err
}

func env(t *testing.T, values map[string]string) {
	t.Helper()
	for _, name := range []string{"POSTHOG_HOST", "POSTHOG_REGION", "POSTHOG_PROJECT_ID", demo.PersonalKey, demo.ProjectKey} {
		t.Setenv(name, values[name])
	}
}
