package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/cmd/hogimport/internal/clitest"
	"github.com/hogapi/hogapi/hogapitest"
)

// commandNames are all commands that the help of the program, or of a command, lists.
func commandNames(help string) (names []string) {
	_, list, _ := strings.Cut(help, "Available Commands:\n")
	list, _, _ = strings.Cut(list, "\n\n")
	for line := range strings.Lines(list) {
		if fields := strings.Fields(line); len(fields) > 0 {
			names = append(names, fields[0])
		}
	}
	return names
}

func TestHelpFitsIntoEightyColumnsAndNamesEachVariable(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, nil)
	var check func(args ...string)
	seen := 0
	check = func(args ...string) {
		r := p.Ends(t, 0, append(args, "--help")...)
		seen++
		for line := range strings.Lines(r.Stdout) {
			assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimRight(line, "\n")), 80, "%v: %s", args, line)
		}
		isCobras := slices.Contains(args, "completion") || slices.Contains(args, "help")
		for _, flag := range regexp.MustCompile(`(?m)^  --([a-z-]+)(.*)$`).FindAllStringSubmatch(r.Stdout, -1) {
			if name := flag[1]; name != "help" && name != "version" && !isCobras {
				assert.Contains(t, flag[2], "$HOGIMPORT_"+strings.ToUpper(strings.ReplaceAll(name, "-", "_")), "%v", args)
			}
		}
		if len(args) == 1 && !isCobras {
			assert.Contains(t, r.Stdout, "Examples:\n", args)
		}
		for _, name := range commandNames(r.Stdout) {
			check(append(args, name)...)
		}
	}
	check()
	assert.Greater(t, seen, 6)
}

func TestHelpSaysWhatIsNotPlain(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, nil)
	help := p.Run(t, "run", "--help").Stdout
	assert.Contains(t, help, `
      mixpanel: write the id of a device as "$device:ID";
      needed with --links where the export has such ids: check says so
`)
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, nil)
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		r := p.Ends(t, 0, "completion", shell)
		assert.NotEmpty(t, r.Stdout)
	}
	assert.Regexp(t, `^hogimport \S+ \(.*go1\.\d+.*\)\n$`, p.Ends(t, 0, "--version").Stdout)
	bash, err := exec.LookPath("bash")
	if err != nil {
		return
	}
	script := filepath.Join(p.Dir, "completion.bash")
	require.NoError(t, os.WriteFile(script, []byte(p.Run(t, "completion", "bash").Stdout), 0o600))
	out, err := exec.CommandContext(t.Context(), bash, "-n", script).CombinedOutput()
	assert.NoError(t, err, "%s", out)
}

func TestMain(m *testing.M) { os.Exit(clitest.Main(m)) }

// Every command shows names that others chose, of files, events, persons and reasons, so that they
// neither control the terminal, nor begin a line, nor show a key.
func TestNothingThatIsPrintedActsOnTheTerminal(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no file has such a name")
	}
	t.Parallel()
	const (
		key  = "phx_0123456789abcdef0123456789"
		evil = "x\x1b[2J\a\u009b31m\u202e\u2028\nFORGED line " + key
	)
	server, p := clitest.Serve(t)
	p.Env = append(p.Env, "HOGIMPORT_RATE=none")
	p.Write(t, "test.key", hogapitest.DefaultProjectKey)
	file := evil + ".jsonl"
	write := func(bad string) {
		var b strings.Builder
		line := func(i int, at string) {
			raw, err := json.Marshal(map[string]any{"event": evil, "distinct_id": evil + fmt.Sprint(i), "timestamp": at, "properties": map[string]any{evil: evil}})
			require.NoError(t, err)
			b.Write(append(raw, '\n'))
		}
		for i := range 20 {
			line(i, "2024-01-01T00:00:00Z")
		}
		line(20, bad)
		p.Write(t, file, b.String())
	}
	write(evil)
	ran := 0
	run := func(args ...string) clitest.Result {
		r := p.Run(t, args...)
		for _, said := range []string{r.Stdout, r.Stderr} {
			bad := strings.IndexFunc(said, func(c rune) bool { return c != '\n' && (!unicode.IsGraphic(c) || c == '\u2028') })
			assert.Negative(t, bad, "%q: %q", args, said)
			assert.NotContains(t, "\n"+said, "\nFORGED", "%q", args)
			assert.NotContains(t, said, key[:12], "%q", args)
		}
		ran++
		return r
	}
	run("status", "--state", evil)
	run("check", evil)
	run("check", file, "--format", evil, "--zone", evil)
	run("check", file, "--map", evil)
	run("check", file, "--until", evil, "--max-rejects", evil)
	run("check", file, "--report", evil+"/r.html")
	for _, format := range []string{"jsonl", "mixpanel", "amplitude", "csv"} {
		run("check", file, "--format", format)
		run("check", file, "--format", format, "--json")
	}
	run("check", file, "--max-rejects", "none", "--left-out", evil)
	run("run", file, "--yes", "--state", file+"/none")
	run("run", file, "--yes", "--import-id", evil)
	run("run", file, "--yes")
	run("run", file, "--yes", "--log", "json")
	state := "state of " + evil
	r := run("run", file, "--yes", "--max-rejects", "none", "--state", state)
	require.Equal(t, 0, r.Code, r.Stderr)
	run("run", file, "--yes", "--sort", "--state", state)
	run("run", "other"+evil, "--state", state)
	run("status", "--state", state)
	run("status", "--state", state, "--json")
	run("verify", "--state", state)
	run("verify", "--state", state, "--json")
	run("verify", "--state", state, "--host", evil)
	run("verify", "--state", state, "--moved-host", evil+"="+evil)
	run("fix", "--state", state, "--yes")
	run("undo", "--state", state)
	run("undo", "--import-id", evil)
	run("trial", file, "--project-key", "@test.key", "--wait", "1s")
	run("trial", file, "--project-key", "@"+evil)
	run("fetch", "mixpanel", "--from", evil, "--to", "2024-01-01", evil)
	run("fetch", "amplitude", evil)
	run("formats", evil)
	run(evil)
	run("--" + evil)
	require.Greater(t, ran, 30)

	// An import in the default folder, with a rejected record and a file that is new.
	r = run("run", file, "--yes", "--max-rejects", "none")
	require.Equal(t, 0, r.Code, r.Stderr)
	month(t, p, "2024-02.jsonl", 10)
	run("check", file, "2024-02.jsonl")
	run("run", "2024-02.jsonl", file, "--yes")
	write("2024-01-01T00:00:00Z")
	run("check", file)
	run("run", file, "--yes")
	run("status")

	// The command that is shown is the one that is meant.
	other := clitest.New(t, server)
	require.NoError(t, os.Rename(filepath.Join(p.Dir, file), filepath.Join(other.Dir, "a\x1b\nb.jsonl")))
	assert.Contains(t, other.Run(t, "check", "a\x1b\nb.jsonl").Stdout, `hogimport run $'a\x1b\x0ab.jsonl' --format jsonl`)
}
