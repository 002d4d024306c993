package peer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/testevents"
)

// A real Prometheus scrapes hogimport while it imports, through an outage, and loads the alerts of the recipe.
func TestPrometheusScrapesHogimport(t *testing.T) {
	needPrometheus(t)
	readFiles(t, "../../cmd/hogimport/internal/*/*.go")
	service := hogapitest.New()
	t.Cleanup(service.Close)
	origin, heal := outage(t, service)
	metrics, ended := startImport(t, origin, 4000)

	rules := filepath.Join(t.TempDir(), "rules.yml")
	require.NoError(t, os.WriteFile(rules, alerts(t), 0o600))
	p := startPrometheus(t, metrics, rules)
	p.wait(t, `up{job="hogimport"} == 1`)
	p.wait(t, `hogimport_failing_since_seconds > 1.6e9`)
	heal()
	p.wait(t, `hogimport_records_acknowledged > 100`)
	p.wait(t, `hogimport_records_rejected == 2`)
	p.wait(t, `rate(hogimport_sent_bytes_total[10s]) > 0`)
	p.wait(t, `hogimport_failing_since_seconds == 0`)
	p.wait(t, `hogimport_requests_total > 3`)
	p.checkTypes(t, "hogimport_", "ImportFailing", "ImportRejects")

	lint(t, metrics)

	require.NoError(t, ended())
	require.Equal(t, 3998, service.Ledger().Unique())
	last := p.value(t, `max_over_time(hogimport_records_acknowledged[1m])`)
	require.LessOrEqual(t, last, 3998.0)
}

func needPrometheus(t *testing.T) {
	t.Helper()
	for _, tool := range []string{"prometheus", "promtool"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("needs Debian's prometheus")
		}
	}
}

// outage returns a proxy to the service. It answers every batch with 503 until heal is called.
func outage(t *testing.T, service *hogapitest.Server) (origin string, heal func()) {
	t.Helper()
	target := must(url.Parse(service.URL()))(t)
	var isUp atomic.Bool
	way := httputil.NewSingleHostReverseProxy(target)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isUp.Load() && r.ContentLength > 200 { // requests before the first batch are shorter
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		way.ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	return proxy.URL, func() { isUp.Store(true) }
}

// said is the output of a program that is watched.
type said struct{ testevents.Output }

// find waits until the output matches a pattern, and returns its first group.
func (s *said) find(t *testing.T, pattern string) string {
	t.Helper()
	compiled := regexp.MustCompile(pattern)
	require.Eventually(t, func() bool { return compiled.MatchString(s.String()) }, time.Minute, 5*time.Millisecond, "%s", s)
	return compiled.FindStringSubmatch(s.String())[1]
}

// built builds a command in a new folder.
func built(t *testing.T, command string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	program := filepath.Join(dir, command)
	build := exec.CommandContext(t.Context(), "go", "build", "-C", "../../cmd/"+command, "-o", program, ".")
	build.Env = append(os.Environ(), "GOWORK=")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return dir
}

// lint requires that promtool finds no fault in the metrics of a program.
func lint(t *testing.T, metrics string) {
	t.Helper()
	check := exec.CommandContext(t.Context(), "promtool", "check", "metrics")
	check.Stdin = bytes.NewReader(fetch(t, metrics))
	out, err := check.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// startImport builds hogimport and starts an import of some events; two of them are bad. It returns the address of its metrics.
func startImport(t *testing.T, origin string, events int) (metrics string, ended func() error) {
	t.Helper()
	dir := built(t, "hogimport")
	var lines bytes.Buffer
	for i := range events {
		person := fmt.Sprintf("p%d", i%17)
		if i == 10 || i == 20 {
			person = ""
		}
		fmt.Fprintf(&lines, `{"uuid":%q,"event":"visit","distinct_id":%q,"timestamp":"2024-01-01T00:00:00Z"}`+"\n",
			uuid.NewSHA1(uuid.NameSpaceURL, fmt.Append(nil, i)), person)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "events.jsonl"), lines.Bytes(), 0o600))
	var text said
	cmd := exec.CommandContext(t.Context(), "./hogimport", "run", "events.jsonl", "--yes", "--rate", "400", "--metrics", ":0")
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &text, &text
	cmd.Env = []string{"POSTHOG_HOST=" + origin, "POSTHOG_PROJECT_API_KEY=" + hogapitest.DefaultProjectKey}
	require.NoError(t, cmd.Start())
	return text.find(t, `Metrics are\s+at\s+(http://127\.0\.0\.1:\d+/metrics)`), cmd.Wait
}

func alerts(t *testing.T) []byte {
	t.Helper()
	page := must(os.ReadFile("../../docs/recipes/server.md"))(t)
	_, rest, ok := strings.Cut(string(page), "```yaml\n")
	require.True(t, ok)
	rules, _, ok := strings.Cut(rest, "```")
	require.True(t, ok)
	return []byte(rules)
}

type prometheus struct{ api string }

