package main_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/mattn/go-runewidth"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/cmd/internal/peak"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/testevents"
)

// environment returns the variables with which the program reaches a server and keeps its cache in a folder.
func environment(url, folder string) []string {
	return append(os.Environ(), "HOME="+folder, "HOGEXPORT_CACHE="+filepath.Join(folder, "cache"), "POSTHOG_HOST="+url,
		"POSTHOG_PROJECT_ID="+hogapitest.DefaultProject, "POSTHOG_PERSONAL_API_KEY="+hogapitest.DefaultPersonalKey, "HOGEXPORT_EVERY=20ms")
}

// brokenWarehouse adds an hourly export with gaps, each of an hour.
func brokenWarehouse(server *hogapitest.Server, gaps int) uuid.UUID {
	project, now := server.Project(hogapitest.DefaultProject), time.Now().UTC()
	id := project.AddExport(hogapitest.Export{
		Name: "warehouse", Created: now.Add(-48 * time.Hour), DestinationType: "BigQuery", Integration: 2,
		Config: map[string]any{"dataset_id": "posthog", "table_id": "events"},
	})
	project.RunSchedule(id, func(_, end time.Time) (hogapitest.Outcome, bool) {
		hours := int(now.Sub(end).Hours())
		return hogapitest.Outcome{}, hours%3 != 0 || hours < 6 || hours >= 6+3*gaps
	})
	return id
}

const gapsToRepair = 5

// A repair that is killed at any request, before it arrives or before its answer does, is finished by the same command and
// begins no backfill twice. Many wait at once: after a request that may have arrived, a repair looks for two minutes.
// Only it finds a step that is begun but not yet in the journal.
func TestRepairKilledAtAnyRequest(t *testing.T) {
	program, step := filepath.Join(build(t), "hogexport"), testevents.Sized(11, 1)
	whole := killing{program: program}
	require.False(t, whole.repair(t))
	var all sync.WaitGroup
	var kills atomic.Int64
	free := make(chan struct{}, 16)
	for at := 1; at <= int(whole.requests.Load()); at += step {
		for _, isAnswered := range []bool{false, true} {
			free <- struct{}{}
			all.Go(func() {
				if k := (killing{program: program, at: int64(at), isAnswered: isAnswered}); k.repair(t) {
					kills.Add(1)
				}
				<-free
			})
		}
	}
	all.Wait()
	t.Log(kills.Load(), "kills")
	assert.GreaterOrEqual(t, kills.Load(), int64(100/step))
}

// killing kills a program at one of its requests.
type killing struct {
	program    string
	at         int64 // 0: never
	isAnswered bool  // the request, but the program does not see it

	requests atomic.Int64
	process  *os.Process
	started  chan struct{} // closed when process is set
}

func (k *killing) repair(t *testing.T) (isKilled bool) {
	server, home := hogapitest.New(hogapitest.WithPolls(1)), t.TempDir()
	defer server.Close()
	export := brokenWarehouse(server, gapsToRepair)
	k.started = make(chan struct{})
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if k.requests.Add(1) != k.at {
			server.ServeHTTP(w, r)
			return
		}
		if k.isAnswered {
			server.ServeHTTP(httptest.NewRecorder(), r)
		}
		<-k.started
		assert.NoError(t, k.process.Kill())
	}))
	defer front.Close()
	repair := func() *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), k.program, "repair", "warehouse", "--yes", "--max-rows", "1000000")
		cmd.Env = environment(front.URL, home)
		return cmd
	}
	first := repair()
	if !assert.NoError(t, first.Start()) {
		return false
	}
	k.process = first.Process
	close(k.started)
	_ = first.Wait()
	if status, ok := first.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		isKilled = true
		out, err := repair().CombinedOutput()
		assert.NoError(t, err, "killed at request %d, %t: %s", k.at, k.isAnswered, out)
	}
	assert.Len(t, server.Project(hogapitest.DefaultProject).Backfills(export), gapsToRepair, "killed at request %d, %t", k.at, k.isAnswered)
	return isKilled
}

var escapes = regexp.MustCompile("\x1b\\[[0-9;]*[A-Za-z]|\r")

// The program in a shell: on a narrow terminal, before a reader that goes away, and on a full disk.
func TestProgramInAShell(t *testing.T) {
	program, server, home := build(t), hogapitest.New(hogapitest.WithPolls(1)), t.TempDir()
	defer server.Close()
	brokenWarehouse(server, 3)
	run := func(line string) (code int, stdout, stderr string) {
		var out, errs bytes.Buffer
		cmd := exec.CommandContext(t.Context(), "bash", "-c", line)
		cmd.Env = append(environment(server.URL(), home), "PATH="+program+":"+os.Getenv("PATH"))
		cmd.Dir, cmd.Stdout, cmd.Stderr = home, &out, &errs
		_ = cmd.Run()
		return cmd.ProcessState.ExitCode(), out.String(), errs.String()
	}
	for _, command := range []string{"list --gaps", "gaps warehouse", "repair warehouse --plan plan.json", "--help", "repair --help"} {
		const width = 40
		_, out, _ := run("script -qec 'stty cols 40; hogexport " + command + "' /dev/null")
		lines := strings.Split(strings.TrimSpace(escapes.ReplaceAllString(out, "")), "\n")
		assert.Greater(t, len(lines), 3, command)
		for _, line := range lines {
			isWord := !strings.Contains(strings.TrimSpace(strings.TrimSuffix(line, ` \`)), " ") // also one of a command that continues
			assert.True(t, isWord || runewidth.StringWidth(line) <= width, "%s: %q", command, line)
		}
	}
	for command, code := range map[string]int{"list": 1, "list --json": 1, "gaps warehouse": 6} {
		_, out, errs := run("hogexport " + command + " | head -c 5")
		assert.Len(t, out, 5, command)
		assert.NotContains(t, errs, "pipe", command)
		assert.NotContains(t, errs, "cannot be written", command)

		got, _, errs := run("hogexport " + command + " >/dev/full")
		assert.Equal(t, code, got, command)
		assert.Contains(t, errs, "the result cannot be written to the standard output", command)
	}
	code, _, errs := run("hogexport repair warehouse --plan /dev/full")
	assert.Equal(t, 2, code, errs)
	assert.NotContains(t, errs, "panic")
}

// A project with a hundred hourly exports and a month of runs needs less than 80 MB.
func TestMemoryOfAHundredExports(t *testing.T) {
	program, server, home := filepath.Join(build(t), "hogexport"), hogapitest.New(hogapitest.WithPolls(1)), t.TempDir()
	defer server.Close()
	project := server.Project(hogapitest.DefaultProject)
	for i := range 100 {
		id := project.AddExport(hogapitest.Export{Name: fmt.Sprint("export ", i), Created: time.Now().AddDate(0, 0, -31), DestinationType: "BigQuery"})
		project.RunSchedule(id, nil)
	}
	for _, args := range [][]string{{"list", "--gaps"}, {"watch", "--once"}} {
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Env = append(environment(server.URL(), home), "HOGEXPORT_EVERY=1m")
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		require.NoError(t, cmd.Start())
		end := peak.Watch(cmd.Process.Pid)
		require.NoError(t, cmd.Wait(), "%s", &out)
		most := end()
		assert.Positive(t, most)
		assert.Less(t, most, int64(80_000_000), "bytes of hogexport %s", args)
		t.Log(args, most>>20, "MiB")
	}
}
