// Package beamtest keeps what Beam leaves behind out of the way of tests, and nothing else.
package beamtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// Run runs the tests of a package. Goroutines that go on fail them, and the folder for temporary files ends with them.
func Run(m *testing.M) {
	folder, err := os.MkdirTemp("", "hogbeam-test-") // Beam leaves a file there for each job
	if err == nil {
		err = os.Setenv("TMPDIR", folder)
	}
	if err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m,
		// The server of the local runner has no end.
		goleak.IgnoreAnyFunction("github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism/internal/jobservices.(*Server).Serve"),
		goleak.Cleanup(func(code int) {
			_ = os.RemoveAll(folder)
			os.Exit(code)
		}))
}

var beamsRace = regexp.MustCompile(`runtime\.closechan\(\)\n.*\n.*/harness\.MainWithOptions\(\)`)

// PassOverBeamsRace gives the variable that a process needs whose job fails: Beam's worker then closes a channel on which another of its
// goroutines may send (respc in harness.MainWithOptions). Any other race that the process reports fails the test.
func PassOverBeamsRace(t *testing.T) string {
	const mark = "WARNING: DATA RACE"
	path := filepath.Join(t.TempDir(), "race")
	t.Cleanup(func() {
		logs, err := filepath.Glob(path + ".*")
		require.NoError(t, err)
		for _, log := range logs {
			text, err := os.ReadFile(log) //nolint:gosec // the process has written it
			require.NoError(t, err)
			for report := range strings.SplitSeq(string(text), mark) {
				if strings.TrimLeft(report, "=\n") != "" {
					assert.Regexp(t, beamsRace, report, mark)
				}
			}
		}
	})
	return "GORACE=exitcode=0 log_path=" + path
}
