//go:build linux

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
)

// The job has a process for its worker. Whichever of the two is killed, and whenever, another run of the same command completes the
// import: nothing is lost, and what was sent twice is the same.
func TestKilledJobsAreRunAgain(t *testing.T) {
	kills, events := 2, 2000
	if level := os.Getenv("HOGAPI_TEST"); level == "nightly" || level == "deep" {
		kills = 20
	}
	t.Chdir(t.TempDir())
	var text strings.Builder
	for i := range events {
		fmt.Fprintf(&text, `{"event":"a","distinct_id":"person-%d","timestamp":"2024-05-01T12:%02d:%02dZ","properties":{"n":%d}}`+"\n", i%97, i/60%60, i%60, i)
	}
	require.NoError(t, os.WriteFile("events.jsonl", []byte(text.String()), 0o600))
	server := newServer(t)
	args := to(t, server, "-environment_type=process", "-environment_config="+environment(t), "-rate=2000", "events.jsonl")

	dice := rand.New(rand.NewPCG(1, 2))
	for kill := range kills {
		job := startJob(t, args)
		already := server.Ledger().Len()
		target := already + dice.IntN(events*3/4)
		require.Eventually(t, func() bool { return server.Ledger().Len() > target }, time.Minute, time.Millisecond)
		workers := childrenOf(job.Process.Pid)
		require.NotEmpty(t, workers, "the worker is a process of its own")
		victims := append(workers, job.Process.Pid)
		if kill%2 == 0 {
			slices.Reverse(victims)
		}
		for _, pid := range victims { // the worker of a killed job would go on as an orphan
			_ = syscall.Kill(pid, syscall.SIGKILL) // the second may have ended because of the first
		}
		require.Error(t, job.Wait())
	}
	require.NoError(t, startJob(t, args).Wait())
	ledger := server.Ledger()
	assert.Empty(t, ledger.Missing(wantedUUIDs(t, "events.jsonl", events)))
	assert.Equal(t, events, ledger.Unique())
	assert.Positive(t, ledger.Duplicates())
	assert.Empty(t, ledger.Changed())
}

// Whoever breaks a job off is told so, and not what that did to the runner.
func TestAnInterruptIsNoFailure(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("events.jsonl", []byte(strings.Repeat(good, 2000)), 0o600))
	server := newServer(t)
	program, err := os.Executable()
	require.NoError(t, err)
	job := exec.CommandContext(t.Context(), program, to(t, server, "-rate=40", "events.jsonl")...)
	job.Env = append(os.Environ(), asProgram+"=1")
	var text strings.Builder
	job.Stderr = &text
	require.NoError(t, job.Start())
	require.Eventually(t, func() bool { return server.Ledger().Len() > 0 }, time.Minute, time.Millisecond)
	require.NoError(t, job.Process.Signal(os.Interrupt))
	require.Error(t, job.Wait())
	assert.Equal(t, "importjob: interrupted: what was sent stays; run the same command again, it sends the same events\n", text.String())
	assert.NoFileExists(t, "shop.receipt.json")
}

// environment lets the runner start this program as its worker.
func environment(t *testing.T) string {
	program, err := os.Executable()
	require.NoError(t, err)
	return fmt.Sprintf(`{"command":%q}`, program)
}

// startJob starts the program as a process of its own, which does not outlive the test.
func startJob(t *testing.T, args []string) *exec.Cmd {
	program, err := os.Executable()
	require.NoError(t, err)
	job := exec.CommandContext(t.Context(), program, args...)
	job.Env = append(os.Environ(), asProgram+"=1")
	job.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	job.Stdout, job.Stderr = t.Output(), t.Output()
	require.NoError(t, job.Start())
	return job
}

// childrenOf are the processes that a process has started.
func childrenOf(pid int) (children []int) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		for child := range strings.FieldsSeq(string(text)) {
			if pid, err := strconv.Atoi(child); err == nil {
				children = append(children, pid)
			}
		}
	}
	return children
}

// wantedUUIDs are those of the lines of a file.
func wantedUUIDs(t *testing.T, path string, n int) (ids []uuid.UUID) {
	for ev, err := range hogapi.JSONLinesFile(path).Events(t.Context(), hogapi.Position{}) {
		require.NoError(t, err)
		ids = append(ids, ev.Position.UUID("shop"))
	}
	require.Len(t, ids, n)
	return ids
}
