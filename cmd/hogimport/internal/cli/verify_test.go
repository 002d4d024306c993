package cli_test

import (
	"encoding/json"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/cmd/hogimport/internal/clitest"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

// imported is a program that has imported 300 events, one of which was rejected, and the folder of its state.
func imported(t *testing.T, server *hogapitest.Server) (p *clitest.Program, folder string) {
	t.Helper()
	p = clitest.New(t, server)
	p.Events(t, "events.jsonl", 300, func(i int) bool { return i == 7 })
	p.Ends(t, 0, "run", "events.jsonl", "--yes", "--rate", "none")
	return p, filepath.Join(p.Dir, "hogimport-state", "events")
}

var timesInJSON = regexp.MustCompile(`"20\d\d-\d\d-\d\dT[^"]+"`)

// pass lets time pass: the memory of a verify and the import's end become older.
func pass(t *testing.T, folder string, by time.Duration) {
	t.Helper()
	shift := func(path string, only *regexp.Regexp) {
		raw, err := os.ReadFile(path)
		require.NoError(t, err)
		raw = only.ReplaceAllFunc(raw, func(m []byte) []byte {
			return timesInJSON.ReplaceAllFunc(m, func(text []byte) []byte {
				at, err := time.Parse(`"`+time.RFC3339Nano+`"`, string(text))
				require.NoError(t, err)
				return []byte(at.Add(-by).Format(`"` + time.RFC3339Nano + `"`))
			})
		})
		require.NoError(t, os.WriteFile(path, raw, 0o600))
	}
	shift(filepath.Join(folder, "receipt.json"), regexp.MustCompile(`"last_acknowledged": *"[^"]+"`))
	if _, err := os.Stat(filepath.Join(folder, "verify", "verify.json")); err == nil {
		shift(filepath.Join(folder, "verify", "verify.json"), timesInJSON)
	}
}

// lookTwice lets two days pass and looks twice: the third look, an hour later, can call events missing.
func lookTwice(t *testing.T, p *clitest.Program, folder string) {
	t.Helper()
	pass(t, folder, 48*time.Hour)
	for range 2 {
		p.Ends(t, 7, "verify")
		pass(t, folder, time.Hour)
	}
}

func TestVerifyOfAWholeImport(t *testing.T) {
	t.Parallel()
	p, _ := imported(t, hogapitest.New())
	p.Ends(t, 0, "verify", "--report", "verify.html").Narrow(t).Out(t, "Complete: all 299 events are in the project")
	clitest.Says(t, p.Read(t, "verify.html"), "Complete: all 299 events are in the project")

	asJSON := p.Run(t, "verify", "--json")
	var v history.Verification
	require.NoError(t, json.Unmarshal([]byte(asJSON.Stdout), &v))
	assert.True(t, v.Complete())
}

// The progress ends with the last count, however fast the verification is.
func TestVerifyShowsTheLastCount(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, hogapitest.New())
	export(t, p, "export.jsonl", 1000, 0, time.UTC) // of ten months, each of which is counted by a query
	p.Ends(t, 0, "run", "export.jsonl", "--format", "mixpanel", "--yes", "--rate", "none")
	r := p.Ends(t, 0, "verify")
	lines := strings.Split(strings.TrimSpace(r.Stderr), "\n")
	require.Len(t, lines, 2, "the first count and the last one: %s", r.Stderr)
	assert.Contains(t, lines[1], "check 1: counting; found 1,000 of 1,000")
}

func TestVerifyWhileEventsArrive(t *testing.T) {
	t.Parallel()
	server := hogapitest.New()
	server.HoldEvents()
	p, folder := imported(t, server)
	p.Ends(t, 7, "verify", "--report", "verify.html").Narrow(t).Out(t, "Still arriving: 299 events are not there yet").
		Err(t, "not complete: Still arriving: 299 events are not there yet Check again in an hour or more. hogimport verify --state hogimport-state/events")
	page := p.Read(t, "verify.html")
	assert.Contains(t, page, "Still arriving")
	assert.NotContains(t, page, `class="num bad"`, "nothing is called missing that can still arrive")

	server.ReleaseEvents(-1)
	pass(t, folder, time.Hour)
	assert.Equal(t, 0, p.Run(t, "verify").Code)
}

