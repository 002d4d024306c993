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

// failure runs the program where it must fail.
func failure(t *testing.T, args ...string) string {
	t.Helper()
	text, err := runProgram(t, args...)
	require.Error(t, err, "it must fail")
	return text
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
		assert.Contains(t, out, "Files: 1. In positions, and so in the uuids, the first is a.jsonl")
		assert.Contains(t, out, "(no event, or one without name or time)")
		assert.Contains(t, out, "head -c OFFSET FILE | tail -1")
	}
	assert.Equal(t, 2, server.Ledger().Unique())
	assert.Empty(t, server.Ledger().Changed())
	var receipt hogapi.Receipt
	raw, err := os.ReadFile("shop.receipt.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &receipt))
	assert.EqualValues(t, 1, receipt.Rejected)
	assert.Equal(t, "a.jsonl", receipt.Source)
	rejects, err := os.ReadFile("shop.rejects.jsonl")
	require.NoError(t, err)
	assert.Equal(t, 1, bytes.Count(rejects, []byte("no JSON")))
}

func TestAnImportOfNothingIsSaid(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("a.jsonl", []byte("event,person\na,ann\n"), 0o600))
	out, err := runHere(t, to(t, newServer(t), "a.jsonl")...)
	require.NoError(t, err)
	assert.Contains(t, out, "NOTHING WAS IMPORTED.")
	assert.NotContains(t, out, "SELECT")
}

func TestHelpShowsTheFlagsOfThisProgramFirst(t *testing.T) {
	out, err := runProgram(t, "-h")
	require.NoError(t, err)
	own, others, found := strings.Cut(out, "Flags of Beam and its runners:")
	require.True(t, found)
	assert.Contains(t, own, "importjob [flags] FILES")
	assert.Contains(t, own, "-rejects file")
	assert.NotContains(t, own, "-environment_type")
	assert.Contains(t, others, "-environment_type")
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
		"a damaged file": {
			args: []string{"damaged.jsonl.gz"}, want: "importjob: the job has failed: hogbeam: damaged.jsonl.gz: behind offset 4288: the gzip stream is cut off or damaged",
			mend: func(args []string) []string { return writes(args, "damaged.jsonl.gz", good) },
		},
		"a wrong key": {
			args: []string{"-key-env=", "-key-file=wrong.key", "a.jsonl"}, want: "wrong_key",
			mend: func(args []string) []string { return writes(args, "wrong.key", hogapitest.DefaultProjectKey) },
		},
		"a full file of rejects": {
			args: []string{"-rejects=/dev/full", "bad.jsonl"}, want: "importjob: the job has failed: write /dev/full: no space left on device",
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
			text := failure(t, args...)
			assert.Contains(t, text, c.want)
			assert.Contains(t, text, "When the cause is mended run the same command again")
			assert.NotContains(t, text, "PCollection", "the plan is for -verbose")
			assert.NotContains(t, text, "nobodyHasThisKey")
			assert.NoFileExists(t, "shop.receipt.json", "no receipt for half an import")
			if device, err := os.Lstat("/dev/full"); err == nil {
				assert.False(t, device.Mode().IsRegular(), "a device is written to, and never replaced")
			}
			_, err := runHere(t, c.mend(args)...)
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
		"on a worker":    {[]string{"-runner", "flink", "-host", "http://127.0.0.1:1", "-import", "shop", "a.jsonl"}, "say -rejects and -receipt"},
		"fake elsewhere": {[]string{"-runner", "flink"}, "say -cloud or -host"},
		"no id":          {[]string{"-cloud", "eu", "a.jsonl"}, "say -import"},
		"no files":       {[]string{"-cloud", "eu", "-import", "shop"}, "name the files"},
		"region":         {[]string{"-cloud", "mars", "-import", "shop", "a.jsonl"}, "region"},
		"a rate":         {[]string{"-cloud", "eu", "-import", "shop", "-rate", "2", "a.jsonl"}, "Unpaced is -rate -1"},
		"flags behind":   {[]string{"-cloud", "eu", "a.jsonl", "-import", "shop"}, "flags come before the files: -import"},
		"two stars":      {[]string{"-import", "shop", "**/a.jsonl"}, `no "**"`},
		"a scheme":       {[]string{"-import", "shop", "hdfs://a.jsonl"}, "hdfs"},
		"fake's key":     {[]string{"-key-env", "A", "-import", "shop", "a.jsonl"}, "the fake has a key of its own"},
		"slashes":        {[]string{"-import", "../shop", "a.jsonl"}, "say -rejects and -receipt"},
		"check":          {[]string{"-check"}, "-check: say -import"},
		"a remote check": {[]string{"-check", "-import", "shop", "gs://a/b"}, "files of this machine only"},
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
