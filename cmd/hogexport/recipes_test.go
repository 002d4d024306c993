package main_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/cmd/hogexport/internal/cli"
	"github.com/hogapi/hogapi/hogapitest"
)

var shellBlock = regexp.MustCompile("(?s)```sh\n(.*?)```")

// programs is the folder of the program, once a test has built it.
var programs string

func TestMain(m *testing.M) {
	code := m.Run()
	_ = os.RemoveAll(programs)
	os.Exit(code)
}

var buildOnce = sync.OnceValues(func() (out []byte, err error) {
	if programs, err = os.MkdirTemp("", "hogexport-*"); err != nil {
		return nil, err
	}
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", filepath.Join(programs, "hogexport"), ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	return cmd.CombinedOutput()
})

// build builds the program as it is released, once, and returns its folder.
func build(t *testing.T) string {
	t.Helper()
	out, err := buildOnce()
	require.NoError(t, err, "%s", out)
	return programs
}

// Each command of the recipe runs in a shell, word for word.
func TestRecipe(t *testing.T) {
	dir := build(t)
	info, err := os.Stat(filepath.Join(dir, "hogexport"))
	require.NoError(t, err)
	assert.Less(t, info.Size(), int64(40<<20), "bytes of the program")
	server := hogapitest.New(hogapitest.WithPolls(1))
	t.Cleanup(server.Close)
	project, now := server.Project(hogapitest.DefaultProject), time.Now().UTC()
	for _, x := range []hogapitest.Export{
		{Name: "events to the warehouse", DestinationType: "BigQuery", Integration: 2, Config: map[string]any{"dataset_id": "posthog", "table_id": "events"}},
		{Name: "events to the lake", DestinationType: "AwsS3", Integration: 1, Config: map[string]any{"bucket_name": "lake", "region": "us-east-1", "prefix": "events/"}},
	} {
		x.Created = now.Add(-72 * time.Hour)
		project.RunSchedule(project.AddExport(x), func(_, end time.Time) (hogapitest.Outcome, bool) {
			hours := int(now.Sub(end).Hours())
			return hogapitest.Outcome{}, hours < 20 || hours > 22
		})
	}
	text, err := os.ReadFile("../../docs/recipes/exports.md")
	require.NoError(t, err)
	work := t.TempDir()
	ran := 0
	for _, block := range shellBlock.FindAllStringSubmatch(string(text), -1) {
		for line := range strings.Lines(block[1]) {
			line = strings.TrimSpace(line)
			cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
			cmd.Dir = work
			cmd.Env = []string{
				"PATH=" + dir + ":" + os.Getenv("PATH"), "HOME=" + work, "POSTHOG_HOST=" + server.URL(), "POSTHOG_PROJECT_ID=" + hogapitest.DefaultProject,
				"POSTHOG_PERSONAL_API_KEY=" + hogapitest.DefaultPersonalKey,
			}
			if strings.Contains(line, "repair") || strings.Contains(line, "download") {
				cmd.Env = append(cmd.Env, "HOGEXPORT_EVERY=20ms")
			}
			want := 0
			if line == "hogexport list --gaps" {
				want = 6 // the lake has its gap, which nothing has repaired
			}
			out, _ := cmd.CombinedOutput()
			assert.Equal(t, want, cmd.ProcessState.ExitCode(), "%s: %s", line, out)
			assert.NotContains(t, string(out), hogapitest.DefaultPersonalKey)
			ran++
		}
	}
	assert.Equal(t, 17, ran)
	files := 0
	require.NoError(t, filepath.WalkDir(work, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		assert.NotContains(t, string(text), hogapitest.DefaultPersonalKey, path)
		files++
		return err
	}))
	assert.Greater(t, files, 5, "written files")
	assert.FileExists(t, filepath.Join(work, "exports", "events-to-the-lake.yaml"))
}

// The dashboard is JSON, and it and the rules ask for numbers that watch serves.
func TestDashboardAndAlerts(t *testing.T) {
	t.Parallel()
	server := hogapitest.New()
	t.Cleanup(server.Close)
	env := map[string]string{
		"POSTHOG_HOST": server.URL(), "POSTHOG_PROJECT_ID": hogapitest.DefaultProject, "POSTHOG_PERSONAL_API_KEY": hogapitest.DefaultPersonalKey,
		"HOME": t.TempDir(),
	}
	var served, errs strings.Builder
	code := cli.Run(t.Context(), []string{"watch", "--once"}, strings.NewReader(""), &served, &errs, func(name string) string { return env[name] })
	require.Zero(t, code, errs.String())
	for _, file := range []string{"dashboard.json", "alerts.yml", "alerts_test.yml"} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Equal(t, strings.HasSuffix(file, ".json"), json.Valid(text), file)
		names := regexp.MustCompile(`hogexport_[a-z_]+`).FindAllString(string(text), -1)
		assert.NotEmpty(t, names, file)
		for _, name := range names {
			assert.Contains(t, served.String(), "# TYPE "+name+" ", file)
		}
	}
}