// A receipt of an older release has no digests. Its counts are no proof; the uuids of its files are.
func TestVerifyOfAnOlderReceipt(t *testing.T) {
	t.Parallel()
	p, folder := imported(t, hogapitest.New())
	path, events := filepath.Join(folder, "receipt.json"), filepath.Join(p.Dir, "events.jsonl")
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	older := regexp.MustCompile(`,\s*"digest": *"[0-9-]+"`).ReplaceAll(raw, nil)
	require.NotEqual(t, raw, older)
	require.NoError(t, os.WriteFile(path, older, 0o600))
	require.NoError(t, os.Rename(events, events+".away"))
	p.Ends(t, 7, "verify", "--report", "verify.html").Narrow(t).Out(t, "The uuids were not compared").
		Err(t, "not complete: As many events are there as were sent: 299.")

	require.NoError(t, os.Rename(events+".away", events))
	p.Ends(t, 0, "verify").Out(t, "Complete: all 299 events are in the project")
}

func TestVerifyFindsAndSendsWhatIsMissing(t *testing.T) {
	t.Parallel()
	server := hogapitest.New()
	p, folder := imported(t, server)
	lost := server.Project(hogapitest.DefaultProject).LoseEvents(idOf(t, folder), 12)
	lookTwice(t, p, folder)
	p.Ends(t, 6, "verify", "--report", "verify.html").Narrow(t).Out(t, "12 events are missing").Err(t, "--resend-missing")
	for _, id := range lost {
		clitest.Says(t, p.Read(t, "verify.html"), id.String())
	}

	sent := len(server.Calls(ops.Capture))
	receipt := p.Read(t, "hogimport-state/events/receipt.json")
	p.Ends(t, 7, "verify", "--resend-missing").Err(t, "12 missing events were sent again") // they have not been looked for yet
	assert.Greater(t, len(server.Calls(ops.Capture)), sent)
	assert.Equal(t, 12, server.Ledger().Duplicates(), "exactly those, with their uuids")
	assert.Empty(t, server.Ledger().Changed(), "as they were")
	assert.Equal(t, receipt, p.Read(t, "hogimport-state/events/receipt.json"), "the receipt of the import stays")
	p.Ends(t, 0, "verify")
}

// With --patience 0, an event is missing as soon as enough looks have not seen it.
func TestVerifyWithoutPatience(t *testing.T) {
	t.Parallel()
	server := hogapitest.New()
	p, folder := imported(t, server)
	server.Project(hogapitest.DefaultProject).LoseEvents(idOf(t, folder), 3)
	for range 3 {
		p.Ends(t, 7, "verify")
		pass(t, folder, time.Hour)
	}
	p.Ends(t, 6, "verify", "--patience", "0").Out(t, "3 events are missing")
}

func idOf(t *testing.T, folder string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(folder, "import.json"))
	require.NoError(t, err)
	var kept struct{ ID string }
	require.NoError(t, json.Unmarshal(raw, &kept))
	require.NotEmpty(t, kept.ID)
	return kept.ID
}

func TestVerifyWithoutTheFiles(t *testing.T) {
	t.Parallel()
	server := hogapitest.New()
	p, folder := imported(t, server)
	require.NoError(t, os.Rename(filepath.Join(p.Dir, "events.jsonl"), filepath.Join(p.Dir, "moved.jsonl")))
	p.Ends(t, 0, "verify").Err(t, "warning: the files of the import cannot be read") // counts are enough where all is there

	server.Project(hogapitest.DefaultProject).LoseEvents(idOf(t, folder), 3)
	lookTwice(t, p, folder)
	p.Ends(t, 6, "verify", "--resend-missing").Err(t, "Verify with the source files")
	assert.Equal(t, 0, server.Ledger().Duplicates(), "nothing is sent that is not named")
	require.NoError(t, os.Mkdir(filepath.Join(p.Dir, "elsewhere"), 0o700))
	require.NoError(t, os.Rename(filepath.Join(p.Dir, "moved.jsonl"), filepath.Join(p.Dir, "elsewhere", "events.jsonl")))
	p.Ends(t, 7, "verify", "elsewhere/events.jsonl", "--resend-missing")
	assert.Equal(t, 3, server.Ledger().Duplicates())
}

func TestVerifyWithoutAResult(t *testing.T) {
	t.Parallel()
	server := hogapitest.New()
	p, folder := imported(t, server)
	same := func(*testing.T) *clitest.Program { return p }
	requireWrong(t, same, []string{"verify"}, map[string]wrong{
		"no personal key": {nil, []string{"POSTHOG_PERSONAL_API_KEY="}, 2, "personal API key is missing", ""},
		"no project":      {nil, []string{"POSTHOG_PROJECT_ID="}, 2, "--project-id NUMBER", ""},
		"a wrong key":     {nil, []string{"POSTHOG_PERSONAL_API_KEY=phx_wrong"}, 5, "check POSTHOG_PERSONAL_API_KEY (phx_…, with the scope query:read) and --host", ""},
		"another project": {nil, []string{"POSTHOG_PROJECT_ID=99"}, 5, "--project-id", ""},
	})
	server.Script(ops.Query, hogapitest.Always(hogapitest.Status(400)))
	p.Ends(t, 7, "verify")
	server.ClearScript(ops.Query)
	require.NoError(t, os.Remove(filepath.Join(folder, "receipt.json")))
	p.Ends(t, 7, "verify").Err(t, "has no result yet")
	clitest.New(t, nil).Ends(t, 2, "verify")
}

