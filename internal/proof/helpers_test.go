package proof_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/durable"
	"github.com/hogapi/hogapi/internal/engine"
	"github.com/hogapi/hogapi/internal/testevents"
)

// Some proofs need a process of their own to kill, freeze or measure: this test program, started again with a task in its environment.

const taskVariable = "HOGAPI_PROOF_TASK"

type task struct {
	Do    string // key of childTasks
	URL   string // of the capture origin
	File  string // to import
	State string // folder of checkpoint and reject file
	Kind  string // of events, or of the file
	N     int
	For   time.Duration
	Stays bool // the child does not end until it is killed, even if its work is done

	Rate     int // 0: unpaced
	Delivery hogapi.DeliveryOptions

	TryTimeout time.Duration
}

// childReport is the JSON that a child writes to its standard output before it ends.
type childReport struct {
	Receipt  hogapi.Receipt
	Error    string
	Canceled bool
	Rejects  int
	Values   map[string]float64
	Found    history.Verification `json:",omitzero"`
}

// childTasks are the children's tasks. Files for Linux only add theirs.
var childTasks = map[string]func(task) childReport{"import": importFile}

// TestMain runs a child's task, or else the tests.
func TestMain(m *testing.M) {
	text := os.Getenv(taskVariable)
	if text == "" {
		goleak.VerifyTestMain(m)
		return
	}
	var t task
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		panic(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(childTasks[t.Do](t)); err != nil {
		panic(err)
	}
	if t.Stays {
		_, _ = io.Copy(io.Discard, os.Stdin)
	}
	os.Exit(0)
}

type child struct {
	*exec.Cmd

	out testevents.Output
}

func startChild(t *testing.T, work task, environment ...string) *child {
	t.Helper()
	text, err := json.Marshal(work)
	require.NoError(t, err)
	program, err := os.Executable()
	require.NoError(t, err)
	c := &child{Cmd: exec.Command(program)}
	c.Env = append(append(os.Environ(), taskVariable+"="+string(text)), environment...)
	c.Stdout, c.Stderr = &c.out, os.Stderr
	if work.Stays {
		_, err = c.StdinPipe() // the child's input ends when this process ends
		require.NoError(t, err)
	}
	require.NoError(t, c.Start())
	return c
}

// startVictim starts a child that the test will kill: it does not end before.
func startVictim(t *testing.T, work task) *child {
	t.Helper()
	work.Stays = true
	return startChild(t, work)
}

func (c *child) kill(t *testing.T) {
	t.Helper()
	require.NoError(t, c.Process.Kill())
	require.ErrorContains(t, c.Wait(), "killed", "%s", c.out.String())
}

func (c *child) report(t *testing.T) (r childReport) {
	t.Helper()
	require.NoError(t, c.Wait())
	require.NoError(t, json.Unmarshal([]byte(c.out.String()), &r), c.out.String())
	return r
}

func runChild(t *testing.T, work task, environment ...string) childReport {
	t.Helper()
	return startChild(t, work, environment...).report(t)
}

func childClient(url string, options ...hogapi.Option) *hogapi.Client {
	client, err := hogapi.NewClient(append([]hogapi.Option{hogapi.WithCaptureURL(url), hogapi.WithProjectAPIKey(hogapitest.DefaultProjectKey)}, options...)...)
	if err != nil {
		panic(err)
	}
	return client
}

// importFile imports a file until its end or an interrupt.
func importFile(w task) childReport {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	o := history.Options{ID: "proof", MaxRejectShare: -1, Rate: cmp.Or(w.Rate, hogapi.RateUnlimited), Delivery: w.Delivery}
	if w.State != "" {
		o.Checkpoint = history.CheckpointFile(w.checkpoint())
		o.Rejects = history.RejectFile(w.rejects())
	}
	return reported(history.Import(ctx, childClient(w.URL, hogapi.WithTryTimeout(cmp.Or(w.TryTimeout, time.Minute))), w.source(), &o))
}

func reported(receipt hogapi.Receipt, err error) childReport {
	if err == nil {
		return childReport{Receipt: receipt}
	}
	return childReport{Receipt: receipt, Error: err.Error(), Canceled: errors.Is(err, context.Canceled)}
}

// source returns the file as a source, read according to Kind.
func (w task) source() history.Source {
	switch w.Kind {
	case "":
		return history.JSONLines(w.File)
	case "sorted":
		return w.sortedSource()
	}
	return history.Files(rowFormat, w.File)
}

func (w task) checkpoint() string { return filepath.Join(w.State, "checkpoint") }
func (w task) rejects() string    { return filepath.Join(w.State, "rejects.jsonl") }

// sortedSource returns the rows of the file with their links before them. It keeps all its files in the state's folder.
func (w task) sortedSource() history.Source {
	if err := os.Setenv("TMPDIR", w.temporary()); err != nil { // of this child
		panic(err)
	}
	rows := rowFormat
	rows.Convert = func(record []byte) ([]hogapi.Event, error) {
		var row struct{ Device string }
		events, err := rowFormat.Convert(record)
		if err == nil {
			err = json.Unmarshal(record, &row)
		}
		for i := range events {
			events[i].AnonymousID = row.Device
		}
		return events, err
	}
	source := formats.Sorted(history.Files(rows, w.File), w.sorted())
	return history.Concat(formats.Links(source), source)
}

func (w task) temporary() string { return filepath.Join(w.State, "temporary") }
func (w task) sorted() string    { return filepath.Join(w.State, "sorted") }

// rowFormat makes one event of each row, and two of some rows.
var rowFormat = history.Format{Name: "rows", Convert: func(record []byte) ([]hogapi.Event, error) {
	var row struct {
		Event, Timestamp string
		DistinctID       string `json:"distinct_id"`
		UUID             uuid.UUID
	}
	if err := json.Unmarshal(record, &row); err != nil {
		return nil, err
	}
	at, err := time.Parse(time.RFC3339Nano, row.Timestamp)
	if err != nil {
		return nil, errors.New("timestamp: want RFC 3339")
	}
	ev := hogapi.Event{Name: row.Event, DistinctID: row.DistinctID, Timestamp: at, UUID: row.UUID, RawProperties: record}
	if row.Event == "two" {
		return []hogapi.Event{ev, {Name: "second", DistinctID: row.DistinctID, Timestamp: at}}, nil
	}
	return []hogapi.Event{ev}, nil
}}

// settledIn returns how many events a checkpoint covers; 0 without a checkpoint.
func (w task) settledIn(t *testing.T) int {
	t.Helper()
	raw, err := os.ReadFile(w.checkpoint())
	if errors.Is(err, os.ErrNotExist) {
		return 0
	}
	require.NoError(t, err)
	_, state, _ := bytes.Cut(raw, []byte{'\n'}) // the first line is a checksum
	return int(testevents.SavedReceipt(t, state).Read)
}

// slowly delays each request, and knows when no request is in flight.
type slowly struct {
	http.Handler

	delay    atomic.Int64 // in nanoseconds; tests change it while requests come, and keeps
	underWay atomic.Int64
	holds    func() bool // if it returns true, the request is served but not answered; may be nil
	held     atomic.Int64
	keeps    atomic.Int64 // connections, after each request, in nanoseconds; 0: for good
}

func (s *slowly) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.underWay.Add(1)
	defer s.underWay.Add(-1)
	if keeps := time.Duration(s.keeps.Load()); keeps > 0 {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(keeps)) // also for the next request
	}
	time.Sleep(time.Duration(s.delay.Load()))
	if s.holds != nil && s.holds() {
		s.Handler.ServeHTTP(httptest.NewRecorder(), r)
		s.held.Add(1)
		_, _ = io.Copy(io.Discard, r.Body) // or else the server does not notice that the client is gone
		<-r.Context().Done()
		return
	}
	s.Handler.ServeHTTP(w, r)
}

