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
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
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

// begin returns the app in its initial state, as start does, and a client with a key.
func begin(t *testing.T, key string) (s *server, c client, ctx context.Context) {
	t.Helper()
	s = start(t)
	return s, s.client(t, key), t.Context()
}

// readFiles reads files, so that Go's test cache depends on them: it does not see the files that a child process reads.
func readFiles(t *testing.T, patterns ...string) {
	t.Helper()
	for _, pattern := range patterns {
		files := must(filepath.Glob(pattern))(t)
		require.NotEmpty(t, files)
		for _, file := range files {
			must(os.ReadFile(file))(t)
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
	ctx := context.WithoutCancel(t.Context()) // for cleanups
	request := must(http.NewRequestWithContext(ctx, method, s.API+path, bytes.NewReader(must(json.Marshal(body))(t))))(t)
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer answer.Body.Close()
	data := must(io.ReadAll(answer.Body))(t)
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

// The keys of the app, with their scopes in service/access.py.
const (
	admin  = "phx_peer_admin"
	member = "phx_peer_member"
	reader = "phx_peer_reader"
	writer = "phx_peer_writer"
	none   = "phx_peer_none"
)

// plain is the project without feature flags.
const plain = "3"

// client calls project 1 of the app with a key. It keeps the last answer of the API, to compare.
type client struct {
	*hogapi.Client
	wire *wire
}

func (s *server) client(t *testing.T, key string, options ...hogapi.Option) client {
	t.Helper()
	w := &wire{api: strings.TrimPrefix(s.API, "http://")}
	c := must(hogapi.NewClient(append([]hogapi.Option{
		hogapi.WithBaseURL(s.API),
		hogapi.WithProject("1"),
		hogapi.WithPersonalAPIKey(key),
		hogapi.WithHTTPClient(&http.Client{Transport: w}),
		hogapi.WithRetryPolicy(hogapi.RetryPolicy{BaseDelay: time.Millisecond, MaxDelay: time.Millisecond}),
	}, options...)...))(t)
	return client{c, w}
}

// wire is a transport that keeps the last answer of the API and counts the requests to other hosts.
type wire struct {
	api string

	mu     sync.Mutex
	answer []byte
	header http.Header
	others int
}

func (w *wire) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, err := http.DefaultTransport.RoundTrip(request)
	w.mu.Lock()
	defer w.mu.Unlock()
	if request.URL.Host != w.api {
		w.others++
		return answer, err
	}
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	w.answer, w.header = body, answer.Header
	answer.Body = io.NopCloser(bytes.NewReader(body))
	return answer, nil
}

// read requires that a value has the content of the API's last answer: every key that is not listed, with the same value, and nothing
// else.
func (c client) read(t *testing.T, decoded any, except ...string) {
	t.Helper()
	c.wire.mu.Lock()
	defer c.wire.mu.Unlock()
	again := must(json.Marshal(decoded))(t)
	for _, difference := range differences("", parsed(t, c.wire.answer), parsed(t, again), except) {
		t.Errorf("%T: %s", decoded, difference)
	}
}

func parsed(t *testing.T, data []byte) (value any) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	require.NoError(t, decoder.Decode(&value), "%s", data)
	return value
}

func differences(path string, sent, got any, except []string) (all []string) {
	switch sent := sent.(type) {
	case map[string]any:
		got, ok := got.(map[string]any)
		if !ok {
			return []string{fmt.Sprintf("%s: sent %v, got %v", path, sent, got)}
		}
		for key, value := range sent {
			if _, has := got[key]; has || value != nil && !slices.Contains(except, key) {
				all = append(all, differences(path+"."+key, value, got[key], except)...)
			}
		}
		for key, value := range got {
			if _, has := sent[key]; !has && value != nil && !slices.Contains(except, key) {
				all = append(all, fmt.Sprintf("%s.%s: not sent, got %v", path, key, value))
			}
		}
	case []any:
		got, ok := got.([]any)
		if !ok || len(got) != len(sent) {
			return []string{fmt.Sprintf("%s: sent %v, got %v", path, sent, got)}
		}
		for i, value := range sent {
			all = append(all, differences(fmt.Sprintf("%s[%d]", path, i), value, got[i], except)...)
		}
	default:
		if sent != got && !isSameTime(sent, got) && !isSameNumber(sent, got) {
			return []string{fmt.Sprintf("%s: sent %v, got %v", path, sent, got)}
		}
	}
	return all
}

func isSameNumber(a, b any) bool {
	number1, ok1 := a.(json.Number)
	number2, ok2 := b.(json.Number)
	float1, err1 := number1.Float64()
	float2, err2 := number2.Float64()
	isFloat := strings.Contains(string(number1), ".") // other numbers are the same only digit by digit
	return ok1 && ok2 && isFloat && err1 == nil && err2 == nil && float1 == float2
}

func isSameTime(a, b any) bool {
	text1, ok1 := a.(string)
	text2, ok2 := b.(string)
	time1, err1 := time.Parse(time.RFC3339, text1)
	time2, err2 := time.Parse(time.RFC3339, text2)
	return ok1 && ok2 && err1 == nil && err2 == nil && time1.Equal(time2)
}

func refusal(t *testing.T, err, sentinel error, status int, detail string) {
	t.Helper()
	require.ErrorIs(t, err, sentinel)
	var answer *hogapi.APIError
	require.ErrorAs(t, err, &answer)
	require.Equal(t, status, answer.StatusCode)
	require.Contains(t, answer.Detail, detail)
}

func secret(text string) hogapi.Secret { return hogapi.NewSecret(text) }

// refused requires that a call was refused, as refusal does.
func refused[T any](_ T, err error) func(t *testing.T, sentinel error, status int, detail string) {
	return func(t *testing.T, sentinel error, status int, detail string) {
		t.Helper()
		refusal(t, err, sentinel, status, detail)
	}
}

// must requires that a call has succeeded, and returns its result.
func must[T any](result T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		require.NoError(t, err)
		return result
	}
}
