package peer_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/hogapitest"
)

// A real Prometheus scrapes hogexport watch and sees a broken export; promtool runs the tests of the alerts.
func TestPrometheusScrapesHogexport(t *testing.T) {
	needPrometheus(t)
	readFiles(t, "../cmd/hogexport/*.*", "../cmd/hogexport/internal/*/*.go", "../cmd/internal/*/*.go")
	out, err := exec.CommandContext(t.Context(), "promtool", "test", "rules", "../cmd/hogexport/alerts_test.yml").CombinedOutput()
	require.NoError(t, err, "%s", out)

	service := hogapitest.New()
	t.Cleanup(service.Close)
	project, now := service.Project(hogapitest.DefaultProject), time.Now().UTC()
	id := project.AddExport(hogapitest.Export{Name: "lake", Created: now.Add(-72 * time.Hour), DestinationType: "BigQuery", Config: map[string]any{}})
	project.RunSchedule(id, func(_, end time.Time) (hogapitest.Outcome, bool) {
		switch int(now.Sub(end).Hours()) {
		case 3:
			return hogapitest.Outcome{Status: "Failed", Error: "SlowDown"}, true
		case 5, 6:
			return hogapitest.Outcome{Status: "FailedBilling"}, true
		case 8:
			return hogapitest.Outcome{Polls: 1 << 30}, true
		}
		return hogapitest.Outcome{}, true
	})
	metrics := startWatch(t, service)
	rules, err := filepath.Abs("../cmd/hogexport/alerts.yml")
	require.NoError(t, err)
	p := startPrometheus(t, metrics, rules)
	for _, condition := range []string{
		`hogexport_uncovered_intervals{export="lake"} == 4`, `hogexport_failed_billing == 2`, `hogexport_failures_left == 2`, `hogexport_stuck_seconds > 3 * 3600`,
		`hogexport_freshness_seconds < 2 * 3600`, `hogexport_age_seconds >= 0`, `hogexport_calls_total > 1`,
		`ALERTS{alertname="ExportNotWhole",alertstate="firing"}`, `ALERTS{alertname="ExportFailing",alertstate="firing"}`,
	} {
		p.wait(t, condition)
	}
	p.checkTypes(t, "hogexport_", "ExportNotWhole", "ExportPaused", "ExportWatchBlind")
	lint := exec.CommandContext(t.Context(), "promtool", "check", "metrics")
	lint.Stdin = bytes.NewReader(fetch(t, metrics))
	out, err = lint.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// startWatch builds hogexport and starts a watch. It returns the address of its metrics.
func startWatch(t *testing.T, service *hogapitest.Server) (metrics string) {
	t.Helper()
	dir := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-C", "../cmd/hogexport", "-o", filepath.Join(dir, "hogexport"), ".")
	build.Env = append(os.Environ(), "GOWORK=")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	var text said
	cmd := exec.Command("./hogexport", "watch", "--metrics", ":0", "--cache", filepath.Join(dir, "cache"))
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &text, &text
	cmd.Env = []string{
		"POSTHOG_HOST=" + service.URL(), "POSTHOG_PROJECT_ID=" + hogapitest.DefaultProject, "POSTHOG_PERSONAL_API_KEY=" + hogapitest.DefaultPersonalKey,
	}
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		require.NoError(t, cmd.Wait(), "%s", &text)
	})
	return text.find(t, `metrics are\s+at\s+(http://127\.0\.0\.1:\d+/metrics)`)
}
