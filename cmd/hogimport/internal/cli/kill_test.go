//go:build unix

package cli_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/cmd/hogimport/internal/clitest"
	"github.com/hogapi/hogapi/cmd/hogimport/internal/progress"
	"github.com/hogapi/hogapi/hogapitest"
)

// A process that is killed twenty times, at its start, among its events and anywhere, loses nothing.
func TestKilledTwentyTimes(t *testing.T) {
	t.Parallel()
	const kills = 20
	events := 30_000
	switch os.Getenv("HOGAPI_TEST") {
	case "nightly":
		events = 100_000
	case "deep":
		events = 400_000
	}
	isBad := func(i int) bool { return i%211 == 5 }
	for name, flags := range map[string][]string{"files": nil, "sorted": {"--sort"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := hogapitest.New(hogapitest.WithCompactLedger())
			p := clitest.New(t, server)
			ids := p.Events(t, "events.jsonl", events, isBad)
			args := append([]string{"run", "events.jsonl", "--yes", "--rate", "4000"}, flags...)
			underWay := 0
			for kill := range kills {
				cmd := p.Command(t.Context(), t, args...)
				var out bytes.Buffer
				cmd.Stdout, cmd.Stderr = &out, &out
				require.NoError(t, cmd.Start())
				before := server.Ledger().Len()
				if kill%2 == 0 { // among its events
					require.Eventually(t, func() bool { return server.Ledger().Len() > before+2000 }, time.Minute, time.Millisecond, "%s", &out)
				} else {
					time.Sleep(rand.N(80 * time.Millisecond))
				}
				require.NoError(t, cmd.Process.Kill())
				if err := cmd.Wait(); err != nil && server.Ledger().Unique() < len(ids) {
					underWay++
				}
			}
			require.Greater(t, underWay, kills/2, "most kills met a run that was not at its end")
			require.Greater(t, server.Ledger().Unique(), 8_000, "each run continues where the one before was")
			isUnderWay := server.Ledger().Unique() < len(ids)
			r := p.Ends(t, 0, append(args, "--rate", "none")...)
			if isUnderWay {
				before, after, isSaid := strings.Cut(clitest.Words(r.Stderr), "The last run was killed: ")
				assert.True(t, isSaid)
				assert.Contains(t, after, "sent again. Each keeps its uuid, so PostHog stores it once.")
				assert.NotContains(t, before, "acknowledged", "it comes before the first line of progress")
			}
			clitest.RequireWhole(t, server, ids)
			assert.Contains(t, r.Stdout, "Rejected: "+progress.Number(int64(events-len(ids)))+";", "each reject is counted once")
		})
	}
}

func TestInterruptedItFinishesWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	ids := p.Events(t, "events.jsonl", 8000, nil)
	r := p.Until(t, func() bool { return server.Ledger().Len() > 1000 }, os.Interrupt, "run", "events.jsonl", "--yes", "--rate", "2000")
	require.Equal(t, 4, r.Code, r.Stderr)
	said := clitest.Words(r.Stderr)
	assert.Contains(t, said, "Finishing what is under way. Press Ctrl-C again to stop immediately; either way you can resume.")
	assert.Regexp(t, `of about 8,\d+ records are processed; the place is in hogimport-state/events`, said)
	assert.Contains(t, said, "run the same command again: it continues where it stopped")
	assert.Less(t, server.Ledger().Unique(), 8000)
	p.Ends(t, 0, "run", "events.jsonl", "--rate", "none")
	clitest.RequireWhole(t, server, ids)
	assert.LessOrEqual(t, server.Ledger().Duplicates(), 1, "what was under way was finished: only its last record comes again")
}

func TestInterruptedWhileItSortsItContinuesToSort(t *testing.T) {
	t.Parallel()
	server := hogapitest.New(hogapitest.WithCompactLedger())
	p := clitest.New(t, server)
	ids := p.Events(t, "events.jsonl", 60_000, nil)
	args := []string{"run", "events.jsonl", "--yes", "--rate", "none", "--sort"}
	sorted := filepath.Join(p.Dir, "hogimport-state/events/sorted")
	r := p.Until(t, func() bool { files, _ := os.ReadDir(sorted); return len(files) > 3 }, os.Interrupt, args...)
	require.Equal(t, 4, r.Code, r.Stderr)
	require.Zero(t, server.Ledger().Len(), "it was interrupted before the first event")
	assert.DirExists(t, sorted)
	p.Ends(t, 0, append(args, "--yes=false")...).Err(t, "Continuing the import") // what is sorted is kept, and nothing is asked twice
	clitest.RequireWhole(t, server, ids)
}

