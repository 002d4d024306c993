// Package clitest helps tests to run hogimport as its users do: the built program, against a fake of the service.
package clitest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/testevents"
)

// built is the program, which the first test of a package builds.
var built struct {
	sync.Once
	dir, path string
	err       error
}

// Main runs the tests of a package and removes the program.
func Main(m *testing.M) int {
	code := m.Run()
	if built.dir != "" {
		_ = os.RemoveAll(built.dir)
	}
	return code
}

// Binary builds the program, once, as it is released.
func Binary(t testing.TB) string {
	t.Helper()
	built.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "hogimport-*"); built.err != nil { //nolint:usetesting // for all tests of a package
			return
		}
		built.path = filepath.Join(built.dir, "hogimport")
		if runtime.GOOS == "windows" {
			built.path += ".exe"
		}
		cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-o", built.path, "github.com/hogapi/hogapi/cmd/hogimport")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			built.err = fmt.Errorf("%w: %s", err, out)
		}
	})
	require.NoError(t, built.err)
	return built.path
}

// Program is how the program is run: in a folder, with an environment of which nothing comes from the test's own.
type Program struct {
	Dir string
	Env []string
}

// New is a program in a folder of its own. Its environment names a fake and its keys, and no HOME.
func New(t testing.TB, server *hogapitest.Server) *Program {
	t.Helper()
	p := &Program{Dir: t.TempDir(), Env: []string{}}
	if server != nil {
		t.Cleanup(server.Close)
		p.Env = []string{
			"POSTHOG_HOST=" + server.URL(), "POSTHOG_PROJECT_ID=" + hogapitest.DefaultProject,
			"POSTHOG_PERSONAL_API_KEY=" + hogapitest.DefaultPersonalKey, "POSTHOG_PROJECT_API_KEY=" + hogapitest.DefaultProjectKey,
		}
	}
	return p
}

// With is the program with more variables, which win.
func (p *Program) With(env ...string) *Program {
	other := *p
	other.Env = slices.Concat(p.Env, env)
	return &other
}

// Write writes a file into the program's folder.
func (p *Program) Write(t testing.TB, name, text string) {
	t.Helper()
	path := filepath.Join(p.Dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

// Lines writes a file of n lines into the program's folder, packed if its name ends with .gz.
func (p *Program) Lines(t testing.TB, name string, n int, line func(i int) string) {
	t.Helper()
	var b strings.Builder
	for i := range n {
		b.WriteString(line(i) + "\n")
	}
	text := b.String()
	if strings.HasSuffix(name, ".gz") {
		text = testevents.Gzip(text)
	}
	p.Write(t, name, text)
}

// Read is the text of a file in the program's folder.
func (p *Program) Read(t testing.TB, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(p.Dir, filepath.Join(path...)))
	require.NoError(t, err)
	return string(text)
}

// Serve is a fake, and a program with its address and keys.
func Serve(t testing.TB) (*hogapitest.Server, *Program) {
	t.Helper()
	server := hogapitest.New()
	return server, New(t, server)
}

// Result is the output and the exit code of a run.
type Result struct {
	Code           int
	Stdout, Stderr string
	Ending         time.Duration // from the signal of Until to the end
}

// Command is the program with arguments, not yet started.
func (p *Program) Command(ctx context.Context, t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(ctx, Binary(t), args...) //nolint:contextcheck // building it has the test's
	cmd.Dir, cmd.Env = p.Dir, p.Env
	alone(cmd)
	return cmd
}

// Run runs the program to its end.
func (p *Program) Run(t testing.TB, args ...string) Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	return Start(t, p.Command(ctx, t, args...))()
}

// Ends runs the program to its end, and requires an exit code.
func (p *Program) Ends(t testing.TB, code int, args ...string) Result {
	t.Helper()
	r := p.Run(t, args...)
	require.Equal(t, code, r.Code, "%s%s", r.Stdout, r.Stderr)
	return r
}

// Shell has a shell run a command of the program, and requires that it ends with a code.
func (p *Program) Shell(t testing.TB, code int, command string) Result {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the command is for a POSIX shell")
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
	cmd.Dir, cmd.Env = p.Dir, slices.Concat(p.Env, []string{"PATH=" + filepath.Dir(Binary(t)) + ":/usr/bin:/bin"})
	r := Start(t, cmd)()
	require.Equal(t, code, r.Code, "%s\n%s%s", command, r.Stdout, r.Stderr)
	return r
}

