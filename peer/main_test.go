package peer_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// python is the system's own: Debian's packages belong to it, and not to another one that is found first in PATH.
const python = "/usr/bin/python3"

// server is one run of the app.
type server struct {
	API     string `json:"api"`
	Storage string `json:"storage"`
}

// start runs the app for one test. When the test ends, nothing strange may have been sent.
func start(t *testing.T) *server {
	t.Helper()
	if err := exec.Command(python, "-c", "import rest_framework").Run(); err != nil {
		t.Skipf("needs Debian's python3-django and python3-djangorestframework: %v", err)
	}
	cmd := exec.Command(python, "-B", "-m", "service")
	var errors bytes.Buffer
	cmd.Stderr = &errors
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	s := &server{}
	t.Cleanup(func() {
		if s.API != "" {
			for _, note := range s.strange(t) {
				t.Errorf("strange: %s: %s", note.Where, note.What)
			}
		}
		stdin.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the app ended with %v", err)
		}
		if t.Failed() {
			t.Logf("the app wrote: %s", errors.String())
		}
	})
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(line, s))
	return s
}

// note is something strange that was sent.
type note struct {
	Where string          `json:"where"`
	What  json.RawMessage `json:"what"`
}

// strange takes the notes away.
func (s *server) strange(t *testing.T) []note {
	t.Helper()
	return control[[]note](t, s, http.MethodDelete, "/__strange", nil)
}

// object is one file at the storage.
type object struct {
	Path   string `json:"path"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

func (s *server) objects(t *testing.T) []object {
	t.Helper()
	return control[[]object](t, s, http.MethodGet, "/__objects", nil)
}

// faults says how many of the next downloads fail in which way.
func (s *server) faults(t *testing.T, counts map[string]int) {
	t.Helper()
	control[any](t, s, http.MethodPost, "/__faults", counts)
}

func control[T any](t *testing.T, s *server, method, path string, body any) T {
	t.Helper()
	data, err := json.Marshal(body)
	require.NoError(t, err)
	request, err := http.NewRequestWithContext(t.Context(), method, s.API+path, bytes.NewReader(data))
	if t.Context().Err() != nil { // in a cleanup
		request, err = http.NewRequest(method, s.API+path, nil)
	}
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
	for _, name := range []string{"POSTHOG_HOST", "POSTHOG_API_KEY"} {
		os.Unsetenv(name)
	}
	os.Exit(m.Run())
}
