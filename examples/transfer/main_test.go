package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/examples/internal/demo"
	"github.com/hogapi/hogapi/examples/internal/demotest"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

func TestWithoutKeys(t *testing.T) {
	keys(t, nil, nil)
	t.Chdir(t.TempDir())
	out := demotest.Run(t, nil, run)
	for _, want := range []string{
		"2100 records in 1 files", "900 records in 1 files", "read 3000 = acknowledged 3000 + rejected 0 + pending 0",
		"Both projects have the same 3000 events of these days.",
	} {
		assert.Contains(t, out, want)
	}
	left, err := os.ReadDir(".")
	require.NoError(t, err)
	assert.Empty(t, left, "no files are left behind")
}

// keys sets the environment to two servers; a nil server has no keys.
func keys(t *testing.T, from, to *hogapitest.Server) {
	t.Helper()
	for prefix, server := range map[string]*hogapitest.Server{"POSTHOG_FROM_": from, "POSTHOG_TO_": to} {
		values := map[string]string{
			"POSTHOG_HOST": "", "POSTHOG_REGION": "", "POSTHOG_PROJECT_ID": "", "POSTHOG_PERSONAL_API_KEY": "",
			"POSTHOG_PROJECT_API_KEY": "",
		}
		if server != nil {
			values = demotest.Service(t, server)
		}
		for name, value := range values {
			t.Setenv(strings.Replace(name, "POSTHOG_", prefix, 1), value)
		}
	}
}

type project struct {
	*hogapitest.Server

	client *hogapi.Client
}

// projects makes two projects, the first with 3,000 events, and a transfer of them.
func projects(t *testing.T) (from, to project, work *transfer) {
	t.Helper()
	first, second := hogapitest.New(hogapitest.WithPolls(1), hogapitest.WithParquet(demo.Parquet)), hogapitest.New()
	from, to = project{first, first.Client(t)}, project{second, second.Client(t)}
	work = &transfer{
		from: from.client, to: to.client, watch: &hogapi.WatchOptions{Interval: time.Millisecond}, rate: hogapi.Unpaced,
		out: &strings.Builder{}, id: "transfer", folder: filepath.Join(t.TempDir(), "work"),
		begin: time.Date(2024, 2, 25, 0, 0, 0, 0, time.UTC), end: time.Date(2024, 3, 6, 0, 0, 0, 0, time.UTC),
	}
	require.NoError(t, fill(t.Context(), from.client, work.begin, work.end))
	return from, to, work
}

// stored returns the events of a server by uuid: name, person, time.
func stored(server project) map[uuid.UUID][3]string {
	all := map[uuid.UUID][3]string{}
	for ev := range server.Ledger().Events() {
		all[ev.UUID] = [3]string{ev.Event, ev.DistinctID, ev.Time.UTC().String()}
	}
	return all
}

func (t *transfer) printed() string { return t.out.(*strings.Builder).String() }

func TestFromProjectToProject(t *testing.T) {
	from, to, work := projects(t)
	require.NoError(t, work.run(t.Context()), work.printed())
	assert.Contains(t, work.printed(), "Both projects have the same 3000 events")
	assert.Len(t, stored(to), 3000)
	assert.Equal(t, stored(from), stored(to))

	require.NoError(t, work.run(t.Context()), "the same once more")
	assert.Len(t, from.Calls(ops.FileDownloadsCreate), 2, "nothing is exported twice")
	assert.Equal(t, 3000, to.Ledger().Len(), "and nothing is sent twice")

	to.Project(hogapitest.DefaultProject).AddEvent(hogapitest.StoredEvent{
		Event: "$pageview", DistinctID: "stranger", Time: time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC),
	})
	require.ErrorContains(t, work.run(t.Context()), "the projects differ on 1 days and names")
	assert.Contains(t, work.printed(), "  2024-03-01 $pageview: 150 in the first, 151 in the second\n")
}

// Rejects are missing in the second project, which is not a success.
func TestRejectsAreADifference(t *testing.T) {
	_, to, work := projects(t)
	rejected := 0
	to.RejectEvents(func(raw json.RawMessage) int {
		if strings.Contains(string(raw), `"n":7,`) || strings.Contains(string(raw), `"n":7}`) {
			rejected++
			return http.StatusBadRequest
		}
		return 0
	})
	require.ErrorContains(t, work.run(t.Context()), "the projects differ on 1 days and names", work.printed())
	require.Positive(t, rejected)
	assert.Contains(t, work.printed(), "The rejects are in ")
	assert.Contains(t, work.printed(), "3000 events in the first project, 2999 in the second one")
}

func TestAnInterruptedTransferContinues(t *testing.T) {
	from, to, work := projects(t)
	from.Script(hogapitest.OpStorage, hogapitest.CutBody(100), hogapitest.Status(404))
	err := work.run(t.Context())
	var failed *hogapi.DownloadError
	require.ErrorAs(t, err, &failed)
	require.ErrorContains(t, err, "the same command continues")
	require.Zero(t, to.Ledger().Len())

	require.NoError(t, work.run(t.Context()), work.printed())
	assert.Len(t, from.Calls(ops.FileDownloadsCreate), 2)
	assert.Equal(t, stored(from), stored(to))
}

func TestWhatIsRefused(t *testing.T) {
	from, to := hogapitest.New(), hogapitest.New()
	args := []string{"-from", "2024-02-25", "-to", "2024-03-06", "-folder", t.TempDir()}
	keys(t, from, to)
	out := &strings.Builder{}
	tomorrow := time.Now().UTC().AddDate(0, 0, 1).Format(time.DateOnly)
	require.ErrorContains(t, run(t.Context(), out, append(args, "-to", tomorrow)), "48 hours ago")
	require.ErrorContains(t, run(t.Context(), out, nil), "give -from, -to and -folder")
	keys(t, from, from)
	require.ErrorContains(t, run(t.Context(), out, args), "both projects are")
	keys(t, from, to)
	t.Setenv("POSTHOG_TO_PROJECT_API_KEY", "")
	require.ErrorContains(t, run(t.Context(), out, args), "set POSTHOG_TO_PROJECT_API_KEY")
	t.Setenv("POSTHOG_FROM_PROJECT_ID", "")
	require.ErrorContains(t, run(t.Context(), out, args), "POSTHOG_FROM_")
	assert.Empty(t, to.Calls())
	assert.Empty(t, from.Calls(ops.FileDownloadsCreate))
}