func TestInterruptedTwiceItEndsAtOnce(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	ids := p.Events(t, "events.jsonl", 8000, nil)
	cmd := p.Command(t.Context(), t, "run", "events.jsonl", "--yes", "--rate", "100")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	require.NoError(t, cmd.Start())
	require.Eventually(t, func() bool { return server.Ledger().Len() > 0 }, time.Minute, time.Millisecond)
	server.SetDown(true)
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-ended:
		require.Fail(t, "it does not wait for what is under way", "%s", &out)
	case <-time.After(1500 * time.Millisecond):
	}
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		require.Fail(t, "the second Ctrl-C does not end it")
	}
	require.Equal(t, 4, cmd.ProcessState.ExitCode(), out.String())
	assert.Contains(t, clitest.Words(out.String()), "will be sent again")
	server.SetDown(false)
	p.Ends(t, 0, "run", "events.jsonl", "--rate", "none")
	clitest.RequireWhole(t, server, ids)
}

// A disk that fills up stops the import, and with more room the same command continues.
func TestAFullDisk(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	ids := p.Events(t, "events.jsonl", 20_000, func(i int) bool { return i%10 == 3 })
	require.NoError(t, os.Mkdir(filepath.Join(p.Dir, "disk"), 0o700))
	unshare := []string{"unshare", "--mount"}
	if os.Getuid() != 0 {
		unshare = append(unshare, "--map-root-user")
	}
	if exec.Command(unshare[0], append(unshare[1:], "mount", "-t", "tmpfs", "none", p.Dir)...).Run() != nil {
		t.Skip("this system allows no file system of one's own")
	}
	const script = `mount -t tmpfs -o size=256k none disk
"$@"; echo "first: $?"
mount -o remount,size=64m disk
"$@"; echo "second: $?"`
	args := append(unshare[1:], "sh", "-c", script, "sh", clitest.Binary(t), "run", "events.jsonl", "--yes", "--rate", "none", "--max-rejects", "20%", "--state", "disk/state")
	cmd := exec.CommandContext(t.Context(), unshare[0], args...)
	cmd.Dir, cmd.Env = p.Dir, append(p.Env, "PATH="+os.Getenv("PATH"))
	r := clitest.Finish(t, cmd)
	assert.Contains(t, r.Stdout, "first: 4\n", r.Stderr)
	says(t, r.Stderr, "no space left on device", "make room on the disk, and run the same command again: it continues where it stopped")
	require.Contains(t, r.Stdout, "second: 0\n", r.Stderr)
	says(t, r.Stdout, "Rejected: 2,000;")
	clitest.RequireWhole(t, server, ids)
}

func TestAFolderThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	ids := p.Events(t, "events.jsonl", 100, nil)
	p.Dir = shared(t, p.Dir)
	require.NoError(t, os.Chmod(p.Dir, 0o555))
	asNobody := func(args ...string) clitest.Result {
		cmd := p.Command(t.Context(), t, args...)
		cmd.Path = filepath.Join(p.Dir, "hogimport")
		dropRoot(cmd)
		return clitest.Finish(t, cmd)
	}
	r := asNobody("run", "events.jsonl", "--yes")
	require.Equal(t, 1, r.Code, r.Stderr)
	says(t, r.Stderr, "the state folder hogimport-state/events cannot be written: permission denied",
		"give another folder with --state DIR")
	elsewhere := shared(t, "")
	require.NoError(t, os.Chmod(elsewhere, 0o777))
	r = asNobody("run", "events.jsonl", "--yes", "--rate", "none", "--state", filepath.Join(elsewhere, "state"))
	require.Equal(t, 0, r.Code, r.Stderr)
	clitest.RequireWhole(t, server, ids)
	says(t, r.Stdout, "--state "+elsewhere)
}

// shared is a folder that every user can read, with the program and the events of another one.
func shared(t *testing.T, from string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "hogimport-shared-*") //nolint:usetesting // the parents of t.TempDir are for this user only
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700); _ = os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	for _, path := range []string{clitest.Binary(t), filepath.Join(from, "events.jsonl")} {
		if from == "" {
			break
		}
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, filepath.Base(path)), text, 0o755))
	}
	return dir
}
