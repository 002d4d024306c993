package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/hogimport/internal/clitest"
	"github.com/hogapi/hogapi/cmd/internal/progress"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/testevents"
	"github.com/hogapi/hogapi/ops"
)

func TestACompleteImport(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	ids := p.Events(t, "events.jsonl", 3000, func(i int) bool { return i%500 == 7 })
	r := p.Ends(t, 0, "run", "events.jsonl", "--yes", "--rate", "none")
	clitest.RequireWhole(t, server, ids)
	lines := strings.Split(strings.TrimSpace(r.Stdout), "\n")
	assert.Equal(t, "Rejected: 6; to correct them: hogimport fix --state hogimport-state/events", clitest.Words(lines[len(lines)-1]))
	clitest.Says(t, r.Stdout, "Complete: 2,994 events acknowledged; 6 of 3,000 records rejected.")
	clitest.Says(t, r.Stderr, "Checked all 3,000 records: 2,994 good, 6 rejected")

	again := p.Ends(t, 0, "run", "events.jsonl", "--rate", "none")
	assert.Equal(t, r.Stdout, again.Stdout, "the same command again says the same")
	assert.Equal(t, 0, server.Ledger().Duplicates(), "and sends nothing")

	asJSON := p.Run(t, "run", "events.jsonl", "--json", "--rate", "none")
	var result struct {
		Receipt hogapi.Receipt
		State   string
	}
	require.NoError(t, json.Unmarshal([]byte(asJSON.Stdout), &result), asJSON.Stdout)
	assert.EqualValues(t, 2994, result.Receipt.Acknowledged)
	assert.Equal(t, filepath.Join("hogimport-state", "events"), result.State)
}

// Records that are left out are no rejects, and the result says so on its last lines.
func TestRecordsThatAreLeftOutAreNoRejects(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, hogapitest.New())
	p.Events(t, "e.jsonl", 100, func(i int) bool { return i == 7 })
	r := p.Ends(t, 0, "run", "e.jsonl", "--yes", "--until", "2024-01-01T00:50:00Z", "--max-rejects", "2").
		Out(t, "Complete: 49 events acknowledged; of 100 records 50 left out, 1 rejected.")
	lines := strings.Split(strings.TrimSpace(r.Stdout), "\n")
	for i, line := range lines {
		lines[i] = clitest.Words(line)
	}
	assert.Equal(t, []string{
		"Left out: 50, which --max-rejects does not count",
		"The rejects, each with its reason, are in hogimport-state/e/rejects.jsonl",
		"Rejected: 1; to correct them: hogimport fix --state hogimport-state/e",
	}, lines[len(lines)-3:])
	p.Events(t, "f.jsonl", 100, nil)
	r = p.Ends(t, 0, "run", "f.jsonl", "--yes", "--until", "2024-01-01T01:39:00Z")
	assert.True(t, strings.HasSuffix(r.Stdout, "\nLeft out: 1, which --max-rejects does not count\n"), r.Stdout)
}

