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

const (
	raceMark = "WARNING: DATA RACE"
	apache   = "github.com/apache/beam/"
	grpc     = "google.golang.org/grpc"
)

// PassOverBeamsRace gives the variable that a process needs whose job fails. Beam's worker then closes a channel on which another of its
// goroutines may send (respc in harness.MainWithOptions), and reads one stream in two goroutines (dataWriter.send, DataChannel.read).
// Any race that is not between Beam's own accesses fails the test.
func PassOverBeamsRace(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "race")
	t.Cleanup(func() {
		logs, err := filepath.Glob(path + ".*")
		require.NoError(t, err)
		for _, log := range logs {
			text, err := os.ReadFile(log) //nolint:gosec // the process has written it
			require.NoError(t, err)
			for report := range strings.SplitSeq(string(text), raceMark) {
				if strings.TrimLeft(report, "=\n") != "" {
					assert.True(t, isBeams(report), "%s%s", raceMark, report)
				}
			}
		}
	})
	return "GORACE=exitcode=0 history_size=5 log_path=" + path
}

// isBeams tells whether both accesses of a race are made by the code of Beam or of its transport. A race over data of ours has an access by ours.
func isBeams(report string) bool {
	accesses := 0
	for stack := range strings.SplitSeq(report, "\n\n") {
		stack = strings.TrimLeft(stack, "\n")
		if !access.MatchString(stack) {
			continue
		}
		accesses++
		if who := accessor(stack); !strings.HasPrefix(who, apache) && !strings.HasPrefix(who, grpc) {
			return false
		}
	}
	return accesses == 2
}

var (
	access   = regexp.MustCompile(`(?i)^(previous )?(atomic )?(read|write) at 0x`)
	function = regexp.MustCompile(`(?m)^  (\S+)\(\)$`)
)

// accessor is the function nearest to an access that is not of the standard library: no path of that has a dot before its first slash.
func accessor(stack string) string {
	for _, f := range function.FindAllStringSubmatch(stack, -1) {
		if host, _, isPath := strings.Cut(f[1], "/"); isPath && strings.Contains(host, ".") {
			return f[1]
		}
	}
	return ""
}