// An import belongs to a project on a server. Another one, which would say that its events are still arriving, is refused,
// and so is another port of the host, unless it is said that the server has moved there.
func TestAnImportHasOneServerAndOneProject(t *testing.T) {
	t.Parallel()
	server := hogapitest.New()
	p, folder := imported(t, server)
	host := func(address string) string { return strings.TrimPrefix(address, "http://") }
	begun := host(server.URL())
	env := p.Env
	at := func(address, project string) {
		p.Env = append(slices.Clip(env), "POSTHOG_HOST="+address, "POSTHOG_PROJECT_ID="+project)
	}

	other := hogapitest.New()
	t.Cleanup(other.Close)
	at(other.URL(), hogapitest.DefaultProject)
	for _, args := range [][]string{{"verify"}, {"run", "events.jsonl", "--yes"}, {"fix", "--yes"}, {"undo"}, {"run", "--state", "hogimport-state/events"}} {
		r := p.Ends(t, 5, args...)
		clitest.Says(t, r.Stderr, "the import in hogimport-state/events was sent to "+begun+", and this is "+host(other.URL()),
			"--moved-host "+begun+"="+host(other.URL()))
		assert.Empty(t, r.Stdout)
	}
	assert.Empty(t, other.Calls())

	server.Project("777")
	at(server.URL(), "777")
	for _, command := range []string{"verify", "undo"} {
		p.Ends(t, 5, command).Err(t, "is of project "+hogapitest.DefaultProject+", and this is project 777, which has none of its events give --project-id "+hogapitest.DefaultProject)
	}
	at(server.URL(), "99")
	for _, command := range []string{"verify", "undo"} {
		p.Ends(t, 5, command).Err(t, "is of project "+hogapitest.DefaultProject+", and this is project 99, which cannot be asked: ",
			"give --project-id "+hogapitest.DefaultProject, "404")
	}
	assert.NoDirExists(t, filepath.Join(folder, "verify"), "none of this was a look")

	u, err := url.Parse(server.URL())
	require.NoError(t, err)
	moved := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(u) }})
	t.Cleanup(moved.Close)
	at(moved.URL, hogapitest.DefaultProject)
	assert.Equal(t, 5, p.Run(t, "verify").Code)
	assert.Equal(t, 2, p.Run(t, "verify", "--moved-host", "elsewhere:1="+host(moved.URL)).Code)
	assert.Equal(t, 2, p.Run(t, "verify", "--moved-host", begun).Code)
	p.Ends(t, 0, "verify", "--moved-host", begun+"="+host(moved.URL))
	assert.Contains(t, p.Read(t, "hogimport-state/events/import.json"), `"`+begun+"="+host(moved.URL)+`"`, "the state has it")
	for _, args := range [][]string{{"verify"}, {"run", "events.jsonl"}, {"verify", "--moved-host", begun + "=" + host(moved.URL)}} {
		p.Ends(t, 0, args...)
	}
	at(server.URL(), hogapitest.DefaultProject)
	assert.Equal(t, 5, p.Run(t, "run", "events.jsonl").Code, "it is not there any more")
	p.Ends(t, 0, "run", "events.jsonl", "--moved-host", host(moved.URL)+"="+begun)
	p.Ends(t, 0, "verify")
}

func TestUndo(t *testing.T) {
	t.Parallel()
	server := hogapitest.New(hogapitest.WithDataDeletions())
	project := server.Project(hogapitest.DefaultProject)
	p, folder := imported(t, server)

	p.Ends(t, 7, "undo").Narrow(t).Out(t, "import "+idOf(t, folder), "events there now 299", "2024-01-01 299").
		Err(t, "nothing was requested: this was the preview add --yes")
	assert.Empty(t, project.DataDeletions())

	for range 2 { // the same request is one deletion
		p.Ends(t, 0, "undo", "--yes").Out(t, "PostHog has the request and must approve it.")
	}
	require.Len(t, project.DataDeletions(), 1)
	id := project.DataDeletions()[0].ID
	project.SetDataDeletion(id, "approved")
	clitest.Says(t, p.Run(t, "undo", "--yes").Stdout, "PostHog has approved it")
	project.SetDataDeletion(id, "completed")
	p.Ends(t, 0, "undo").Out(t, "The events of the import are deleted.")

	asJSON := p.Run(t, "undo", "--json")
	var result struct {
		ImportID string `json:"import_id"`
		Request  struct{ Status string }
	}
	require.NoError(t, json.Unmarshal([]byte(asJSON.Stdout), &result))
	assert.Equal(t, "completed", result.Request.Status)
}