// Until runs the program until a condition holds, sends it a signal, and waits for its end.
func (p *Program) Until(t testing.TB, holds func() bool, signal os.Signal, args ...string) Result {
	t.Helper()
	cmd := p.Command(t.Context(), t, args...)
	finish := Start(t, cmd)
	isTime := assert.Eventually(t, holds, 5*time.Minute, time.Millisecond)
	if !isTime {
		signal = os.Kill
	}
	at := time.Now()
	failed := Signal(cmd, signal)
	r := finish()
	r.Ending = time.Since(at)
	require.True(t, isTime && failed == nil, "%v: it said %s%s", failed, r.Stdout, r.Stderr)
	return r
}

// Out requires that the standard output has some words.
func (r Result) Out(t testing.TB, want ...string) Result {
	t.Helper()
	Says(t, r.Stdout, want...)
	return r
}

// Err requires that the standard error has some words.
func (r Result) Err(t testing.TB, want ...string) Result {
	t.Helper()
	Says(t, r.Stderr, want...)
	return r
}

// Never requires that no output has one of these texts.
func (r Result) Never(t testing.TB, texts ...string) Result {
	t.Helper()
	for _, text := range texts {
		assert.NotContains(t, r.Stdout+r.Stderr, text)
	}
	return r
}

// Narrow requires that all output fits 80 columns.
func (r Result) Narrow(t testing.TB) Result {
	t.Helper()
	for line := range strings.SplitSeq(r.Stdout+"\n"+r.Stderr, "\n") {
		require.LessOrEqual(t, utf8.RuneCountInString(line), 80, line)
	}
	return r
}

// Says requires that a text has some words, wherever its lines and commands are broken.
func Says(t testing.TB, text string, want ...string) {
	t.Helper()
	for _, one := range want {
		assert.Contains(t, Words(text), Words(one))
	}
}

// Words is a text on one line, with the paths of Windows in the form of other systems.
func Words(text string) string {
	text = strings.Join(strings.Fields(strings.ReplaceAll(text, "\\\n", "")), " ")
	if runtime.GOOS == "windows" {
		text = strings.ReplaceAll(text, `\`, "/")
	}
	return text
}

// Start starts a command. The function returned waits for its end.
func Start(t testing.TB, cmd *exec.Cmd) (finish func() Result) {
	t.Helper()
	var out, err bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &err
	require.NoError(t, cmd.Start())
	return func() Result {
		t.Helper()
		failed := cmd.Wait()
		if _, ok := errors.AsType[*exec.ExitError](failed); failed != nil && !ok {
			require.NoError(t, failed)
		}
		return Result{Code: cmd.ProcessState.ExitCode(), Stdout: out.String(), Stderr: err.String()}
	}
}

// Events writes n lines of PostHog's own form, with uuids of their own, into a file of the
// program's folder. The lines with the numbers in bad are no events.
func (p *Program) Events(t testing.TB, name string, n int, bad func(i int) bool) []uuid.UUID {
	t.Helper()
	var ids []uuid.UUID
	at := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	p.Lines(t, name, n, func(i int) string {
		if bad != nil && bad(i) {
			return fmt.Sprintf(`{"event":"broken %d","timestamp":"yesterday","distinct_id":"p%d"}`, i, i%17)
		}
		ids = append(ids, ID(i))
		return fmt.Sprintf(`{"uuid":%q,"event":"visit %d","distinct_id":"p%d","timestamp":%q,"properties":{"n":%d}}`,
			ID(i), i%3, i%17, at.Add(time.Duration(i)*time.Minute).Format(time.RFC3339), i)
	})
	return ids
}

// ID is the uuid of an event of Events.
func ID(i int) uuid.UUID { return uuid.NewSHA1(uuid.NameSpaceURL, fmt.Appendf(nil, "clitest %d", i)) }

// RequireWhole demands that the fake has exactly these events, each unchanged.
func RequireWhole(t testing.TB, server *hogapitest.Server, ids []uuid.UUID) {
	t.Helper()
	ledger := server.Ledger()
	require.Empty(t, ledger.Missing(ids), "no event is lost")
	require.Equal(t, len(ids), ledger.Unique(), "and there are no others")
	require.Empty(t, ledger.Changed(), "and none has changed")
}
