package proof

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/testevents"
	"github.com/hogapi/hogapi/test/temporal/internal/engine"
)

// site is a Temporal server, workers and a service. Each is a process or has sockets of its own.
type site struct {
	t       *testing.T
	dir     string
	port    int
	engine  *process
	client  client.Client
	service *service
	workers []*process
	ended   []*process
	env     []string // further ones of workers
	args    []string // further ones of workers
}

// process is a process that a test can kill, stop and continue.
type process struct {
	name string
	cmd  *exec.Cmd
	log  *os.File
	done chan struct{}
	peak int64 // resident bytes at the last look
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{t: t, dir: t.TempDir(), service: newService(t)}
	var err error
	s.port, err = engine.FreePort(t.Context())
	require.NoError(t, err)
	s.startEngine()
	s.client, err = client.NewLazyClient(client.Options{HostPort: s.address(), Logger: log.NewStructuredLogger(discard)})
	require.NoError(t, err)
	t.Cleanup(func() {
		s.client.Close()
		for _, p := range append(s.workers, s.engine) {
			p.end(syscall.SIGKILL)
		}
		if t.Failed() {
			s.showLogs()
		}
	})
	return s
}

func (s *site) address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }
func (s *site) store() string   { return filepath.Join(s.dir, "store") }

func (s *site) start(name, program string, env []string, args ...string) *process {
	s.t.Helper()
	file, err := os.OpenFile(filepath.Join(s.dir, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(s.t, err)
	p := &process{name: name, cmd: exec.Command(program, args...), log: file, done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.Env = file, file, append(os.Environ(), env...)
	require.NoError(s.t, p.cmd.Start())
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait()
	}()
	return p
}

func (p *process) signal(sig syscall.Signal) { _ = p.cmd.Process.Signal(sig) }

func (p *process) end(sig syscall.Signal) {
	p.look()
	p.signal(sig)
	<-p.done
	p.log.Close()
}

func (p *process) look() {
	peak, _ := testevents.Resident(strconv.Itoa(p.cmd.Process.Pid), "VmHWM") // 0 after its end
	p.peak = max(p.peak, peak)
}

// cpu returns the CPU time that the process has used.
func (p *process) cpu() time.Duration {
	if p.cmd.ProcessState != nil {
		return p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
	}
	// On Linux, schedstat has the CPU time of each thread, in nanoseconds.
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", p.cmd.Process.Pid))
	var sum time.Duration
	for _, file := range threads {
		text, err := os.ReadFile(file)
		if fields := strings.Fields(string(text)); err == nil && len(fields) > 0 {
			n, _ := strconv.ParseInt(fields[0], 10, 64)
			sum += time.Duration(n)
		}
	}
	return sum
}

// startEngine starts the server. It tries again if another process has taken one of its ports meanwhile.
func (s *site) startEngine() {
	s.t.Helper()
	for range 10 {
		s.engine = s.start("engine", engineProgram, nil, "engine", strconv.Itoa(s.port), filepath.Join(s.dir, "temporal.sqlite"))
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline) && !s.engine.hasEnded(); {
			if s.answers() {
				return
			}
		}
	}
	s.t.Fatal("the server does not start")
}

func (p *process) hasEnded() bool {
	select {
	case <-p.done:
		return true
	case <-time.After(50 * time.Millisecond):
		return false
	}
}

func (s *site) answers() bool {
	c, err := client.DialContext(s.t.Context(), client.Options{HostPort: s.address(), Logger: log.NewStructuredLogger(discard)})
	if err != nil {
		return false
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Second)
	defer cancel()
	_, err = c.CheckHealth(ctx, nil)
	return err == nil
}

func (s *site) startWorker() *process {
	name := fmt.Sprintf("worker-%d", len(s.workers)+len(s.ended)+1)
	env := append([]string{
		"POSTHOG_HOST=" + s.service.url, "POSTHOG_PROJECT_ID=" + hogapitest.DefaultProject, "TEMPORAL_ADDRESS=" + s.address(),
		"POSTHOG_PROJECT_API_KEY=" + hogapitest.DefaultProjectKey, "POSTHOG_PERSONAL_API_KEY=" + hogapitest.DefaultPersonalKey,
	}, s.env...)
	p := s.start(name, workerProgram, env, append([]string{"worker", "--identity", name}, s.args...)...)
	s.workers = append(s.workers, p)
	return p
}

func (s *site) kill(i int) {
	p := s.workers[i]
	s.workers = append(s.workers[:i], s.workers[i+1:]...)
	p.end(syscall.SIGKILL)
	s.ended = append(s.ended, p)
	s.startWorker()
}

// worker returns the index of the worker with this identity, or 0.
func (s *site) worker(identity string) int {
	for i, p := range s.workers {
		if p.name == identity {
			return i
		}
	}
	return 0
}

func (s *site) hogworker(args ...string) (string, error) {
	cmd := exec.CommandContext(s.t.Context(), workerProgram, append(args, "--address", s.address())...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (s *site) tell(args ...string) string {
	s.t.Helper()
	text, err := s.hogworker(args...)
	require.NoError(s.t, err, text)
	return text
}

func (s *site) refused(why string, args ...string) {
	s.t.Helper()
	text, err := s.hogworker(args...)
	require.Error(s.t, err)
	require.Contains(s.t, text, why)
}

// files calls each for every file of the site: the database with its journals, logs, states.
func (s *site) files(each func(name string, content []byte)) {
	require.NoError(s.t, filepath.WalkDir(s.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err == nil {
			each(path, content)
		}
		return err
	}))
}

func (s *site) showLogs() {
	s.files(func(name string, content []byte) {
		if strings.HasSuffix(name, ".log") {
			lines := bytes.Split(content, []byte("\n"))
			s.t.Logf("%s:\n%s", filepath.Base(name), bytes.Join(lines[max(0, len(lines)-15):], []byte("\n")))
		}
	})
}
