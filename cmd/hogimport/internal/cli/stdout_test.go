package cli_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/cmd/hogimport/internal/clitest"
)

// toFull runs a program with a full disk as its standard output.
func toFull(t *testing.T, p *clitest.Program, args ...string) clitest.Result {
	t.Helper()
	const name = "/dev/full"
	full, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("there is no %s here: %v", name, err)
	}
	defer full.Close()
	cmd := p.Command(t.Context(), t, args...)
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = full, &stderr
	_ = cmd.Run() // its exit code says it
	return clitest.Result{Code: cmd.ProcessState.ExitCode(), Stderr: stderr.String()}
}

// A result that nobody can read is an error. All else is done as if it could be read.
func TestAResultThatCannotBeWrittenIsAnError(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	ids := p.Events(t, "events.jsonl", 1000, func(i int) bool { return i%500 == 7 })
	for _, args := range [][]string{
		{"check", "events.jsonl"}, {"check", "events.jsonl", "--json"},
		{"run", "events.jsonl", "--yes", "--rate", "none"}, {"run", "events.jsonl", "--rate", "none", "--json"},
		{"status"}, {"status", "--json"}, {"verify"}, {"verify", "--json"}, {"formats"}, {"formats", "--json"}, {"--help"}, {"run", "--help"}, {"--version"},
	} {
		r := toFull(t, p, args...)
		assert.Equal(t, 1, r.Code, "%v: %s", args, r.Stderr)
		says(t, r.Stderr, "the result cannot be written to the standard output: no space left on device")
	}
	clitest.RequireWhole(t, server, ids)
	said := p.Ends(t, 0, "status").Stdout
	assert.Contains(t, said, "complete")
	assert.NotContains(t, said, "hogimport verify", "verify has kept its result")

	asJSON := toFull(t, p, "run", "events.jsonl", "--log", "json")
	assert.Equal(t, 1, asJSON.Code)
	assert.Contains(t, asJSON.Stderr, `"exit":1`)

	p.Events(t, "bad.jsonl", 1000, func(i int) bool { return i%2 == 0 })
	r := toFull(t, p, "check", "bad.jsonl")
	assert.Equal(t, 3, r.Code, "the error of the command matters more")
	says(t, r.Stderr, "500 of 1,000 events (50.0 %) would be rejected")
	says(t, r.Stderr, "the result cannot be written to the standard output: no space left on device")
}

func TestAFixWhoseResultCannotBeWrittenIsMade(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	actions(t, p, 1000, func(i int) bool { return i%100 == 3 })
	p.Ends(t, 0, append([]string{"run", "actions.csv", "--yes", "--rate", "none", "--map", "time=when"}, mapped...)...)
	require.Equal(t, 990, server.Ledger().Unique())
	fix := append([]string{"fix", "--yes", "--rate", "none", "--zone", "UTC", "--map", "time=when|layout:02.01.2006 15:04"}, mapped...)
	r := toFull(t, p, fix...)
	assert.Equal(t, 1, r.Code)
	says(t, r.Stderr, "the result cannot be written to the standard output: no space left on device")
	assert.Equal(t, 1000, server.Ledger().Unique())
	assert.Equal(t, "Nothing is rejected, so there is nothing to fix.\n", p.Ends(t, 0, fix...).Stdout)
	assert.Equal(t, 1, toFull(t, p, fix...).Code, "also this could not be written")
}
