package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/beam/internal/beamtest"
	"github.com/hogapi/hogapi/hogapitest"
)

// asProgram says that this process is the program, not its test.
const asProgram = "IMPORTJOB_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	beam.Init()
	slog.SetDefault(slog.New(slog.DiscardHandler))
	beamtest.Run(m)
}

// newServer makes a fake of the service that ends with the test.
func newServer(t *testing.T) *hogapitest.Server {
	server := hogapitest.New()
	t.Cleanup(server.Close)
	return server
}

// runHere runs the program in this process.
func runHere(t *testing.T, args ...string) (string, error) {
	t.Helper()
	flags := flag.NewFlagSet("importjob", flag.ContinueOnError)
	s := define(flags)
	require.NoError(t, flags.Parse(args))
	s.globs = flags.Args()
	var out strings.Builder
	err := run(t.Context(), &out, s)
	return out.String(), err
}

// runProgram runs the program in a process of its own and gives what it says. However it ends, it leaves no temporary file behind.
func runProgram(t *testing.T, args ...string) (string, error) {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	temp := t.TempDir()
	child := exec.CommandContext(t.Context(), program, args...)
	child.Env = append(os.Environ(), asProgram+"=1", "TMPDIR="+temp, beamtest.PassOverBeamsRace(t))
	out, err := child.CombinedOutput()
	left, readErr := os.ReadDir(temp)
	require.NoError(t, readErr)
	assert.Empty(t, left)
	return string(out), err
}

func TestWithoutArgumentsItImportsRealEventsIntoAFake(t *testing.T) {
	out, err := runProgram(t)
	require.NoError(t, err)
	assert.Contains(t, out, "working with a fake of the service")
	assert.Contains(t, out, "read 11576 = acknowledged 11576 + rejected 0 + pending 0")
	assert.Contains(t, out, "The fake holds 11576 events.")
}

func TestTheEventsAreThoseOfTheExamples(t *testing.T) {
	want, err := os.ReadFile("../../../testdata/commits.jsonl.gz")
	require.NoError(t, err)
	assert.True(t, bytes.Equal(want, commits))
}

const good = `{"event":"a","distinct_id":"ann","timestamp":"2024-05-01T12:30:00Z"}` + "\n"

// to names a fake as the service.
func to(t *testing.T, server *hogapitest.Server, args ...string) []string {
	t.Helper()
	t.Setenv("IMPORTJOB_TEST_KEY", hogapitest.DefaultProjectKey)
	return append([]string{"-host", server.URL(), "-key-env", "IMPORTJOB_TEST_KEY", "-import", "shop", "-rate", "-1"}, args...)
}

func TestFilesIntoAService(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("a.jsonl", []byte(good+"no JSON\n"+good), 0o600))
	server := newServer(t)
	for range 2 {
		out, err := runHere(t, to(t, server, "a.jsonl")...)
		require.NoError(t, err)
		assert.Contains(t, out, "read 3 = acknowledged 2 + rejected 1 + pending 0")
		assert.Contains(t, out, "shop.rejects.jsonl")
		assert.Contains(t, out, "acknowledged 2\n")
	}
	assert.Equal(t, 2, server.Ledger().Unique())
	assert.Empty(t, server.Ledger().Changed())
	var receipt hogapi.Receipt
	raw, err := os.ReadFile("shop.receipt.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &receipt))
	assert.EqualValues(t, 1, receipt.Rejected)
	rejects, err := os.ReadFile("shop.rejects.jsonl")
	require.NoError(t, err)
	assert.Equal(t, 1, bytes.Count(rejects, []byte("no JSON")))
}

// Each job that cannot end well says what is the matter and that it can be run again, and then does it.
func TestWhatEndsAJob(t *testing.T) {
	writes := func(args []string, name, content string) []string {
		require.NoError(t, os.WriteFile(name, []byte(content), 0o600))
		return args
	}
	isFull := func(arg string) bool { return arg == "-rejects=/dev/full" }
	cases := map[string]struct {
		args []string
		want string
		mend func(args []string) []string
	}{
		"a missing file": {
			args: []string{"a.jsonl", "missing-*.jsonl"}, want: "no file matches missing-*.jsonl",
			mend: func(args []string) []string { return writes(args, "missing-1.jsonl", good) },
		},
		"a damaged file": {
			args: []string{"damaged.jsonl.gz"}, want: "damaged.jsonl.gz: behind offset 4288: the gzip stream is cut off or damaged",
			mend: func(args []string) []string { return writes(args, "damaged.jsonl.gz", good) },
		},
		"a wrong key": {
			args: []string{"-key-env=", "-key-file=wrong.key", "a.jsonl"}, want: "wrong_key",
			mend: func(args []string) []string { return writes(args, "wrong.key", hogapitest.DefaultProjectKey) },
		},
		"a full file of rejects": {
			args: []string{"-rejects=/dev/full", "bad.jsonl"}, want: "/dev/full: no space left on device",
			mend: func(args []string) []string { return slices.DeleteFunc(args, isFull) },
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			require.NoError(t, os.WriteFile("a.jsonl", []byte(good), 0o600))
			require.NoError(t, os.WriteFile("bad.jsonl", []byte("no JSON\n"+good), 0o600))
			require.NoError(t, os.WriteFile("damaged.jsonl.gz", commits[:1000], 0o600))
			require.NoError(t, os.WriteFile("wrong.key", []byte("phc_nobodyHasThisKey"), 0o600))
			server := newServer(t)
			args := to(t, server, c.args...)
			text, err := runProgram(t, args...)
			require.Error(t, err)
			assert.Contains(t, text, c.want)
			assert.Contains(t, text, "run the same command again")
			assert.NotContains(t, text, "nobodyHasThisKey")
			assert.NoFileExists(t, "shop.receipt.json", "no receipt for half an import")
			_, err = runHere(t, c.mend(args)...)
			require.NoError(t, err)
			assert.Positive(t, server.Ledger().Unique())
		})
	}
}

func TestArgumentsAreChecked(t *testing.T) {
	cases := map[string]struct {
		args []string
		want string
	}{
		"runner":         {[]string{"-runner", "abacus"}, `unknown runner "abacus"`},
		"fake elsewhere": {[]string{"-runner", "flink"}, "say -cloud or -host"},
		"no id":          {[]string{"-cloud", "eu", "a.jsonl"}, "say -import"},
		"no files":       {[]string{"-cloud", "eu", "-import", "shop"}, "name the files"},
		"region":         {[]string{"-cloud", "mars", "-import", "shop", "a.jsonl"}, "region"},
		"a key":          {[]string{"-cloud", "eu", "-import", "shop", "-key-env", hogapitest.DefaultProjectKey, "a.jsonl"}, "this is a key"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := runHere(t, c.args...)
			require.ErrorContains(t, err, c.want)
			assert.NotContains(t, err.Error(), hogapitest.DefaultProjectKey)
		})
	}
}
