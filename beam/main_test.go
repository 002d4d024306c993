package hogbeam_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/local"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/beam"
	"github.com/hogapi/hogapi/beam/internal/beamtest"
	"github.com/hogapi/hogapi/hogapitest"
)

func TestMain(m *testing.M) {
	beam.Init()
	slog.SetDefault(slog.New(slog.DiscardHandler)) // what the runner tells; a job's error tells it again
	if order := os.Getenv(orderOfChild); order != "" {
		runOrder(order)
		return
	}
	beamtest.Run(m)
}

// newServer makes a fake of the service that ends with the test.
func newServer(t testing.TB, options ...hogapitest.Option) *hogapitest.Server {
	server := hogapitest.New(options...)
	t.Cleanup(func() {
		server.Verify(t)
		server.Close()
	})
	return server
}

// nightly says that the long forms are wanted.
func nightly() bool {
	return os.Getenv("HOGAPI_TEST") == "nightly" || os.Getenv("HOGAPI_TEST") == "deep"
}

// long is n in the long form.
func long(short, n int) int {
	if nightly() {
		return n
	}
	return short
}

// key is the variable in which the tests keep the project key.
const key = "HOGBEAM_TEST_KEY"

// optionsFor sends to a fake as fast as it can.
func optionsFor(t testing.TB, server *hogapitest.Server) hogbeam.Options {
	t.Setenv(key, hogapitest.DefaultProjectKey)
	return hogbeam.Options{
		ID: "shop", Rate: hogapi.Unpaced,
		Service: hogbeam.Service{BaseURL: server.URL(), ProjectKey: hogbeam.SecretRef{Env: key}},
		Sort:    hogbeam.SortOptions{Folder: t.TempDir()},
	}
}

// outcome is what a job gave.
type outcome struct {
	Batches []hogbeam.BatchReceipt
	Rejects []hogbeam.Reject
	Receipt []hogapi.Receipt
	Exports []hogbeam.ProjectExport
	Runs    []hogbeam.ProjectRun
	result  beam.PipelineResult
}

// outcomes keeps what the jobs of this process have given, by the number of the job.
var outcomes struct {
	sync.Mutex
	of []*outcome
}

// keepFn keeps the elements of a collection for the test.
type keepFn struct{ Job int }

func (f *keepFn) ProcessElement(element beam.X) {
	outcomes.Lock()
	defer outcomes.Unlock()
	o := outcomes.of[f.Job]
	switch v := element.(type) {
	case hogbeam.BatchReceipt:
		o.Batches = append(o.Batches, v)
	case hogbeam.Reject:
		o.Rejects = append(o.Rejects, v)
	case hogapi.Receipt:
		o.Receipt = append(o.Receipt, v)
	case hogbeam.ProjectExport:
		o.Exports = append(o.Exports, v)
	case hogbeam.ProjectRun:
		o.Runs = append(o.Runs, v)
	}
}

func init() {
	register.DoFn1x0[beam.X](&keepFn{})
	register.Function1x1(atOnePosition)
}

func atOnePosition(ev hogbeam.Event) hogbeam.Event {
	ev.Position = hogapi.Position{Key: "rows"}
	return ev
}

// runJob runs a job to its end.
func runJob(t testing.TB, o hogbeam.Options, events func(beam.Scope) beam.PCollection) (*outcome, error) {
	t.Helper()
	p, s := beam.NewPipelineWithRoot()
	written := hogbeam.WriteHistorical(s, o, events(s))
	out := keep(s, written.Batches, written.Rejects, written.Receipt)
	var err error
	out.result, err = beam.Run(t.Context(), "prism", p)
	return out, err
}

// keep keeps the elements of collections.
func keep(s beam.Scope, collections ...beam.PCollection) *outcome {
	outcomes.Lock()
	defer outcomes.Unlock()
	f, out := &keepFn{Job: len(outcomes.of)}, &outcome{}
	outcomes.of = append(outcomes.of, out)
	for _, collection := range collections {
		beam.ParDo0(s, f, collection)
	}
	return out
}

// must runs a job that ends well and gives its one receipt.
func must(t testing.TB, o hogbeam.Options, events func(beam.Scope) beam.PCollection) (*outcome, hogapi.Receipt) {
	t.Helper()
	out, err := runJob(t, o, events)
	require.NoError(t, err)
	require.Len(t, out.Receipt, 1)
	return out, out.Receipt[0]
}

// orderOfChild is the variable that makes this program run one job, and holds what it needs for it.
const orderOfChild = "HOGBEAM_TEST_JOB"

type jobOrder struct {
	Options hogbeam.Options
	Globs   []string

	OnePosition bool // all events get the same
}

// failure runs a job that must fail and gives its error's text. It has a process of its own because of Beam's race.
func failure(t *testing.T, o hogbeam.Options, globs ...string) string {
	t.Helper()
	return failureOf(t, jobOrder{Options: o, Globs: globs})
}

func failureOf(t *testing.T, o jobOrder) string {
	t.Helper()
	order, err := json.Marshal(o)
	require.NoError(t, err)
	program, err := os.Executable()
	require.NoError(t, err)
	child := exec.CommandContext(t.Context(), program)
	child.Env = append(os.Environ(), orderOfChild+"="+string(order), beamtest.PassOverBeamsRace(t))
	out, err := child.CombinedOutput()
	require.Error(t, err, "the job must fail")
	return string(out)
}

// runOrder is the child.
func runOrder(order string) {
	var o jobOrder
	err := json.Unmarshal([]byte(order), &o)
	if err == nil {
		p, s := beam.NewPipelineWithRoot()
		events := hogbeam.ReadJSONLines(s, o.Globs...)
		if o.OnePosition {
			events = beam.ParDo(s, atOnePosition, events)
		}
		hogbeam.WriteHistorical(s, o.Options, events)
		_, err = beam.Run(context.Background(), "prism", p)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func fromFiles(globs ...string) func(beam.Scope) beam.PCollection {
	return func(s beam.Scope) beam.PCollection { return hogbeam.ReadJSONLines(s, globs...) }
}

// counter is the value of one of the package's counters.
func (o *outcome) counter(name string) (n int64) {
	for _, c := range o.result.Metrics().AllMetrics().Counters() {
		if c.Key.Namespace == "hogbeam" && c.Key.Name == name {
			n += c.Committed
		}
	}
	return n
}

// writeEvents makes files of n events of a tenth as many persons, in an order of time that is not that of the lines.
func writeEvents(t testing.TB, n, files int) (glob string) {
	t.Helper()
	folder := t.TempDir()
	texts := make([]strings.Builder, files)
	start := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range n {
		at := start.Add(time.Duration(i*7919%n) * time.Second)
		fmt.Fprintf(&texts[i%files], `{"event":"event %d","distinct_id":"person-%d","timestamp":%q,"properties":{"n":%d}}`+"\n", i%5, i%(n/10+1), at.Format(time.RFC3339), i)
	}
	for i := range texts {
		require.NoError(t, os.WriteFile(filepath.Join(folder, fmt.Sprintf("part-%03d.jsonl", i)), []byte(texts[i].String()), 0o600))
	}
	return filepath.Join(folder, "*.jsonl")
}

// writeFile makes one file and returns its path.
func writeFile(t testing.TB, name string, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600))
	return path
}

// filesOf are the files of a glob.
func filesOf(t testing.TB, glob string) []string {
	t.Helper()
	paths, err := filepath.Glob(glob)
	require.NoError(t, err)
	return paths
}
