package peer_test

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// The contract test reads a Django REST server: nothing fails, and the parts that the app does not have are named.
func TestSmoke(t *testing.T) {
	s := start(t)
	readFiles(t, "../../examples/smoke/*.go")
	cmd := exec.CommandContext(t.Context(), "go", "run", "-C", "../../examples", "./smoke")
	cmd.Env = append(cmd.Environ(), "GOWORK=", "POSTHOG_HOST="+s.API, "POSTHOG_PROJECT_ID=1", "POSTHOG_PERSONAL_API_KEY="+admin, "POSTHOG_REGION=")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.NotContains(t, string(out), "FAILED")
	require.Contains(t, string(out), "not tried  HogQL")
	require.NotContains(t, string(out), admin)
}