// startPrometheus starts a Prometheus that scrapes a program, with rules.
func startPrometheus(t *testing.T, metrics, rules string) *prometheus {
	t.Helper()
	target := must(url.Parse(metrics))(t)
	dir := t.TempDir()
	config := fmt.Sprintf(`
global: {scrape_interval: 200ms, evaluation_interval: 200ms}
rule_files: [%q]
scrape_configs:
  - job_name: hogimport
    static_configs: [{targets: [%q]}]
`, rules, target.Host)
	path := filepath.Join(dir, "prometheus.yml")
	require.NoError(t, os.WriteFile(path, []byte(config), 0o600))
	out, err := exec.CommandContext(t.Context(), "promtool", "check", "config", path).CombinedOutput()
	require.NoError(t, err, "%s", out)

	var text said
	cmd := exec.Command("prometheus", "--config.file="+path, "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address=127.0.0.1:0")
	cmd.Stdout, cmd.Stderr = &text, &text
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	return &prometheus{api: "http://" + text.find(t, `msg="Listening on".* address=(127\.0\.0\.1:\d+)`)}
}

func fetch(t *testing.T, address string) []byte {
	t.Helper()
	request := must(http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodGet, address, nil))(t)
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer answer.Body.Close()
	return must(io.ReadAll(answer.Body))(t)
}

// query returns the number of series of a query, and the value of the first one.
func (p *prometheus) query(t *testing.T, query string) (series int, value float64) {
	t.Helper()
	var answer struct {
		Status string
		Data   struct {
			Result []struct{ Value []any }
		}
	}
	body := fetch(t, p.api+"/api/v1/query?query="+url.QueryEscape(query))
	if err := json.Unmarshal(body, &answer); err != nil || answer.Status != "success" { // it is not ready
		return 0, 0
	}
	if len(answer.Data.Result) > 0 {
		_, err := fmt.Sscan(answer.Data.Result[0].Value[1].(string), &value)
		require.NoError(t, err)
	}
	return len(answer.Data.Result), value
}

func (p *prometheus) value(t *testing.T, query string) float64 {
	t.Helper()
	series, value := p.query(t, query)
	require.Equal(t, 1, series, query)
	return value
}

func (p *prometheus) wait(t *testing.T, condition string) {
	t.Helper()
	for until := time.Now().Add(30 * time.Second); ; {
		if series, _ := p.query(t, condition); series == 1 {
			return
		}
		require.True(t, time.Now().Before(until), "%s", condition)
		time.Sleep(50 * time.Millisecond)
	}
}

// checkTypes requires that the types that Prometheus recorded fit the names of the metrics, and that Prometheus knows the alerts.
func (p *prometheus) checkTypes(t *testing.T, prefix string, alerts ...string) {
	t.Helper()
	var metadata struct {
		Data []struct{ Metric, Type, Help string }
	}
	require.NoError(t, json.Unmarshal(fetch(t, p.api+"/api/v1/targets/metadata"), &metadata))
	seen := 0
	for _, m := range metadata.Data {
		if !strings.HasPrefix(m.Metric, prefix) {
			continue
		}
		seen++
		require.NotEmpty(t, m.Help)
		want := "gauge"
		if strings.HasSuffix(m.Metric, "_total") {
			want = "counter"
		}
		require.Equal(t, want, m.Type, m.Metric)
	}
	require.GreaterOrEqual(t, seen, 10)

	rules := string(fetch(t, p.api+"/api/v1/rules"))
	for _, alert := range alerts {
		require.Contains(t, rules, fmt.Sprintf(`"name":%q`, alert))
	}
	require.NotContains(t, rules, `"health":"err"`)
}

// A real Prometheus scrapes hogexport watch and sees a broken export; promtool runs the tests of the alerts.
func TestPrometheusScrapesHogexport(t *testing.T) {
	needPrometheus(t)
	readFiles(t, "../../cmd/hogexport/*.*", "../../cmd/hogexport/internal/*/*.go", "../../cmd/internal/*/*.go")
	out, err := exec.CommandContext(t.Context(), "promtool", "test", "rules", "../../cmd/hogexport/alerts_test.yml").CombinedOutput()
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
	p := startPrometheus(t, metrics, must(filepath.Abs("../../cmd/hogexport/alerts.yml"))(t))
	for _, condition := range []string{
		`hogexport_uncovered_intervals{export="lake"} == 4`, `hogexport_failed_billing == 2`, `hogexport_failures_left == 2`, `hogexport_stuck_seconds > 3 * 3600`,
		`hogexport_freshness_seconds < 2 * 3600`, `hogexport_age_seconds >= 0`, `hogexport_calls_total > 1`,
		`ALERTS{alertname="ExportNotWhole",alertstate="firing"}`, `ALERTS{alertname="ExportFailing",alertstate="firing"}`,
	} {
		p.wait(t, condition)
	}
	p.checkTypes(t, "hogexport_", "ExportNotWhole", "ExportPaused", "ExportWatchBlind")
	lint(t, metrics)
}

// startWatch builds hogexport and starts a watch. It returns the address of its metrics.
func startWatch(t *testing.T, service *hogapitest.Server) (metrics string) {
	t.Helper()
	dir := built(t, "hogexport")
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
