package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/cmd/hogimport/internal/clitest"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/hogapitest"
)

// yearly writes n events an hour apart, from long ago.
func yearly(t *testing.T, p *clitest.Program, n int) {
	t.Helper()
	var b strings.Builder
	at := time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range n {
		fmt.Fprintf(&b, `{"uuid":%q,"event":"visit","distinct_id":"p%d","timestamp":%q,"properties":{}}`+"\n",
			clitest.ID(i), i%17, at.Add(time.Duration(i)*time.Minute).Format(time.RFC3339))
	}
	require.NoError(t, os.WriteFile(filepath.Join(p.Dir, "e.jsonl"), []byte(b.String()), 0o600))
}

// During an import and after it, a check knows its events: it advises to continue or to verify, and
// not to leave out events that the import has sent.
func TestCheckKnowsTheEventsOfItsOwnImport(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	yearly(t, p, 9000)
	before := p.Run(t, "check", "e.jsonl")
	says(t, before.Stdout, "Nothing has been sent so far.")
	says(t, before.Stdout, "OK: The project has no events in these days")

	cmd := p.Command(t.Context(), t, "run", "e.jsonl", "--yes", "--rate", "2000")
	require.NoError(t, cmd.Start())
	require.Eventually(t, func() bool { return server.Ledger().Len() > 6000 }, time.Minute, 5*time.Millisecond)
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	killed := p.Ends(t, 0, "check", "e.jsonl", "--report", "report.html", "--max-rejects", "3%")
	requireNarrow(t, killed.Stdout)
	assert.NotContains(t, killed.Stdout, "--until")
	assert.NotContains(t, killed.Stdout, "Nothing has been sent")
	assert.NotContains(t, killed.Stdout, "hogimport trial")
	says(t, killed.Stdout, "An import of these files has begun: hogimport-state/e (killed, at least ")
	says(t, killed.Stdout, "Its flags are kept, except for --max-rejects and --rate: give these two again.")
	says(t, killed.Stdout, "events in these days, all of this import")
	says(t, killed.Stdout, "They are of hogimport-state/e: continue it with hogimport run")
	assert.Contains(t, strings.ReplaceAll(killed.Stdout, " \\\n     ", ""), "    hogimport run --state hogimport-state/e --max-rejects 3%\n")
	page, err := os.ReadFile(filepath.Join(p.Dir, "report.html"))
	require.NoError(t, err)
	assert.NotContains(t, string(page), "--until")
	assert.Contains(t, string(page), ">This import</th>")

	require.Equal(t, 0, p.Run(t, "run", "--state", "hogimport-state/e", "--max-rejects", "3%", "--rate", "none").Code)
	complete := p.Run(t, "check", "e.jsonl")
	says(t, complete.Stdout, "An import of these files is complete: hogimport-state/e (9,000 acknowledged).")
	assert.NotContains(t, complete.Stdout, "Ready")
	says(t, complete.Stdout, "They are of hogimport-state/e: compare them with hogimport verify")
	assert.NotContains(t, complete.Stdout, "hogimport run")
	assert.Contains(t, complete.Stdout, "    hogimport verify --state hogimport-state/e --report verify.html\n")
	require.Equal(t, 0, p.Run(t, "verify").Code)
	verified := p.Run(t, "check", "e.jsonl")
	says(t, verified.Stdout, "They are of hogimport-state/e, which is verified")
	assert.NotContains(t, verified.Stdout, "What to do next")

	// Events of a live SDK on the last day are others.
	for i := range 40 {
		server.Project(hogapitest.DefaultProject).AddEvent(hogapitest.StoredEvent{
			UUID: clitest.ID(100_000 + i), Event: "live", DistinctID: "x", Time: time.Date(2023, 1, 7, 2, i, 0, 0, time.UTC),
		})
	}
	live := p.Run(t, "check", "e.jsonl")
	says(t, live.Stdout, "The project already has 40 other events in these days")
	says(t, live.Stdout, "--until 2023-01-07.")
	says(t, live.Stdout, "more are of this import: they are of hogimport-state/e, which is verified")

	// A file that was moved is the same one. The state folder of an import of other files says nothing of these.
	require.NoError(t, os.Mkdir(filepath.Join(p.Dir, "other"), 0o700))
	require.NoError(t, os.Rename(filepath.Join(p.Dir, "e.jsonl"), filepath.Join(p.Dir, "other", "e.jsonl")))
	says(t, p.Run(t, "check", "other/e.jsonl").Stdout, "An import of these files is complete")
	yearly(t, p, 100)
	require.NoError(t, os.Rename(filepath.Join(p.Dir, "e.jsonl"), filepath.Join(p.Dir, "other", "e.jsonl")))
	says(t, p.Run(t, "check", "other/e.jsonl").Stdout, "Nothing has been sent so far.")
}

// To leave out every event is no advice.
func TestCheckNeverSaysToLeaveOutAll(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	yearly(t, p, 3000)
	for i := range 3 {
		server.Project(hogapitest.DefaultProject).AddEvent(hogapitest.StoredEvent{
			UUID: clitest.ID(100_000 + i), Event: "live", DistinctID: "x", Time: time.Date(2023, 1, 1+i, 0, 0, 0, 0, time.UTC),
		})
	}
	r := p.Run(t, "check", "e.jsonl")
	says(t, r.Stdout, "The project already has 3 events in these days")
	says(t, r.Stdout, "In 3 days both the project and the files have events")
	assert.NotContains(t, r.Stdout, "--until")
	var report formats.CheckReport
	require.NoError(t, json.Unmarshal([]byte(p.Run(t, "check", "e.jsonl", "--json").Stdout), &report))
	assert.Empty(t, report.CutFrom)
	assert.Len(t, report.Held, 3)
}

// The text says that the project was not asked, as the page does.
func TestCheckSaysThatTheProjectWasNotAsked(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, nil)
	yearly(t, p, 10)
	r := p.Run(t, "check", "e.jsonl")
	says(t, r.Stdout, "Note: The project was not asked Set POSTHOG_PERSONAL_API_KEY (scope query:read) and POSTHOG_PROJECT_ID")
	p.Env = append(p.Env, "POSTHOG_PERSONAL_API_KEY=phx_x", "POSTHOG_PROJECT_ID=1", "POSTHOG_HOST=nowhere")
	r = p.Run(t, "check", "e.jsonl")
	says(t, r.Stdout, `Note: The project could not be asked --host "nowhere" is neither a region nor a URL`)
}
