//go:build unix

package cli_test

import (
	"encoding/json"
	"fmt"
	"io"
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
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/durable"
	"github.com/hogapi/hogapi/internal/testevents"
)

// terminal is the program on a terminal.
type terminal struct {
	testevents.Output // all that it shows

	cmd  *exec.Cmd
	tty  *os.File
	done chan struct{}
}

func startOnTerminal(t *testing.T, columns uint16, p *clitest.Program, args ...string) *terminal {
	t.Helper()
	cmd := p.Command(t.Context(), t, args...)
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
	s := startOnTerminal(t, 80, p, "run", "events.jsonl", "--rate", "1500")
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

	s = startOnTerminal(t, 80, p, "run", "events.jsonl", "--rate", "none")
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
		s := startOnTerminal(t, 80, p, "run", "events.jsonl")
		s.until(t, "[y/N]")
		s.keys(t, keys)
		assert.Equal(t, code, s.exit(), "%q: %s", keys, s.String())
		assert.Contains(t, s.String(), "nothing was sent")
		assert.Zero(t, server.Ledger().Len())
		p.Ends(t, 2, "run", "events.jsonl") // nothing was agreed to
	}
}

func TestOnATerminalTheQuestionNamesLocalTimes(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	export(t, p, "e.json", 300, 0, pacific(t))
	s := startOnTerminal(t, 80, p, "run", "e.json", "--format", "mixpanel")
	s.until(t, "[y/N]")
	assert.Regexp(t, `The times are local, not UTC.* give --zone America/Los_Angeles.*Send 300 records .* all the same\?.*\[y/N\]`, clitest.Words(s.String()))
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
	p.Events(t, "events.jsonl", 3, nil)
	p.Ends(t, 2, "check", "events.jsonl", "--report", "p.jsonl").Err(t, "p.jsonl exists and is not a page of hogimport check", "give --report another FILE")
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
			s := startOnTerminal(t, columns, p, args...)
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
	s := startOnTerminal(t, 80, p, "check", "an export with a long name.jsonl")
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
	r := clitest.Start(t, cmd)()
	assert.Contains(t, r.Stdout, "first: 4\n", r.Stderr)
	clitest.Says(t, r.Stderr, "no space left on device", "free some disk space, and run the same command again: it continues where it stopped")
	require.Contains(t, r.Stdout, "second: 0\n", r.Stderr)
	clitest.Says(t, r.Stdout, "Rejected: 2,000;")
	clitest.RequireWhole(t, server, ids)
}

// suggested are the commands at the end of a check.
func suggested(t *testing.T, said string) (commands []string) {
	t.Helper()
	_, list, _ := strings.Cut(strings.ReplaceAll(said, " \\\n", ""), "What to do next:\n")
	for line := range strings.Lines(list) {
		if command, is := strings.CutPrefix(line, "    "); is {
			commands = append(commands, strings.TrimSpace(command))
		}
	}
	require.Len(t, commands, 3, said)
	return commands
}

// Each command that a check suggests is run as it stands, by a shell: with the key of the test project in the file and its
// number in the variable that are named, and the keys of the import in the environment.
func TestCheckSuggestsCommandsThatWork(t *testing.T) {
	t.Parallel()
	_, p := clitest.Serve(t)
	p.Events(t, "other.jsonl", 10, nil)
	p.Ends(t, 0, "run", "other.jsonl", "--yes")
	host := strings.TrimPrefix(p.Env[0], "POSTHOG_HOST=")
	p.Env = append(p.Env, "POSTHOG_HOST=", "POSTHOG_PROJECT_ID=")

	at := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	p.Lines(t, "my events.jsonl", 200, func(i int) string {
		when := at.Add(time.Duration(i*37%200) * time.Hour).Format(time.RFC3339) // in no order
		if i%40 == 3 {
			when = "yesterday"
		}
		return fmt.Sprintf(`{"event":"visit","distinct_id":"p%d","timestamp":%q,"properties":{}}`, i%17, when)
	})
	p.Write(t, "test-project.key", hogapitest.DefaultProjectKey)

	p.Run(t, "check", "my events.jsonl", "--max-rejects", "5%").
		Out(t, "into the variable TEST_PROJECT_ID, and us, eu or a URL into POSTHOG_HOST.")
	r := p.Ends(t, 0, "check", "my events.jsonl", "--host", host, "--project-id", hogapitest.DefaultProject, "--rate", "none", "--max-rejects", "5%").
		Out(t, "1. Optional, and only with a test project: send 1,000 events there, and compare them. First put its key into the file test-project.key, and its number into the variable TEST_PROJECT_ID.",
			"3. Verify that all events have arrived: right after the import, and again in a few hours if it says that events are still arriving.")
	commands := suggested(t, r.Stdout)
	for i, env := range [][]string{
		{"POSTHOG_PROJECT_API_KEY=phc_ofTheImport00000000000000000000000000000000", "TEST_PROJECT_ID=" + hogapitest.DefaultProject}, nil, nil,
	} {
		p.With(env...).Shell(t, 0, commands[i])
	}
	assert.Contains(t, commands[1], " --sort")
	assert.FileExists(t, filepath.Join(p.Dir, "verify.html"))

	// Without the number nothing is sent to be looked for elsewhere.
	p.Shell(t, 2, commands[0]).Err(t, "flag needs an argument: --project-id")
}