// Each mistake before the first event has its exit code and advice.
func TestWhatIsWrongBeforeTheFirstEvent(t *testing.T) {
	t.Parallel()
	server := hogapitest.New()
	program := func(t *testing.T) *clitest.Program {
		p := clitest.New(t, server)
		p.Events(t, "events.jsonl", 20, nil)
		p.Events(t, "bad.jsonl", 200, func(i int) bool { return i%2 == 0 })
		p.Write(t, "data.bin", "x")
		return p
	}
	requireWrong(t, program, nil, map[string]wrong{
		"no files":             {[]string{"run", "--yes"}, nil, 2, "no files are named", "name the files"},
		"no such file":         {[]string{"run", "nothing.jsonl", "--yes"}, nil, 2, "nothing.jsonl: there is no such file", "check the path"},
		"no format":            {[]string{"run", "data.bin", "--yes"}, nil, 2, "the format of the files is not named", "Give --format"},
		"another format":       {[]string{"run", "events.jsonl", "--format", "mixpannel", "--yes"}, nil, 2, `--format "mixpannel" is not known`, "mixpanel"},
		"unknown flag":         {[]string{"run", "events.jsonl", "--yse"}, nil, 2, "unknown flag: --yse", "hogimport run --help"},
		"unknown command":      {[]string{"rnu"}, nil, 2, `unknown command "rnu"`, "hogimport --help"},
		"no host":              {[]string{"run", "events.jsonl", "--yes"}, []string{"POSTHOG_HOST="}, 2, "host is missing", "--host us or --host eu"},
		"no key":               {[]string{"run", "events.jsonl", "--yes"}, []string{"POSTHOG_PROJECT_API_KEY="}, 2, "project API key is missing", "POSTHOG_PROJECT_API_KEY"},
		"the other key":        {[]string{"run", "events.jsonl", "--yes"}, []string{"POSTHOG_PROJECT_API_KEY=phx_secret"}, 2, "this is a personal API key", "POSTHOG_PERSONAL_API_KEY"},
		"no key file":          {[]string{"run", "events.jsonl", "--yes", "--project-key-file", "none"}, nil, 2, "the file with the key cannot be read", "give a file"},
		"a limit":              {[]string{"run", "events.jsonl", "--yes", "--max-rejects", "many"}, nil, 2, `--max-rejects "many" is not allowed`, "5%"},
		"a rate":               {[]string{"run", "events.jsonl", "--yes", "--rate", "0"}, nil, 2, `--rate "0"`, "none"},
		"a rate by variable":   {[]string{"run", "events.jsonl", "--yes"}, []string{"HOGIMPORT_RATE=fast"}, 2, `--rate "fast"`, "none"},
		"a bool by variable":   {[]string{"run", "events.jsonl"}, []string{"HOGIMPORT_YES=perhaps"}, 2, "HOGIMPORT_YES", "--help"},
		"a protocol":           {[]string{"run", "events.jsonl", "--yes", "--protocol", "v9"}, nil, 2, `--protocol "v9"`, "auto, v1 or batch"},
		"a time":               {[]string{"run", "events.jsonl", "--yes", "--until", "may"}, nil, 2, `--until "may"`, "2024-05-01"},
		"a zone":               {[]string{"run", "events.jsonl", "--yes", "--zone", "Mars"}, nil, 2, `--zone "Mars"`, "US/Pacific"},
		"a policy":             {[]string{"run", "events.jsonl", "--yes", "--set-policy", "x"}, nil, 2, `--set-policy "x"`, "set-once"},
		"an id like a number":  {[]string{"run", "events.jsonl", "--yes", "--import-id", "2024"}, nil, 2, "--import-id", "hogapi-2024"},
		"no terminal":          {[]string{"run", "events.jsonl"}, nil, 2, "this is not a terminal", "--yes"},
		"a form of lines":      {[]string{"run", "events.jsonl", "--yes", "--log", "xml"}, nil, 2, `--log "xml"`, "text or json"},
		"a state that is not":  {[]string{"status", "--state", "nothing"}, nil, 2, "nothing is not a state folder", "--state DIR"},
		"metrics":              {[]string{"run", "events.jsonl", "--yes", "--metrics", "999.1.1.1:1"}, nil, 2, "--metrics", "free address"},
		"too many rejects":     {[]string{"run", "bad.jsonl", "--yes"}, nil, 3, "too much of this would be rejected; nothing was sent", "--max-rejects 75%"},
		"a wrong key":          {[]string{"run", "events.jsonl", "--yes"}, []string{"POSTHOG_PROJECT_API_KEY=phc_wrong"}, 5, "this project API key belongs to no project; nothing was sent", "copy the key"},
		"a file of the system": {[]string{"run", "events.jsonl", "--yes", "--state", "/proc/nothing"}, nil, 1, "cannot be written", "--state DIR"},
		"links of lines":       {[]string{"run", "events.jsonl", "--links", "--yes"}, nil, 2, "--links is not for jsonl: each line has one id", "leave it out"},
	})
	assert.Zero(t, server.Ledger().Len())
}

