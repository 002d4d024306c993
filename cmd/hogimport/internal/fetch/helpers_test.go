package fetch

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/testevents"
)

// service is a server that answers within a bubble of testing/synctest, over pipes.
type service struct {
	handler http.HandlerFunc

	mu    sync.Mutex
	asked []string // ranges, in order
	times []time.Time
}

type pipes struct {
	accept chan net.Conn
	closed chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.accept:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.closed); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.accept <- there:
		return here, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// begin starts a service, and returns a job that asks it and shows its steps.
func begin(t *testing.T, job func(folder, from, to string) Job, from, to string, handler http.HandlerFunc) (*service, Job, *watcher) {
	s, shown := &service{handler: handler}, &watcher{}
	j := job(t.TempDir(), from, to)
	j.transport, j.Progress = s.serve(t), shown
	return s, j, shown
}

// whole runs a job to its end, without an error.
func whole(t *testing.T, j Job) Summary {
	t.Helper()
	sum, err := j.Run(t.Context())
	require.NoError(t, err)
	return sum
}

// inBubble runs a test with virtual time.
func inBubble(t *testing.T, name string, test func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

// serve starts the service, and returns a transport that leads to it.
func (s *service) serve(t *testing.T) *http.Transport {
	p := &pipes{make(chan net.Conn), make(chan struct{})}
	server := &http.Server{Handler: s, ReadHeaderTimeout: time.Hour}
	go func() { _ = server.Serve(p) }()
	transport := &http.Transport{DialContext: p.dial, ResponseHeaderTimeout: headerAfter}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		_ = server.Close()
	})
	return transport
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	asked := q.Get("from_date") + q.Get("start")
	if last := q.Get("to_date") + q.Get("end"); last != asked {
		asked += " to " + last
	}
	s.mu.Lock()
	s.asked = append(s.asked, asked)
	s.times = append(s.times, time.Now())
	s.mu.Unlock()
	s.handler(w, r)
}

func (s *service) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.asked...)
}

func mixpanelLine(day string) string {
	at := ""
	if t, err := time.Parse(time.DateOnly, day); err == nil {
		at = fmt.Sprintf(`"time":%d,`, t.UnixMilli())
	}
	return fmt.Sprintf(`{"event":"seen","properties":{%s"distinct_id":"u-1","$insert_id":"%s"}}`+"\n", at, day)
}

func packed(text string) []byte {
	return []byte(testevents.Gzip(text))
}

func zipped(texts ...string) []byte {
	var members [][]byte
	for _, text := range texts {
		members = append(members, packed(text))
	}
	return archive(members...)
}

func archive(members ...[]byte) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i, content := range members {
		member, _ := w.Create(fmt.Sprintf("203138/203138_2024-01-01_%d#627.json.gz", i))
		_, _ = member.Write(content)
	}
	_ = w.Close()
	return b.Bytes()
}

func unpacked(t *testing.T, path string) string {
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	r, err := gzip.NewReader(f)
	require.NoError(t, err)
	text, err := io.ReadAll(r)
	require.NoError(t, err)
	return string(text)
}

// files are the names in a folder that a pattern would find.
func files(t *testing.T, folder string) []string {
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	names := []string{}
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), ".") {
			names = append(names, entry.Name())
		}
	}
	_, err = os.Stat(filepath.Join(folder, ownFolder, tempName))
	require.ErrorIs(t, err, os.ErrNotExist, "what is not whole does not remain")
	return names
}

func day(text string) time.Time {
	at, err := time.Parse(time.DateOnly, text)
	if err != nil {
		panic(err)
	}
	return at
}

const (
	testSecret = "s3cr3t-0123456789abcdef"
	testKey    = "k3y-0123456789abcdef"
	testHost   = "http://localhost"
)

func mixpanelJob(folder, from, to string) Job {
	return Job{Vendor: Mixpanel{Host: testHost, Secret: testSecret}, Folder: folder, From: day(from), To: day(to), Progress: &watcher{}}
}

func amplitudeJob(folder, from, to string) Job {
	return Job{Vendor: Amplitude{Host: testHost, APIKey: testKey, SecretKey: testSecret}, Folder: folder, From: day(from), To: day(to), Progress: &watcher{}}
}

// requireProblem requires an error of a kind, for people and without a secret.
func requireProblem(t *testing.T, kind Kind, err error, texts ...string) {
	t.Helper()
	var p *Problem
	require.ErrorAs(t, err, &p)
	require.Equal(t, kind, p.Kind, p.Error())
	require.NotEmpty(t, p.Todo)
	require.NotContains(t, p.Error(), "\n")
	for _, text := range texts {
		require.Contains(t, p.Error(), text)
	}
	for e := err; e != nil; e = errors.Unwrap(e) {
		for _, secret := range []string{testSecret, testKey, "http://", "://data", "://localhost", "from_date", "u-1"} {
			require.NotContains(t, e.Error(), secret)
		}
	}
}

// watcher records the messages of a download. A message about a wait ends with the time when the wait ends.
type watcher struct {
	waits, notices []string
	lasting        time.Duration
	held           int
}

func (w *watcher) Show(s Steps) { w.held = s.Held }

func (w *watcher) Say(text string) {
	_, clock, isWait := strings.Cut(text, ": waiting until ")
	if !isWait {
		w.notices = append(w.notices, text)
		return
	}
	w.waits = append(w.waits, text)
	until, err := time.Parse("15:04:05 UTC.", clock)
	if err != nil {
		panic(err)
	}
	now := time.Now().UTC()
	w.lasting += time.Date(now.Year(), now.Month(), now.Day(), until.Hour(), until.Minute(), until.Second(), 0, time.UTC).Sub(now)
}
