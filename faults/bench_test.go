//go:build linux && (amd64 || arm64)

package faults

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/faults/diskcalls"
	"github.com/hogapi/hogapi/faults/importer"
	"github.com/hogapi/hogapi/hogapitest"
)

// program builds the importer once. As users build it, it has no race detector, which takes ten times the memory.
var program = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "importer")
	if err != nil {
		return "", err
	}
	leftBehind = append(leftBehind, folder)
	path := filepath.Join(folder, "importer")
	if out, err := exec.Command("go", "build", "-o", path, "./cmd/importer").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
})

// bench is an import of a file by child processes, to a fake in this process.
type bench struct {
	importer.Task

	server  *hogapitest.Server
	handler http.Handler // in front of the server
	lines   int
	good    []uuid.UUID
	rejects int
}

// newBench has n padded lines: most are good, every seventh is malformed JSON, the gate rejects every eleventh, and the service rejects
// every thirteenth.
func newBench(t *testing.T, n, padding int) *bench {
	t.Helper()
	b := &bench{server: hogapitest.New(), lines: n}
	b.handler = b.server
	b.server.RejectEvents(func(raw json.RawMessage) int {
		if bytes.Contains(raw, []byte(`"event":"poison"`)) {
			return http.StatusBadRequest
		}
		return 0
	})
	folder := memoryFolder(t)
	b.Task = importer.Task{
		File: filepath.Join(folder, "e.jsonl"), Folder: filepath.Join(folder, "files"), Rate: hogapi.Unpaced,
		Lanes: 2, MaxBatchEvents: 30, MaxInFlight: 60,
	}
	require.NoError(t, os.Mkdir(b.Folder, 0o700))
	require.NoError(t, os.WriteFile(b.File, b.content(strings.Repeat("p", padding)), 0o600))
	return b
}

// memoryFolder returns a folder on a file system in memory, if there is one: the tests kill the process, not the machine, so nothing has
// to wait for a disk.
func memoryFolder(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("/dev/shm", "faults") //nolint:usetesting // t.TempDir is on a disk
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(folder)) })
	return folder
}

func (b *bench) content(padding string) []byte {
	var text bytes.Buffer
	begin := time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range b.lines {
		id := uuid.NewSHA1(uuid.NameSpaceOID, fmt.Append(nil, i))
		name := "page viewed"
		switch {
		case i%7 == 6:
			fmt.Fprintf(&text, "{\"event\":\"%s\n", padding)
			b.rejects++
			continue
		case i%11 == 10:
			name = ""
			b.rejects++
		case i%13 == 12:
			name = "poison"
			b.rejects++
		default:
			b.good = append(b.good, id)
		}
		fmt.Fprintf(&text, `{"event":%q,"distinct_id":"p%d","timestamp":%q,"uuid":%q,"properties":{"n":%d,"padding":%q}}`+"\n",
			name, i%17, begin.Add(time.Duration(i)*time.Second).Format(time.RFC3339), id, i, padding)
	}
	return text.Bytes()
}

// importChild is the importer, ready to start.
type importChild struct {
	*exec.Cmd

	out bytes.Buffer
}

func newImportChild(t *testing.T, task importer.Task, environment ...string) *importChild {
	t.Helper()
	path, err := program()
	require.NoError(t, err)
	text, err := json.Marshal(task)
	require.NoError(t, err)
	c := &importChild{Cmd: exec.Command(path)}
	c.Env = append(append(os.Environ(), importer.TaskVariable+"="+string(text)), environment...)
	c.Stdout, c.Stderr = &c.out, &c.out
	t.Cleanup(func() {
		if c.Process != nil && c.ProcessState == nil { // the test has failed
			_ = c.Process.Kill()
			_ = c.Wait()
		}
	})
	return c
}

func (c *importChild) report(t *testing.T) (r importer.Report) {
	t.Helper()
	require.NoError(t, json.Unmarshal(c.out.Bytes(), &r), "%s", c.out.String())
	return r
}

// serve opens the server until end is called, which waits for the requests in flight.
func (b *bench) serve() (url string, end func()) {
	s := httptest.NewServer(b.handler)
	return s.URL, s.Close
}

// run runs the importer and waits for its report.
func (b *bench) run(t *testing.T) importer.Report {
	t.Helper()
	task := b.Task
	url, end := b.serve()
	defer end()
	task.URL = url
	c := newImportChild(t, task)
	require.NoError(t, c.Run(), "%s", c.out.String())
	return c.report(t)
}

// judged runs the importer and puts its calls on files before a judge. The report is nil if the importer was killed.
func (b *bench) judged(t *testing.T, judge func(diskcalls.Call) syscall.Errno) *importer.Report {
	t.Helper()
	task := b.Task
	url, end := b.serve()
	defer end()
	task.URL, task.Submit = url, true
	c := newImportChild(t, task)
	err := diskcalls.Run(c.Cmd, task.Folder, judge)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		return nil
	}
	require.NoError(t, err, "%s", c.out.String())
	r := c.report(t)
	return &r
}

// requireExact requires that receipt, ledger and reject file of the last run agree with the input.
func (b *bench) requireExact(t *testing.T, r importer.Report) {
	t.Helper()
	require.Empty(t, r.Error)
	ledger := b.server.Ledger()
	require.Empty(t, ledger.Missing(b.good), "lost")
	require.Equal(t, len(b.good), ledger.Unique(), "events that nobody sent")
	require.Empty(t, ledger.Changed(), "duplicates that are not the same")
	require.Zero(t, ledger.Inversions(b.good), "order per person by the last commit")
	require.EqualValues(t, b.lines, r.Receipt.Read)
	require.EqualValues(t, len(b.good), r.Receipt.Acknowledged)
	require.EqualValues(t, b.rejects, r.Receipt.Rejected)
	require.Zero(t, r.Receipt.Pending)
	b.requireRejects(t)
	b.requirePrivate(t)
}

// requireRejects requires that the file has each reject, in the order of the source. After a crash or a full disk the last ones may be
// there twice, equal except for the service's words, and a line may be cut off.
func (b *bench) requireRejects(t *testing.T) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(b.Folder, "state", "rejects.jsonl"))
	require.NoError(t, err)
	newest := 0.0
	known := map[float64]map[string]any{}
	for line := range bytes.Lines(content) {
		var r map[string]any
		if json.Unmarshal(line[bytes.LastIndexByte(line, 0)+1:], &r) != nil {
			continue // a cut line: its reject must come again
		}
		note, ok := r["$reject"].(map[string]any)
		require.True(t, ok, "%s", line)
		place, ok := note["position"].(map[string]any)
		require.True(t, ok, "%s", line)
		offset, ok := place["offset"].(float64)
		require.True(t, ok, "%s", line)
		delete(note, "detail")
		if before, ok := known[offset]; ok {
			require.Equal(t, before, r, "twice, and not the same")
			continue
		}
		require.Greater(t, offset, newest, "out of order")
		known[offset], newest = r, offset
	}
	require.Len(t, known, b.rejects)
}

// requirePrivate requires that nobody else can read the files, and that no temporary file is left.
func (b *bench) requirePrivate(t *testing.T) {
	t.Helper()
	var names []string
	require.NoError(t, filepath.WalkDir(b.Folder, func(path string, d fs.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := d.Info()
		require.NoError(t, err)
		want := fs.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		} else {
			names = append(names, d.Name())
		}
		assert.Equal(t, want, info.Mode().Perm(), path)
		return nil
	}))
	require.Equal(t, []string{"checkpoint", "checkpoint.lock", "rejects.jsonl", "rejects.jsonl.lock"}, names)
}