// Requests without an answer may have been taken. So other flags are refused, also after later runs that sent nothing.
func TestOtherFlagsAfterRequestsWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	ids := p.Events(t, "events.jsonl", 100, nil)
	server.Script(ops.Capture, hogapitest.Always(hogapitest.CutAfter()))
	p.Ends(t, 4, "run", "events.jsonl", "--yes", "--rate", "none", "--max-outage", "1s")
	server.ClearScript(ops.Capture)
	requireSame := func() {
		p.Ends(t, 2, "run", "events.jsonl", "--yes", "--sort").Err(t, "began with another --sort")
	}
	requireSame()
	server.Script(ops.Preflight, hogapitest.Status(401))
	p.Ends(t, 5, "run", "events.jsonl", "--yes")
	requireSame()
	p.Ends(t, 0, "run", "events.jsonl", "--yes", "--rate", "none")
	clitest.RequireWhole(t, server, ids)
}

func TestTooManyRejectsOnTheWay(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	ids := p.Events(t, "events.jsonl", 12_000, func(i int) bool { return i > 6000 && i%4 == 0 })
	p.Ends(t, 3, "run", "events.jsonl", "--yes", "--rate", "none").Err(t, "1499 of 12000 records were rejected, more than --max-rejects (1%)",
		"The rejects are in hogimport-state/events/rejects.jsonl", "hogimport fix --state hogimport-state/events")
	p.Ends(t, 0, "run", "events.jsonl", "--rate", "none", "--max-rejects", "20%").Out(t, "Rejected: 1,499;")
	clitest.RequireWhole(t, server, ids)
}

// Lines without uuids get them from the import's id: the advice for other flags keeps it, and another id is a warning.
func TestLinesWithoutUUIDsAreStoredOnce(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	p.Write(t, "lines.jsonl", `{"event":"b","distinct_id":"ada","timestamp":"2024-01-02T00:00:00Z"}`+"\n"+`{"event":"a","distinct_id":"ada","timestamp":"2024-01-01T00:00:00Z"}`+"\n")
	p.Ends(t, 0, "run", "lines.jsonl", "--yes")
	refused := p.Ends(t, 2, "run", "lines.jsonl", "--yes", "--sort")
	_, advice, found := strings.Cut(clitest.Words(refused.Stderr), "give another folder with --state DIR, and --import-id ")
	require.True(t, found, refused.Stderr)
	id, _, _ := strings.Cut(advice, ":")
	p.Ends(t, 0, "run", "lines.jsonl", "--yes", "--sort", "--state", "sorted", "--import-id", id)
	assert.Equal(t, 2, server.Ledger().Duplicates(), "the same uuids")
	p.Ends(t, 0, "run", "lines.jsonl", "--yes", "--sort", "--state", "twice").Err(t, "warning: there is an import "+id+" of such files already", "give --import-id "+id)
	assert.Equal(t, 2, server.Ledger().Duplicates(), "others")
}

func TestAnotherImportKeepsItsOwnState(t *testing.T) {
	t.Parallel()
	_, p := clitest.Serve(t)
	p.Events(t, "events.jsonl", 1000, nil)
	p.Ends(t, 0, "run", "events.jsonl", "--yes", "--rate", "none")
	p.Write(t, "other/things.jsonl", p.Read(t, "events.jsonl")[1000:])
	for _, c := range []wrong{
		{[]string{"other/things.jsonl", "--state", "hogimport-state/events"}, nil, 2, "the import in hogimport-state/events began with other files, or with other content: events.jsonl", "--state DIR"},
		{[]string{"events.jsonl", "--sort"}, nil, 2, "the import in hogimport-state/events began with another --sort", "--import-id hogimport-events-"},
		{[]string{"events.jsonl", "--import-id", "other"}, nil, 2, "not other", ""},
		// As for a wrong host: the key is of another project.
		{[]string{"events.jsonl"}, []string{"POSTHOG_PROJECT_API_KEY=phc_another"}, 5, "hogimport: the import in hogimport-state/events began with another project API key, or at another host give the same key and --host", "--state DIR"},
	} {
		p.With(c.env...).Ends(t, c.code, append([]string{"run", "--yes"}, c.args...)...).Err(t, c.text, c.todo).Never(t, "checkpoint")
	}
}

