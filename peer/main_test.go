package peer_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// python is the system's Python, which has Debian's packages. Another one may come first in PATH.
const python = "/usr/bin/python3"

// server is the app, which all tests share.
type server struct {
	API     string `json:"api"`
	Storage string `json:"storage"`

	stdin  io.Closer
	cmd    *exec.Cmd
	errors bytes.Buffer
}

var errMissing = errors.New("needs Debian's python3-django and python3-djangorestframework")

var app = sync.OnceValues(func() (*server, error) {
	if err := exec.Command(python, "-c", "import rest_framework").Run(); err != nil {
		return nil, errMissing
	}
	s := &server{cmd: exec.Command(python, "-B", "-m", "service")}
	s.cmd.Stderr = &s.errors
	stdin, err1 := s.cmd.StdinPipe()
	stdout, err2 := s.cmd.StdoutPipe()
	if err := errors.Join(err1, err2, s.cmd.Start()); err != nil {
		return nil, err
	}
	s.stdin = stdin
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err != nil {
		return nil, fmt.Errorf("the app does not start: %w", errors.Join(err, stdin.Close(), s.cmd.Wait()))
	}
	return s, json.Unmarshal(line, s)
})

// start returns the app in its initial state. When the test ends, the app must have noted nothing strange.
func start(t *testing.T) *server {
	t.Helper()
	readFiles(t, "service/*.py")
	s, err := app()
	if errors.Is(err, errMissing) {
		t.Skip(err)
	}
	require.NoError(t, err)
	control[any](t, s, http.MethodPost, "/__reset", nil)
	t.Cleanup(func() {
		for _, note := range s.strange(t) {
			t.Errorf("strange: %s: %s", note.Where, note.What)
		}
	})
	return s
}

// readFiles reads files, so that Go's test cache depends on them: it does not see the files that a child process reads.
func readFiles(t *testing.T, patterns ...string) {
	t.Helper()
	for _, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			_, err := os.ReadFile(file)
			require.NoError(t, err)
		}
	}
}

// note is a strange request that the app has noted.
type note struct {
	Where string          `json:"where"`
	What  json.RawMessage `json:"what"`
}

// strange returns the notes and removes them from the app.
func (s *server) strange(t *testing.T) []note {
	t.Helper()
	return control[[]note](t, s, http.MethodDelete, "/__strange", nil)
}

type object struct {
	Path   string `json:"path"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

func (s *server) objects(t *testing.T) []object {
	t.Helper()
	return control[[]object](t, s, http.MethodGet, "/__objects", nil)
}

// faults sets how many of the next downloads fail, by the way in which they fail.
func (s *server) faults(t *testing.T, counts map[string]int) {
	t.Helper()
	control[any](t, s, http.MethodPost, "/__faults", counts)
}

func control[T any](t *testing.T, s *server, method, path string, body any) T {
	t.Helper()
	data, err := json.Marshal(body)
	require.NoError(t, err)
	ctx := context.WithoutCancel(t.Context()) // for cleanups
	request, err := http.NewRequestWithContext(ctx, method, s.API+path, bytes.NewReader(data))
	require.NoError(t, err)
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer answer.Body.Close()
	data, err = io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.Less(t, answer.StatusCode, 300, fmt.Sprintf("%s %s: %s", method, path, data))
	var out T
	if len(data) > 0 {
		require.NoError(t, json.Unmarshal(data, &out))
	}
	return out
}

func TestMain(m *testing.M) {
	code := m.Run()
	if s, err := app(); err == nil {
		_ = s.stdin.Close() // ends the app
		if err := s.cmd.Wait(); err != nil || code != 0 {
			fmt.Fprintf(os.Stderr, "the app ended with %v, and wrote: %s\n", err, s.errors.String())
		}
	}
	os.Exit(code)
}