// On a terminal run asks, so it needs no --yes.
func TestCheckOnATerminalSuggestsARunThatAsks(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, hogapitest.New())
	p.Events(t, "e.jsonl", 20, nil)
	assert.Contains(t, p.Run(t, "check", "e.jsonl").Stdout, "hogimport run e.jsonl --format jsonl --yes\n")
	s := startOnTerminal(t, 80, p, "check", "e.jsonl")
	require.Equal(t, 0, s.exit(), s.String())
	assert.Contains(t, s.String(), "hogimport run e.jsonl --format jsonl\r\n")
}

// The flags of run can be copied, and check and trial ignore some of them.
func TestCheckAndTrialTakeTheFlagsOfRun(t *testing.T) {
	t.Parallel()
	server := hogapitest.New()
	p := tried(t, server)
	export(t, p, "export.jsonl", 100, 0, time.UTC)
	r := p.Ends(t, 0, "check", "export.jsonl", "--format", "mixpanel", "--sort", "--links")
	assert.Contains(t, suggested(t, r.Stdout)[1], " --sort --links")
	assert.NotContains(t, suggested(t, r.Stdout)[0], "--sort")
	trial := []string{"trial", "export.jsonl", "--format", "mixpanel", "--project-key", "@test.key", "--wait", "1s"}
	for _, more := range [][]string{nil, {"--sort", "--links"}} {
		p.Ends(t, 0, append(trial, more...)...)
		assert.Equal(t, 100, server.Ledger().Len(), "it is the same trial")
	}
	for _, command := range []string{"check", "trial"} {
		clitest.Says(t, p.Run(t, command, "--help").Stdout, "accepted, so that the flags of run can be copied: nothing is sorted here")
	}
}

// A suggested command writes to the report that was named, or to a name that nothing else has.
func TestSuggestedReportsAreFree(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	p.Events(t, "bad.jsonl", 10, func(i int) bool { return i > 2 })
	p.Events(t, "e.jsonl", 10, nil)
	p.Ends(t, 0, "run", "e.jsonl", "--yes")
	next := func(args ...string) string {
		r := p.Run(t, args...)
		return clitest.Words(r.Stdout + r.Stderr)
	}
	assert.Contains(t, next("check", "bad.jsonl"), " --report report.html")
	p.Write(t, "report.html", anEarlierPage)
	assert.Contains(t, next("check", "bad.jsonl"), " --report report.html", "an earlier one is replaced")
	for _, name := range []string{"report.html", "report-2.html", "verify.html", "left-out.txt"} {
		p.Write(t, name, "mine")
	}
	assert.Contains(t, next("check", "bad.jsonl"), " --report report-3.html")
	assert.Contains(t, next("check", "bad.jsonl", "--report", "my page.html"), " --report 'my page.html'")
	assert.Contains(t, next("check", "e.jsonl"), "hogimport verify --state hogimport-state/e --report verify-2.html")
	assert.Contains(t, next("check", "e.jsonl", "--until", "2024-01-01T00:02:00Z"), " --left-out left-out-2.txt")

	server.HoldEvents()
	p.Events(t, "f.jsonl", 20, nil) // ten of them are those of e.jsonl
	p.Ends(t, 0, "run", "f.jsonl", "--yes")
	assert.Contains(t, next("verify", "--state", "hogimport-state/f", "--report", "my page-2.html"),
		"hogimport verify --state hogimport-state/f --report 'my page-2.html'")
}

type leftOutLine struct {
	Where, Reason string
	Record        json.RawMessage
}

func listed(t *testing.T, path string) (lines []leftOutLine) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		var one leftOutLine
		require.NoError(t, json.Unmarshal([]byte(line), &one), line)
		lines = append(lines, one)
	}
	return lines
}

