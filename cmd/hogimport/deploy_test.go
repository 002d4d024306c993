//go:build unix

package main_test

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/cmd/hogimport/internal/clitest"
	"github.com/hogapi/hogapi/hogapitest"
)

func TestMain(m *testing.M) { os.Exit(clitest.Main(m)) }

// unit is hogimport.service: the values of each key, by "Section.Key".
func unit(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("hogimport.service")
	require.NoError(t, err)
	values, section := map[string][]string{}, ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if name, ok := strings.CutPrefix(line, "["); ok {
			section = strings.TrimSuffix(name, "]")
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		require.True(t, ok, line)
		values[section+"."+key] = append(values[section+"."+key], value)
	}
	return values
}

// command is the command line of the unit, with its variables replaced as systemd does.
func command(t *testing.T, env map[string]string) (args []string) {
	t.Helper()
	starts := unit(t)["Service.ExecStart"]
	require.Len(t, starts, 1)
	for word := range strings.FieldsSeq(starts[0]) {
		if name, ok := strings.CutPrefix(word, "$"); ok && !strings.HasPrefix(name, "{") { // $NAME: its words
			require.Contains(t, env, name)
			args = append(args, strings.Fields(env[name])...)
			continue
		}
		args = append(args, regexp.MustCompile(`\$\{\w+\}`).ReplaceAllStringFunc(word, func(v string) string {
			name := v[2 : len(v)-1]
			require.Contains(t, env, name)
			return env[name]
		}))
	}
	require.Equal(t, "/usr/local/bin/hogimport", args[0])
	return args[1:]
}

// The command of the unit, ended by a loss of power, a stop and an outage, is complete in the end.
func TestUnitResumes(t *testing.T) {
	server := hogapitest.New()
	p := clitest.New(t, server)
	ids := p.Events(t, "one.jsonl", 6000, nil)
	state := filepath.Join(t.TempDir(), "hogimport")
	require.NoError(t, os.Mkdir(state, 0o700)) // as StateDirectory does
	args := command(t, map[string]string{"STATE_DIRECTORY": state, "FILES": filepath.Join(p.Dir, "*.jsonl")})
	p.Env = append(p.Env, "HOGIMPORT_RATE=2000")
	p.Dir = state

	for _, end := range []struct {
		at, code int
		signal   os.Signal
	}{{1000, -1, os.Kill}, {2500, 4, syscall.SIGTERM}} { // a loss of power; systemctl stop, or a reboot
		r := p.Until(t, func() bool { return server.Ledger().Unique() >= end.at }, end.signal, args...)
		require.Equal(t, end.code, r.Code, r.Stderr)
	}
	require.Less(t, server.Ledger().Unique(), 6000)
	p.Ends(t, 0, args...)
	clitest.RequireWhole(t, server, ids)

	before := server.Ledger().Len()
	p.Ends(t, 0, args...) // a reboot after the end
	require.Equal(t, before, server.Ledger().Len(), "nothing is sent again")
}

// The service retries after an exit code that can pass, and not after one that needs the user.
func TestUnitKnowsTheExitCodes(t *testing.T) {
	u := unit(t)
	codes := func(key string) []string { return strings.Fields(strings.Join(u["Service."+key], " ")) }
	require.Equal(t, []string{"on-failure"}, codes("Restart"))
	require.Equal(t, []string{"2", "3", "5"}, codes("RestartPreventExitStatus"))
	require.Equal(t, []string{"4"}, codes("RestartForceExitStatus"))
	require.Equal(t, []string{"4"}, codes("SuccessExitStatus"))
	require.Equal(t, []string{"0"}, u["Unit.StartLimitIntervalSec"], "an outage of days is no reason to give up")
	require.Equal(t, []string{"multi-user.target"}, u["Install.WantedBy"])
	help := clitest.New(t, nil).Run(t, "--help").Stdout
	for code, text := range map[string]string{
		"2": "wrong usage", "3": "too many rejects", "4": "stopped and resumable", "5": "the key or the project is wrong",
	} {
		require.Regexp(t, `(?m)^\s*`+code+`\s+`+text, help)
	}
	server := hogapitest.New()
	p := clitest.New(t, server)
	p.Events(t, "one.jsonl", 10, nil)
	p.Env = append(p.Env, "POSTHOG_PROJECT_API_KEY=phc_anotherKey0000000000000000000000000000000000")
	args := command(t, map[string]string{"STATE_DIRECTORY": t.TempDir(), "FILES": "one.jsonl"})
	require.Equal(t, 5, p.Run(t, args...).Code)
}