func TestUndoOfWhatCameLater(t *testing.T) {
	t.Parallel()
	server := hogapitest.New(hogapitest.WithDataDeletions())
	project := server.Project(hogapitest.DefaultProject)
	p, folder := imported(t, server)
	p.Ends(t, 0, "undo", "--yes")
	project.SetDataDeletion(project.DataDeletions()[0].ID, "approved")
	project.SetDataDeletion(project.DataDeletions()[0].ID, "completed")
	p.Ends(t, 0, "run", "events.jsonl", "--yes", "--rate", "none", "--state", "again", "--import-id", idOf(t, folder))
	p.Ends(t, 7, "undo", "--yes", "--import-id", idOf(t, folder)).Err(t, "299 events are there although the deletion has completed")
	p.Ends(t, 0, "undo", "--yes", "--import-id", idOf(t, folder), "--submission-id", uuid.NewString())
	require.Len(t, project.DataDeletions(), 2)
}

func TestUndoThatIsNotPossible(t *testing.T) {
	t.Parallel()
	server := hogapitest.New() // where deletions are not enabled
	p, _ := imported(t, server)
	p.Ends(t, 5, "undo", "--yes").Narrow(t).
		Err(t, "ask PostHog's support to delete the events, with the project and the import's id: hogimport-events-")

	old := hogapitest.New(hogapitest.WithOldService())
	p, _ = imported(t, old)
	assert.Equal(t, 7, p.Run(t, "undo", "--yes").Code)

	empty := hogapitest.New(hogapitest.WithDataDeletions())
	p, _ = imported(t, empty)
	p.Ends(t, 7, "undo", "--yes", "--import-id", "never-was").Err(t, "the project has no events of the import never-was")
	assert.Equal(t, 2, p.Run(t, "undo", "--submission-id", "1").Code)
	assert.Empty(t, empty.Calls(ops.DataDeletionsCreate))
}

// A verify killed between two queries keeps its proven cells: the next one, however late, reads only the rest.
func TestKilledVerifyReadsNoProvenCellAgain(t *testing.T) {
	t.Parallel()
	const answered = 3
	for name, later := range map[string]time.Duration{"at once": 0, "a day later": 24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := hogapitest.New()
			p := clitest.New(t, server)
			export(t, p, "export.jsonl", 1000, 0, time.UTC) // of ten months, each of which is counted by a query
			p.Ends(t, 0, "run", "export.jsonl", "--format", "mixpanel", "--yes", "--rate", "none")
			server.Script(ops.Query, append(slices.Repeat([]hogapitest.Fault{hogapitest.Slow(0)}, answered), hogapitest.Slow(time.Hour))...)
			p.Until(t, func() bool { return len(server.Calls(ops.Query)) > answered }, os.Kill, "verify")
			pass(t, filepath.Join(p.Dir, "hogimport-state", "export"), later)
			r := p.Ends(t, 0, "verify").Out(t, "Complete: all 1,000 events are in the project")
			assert.Contains(t, clitest.Words(r.Stdout), "were proven before")

			reads := map[string]int{}
			for i, call := range server.Calls(ops.Query) {
				var body struct {
					Query struct {
						Values struct {
							From string `json:"start_at"`
						}
					}
				}
				require.NoError(t, json.Unmarshal(call.Body, &body))
				if i != answered { // it was killed before the answer
					reads[body.Query.Values.From]++
				}
			}
			assert.Len(t, reads, 10)
			for from, n := range reads {
				assert.Equal(t, 1, n, from)
			}
		})
	}
}

// The last line says how much was read and how much of the budget is left. A check ends before it exceeds a limit.
func TestVerifySaysWhatItReads(t *testing.T) {
	t.Parallel()
	p, _ := imported(t, hogapitest.New(hogapitest.WithReadBudget(20_000_000_000, 0), hogapitest.WithDataDeletions()))
	p.Ends(t, 7, "verify", "--max-read", "1KB").Err(t, "--max-read is reached")
	p.Ends(t, 2, "verify", "--max-read", "much").Err(t, "give a number with a unit")
	p.Ends(t, 0, "verify", "--max-read", "10 GB").Narrow(t).Out(t, "read 13.2 KB; 480 GB of the project's hourly budget left")
	for _, args := range [][]string{{"undo"}, {"check", "events.jsonl", "--max-rejects", "none"}} {
		assert.Regexp(t, `\nread [\d.]+ KB; 480 GB of the project's hourly budget left\n`, p.Run(t, args...).Narrow(t).Stdout, args[0])
	}
}
