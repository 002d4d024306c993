package main

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
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

// TestMain is the program itself where a test starts it.
func TestMain(m *testing.M) {
	if os.Getenv("RECIPE_RUN") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestWithoutKeys(t *testing.T) {
	setKeys(t, nil, nil)
	t.Chdir(t.TempDir())
	out := demotest.Run(t, nil, run)
	for _, want := range []string{"has 3000 rows in 2 files", "read 3000 = acknowledged 3000", `"us-to-eu": complete`, "Both projects have the same 3000 events of these days."} {
		assert.Contains(t, out, want)
	}
	left, err := os.ReadDir(".")
	require.NoError(t, err)
	assert.Empty(t, left, "no files are left behind")
}

// keys are the variables of two servers; a nil server has no keys.
func keys(t *testing.T, from, to *hogapitest.Server) map[string]string {
	t.Helper()
	all := map[string]string{}
	for prefix, server := range map[string]*hogapitest.Server{"POSTHOG_FROM_": from, "POSTHOG_TO_": to} {
		values := map[string]string{"POSTHOG_HOST": "", "POSTHOG_REGION": "", "POSTHOG_PROJECT_ID": "", "POSTHOG_PERSONAL_API_KEY": "", "POSTHOG_PROJECT_API_KEY": ""}
		if server != nil {
			values = demotest.Service(t, server)
		}
		for name, value := range values {
			all[strings.Replace(name, "POSTHOG_", prefix, 1)] = value
		}
	}
	return all
}

func setKeys(t *testing.T, from, to *hogapitest.Server) {
	t.Helper()
	for name, value := range keys(t, from, to) {
		t.Setenv(name, value)
	}
}

// projects makes two projects, the first with 3,000 events, and a move of them.
func projects(t *testing.T) (from, to *hogapitest.Server, work *move) {
	t.Helper()
	from, to = hogapitest.New(hogapitest.WithPolls(1), hogapitest.WithParquet(demo.Parquet)), hogapitest.New()
	work = &move{
		from: from.Client(t), to: to.Client(t), watch: &hogapi.WatchOptions{Interval: time.Millisecond}, rate: hogapi.RateUnlimited,
		out: &strings.Builder{}, id: "us-to-eu", folder: filepath.Join(t.TempDir(), "state"),
		begin: time.Date(2024, 2, 25, 0, 0, 0, 0, time.UTC), end: time.Date(2024, 3, 6, 0, 0, 0, 0, time.UTC),
	}
	work.fill(from)
	return from, to, work
}

// stored has the fields that must be the same in both projects.
type stored struct {
	name, person string
	at           int64
}

func moved(work *move) map[uuid.UUID]stored {
	all := map[uuid.UUID]stored{}
	for i := range filled {
		at := work.begin.Add(work.end.Sub(work.begin) / filled * time.Duration(i*7919%filled))
		id, name, person := event(i)
		all[id] = stored{name, person, at.UnixMilli()}
	}
	return all
}

func eventsOf(server *hogapitest.Server) map[uuid.UUID]stored {
	all := map[uuid.UUID]stored{}
	for ev := range server.Ledger().Last() {
		all[ev.UUID] = stored{ev.Event, ev.DistinctID, ev.Time.UnixMilli()}
	}
	return all
}

func (m *move) printed() string { return m.out.(*strings.Builder).String() }

// Both projects have the same events afterwards, though an earlier import has sent them to the first one.
func TestFromProjectToProject(t *testing.T) {
	from, to, work := projects(t)
	require.NoError(t, work.run(t.Context(), nil), work.printed())
	assert.Contains(t, work.printed(), "Both projects have the same 3000 events")
	assert.Equal(t, moved(work), eventsOf(to))
	for ev := range to.Ledger().Events() {
		require.Contains(t, string(ev.Properties), `"posthog_import_job_id":"earlier"`)
		require.Contains(t, string(ev.Properties), `"$import_job_id":"us-to-eu"`)
	}

	require.NoError(t, work.run(t.Context(), nil), "the same once more")
	assert.Len(t, from.Calls(ops.FileDownloadsCreate), 2, "nothing is exported twice")
	assert.Equal(t, filled, to.Ledger().Len(), "and nothing is sent twice")

	at := time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC)
	from.Project(hogapitest.DefaultProject).AddEvent(hogapitest.StoredEvent{Event: "$pageview", DistinctID: "late", Time: at, CreatedAt: at})
	require.ErrorContains(t, work.run(t.Context(), nil), "the projects differ: INCOMPLETE: 3,000 rows delivered, 1 missing")
}

