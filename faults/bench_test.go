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

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/faults/diskcalls"
	"github.com/hogapi/hogapi/faults/importer"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/testevents"
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

func newBench(t *testing.T, n, padding int) *bench {
	t.Helper()
	content, good, rejects := testevents.MixedLines(n, strings.Repeat("p", padding))
	b := &bench{server: hogapitest.New(), lines: n, good: good, rejects: rejects}
	b.handler = b.server
	testevents.RefusePoison(b.server)
	folder := memoryFolder(t)
	b.Task = importer.Task{
		File: filepath.Join(folder, "e.jsonl"), Folder: filepath.Join(folder, "files"), Rate: hogapi.Unpaced,
		Lanes: 2, MaxBatchEvents: 30, MaxInFlight: 60,
	}
	require.NoError(t, os.Mkdir(b.Folder, 0o700))
	require.NoError(t, os.WriteFile(b.File, []byte(content), 0o600))
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
	testevents.RequireOnly(t, b.server, b.good)
	require.EqualValues(t, b.lines, r.Receipt.Read)
	require.EqualValues(t, len(b.good), r.Receipt.Acknowledged)
	require.EqualValues(t, b.rejects, r.Receipt.Rejected)
	require.Zero(t, r.Receipt.Pending)
	content, err := os.ReadFile(filepath.Join(b.Folder, "state", "rejects.jsonl"))
	require.NoError(t, err)
	require.IsIncreasing(t, testevents.RequireRejects(t, content, b.rejects))
	b.requirePrivate(t)
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
