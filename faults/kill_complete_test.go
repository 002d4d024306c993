//go:build linux && (amd64 || arm64)

package faults

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/faults/diskcalls"
)

// strace is a second witness: every system call on the files of an import is one at which the tests kill it.
func TestEveryDiskCallIsWatched(t *testing.T) {
	t.Parallel()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("needs strace") // the nightly run counts this as a failure
	}
	b := smallImport(t)
	log := filepath.Join(t.TempDir(), "log")
	arguments := []string{strace, "-f", "-o", log}
	for _, name := range []string{"", "state", "state/checkpoint", "state/checkpoint.hogapi-tmp", "state/checkpoint.lock", "state/rejects.jsonl", "state/rejects.jsonl.lock"} {
		arguments = append(arguments, "-P", filepath.Join(b.Folder, name))
	}
	url, end := b.serve()
	defer end()
	b.URL = url
	c := newImportChild(t, b.Task)
	c.Path, c.Args = strace, append(arguments, c.Path)
	require.NoError(t, c.Run(), "%s", c.out.String())
	b.requireExact(t, c.report(t))

	watched := diskcalls.Watched()
	text, err := os.ReadFile(log)
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, line := range regexp.MustCompile(`(?m)^\d+ +(\w+)\(`).FindAllSubmatch(text, -1) {
		seen[string(line[1])] = true
	}
	require.Greater(t, len(seen), 8)
	for name := range seen {
		switch name {
		case "fstat", "newfstatat", "fcntl", "epoll_ctl": // they read, and change no file; the second one is watched under the name of stat
		default:
			assert.Contains(t, watched, name)
		}
	}
}
