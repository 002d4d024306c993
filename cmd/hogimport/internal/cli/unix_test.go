//go:build unix

package cli_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/cmd/hogimport/internal/clitest"
	"github.com/hogapi/hogapi/cmd/hogimport/internal/progress"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/testevents"
)

// dropRoot has a command run as nobody, where the test runs as root, who may write everywhere.
func dropRoot(cmd *exec.Cmd) {
	const nobody = 65534
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
}

// terminal is the program on a terminal.
type terminal struct {
	testevents.Output // all that it shows

	cmd  *exec.Cmd
	tty  *os.File
	done chan struct{}
}

func startOnTerminal(t *testing.T, p *clitest.Program, args ...string) *terminal {
	t.Helper()
	return startOnTerminalOf(t, 80, p, args...)
}

func startOnTerminalOf(t *testing.T, columns uint16, p *clitest.Program, args ...string) *terminal {
	t.Helper()
	cmd := p.Command(t.Context(), t, args...)
	cmd.Stdin = nil
	cmd.Env = append(cmd.Env, "TERM=xterm")
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: columns})
	require.NoError(t, err)
	s := &terminal{cmd: cmd, tty: tty, done: make(chan struct{})}
	go func() {
		defer close(s.done)
		_, _ = io.Copy(s, tty)
	}()
	t.Cleanup(func() { _ = tty.Close() })
	return s
}

func (s *terminal) until(t *testing.T, text string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(s.String(), text) }, time.Minute, time.Millisecond, "%q does not come", text)
}

func (s *terminal) keys(t *testing.T, keys string) {
	t.Helper()
	_, err := s.tty.WriteString(keys)
	require.NoError(t, err)
}

func (s *terminal) exit() int {
	_ = s.cmd.Wait()
	<-s.done
	return s.cmd.ProcessState.ExitCode()
}

func TestOnATerminalItAsksOnceAndShowsABar(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	ids := p.Events(t, "events.jsonl", 9000, nil)
	s := startOnTerminal(t, p, "run", "events.jsonl", "--rate", "1500")
	s.until(t, "[y/N]")
	assert.Zero(t, server.Ledger().Len(), "nothing is sent before the answer")
	assert.Contains(t, s.String(), "Checked the first 5,000 records: 5,000 good, 0 rejected")
	assert.Contains(t, clitest.Words(s.String()), "Send the records of 1 file to ", "it gives no number that it does not know")
	s.keys(t, "y\n")
	s.until(t, "s left\x1b")
	assert.Regexp(t, `\r\[=+ +\] \d+%, [\d,]+ acknowledged, [\d,]+/s, about \d+s left`, s.String())
	s.keys(t, "\x03")
	s.until(t, "Finishing what is under way")
	require.Equal(t, 4, s.exit(), s.String())

	s = startOnTerminal(t, p, "run", "events.jsonl", "--rate", "none")
	require.Equal(t, 0, s.exit(), s.String())
	assert.NotContains(t, s.String(), "[y/N]", "it asks once")
	assert.Contains(t, s.String(), "Continuing the import")
	clitest.RequireWhole(t, server, ids)
}

func TestOnATerminalAnythingButYesIsNo(t *testing.T) {
	t.Parallel()
	for keys, code := range map[string]int{"\n": 1, "no\n": 1, "x\n": 1, "\x04": 1, "\x03": 4} {
		server, p := clitest.Serve(t)
		p.Events(t, "events.jsonl", 100, nil)
		s := startOnTerminal(t, p, "run", "events.jsonl")
		s.until(t, "[y/N]")
		s.keys(t, keys)
		assert.Equal(t, code, s.exit(), "%q: %s", keys, s.String())
		assert.Contains(t, s.String(), "nothing was sent")
		assert.Zero(t, server.Ledger().Len())
		r := p.Run(t, "run", "events.jsonl")
		assert.Equal(t, 2, r.Code, "nothing was agreed to")
	}
}

func TestOnATerminalItSaysWhyItWaits(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	ids := p.Events(t, "events.jsonl", 4000, nil)
	s := startOnTerminal(t, p, "run", "events.jsonl", "--yes", "--rate", "2000")
	require.Eventually(t, func() bool { return server.Ledger().Len() > 0 }, time.Minute, time.Millisecond)
	server.SetDown(true)
	s.until(t, "acknowledged, waiting for ")
	assert.Regexp(t, `waiting for \d+s, since \d\d:\d\d:\d\d UTC: `, s.String())
	server.SetDown(false)
	require.Equal(t, 0, s.exit(), s.String())
	clitest.RequireWhole(t, server, ids)
	for line := range strings.FieldsFuncSeq(s.String(), func(r rune) bool { return r == '\r' || r == '\n' }) {
		assert.LessOrEqual(t, len([]rune(strings.TrimSuffix(line, "\x1b[K"))), 80, line)
	}
}