// A run that sent nothing leaves rejects, which somebody may have corrected by hand: the next one keeps them.
func TestRejectsOfARunThatSentNothingAreKept(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	ids := p.Events(t, "events.jsonl", 1000, func(i int) bool { return i < 10 })
	server.SetDown(true)
	run := []string{"run", "events.jsonl", "--yes", "--rate", "none", "--max-outage", "1s", "--max-rejects", "none"}
	p.Ends(t, 1, run...)
	const folder = "hogimport-state/events"
	found := p.Read(t, folder, "rejects.jsonl")
	require.NotEmpty(t, found)
	corrected := strings.ReplaceAll(found, "yesterday", "2024-05-01T12:00:00Z")
	for i := range 2 {
		p.Write(t, folder+"/rejects.jsonl", corrected)
		server.SetDown(i == 0)
		kept := fmt.Sprintf("rejects-%d.jsonl", i+1)
		p.Run(t, run...).Err(t, "The rejects of the run before, which sent nothing, are kept in hogimport-state/events/"+kept)
		assert.Equal(t, corrected, p.Read(t, folder, kept))
		assert.Contains(t, p.Read(t, folder, "rejects.jsonl"), "yesterday", "those of this run")
	}
	clitest.RequireWhole(t, server, ids)
}

// The number of records of a large file is an estimate until the import is complete.
func TestACompleteImportIsWhole(t *testing.T) {
	t.Parallel()
	_, p := clitest.Serve(t)
	p.Lines(t, "e.jsonl", 6000, func(i int) string { // the last ones are shorter than those of the sample, so there are more than estimated
		return fmt.Sprintf(`{"event":"visit","distinct_id":"p","timestamp":"2024-01-01T00:00:00Z","properties":{"n":%d,"text":%q}}`, i, strings.Repeat("x", i%7*(6000-i)/600))
	})
	for _, args := range [][]string{{"run", "e.jsonl", "--yes", "--rate", "none"}, {"run", "e.jsonl", "--rate", "none"}} {
		r := p.Ends(t, 0, args...)
		lines := strings.Split(strings.TrimSpace(r.Stderr), "\n")
		assert.Contains(t, lines[len(lines)-1], "  100%, 6,000 acknowledged", "%v", args)
	}
	clitest.Says(t, p.Read(t, "hogimport-state", "e", "import.json"), `"total": 6000`, `"exact": true`)
}

func TestAServerThatIsNotThere(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	p.Events(t, "e.jsonl", 100, nil)
	server.Close()
	r := p.Ends(t, 1, "run", "e.jsonl", "--yes", "--max-outage", "1s").
		Err(t, "the service cannot be reached; nothing was sent by this run", "check --host, the network and the name server")
	assert.Regexp(t, `0 acknowledged, waiting for \ds, since [0-9:]{8} UTC: connection refused \(127\.0\.0\.1:`, r.Stderr)
	p.Ends(t, 0, "status").Out(t, "check --host, then: hogimport run --state hogimport-state/e")
	p.Ends(t, 7, "verify").Err(t, "has sent nothing, so there is nothing to verify Check --host, and run it first. hogimport run --state hogimport-state/e")
}