func TestAnInterruptedMoveContinues(t *testing.T) {
	from, to, work := projects(t)
	from.Script(hogapitest.OpStorage, hogapitest.CutBody(100), hogapitest.Status(404))
	require.ErrorContains(t, work.run(t.Context(), nil), "the same command continues")
	require.Zero(t, to.Ledger().Len())
	require.NoError(t, work.run(t.Context(), nil), work.printed())
	assert.Equal(t, moved(work), eventsOf(to))
}

// Files are imported with two kills on the way, and each event is there once.
func TestKilled(t *testing.T) {
	_, to, work := projects(t)
	files, err := work.download(t.Context())
	require.NoError(t, err)
	to.Script(ops.Capture, hogapitest.Always(hogapitest.SlowAnswer(100*time.Millisecond)))
	command := func() (*exec.Cmd, *bytes.Buffer) {
		process, out := exec.CommandContext(t.Context(), os.Args[0], append([]string{"-folder", work.folder}, files...)...), &bytes.Buffer{}
		process.Stdout, process.Stderr, process.Env = out, out, append(os.Environ(), "RECIPE_RUN=1")
		for name, value := range keys(t, nil, to) {
			process.Env = append(process.Env, name+"="+value)
		}
		return process, out
	}
	for _, enough := range []int{500, 1500} {
		process, out := command()
		require.NoError(t, process.Start())
		require.Eventually(t, func() bool { return to.Ledger().Unique() >= enough }, time.Minute, 5*time.Millisecond, "%s", out)
		require.NoError(t, process.Process.Kill())
		require.Error(t, process.Wait())
	}
	process, out := command()
	require.NoError(t, process.Run(), "%s", out)
	require.Contains(t, out.String(), `import "us-to-eu": complete`)
	require.True(t, maps.Equal(moved(work), eventsOf(to)), "name, person and time of each uuid")
}

// The exit code says that events are missing, and the reason is in the rejects.
func TestRejectsAreNotSilent(t *testing.T) {
	_, to, work := projects(t)
	text := `{"uuid":"018e0000-0000-7000-8000-000000000000","event":"","distinct_id":"ann","timestamp":"2024-03-01T00:00:00Z"}` + "\n"
	path := filepath.Join(t.TempDir(), "rows.jsonl")
	require.NoError(t, os.WriteFile(path, bytes.Repeat([]byte(text), 50), 0o600))
	setKeys(t, nil, to)
	require.ErrorContains(t, run(t.Context(), work.out, []string{"-folder", work.folder, path}), "reject")
	rejects, err := os.ReadFile(filepath.Join(work.folder, "rejects.jsonl"))
	require.NoError(t, err)
	require.NotEmpty(t, rejects)
}

func TestWhatIsRefused(t *testing.T) {
	from, to := hogapitest.New(), hogapitest.New()
	args := []string{"-from", "2024-02-25", "-to", "2024-03-06", "-folder", t.TempDir()}
	setKeys(t, from, to)
	out := &strings.Builder{}
	tomorrow := time.Now().UTC().AddDate(0, 0, 1).Format(time.DateOnly)
	require.ErrorContains(t, run(t.Context(), out, append(args, "-to", tomorrow)), "48 hours ago")
	require.ErrorContains(t, run(t.Context(), out, nil), "give -folder, and -from and -to or files")
	setKeys(t, from, from)
	require.ErrorContains(t, run(t.Context(), out, args), "both projects are")
	setKeys(t, from, to)
	t.Setenv("POSTHOG_TO_PROJECT_API_KEY", "")
	require.ErrorContains(t, run(t.Context(), out, args), "set POSTHOG_TO_PROJECT_API_KEY")
	t.Setenv("POSTHOG_FROM_PROJECT_ID", "")
	require.ErrorContains(t, run(t.Context(), out, args), "POSTHOG_FROM_")
	assert.Empty(t, to.Calls())
	assert.Empty(t, from.Calls(ops.FileDownloadsCreate))
}