func TestOnATerminalTheQuestionNamesLocalTimes(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	export(t, p.Dir, "e.json", 300, 0, pacific(t))
	s := startOnTerminal(t, p, "run", "e.json", "--format", "mixpanel")
	s.until(t, "[y/N]")
	said := clitest.Words(s.String())
	assert.Regexp(t, `The times look local, not UTC.* add --zone America/Los_Angeles.*Send 300 records .* all the same\?.*\[y/N\]`, said)
	s.keys(t, "\n")
	assert.Equal(t, 1, s.exit())
	assert.Zero(t, server.Ledger().Len())
}

// A pipe can be read only once: a sample of it would lose records.
func TestAPipeIsRefused(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, hogapitest.New())
	require.NoError(t, syscall.Mkfifo(filepath.Join(p.Dir, "p.jsonl"), 0o600))
	for _, command := range []string{"run", "check"} {
		p.Ends(t, 2, command, "p.jsonl").Err(t, "p.jsonl: this is not a file but a pipe", "write its content to a file first")
	}
}

// On a terminal no line is wider than it, and no word is broken. Problems and warnings have a color, unless NO_COLOR is set.
func TestNarrowTerminals(t *testing.T) {
	t.Parallel()
	_, p := clitest.Serve(t)
	p.Events(t, "an export with a long name.jsonl", 500, func(i int) bool { return i%100 == 3 })
	p.Ends(t, 0, "run", "an export with a long name.jsonl", "--yes", "--max-rejects", "none")
	color := regexp.MustCompile("\x1b\\[[0-9;]*m")
	for _, columns := range []uint16{120, 60, 40} {
		for _, args := range [][]string{
			{"check", "an export with a long name.jsonl"}, {"status"}, {"verify"}, {"formats"}, {"run", "--help"}, {"run", "--zoen", "x"}, {"verify", "--host", "nowhere at all, which is a long text"},
		} {
			s := startOnTerminalOf(t, columns, p, args...)
			code := s.exit()
			said := s.String()
			assert.Equal(t, args[0] == "check" || code != 0, color.MatchString(said), "%v", args)
			_, said, _ = strings.Cut("\n"+strings.NewReplacer("\r\n", "\n", "\x1b[K", "").Replace(color.ReplaceAllString(said, "")), "\n")
			for line := range strings.SplitSeq(said, "\n") {
				line = line[strings.LastIndex(line, "\r")+1:]
				isOneWord := !strings.Contains(strings.TrimSuffix(strings.TrimSpace(line), " \\"), " ") || strings.Contains(line, "'")
				assert.True(t, isOneWord || len([]rune(line)) <= int(columns), "%d: %q", columns, line)
			}
		}
	}
	p.Env = append(p.Env, "NO_COLOR=1")
	s := startOnTerminal(t, p, "check", "an export with a long name.jsonl")
	s.exit()
	assert.Contains(t, s.String(), "Warning")
	assert.NotRegexp(t, color, s.String())
}

// Ctrl-C while the first records are read: nothing was begun, so nothing continues.
func TestCtrlCDuringTheSample(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	p.Events(t, "e.jsonl", 10, nil)
	text := p.Read(t, "e.jsonl")
	p.Write(t, "large.jsonl", strings.Repeat(text+strings.Repeat("\n", 1<<20), 200))
	cmd := p.Command(t.Context(), t, "run", "large.jsonl", "--yes")
	finish := clitest.Start(t, cmd)
	isReading := func() bool {
		open, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", cmd.Process.Pid))
		return slices.ContainsFunc(open, func(name string) bool {
			to, err := os.Readlink(name)
			return err == nil && strings.HasSuffix(to, "large.jsonl")
		})
	}
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		t.Skip("there is no /proc that shows when the file is read")
	}
	require.Eventually(t, isReading, time.Minute, time.Millisecond)
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	r := finish()
	assert.Equal(t, 4, r.Code, r.Stderr)
	assert.Equal(t, "hogimport: interrupted; nothing was sent\n  run the same command again\n", r.Stderr)
	assert.Zero(t, server.Ledger().Len())
	assert.NoFileExists(t, filepath.Join(p.Dir, "hogimport-state", "large", "import.json"))
}

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
	assert.Regexp(t, `of about 8,\d+ records are processed; the position is in hogimport-state/events`, said)
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