func TestMetricsAreServedWhileItRuns(t *testing.T) {
	t.Parallel()
	_, p := clitest.Serve(t)
	p.Events(t, "events.jsonl", 6000, func(i int) bool { return i == 3 })
	cmd := p.Command(t.Context(), t, "run", "events.jsonl", "--yes", "--rate", "2000", "--metrics", ":0")
	out := new(testevents.Output)
	cmd.Stdout, cmd.Stderr = out, out
	require.NoError(t, cmd.Start())
	address := regexp.MustCompile(`Metrics are at (http://127\.0\.0\.1:\d+/metrics)\.`)
	require.Eventually(t, func() bool { return address.MatchString(out.String()) }, time.Minute, time.Millisecond, "of this machine only")
	url := address.FindStringSubmatch(out.String())[1]
	text := ""
	require.Eventually(t, func() bool {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		require.NoError(t, err)
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		raw, err := io.ReadAll(answer.Body)
		text = string(raw)
		return err == nil && regexp.MustCompile(`records_acknowledged\{import="[^"]+"\} [1-9]`).MatchString(text)
	}, time.Minute, 20*time.Millisecond)
	assert.Contains(t, text, "# TYPE hogimport_requests_total counter\n")
	assert.Regexp(t, `(?m)^hogimport_records_rejected\{import="hogimport-events-[0-9a-f]+"\} 1$`, text)
	for line := range bytes.Lines([]byte(text)) {
		assert.Regexp(t, `^(# (HELP|TYPE) hogimport_[a-z_]+ .+|hogimport_[a-z_]+\{import="[^"]+"\} [0-9.e+-]+)\n$`, string(line))
	}
	require.NoError(t, cmd.Wait())
}

// A process that is killed twenty times, at its start, among its events and anywhere, loses nothing.
func TestKilledTwentyTimes(t *testing.T) {
	t.Parallel()
	const kills = 20
	events := testevents.Sized(30_000, 100_000, 400_000)
	isBad := func(i int) bool { return i%211 == 5 }
	for name, flags := range map[string][]string{"files": nil, "sorted": {"--sort"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := hogapitest.New(hogapitest.WithCompactLedger())
			p := clitest.New(t, server)
			ids := p.Events(t, "events.jsonl", events, isBad)
			args := append([]string{"run", "events.jsonl", "--yes", "--rate", "4000"}, flags...)
			underWay := 0
			for kill := range kills {
				before, began, anyTime := server.Ledger().Len(), time.Now(), rand.N(80*time.Millisecond)
				isThere := func() bool { return server.Ledger().Len() > before+2000 } // among its events
				if kill%2 == 1 {
					isThere = func() bool { return time.Since(began) > anyTime }
				}
				if r := p.Until(t, isThere, os.Kill, args...); r.Code != 0 && server.Ledger().Unique() < len(ids) {
					underWay++
				}
			}
			require.Greater(t, underWay, kills/2, "most kills met a run that was not at its end")
			require.Greater(t, server.Ledger().Unique(), 8_000, "each run continues where the one before was")
			isUnderWay := server.Ledger().Unique() < len(ids)
			r := p.Ends(t, 0, append(args, "--rate", "none")...)
			if isUnderWay {
				before, after, isSaid := strings.Cut(clitest.Words(r.Stderr), "The last run was killed: ")
				assert.True(t, isSaid)
				assert.Contains(t, after, "sent again. Each keeps its uuid, so PostHog stores it once.")
				assert.NotContains(t, before, "acknowledged", "it comes before the first line of progress")
			}
			clitest.RequireWhole(t, server, ids)
			assert.Contains(t, r.Stdout, "Rejected: "+progress.Number(int64(events-len(ids)))+";", "each reject is counted once")
		})
	}
}

func TestInterruptedItFinishesWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	ids := p.Events(t, "events.jsonl", 8000, nil)
	r := p.Until(t, func() bool { return server.Ledger().Len() > 1000 }, os.Interrupt, "run", "events.jsonl", "--yes", "--rate", "2000")
	require.Equal(t, 4, r.Code, r.Stderr)
	r.Err(t, "Finishing what is under way. Press Ctrl-C again to stop immediately; either way you can resume.",
		"run the same command again: it continues where it stopped")
	assert.Regexp(t, `of about 8,\d+ records are processed; the position is in hogimport-state/events`, clitest.Words(r.Stderr))
	assert.Less(t, server.Ledger().Unique(), 8000)
	p.Ends(t, 0, "run", "events.jsonl", "--rate", "none")
	clitest.RequireWhole(t, server, ids)
	assert.LessOrEqual(t, server.Ledger().Duplicates(), 1, "what was under way was finished: only its last record comes again")
}

func TestInterruptedWhileItSortsItContinuesToSort(t *testing.T) {
	t.Parallel()
	server := hogapitest.New(hogapitest.WithCompactLedger())
	p := clitest.New(t, server)
	ids := p.Events(t, "events.jsonl", 60_000, nil)
	args := []string{"run", "events.jsonl", "--yes", "--rate", "none", "--sort"}
	sorted, n := filepath.Join(p.Dir, "hogimport-state/events/sorted"), 0
	for server.Ledger().Len() == 0 { // while it reads, while it merges, and at the end while it sends
		n++
		r := p.Until(t, func() bool {
			_, err := os.Stat(filepath.Join(sorted, fmt.Sprintf("run-%06d", n)))
			return err == nil || server.Ledger().Len() > 0
		}, os.Interrupt, args...)
		require.Equal(t, 4, r.Code, r.Stderr)
		if server.Ledger().Len() == 0 {
			assert.Less(t, r.Ending, time.Second, "interrupt %d", n)
		}
		args[2] = "--yes=false" // what is sorted is kept, and nothing is asked twice
	}
	assert.Greater(t, n, 2, "the first ones while it sorted")
	assert.DirExists(t, sorted)
	p.Ends(t, 0, args...).Err(t, "Continuing the import")
	clitest.RequireWhole(t, server, ids)
}

// A check that sorts for its prediction of web analytics is interrupted as well, and says so: it has not seen everything.
func TestInterruptedWhileItPredictsACheckFails(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, nil)
	p.Events(t, "events.jsonl", 60_000, nil)
	isSorting := func() bool {
		runs, _ := filepath.Glob(filepath.Join(p.Dir, "hogimport-check-*/sorted/run-000001"))
		return len(runs) > 0
	}
	r := p.With("TMPDIR="+p.Dir).Until(t, isSorting, os.Interrupt, "check", "events.jsonl", "--sort", "--sessions", "30m", "--report", "report.html")
	require.Equal(t, 4, r.Code, r.Stderr)
	r.Err(t, "interrupted: nothing was written").Never(t, "is predicted without")
	assert.Less(t, r.Ending, time.Second)
	assert.NoFileExists(t, filepath.Join(p.Dir, "report.html"))
}

func TestInterruptedTwiceItEndsAtOnce(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	ids := p.Events(t, "events.jsonl", 8000, nil)
	cmd := p.Command(t.Context(), t, "run", "events.jsonl", "--yes", "--rate", "100")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	require.NoError(t, cmd.Start())
	require.Eventually(t, func() bool { return server.Ledger().Len() > 0 }, time.Minute, time.Millisecond)
	server.SetDown(true)
	require.NoError(t, clitest.Signal(cmd, os.Interrupt))
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-ended:
		require.Fail(t, "it does not wait for what is under way", "%s", &out)
	case <-time.After(1500 * time.Millisecond):
	}
	require.NoError(t, clitest.Signal(cmd, os.Interrupt))
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		require.Fail(t, "the second Ctrl-C does not end it")
	}
	require.Equal(t, 4, cmd.ProcessState.ExitCode(), out.String())
	assert.Contains(t, clitest.Words(out.String()), "will be sent again")
	server.SetDown(false)
	p.Ends(t, 0, "run", "events.jsonl", "--rate", "none")
	clitest.RequireWhole(t, server, ids)
}
