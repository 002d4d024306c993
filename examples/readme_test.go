package examples_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

// The tests compile the code of the README and of docs/calls.md, and run the whole program of the
// latter.

var goBlock = regexp.MustCompile("(?s)```go\n(.*?)```")

// pages returns the README and the page about calls.
func pages(t *testing.T) (text []byte) {
	t.Helper()
	for _, name := range []string{"../README.md", "../docs/calls.md"} {
		page, err := os.ReadFile(name)
		require.NoError(t, err)
		text = append(text, page...)
	}
	return text
}

// blocks returns the whole programs, which are two of the README and one of docs/calls.md, and the other blocks.
func blocks(t *testing.T) (programs, fragments []string) {
	t.Helper()
	for _, found := range goBlock.FindAllSubmatch(pages(t), -1) {
		if code := string(found[1]); strings.HasPrefix(code, "package main\n") {
			programs = append(programs, code)
		} else {
			fragments = append(fragments, code)
		}
	}
	require.Len(t, programs, 3)
	return programs, fragments
}

const signedUp = `{"event":"signed up","distinct_id":"ann","timestamp":"2024-05-01T12:30:00+02:00"}`

// The README's programs print lines like those below them.
func TestTheProgramsOfTheREADME(t *testing.T) {
	page, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	programs, _ := blocks(t)
	for i, want := range []string{
		`(?m)^[\w ]+ \(\w+\)\n   \d{4}-\d\d-\d\d \d\d:00:00 \+0000 UTC (Completed|Failed)$`,
		`(?m)^import "commits": read \d+ = acknowledged \d+ \+ rejected 0 \+ pending 0$`,
	} {
		server := hogapitest.New()
		out, err := runProgram(t, server, programs[i], signedUp)
		require.NoError(t, err, "%s", out)
		assert.Regexp(t, want, out)
		assert.Regexp(t, want, string(page))
	}
}

func TestTheWholeProgramRuns(t *testing.T) {
	server := hogapitest.New()
	out, err := runREADME(t, server, signedUp)
	require.NoError(t, err, "%s", out)
	assert.Regexp(t, `(?m)^nightly .* Failed$`, out)
	assert.Contains(t, out, "read 1 = good 1 + rejected 0")
	assert.Contains(t, out, "read 1 = acknowledged 1 + rejected 0 + pending 0")
	assert.Equal(t, 1, server.Ledger().Unique())
}

// A file in another vendor's format is an error, and no event of it is sent.
func TestTheWholeProgramRefusesAnotherFormat(t *testing.T) {
	const foreign = `{"event":"Items sold","properties":{"time":1652423938,"distinct_id":"ann","$insert_id":"935d87b1"}}`
	server := hogapitest.New()
	out, err := runREADME(t, server, foreign)
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	assert.Equal(t, 1, exit.ExitCode())
	assert.Contains(t, out, "refused, no_timestamp: 1")
	assert.Contains(t, out, "hogapi: check: too_many_rejects")
	assert.Zero(t, server.Ledger().Len())
}

// A wrong key is an error.
func TestTheWholeProgramNoticesAWrongKey(t *testing.T) {
	server := hogapitest.New()
	out, err := runREADME(t, server, signedUp, "POSTHOG_PROJECT_API_KEY=phc_nobodyHasThisKey")
	require.Error(t, err)
	assert.Contains(t, out, "stopped: wrong_key")
	assert.Contains(t, out, "read 1 = acknowledged 0 + rejected 0 + pending 1", "the receipt comes with an error too")
	assert.Zero(t, server.Ledger().Len())
}

// Events that the check accepted and the service refuses are an error.
func TestTheWholeProgramNoticesRefusals(t *testing.T) {
	server := hogapitest.New()
	server.RejectEvents(func(json.RawMessage) int { return http.StatusBadRequest })
	out, err := runREADME(t, server, signedUp)
	require.Error(t, err)
	assert.Contains(t, out, "stopped: too_many_rejects: 1 of 1 records were rejected")
	assert.Zero(t, server.Ledger().Len())
}