// nameless writes two packed exports in two folders, in which each of some lines names no person. It returns the places
// of these lines, with their text.
func nameless(t *testing.T, p *clitest.Program) (places, records []string) {
	t.Helper()
	at := time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC)
	for f, name := range []string{"2023/a.JSON.gz", "b.json.gz"} {
		p.Lines(t, "export/"+name, 300, func(i int) string {
			id := fmt.Sprintf(`"distinct_id":"u%d",`, i%9)
			if i%7 == 3 {
				id = ""
			}
			line := fmt.Sprintf(`{"event":"a <b> & c","properties":{"time":%d,%s"$insert_id":"%d-%d","n":12345678901234567890}}`,
				at.Add(time.Duration(i)*time.Hour).Unix(), id, f, i)
			if id == "" {
				places, records = append(places, fmt.Sprintf("%s:%d", name, i+1)), append(records, line)
			}
			return line
		})
	}
	return places, records
}

// shown is the command of a text that lists records that are left out.
func shown(t *testing.T, text string) string {
	t.Helper()
	found := regexp.MustCompile(`(?m)^ +(hogimport check .* --left-out .*)$`).FindStringSubmatch(strings.ReplaceAll(text, " \\\n     ", ""))
	require.NotNil(t, found, text)
	return found[1]
}

// Each record that is left out can be had, with its place and its reason, by a command that check and run show.
func TestAllRecordsThatAreLeftOutAreListed(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, hogapitest.New())
	places, records := nameless(t, p)
	files := []string{"export/2023/a.JSON.gz", "export/b.json.gz", "--format", "mixpanel", "--zone", "UTC"}
	r := p.Ends(t, 0, append([]string{"check"}, files...)...).Narrow(t)
	done := p.Ends(t, 0, append([]string{"run", "--yes", "--rate", "none", "--sort", "--links"}, files...)...)
	assert.Contains(t, done.Stdout, fmt.Sprintf("Left out: %d,", len(places)))
	for _, text := range []string{r.Stdout, done.Stdout} {
		p.Shell(t, 0, shown(t, text)).Out(t, fmt.Sprintf("All %d records that are left out are in left-out.txt.", len(places))).Never(t, "--left-out")
		lines := listed(t, filepath.Join(p.Dir, "left-out.txt"))
		require.Len(t, lines, len(places))
		for i, line := range lines {
			require.Equal(t, leftOutLine{places[i], "no id", json.RawMessage(records[i])}, line)
		}
		require.NoError(t, os.Remove(filepath.Join(p.Dir, "left-out.txt")))
	}
}

// The list has records that --until leaves out, of formats and of lines that are events.
func TestWhatUntilLeavesOutIsListed(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, nil)
	p.Events(t, "e.jsonl", 100, func(i int) bool { return i == 70 })
	export(t, p, "export.jsonl", 100, 0, time.UTC)
	for _, c := range []struct {
		args []string
		want int
	}{
		{[]string{"e.jsonl", "--until", "2024-01-01T01:00:00Z", "--max-rejects", "5%"}, 39},
		{[]string{"export.jsonl", "--format", "mixpanel", "--until", "2023-01-08"}, 76},
		{[]string{"e.jsonl", "--max-rejects", "5%"}, 0},
	} {
		p.Ends(t, 0, append([]string{"check", "--left-out", "list"}, c.args...)...)
		lines := listed(t, filepath.Join(p.Dir, "list"))
		require.Len(t, lines, c.want)
		for i, line := range lines {
			require.Equal(t, "at or after --until", line.Reason)
			require.Regexp(t, `^e(xport)?\.jsonl:\d+$`, line.Where, i)
		}
	}
}

// A list is whole or not there, and no other file is overwritten: a shell can make FILE an export.
func TestAListOverwritesNothingElse(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, nil)
	nameless(t, p)
	a, b := "export/2023/a.JSON.gz", "export/b.json.gz"
	whole := p.Read(t, a)
	for want, args := range map[string][]string{
		a + " exists and is not a list of records that are left out": {"--left-out", a, b},
		a + " is one of the input files":                             {"--left-out", a, a},
	} {
		p.Ends(t, 2, append([]string{"check", "--format", "mixpanel"}, args...)...).Err(t, want)
		require.Equal(t, whole, p.Read(t, a), want)
	}
	list := filepath.Join(p.Dir, "list")
	p.Ends(t, 0, "check", b, "--format", "mixpanel", "--left-out", "list")
	p.Ends(t, 0, "check", a, b, "--format", "mixpanel", "--left-out", "list")
	before := listed(t, list)
	require.Len(t, before, 86)
	assert.NoFileExists(t, list+durable.TempEnding)

	require.NoError(t, os.Mkdir(list+durable.TempEnding, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(list+durable.TempEnding, "x"), nil, 0o600))
	p.Ends(t, 1, "check", b, "--format", "mixpanel", "--left-out", "list").Err(t, "list cannot be written")
	assert.Equal(t, before, listed(t, list), "the earlier one is as it was")
}
