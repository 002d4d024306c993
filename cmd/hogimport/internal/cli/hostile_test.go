package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/cmd/hogimport/internal/clitest"
	"github.com/hogapi/hogapi/hogapitest"
)

// Every command shows names that others chose, of files, events, persons and reasons, so that they
// neither control the terminal, nor begin a line, nor show a key.
func TestNothingThatIsPrintedActsOnTheTerminal(t *testing.T) {
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
