package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/examples/internal/demo"
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

var begin = time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC)

// export fills a project and has it export its events, as a batch export does.
func export(t *testing.T, events int, file hogapi.FileOptions) (us *hogapitest.Server, files []string) {
	t.Helper()
	us = hogapitest.New(hogapitest.WithPolls(1), hogapitest.WithParquet(demo.Parquet))
	client := us.Client(t)
	read := func(_ context.Context, page hogapi.Position) ([]hogapi.Event, hogapi.Position, error) {
		var list []hogapi.Event
		for i := page.Offset; i < min(page.Offset+500, int64(events)); i++ {
			list = append(list, hogapi.Event{
				Name: []string{"$pageview", "order placed"}[i%2], DistinctID: fmt.Sprintf("person-%d", i%50),
				Timestamp:  begin.Add(time.Duration(i*7919%int64(events)) * time.Second), // not in order
				Properties: map[string]any{"n": i, "$set": map[string]any{"newest": i}}, Position: hogapi.Position{Key: "invented", Offset: i + 1},
			})
		}
		return list, hogapi.Position{Key: "invented", Offset: page.Offset + int64(len(list))}, nil
	}
	_, err := client.Import(t.Context(), hogapi.PagedSource("invented", read), &hogapi.ImportOptions{
		ID: "invented", Rate: hogapi.Unpaced,
	})
	require.NoError(t, err)
	id, err := client.FileDownloads.Create(t.Context(), hogapi.FileDownloadRequest{
		Model: hogapi.ModelEvents, DataIntervalStart: begin, DataIntervalEnd: begin.AddDate(0, 0, 5),
		File: file,
	})
	require.NoError(t, err)
	_, err = client.FileDownloads.Wait(t.Context(), id, &hogapi.WatchOptions{Interval: time.Millisecond})
	require.NoError(t, err)
	files, err = client.FileDownloads.DownloadAll(t.Context(), id, t.TempDir(), &hogapi.FolderOptions{Extension: file.Extension()})
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return us, files
}

// stored has the fields that must be the same in both projects.
type stored struct {
	name, person string
	at           int64
}

func eventsOf(server *hogapitest.Server) map[uuid.UUID]stored {
	all := map[uuid.UUID]stored{}
	for ev := range server.Ledger().Last() {
		all[ev.UUID] = stored{ev.Event, ev.DistinctID, ev.Time.UnixMilli()}
	}
	return all
}

func command(t *testing.T, eu *hogapitest.Server, args ...string) (*exec.Cmd, *bytes.Buffer) {
	process, out := exec.CommandContext(t.Context(), os.Args[0], args...), &bytes.Buffer{}
	process.Stdout, process.Stderr = out, out
	process.Env = append(os.Environ(), "RECIPE_RUN=1", "POSTHOG_HOST="+eu.URL(), "POSTHOG_REGION=",
		"POSTHOG_PROJECT_ID="+hogapitest.DefaultProject, "POSTHOG_PERSONAL_API_KEY="+hogapitest.DefaultPersonalKey,
		"POSTHOG_PROJECT_API_KEY="+hogapitest.DefaultProjectKey)
	return process, out
}

// Killed twice on its way, the import ends with the same events in both projects.
func TestBothProjectsAreEqual(t *testing.T) {
	us, files := export(t, 4000, hogapi.FileOptions{Compression: hogapi.FileCompressionZstd})
	eu := hogapitest.New()
	t.Cleanup(eu.Close)
	eu.Script(ops.Capture, hogapitest.Always(hogapitest.SlowAnswer(100*time.Millisecond)))
	args := append([]string{"us-to-eu", filepath.Join(t.TempDir(), "state")}, files...)
	for _, enough := range []int{500, 1500} {
		process, out := command(t, eu, args...)
		require.NoError(t, process.Start())
		require.Eventually(t, func() bool { return eu.Ledger().Unique() >= enough }, time.Minute, 5*time.Millisecond, "%s", out)
		require.NoError(t, process.Process.Kill())
		require.Error(t, process.Wait())
	}
	process, out := command(t, eu, args...)
	require.NoError(t, process.Run(), "%s", out)
	require.Contains(t, out.String(), `import "us-to-eu": complete`)
	require.Contains(t, out.String(), "acknowledged 4000")
	want, got := eventsOf(us), eventsOf(eu)
	require.Len(t, want, 4000)
	require.True(t, maps.Equal(want, got), "name, person and time of each uuid")

	// Once more, it sends nothing.
	before := eu.Ledger().Len()
	process, out = command(t, eu, args...)
	require.NoError(t, process.Run(), "%s", out)
	require.Equal(t, before, eu.Ledger().Len())
}

// The exit code says that events are missing.
func TestRejectsAreNotSilent(t *testing.T) {
	_, files := export(t, 1000, hogapi.FileOptions{Format: hogapi.FileFormatJSONLines, Compression: hogapi.FileCompressionGzip})
	eu := hogapitest.New()
	t.Cleanup(eu.Close)
	text := `{"uuid":"018e0000-0000-7000-8000-000000000000","event":"","distinct_id":"ann","timestamp":"2024-03-01T00:00:00Z"}` + "\n"
	more := filepath.Join(t.TempDir(), "more.jsonl")
	require.NoError(t, os.WriteFile(more, bytes.Repeat([]byte(text), 50), 0o600))
	folder := filepath.Join(t.TempDir(), "state")
	process, out := command(t, eu, append([]string{"us-to-eu", folder, more}, files...)...)
	require.Error(t, process.Run())
	require.Contains(t, out.String(), "reject")
	rejects, err := os.ReadFile(filepath.Join(folder, "rejects.jsonl"))
	require.NoError(t, err)
	require.NotEmpty(t, rejects)
}
