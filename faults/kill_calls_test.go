//go:build linux && (amd64 || arm64)

package faults

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/faults/diskcalls"
	"github.com/hogapi/hogapi/internal/testevents"
)

// smallImport saves a little more than ten checkpoints.
func smallImport(t *testing.T) *bench {
	t.Helper()
	return newBench(t, 220, 0)
}

// place is the n-th system call of a name, from 1.
type place struct {
	call string
	n    int
}

// places returns all calls of a small import on its files; in the gate a few calls of each name, from all over the run.
func places(t *testing.T, short int) (places []place) {
	t.Helper()
	b := smallImport(t)
	calls := map[string]int{}
	report := b.judged(t, func(c diskcalls.Call) syscall.Errno {
		calls[c.Name]++
		return 0
	})
	b.requireExact(t, *report)
	require.GreaterOrEqual(t, calls["renameat"], 11, "ten checkpoints and the start")
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		step := testevents.Sized(max(calls[name]/short, 1), max(calls[name]/short/4, 1), 1)
		for n := 1; n <= calls[name]; n += step {
			places = append(places, place{name, n})
		}
	}
	t.Logf("%d places among %v", len(places), calls)
	return places
}

// at returns a judge that allows all calls except that of the place, and a count of the calls of that name. The number of calls depends a
// little on chance: a run may end before it reaches a place.
func (p place) at(verdict syscall.Errno) (judge func(diskcalls.Call) syscall.Errno, seen *int) {
	seen = new(int)
	return func(c diskcalls.Call) syscall.Errno {
		if c.Name != p.call {
			return 0
		}
		if *seen++; *seen == p.n {
			return verdict
		}
		return 0
	}, seen
}

// K2. The import is killed at each system call on its files. It continues with nothing lost and no record twice, and nobody needs to
// repair anything.
func TestKilledAtEveryDiskCall(t *testing.T) {
	t.Parallel()
	all, most := places(t, 3), 0
	for _, p := range all {
		most = max(most, killAt(t, p))
	}
	t.Logf("%d kills, at most %d events sent twice", len(all), most)
}

// killAt kills a small import at a place and then resumes it. If a run ends before that place, killAt kills at its last such call.
func killAt(t *testing.T, p place) (resent int) {
	t.Helper()
	b := smallImport(t)
	judge, seen := p.at(diskcalls.Kill)
	report := b.judged(t, judge)
	if *seen < p.n {
		b.requireExact(t, *report)
		return killAt(t, place{p.call, *seen})
	}
	require.Nil(t, report, "killed at %v", p)
	b.requireExact(t, b.run(t))
	resent = b.server.Ledger().Duplicates()
	require.LessOrEqual(t, resent, b.MaxInFlight, "resent after a kill at %v", p)
	return resent
}

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
