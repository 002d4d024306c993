package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/cmd/hogimport/internal/clitest"
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
	says(t, help, "stop when more is rejected: a NUMBER, a share such as 5%, or none for no limit; records that are left out do not count")
	help = p.Run(t, "check", "--help").Stdout
	says(t, help, "none for no limit; records that are left out do not count")
	says(t, help, "write each record that is left out to a FILE, with its place and reason: a line of JSON each")
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, nil)
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		r := p.Ends(t, 0, "completion", shell)
		assert.NotEmpty(t, r.Stdout)
	}
	r := p.Run(t, "__complete", "run", "--format", "")
	assert.Contains(t, r.Stdout, "mixpanel\n")
	bash, err := exec.LookPath("bash")
	if err != nil {
		return
	}
	script := filepath.Join(p.Dir, "completion.bash")
	require.NoError(t, os.WriteFile(script, []byte(p.Run(t, "completion", "bash").Stdout), 0o600))
	out, err := exec.CommandContext(t.Context(), bash, "-n", script).CombinedOutput()
	assert.NoError(t, err, "%s", out)
}

func TestTheProgramIsSmallAndStartsAtOnce(t *testing.T) {
	info, err := os.Stat(clitest.Binary(t))
	require.NoError(t, err)
	assert.Less(t, info.Size(), int64(25<<20))
	p := clitest.New(t, nil)
	var fastest time.Duration
	for range 10 {
		began := time.Now()
		r := p.Run(t, "--version")
		took := time.Since(began)
		require.Equal(t, 0, r.Code)
		require.Regexp(t, `^hogimport \S+\n$`, r.Stdout)
		if fastest == 0 || took < fastest {
			fastest = took
		}
	}
	t.Logf("%d bytes, %v", info.Size(), fastest)
	assert.Less(t, fastest, 50*time.Millisecond)
}

func TestMain(m *testing.M) { os.Exit(clitest.Main(m)) }