// runREADME runs the whole program of docs/calls.md.
func runREADME(t *testing.T, server *hogapitest.Server, events string, env ...string) (out string, err error) {
	t.Helper()
	programs, _ := blocks(t)
	return runProgram(t, server, programs[2], events, env...)
}

// runProgram runs a program on a file of events, against a server, to which it adds a failed run.
func runProgram(t *testing.T, server *hogapitest.Server, program, events string, env ...string) (out string, err error) {
	t.Helper()
	t.Cleanup(server.Close)
	project := server.Project(hogapitest.DefaultProject)
	project.AddRun(project.AddExport(hogapitest.Export{Name: "nightly"}), hogapitest.Run{Status: hogapi.RunStatusFailed})
	cmd := exec.CommandContext(t.Context(), build(t, program))
	cmd.Dir = t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(cmd.Dir, "events.jsonl.gz"), []byte(events+"\n"), 0o600))
	cmd.Env = append(os.Environ(), "POSTHOG_HOST="+server.URL(), "POSTHOG_REGION=",
		"POSTHOG_PROJECT_ID="+hogapitest.DefaultProject,
		"POSTHOG_PERSONAL_API_KEY="+hogapitest.DefaultPersonalKey, "POSTHOG_PROJECT_API_KEY="+hogapitest.DefaultProjectKey)
	cmd.Env = append(cmd.Env, env...)
	text, err := cmd.CombinedOutput()
	return string(text), err
}

func TestTheFragmentsOfTheREADMECompile(t *testing.T) {
	_, fragments := blocks(t)
	require.NotEmpty(t, fragments)
	var file bytes.Buffer
	file.WriteString(`package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/coverage"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

var _ = coverage.Of
var _ = history.Import
var _ = errors.New
var _ = json.Unmarshal
var _ = time.Unix
var _ uuid.UUID
var _ = fmt.Sprint
var _ = log.Fatal
var _ = hogapitest.New
var _ = require.NoError

func main() {}
`)
	for i, code := range fragments {
		fmt.Fprintf(&file, "\nfunc fragment%d("+
			"ctx context.Context, t *testing.T, client *hogapi.Client, export hogapi.BatchExport, run hogapi.Run) "+
			"(receipt hogapi.Receipt, ticket *hogapi.BackfillTicket, err error) {\n", i)
		file.WriteString("{\n" + withResults(code) + "}\nreturn\n}\n")
	}
	build(t, file.String())
}

// The package has the names that texts and tables use.
func TestTheNamesOfTheREADMEExist(t *testing.T) {
	declared, err := exec.CommandContext(t.Context(), "go", "doc", "-all", "github.com/hogapi/hogapi").Output()
	require.NoError(t, err)
	names := regexp.MustCompile(`\b(?:hogapi|client|client\.[A-Z]\w+)\.([A-Z]\w+)`).FindAllSubmatch(pages(t), -1)
	require.Greater(t, len(names), 30)
	for _, name := range names {
		assert.True(t, regexp.MustCompile(`\b`+string(name[1])+`\b`).Match(declared), "%s", name[0])
	}
}

// withResults adds the results of the function around a fragment, and uses the variables that it only
// shows.
func withResults(code string) string {
	if !strings.Contains(code, "func(") { // a func returns something of its own
		code = regexp.MustCompile(`(?m)^(\t*)return (.+)$`).ReplaceAllString(code, "${1}return receipt, ticket, $2")
	}
	if strings.Contains(code, "receipt, err := ") {
		code += "_, _ = receipt, err\n"
	}
	if strings.HasPrefix(code, "client, err := ") {
		code += "_ = client\n"
	}
	return code
}

// build compiles a program within this module, and returns the path of the binary.
func build(t *testing.T, program string) string {
	t.Helper()
	folder := t.TempDir()
	source, binary := filepath.Join(folder, "main.go"), filepath.Join(folder, "program")
	require.NoError(t, os.WriteFile(source, []byte(program), 0o600))
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, source).CombinedOutput()
	require.NoError(t, err, "%s\n%s", out, program)
	return binary
}