// systemd takes the unit as it is, but for the place of the program.
func TestUnitIsValid(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Log("no systemd here: the unit is only parsed")
		unit(t)
		return
	}
	text, err := os.ReadFile("hogimport.service")
	require.NoError(t, err)
	text = bytes.ReplaceAll(text, []byte("/usr/local/bin/hogimport"), []byte(clitest.Binary(t)))
	path := filepath.Join(t.TempDir(), "hogimport.service")
	require.NoError(t, os.WriteFile(path, text, 0o600))
	out, err := exec.CommandContext(t.Context(), analyze, "verify", "--man=no", path).CombinedOutput()
	require.NoError(t, err, "%s", out)
	for line := range strings.Lines(string(out)) { // a key that it does not know is only a warning
		require.NotContains(t, line, "hogimport.service")
	}
}

// The command of the Dockerfile makes a static program that needs no file of a system but certificates.
func TestDockerfile(t *testing.T) {
	text, err := os.ReadFile("Dockerfile")
	require.NoError(t, err)
	var run string
	var from, copied []string
	for line := range strings.Lines(string(text)) {
		switch word, rest, _ := strings.Cut(strings.TrimSpace(line), " "); word {
		case "RUN":
			require.Empty(t, run)
			run = rest
		case "FROM":
			from = append(from, strings.Fields(rest)[0])
		case "COPY":
			copied = append(copied, rest)
		}
	}
	goMod, err := os.ReadFile("../go.mod")
	require.NoError(t, err)
	require.Equal(t, "scratch", from[len(from)-1])
	require.Contains(t, string(goMod), "\ngo "+strings.TrimPrefix(from[0], "golang:")+".", "the image has the module's Go")
	require.True(t, slices.ContainsFunc(copied, func(c string) bool { return strings.Contains(c, "ca-certificates.crt") }))

	path := filepath.Join(t.TempDir(), "hogimport")
	require.Contains(t, run, "-o /hogimport ")
	build := exec.CommandContext(t.Context(), "sh", "-c", strings.ReplaceAll(run, "-o /hogimport ", "-o "+path+" "))
	build.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+runtime.GOARCH)
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	program, err := elf.Open(path)
	require.NoError(t, err)
	defer program.Close()
	for _, p := range program.Progs {
		require.NotEqual(t, elf.PT_INTERP, p.Type, "it needs a dynamic linker")
	}
	libraries, err := program.ImportedLibraries()
	require.NoError(t, err)
	require.Empty(t, libraries)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.LessOrEqual(t, info.Size(), int64(25<<20))
	t.Logf("%.1f MB", float64(info.Size())/1e6)

	inScratch(t, path)
}

// inScratch runs the program in a root folder with itself and an old Mixpanel export, no other file.
func inScratch(t *testing.T, path string) {
	t.Helper()
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		t.Log("not root on Linux: not run in a root of its own")
		return
	}
	server := hogapitest.New()
	p := clitest.New(t, server)
	program, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(p.Dir, "hogimport"), program, 0o700))
	const line = `{"event":"e","properties":{"time":%d,"distinct_id":"p","$insert_id":"%[1]d"}}` + "\n"
	midnight := time.Date(2022, 3, 13, 0, 0, 0, 0, time.UTC).Unix() // of the day on which the clocks skip an hour
	p.Write(t, "work/events.jsonl", fmt.Sprintf(line, midnight+90*60)+fmt.Sprintf(line, midnight+210*60))
	cmd := exec.CommandContext(t.Context(), "/hogimport",
		"run", "--yes", "--format", "mixpanel", "--zone", "America/Los_Angeles", "events.jsonl")
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: p.Dir}
	cmd.Dir, cmd.Env = "/work", p.Env
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	var got []string
	for e := range server.Ledger().Last() {
		got = append(got, e.Time.UTC().Format(time.DateTime))
	}
	slices.Sort(got)
	require.Equal(t, []string{"2022-03-13 09:30:00", "2022-03-13 10:30:00"}, got, "the times of the zone, on both sides of the change of its clocks")
}