// quiet waits until the server is done with the requests of a dead client.
func (s *slowly) quiet() {
	for s.underWay.Load() > 0 {
		time.Sleep(time.Millisecond)
	}
}

// measuresMemory skips a test of sizes under the race detector, which makes every size meaningless. Other tests run the same code.
func measuresMemory(t *testing.T) {
	t.Helper()
	if raceDetector {
		t.Skip("memory is measured without the race detector")
	}
}

// raceDetector reports that the tests take about ten times as long and several times the memory.
var raceDetector bool

func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}

func rejectsOn(disk durable.FS, path string) hogapi.RejectHandler {
	return diskRejects{engine.NewRejects(disk, path)}
}

type diskRejects struct{ file *engine.Rejects }

// RejectFile lets an import open and sync the file itself.
func (r diskRejects) RejectFile() *engine.Rejects { return r.file }

func (r diskRejects) Reject(context.Context, hogapi.Reject) error {
	return errors.New("the import writes its reject file itself")
}

func writeFile(t *testing.T, name, content string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// everyFault lists the ways in which a request can fail so that it must be sent again.
var everyFault = []hogapitest.Fault{
	hogapitest.Status(500), hogapitest.Status(502), hogapitest.Status(408), hogapitest.HTML(504), hogapitest.PartialCommit(7, 503),
	hogapitest.RateLimit(""), hogapitest.RateLimit("1"), hogapitest.Refuse(), hogapitest.CutSending(), hogapitest.CutBefore(),
	hogapitest.CutAfter(), hogapitest.Altered(func(own []byte) []byte { return own[:len(own)/2] }), hogapitest.CutBody(3),
}

func requireCounts(t *testing.T, ledger *hogapitest.Ledger, r hogapi.Receipt) {
	t.Helper()
	booked := map[hogapitest.EventDay]int{}
	for _, d := range r.Days {
		if d.Acknowledged > 0 {
			booked[hogapitest.EventDay{Event: d.Event, Day: d.Day}] += int(d.Acknowledged)
		}
	}
	require.Equal(t, ledger.Counts(), booked)
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(content)
}
