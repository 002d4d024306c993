//go:build linux && (amd64 || arm64)

// Package importer is a program that imports a file of JSON lines for the tests of this module: they kill it, starve it and break its
// files.
package importer

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime/metrics"
	"strconv"
	"syscall"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/faults/diskcalls"
	"github.com/hogapi/hogapi/hogapitest"
)

// TaskVariable is the variable of the environment that holds the task.
const TaskVariable = "HOGAPI_FAULTS_TASK"

// Task is the import to run, and its limits.
type Task struct {
	URL    string // of the capture origin
	File   string // to import
	Folder string // of checkpoint and reject file

	Lanes, MaxBatchEvents, MaxInFlight, Rate int

	GiveUpAfter time.Duration

	Submit      bool   // pass the calls on files to the parent
	Cgroup      string // folder of a control group to join first
	Descriptors uint64 // most open files; 0: no limit
	FileSize    uint64 // most bytes of a file; 0: no limit
}

// Report is the result of a task.
type Report struct {
	Receipt hogapi.Receipt
	Error   string            // empty: the import has ended well
	Reason  hogapi.StopReason // of a StopError
	Errno   syscall.Errno     // the cause of the error
	Held    bool              // another import holds the files
	Took    time.Duration
	GCShare float64 // of the processor time
}

// Main reads a task from the environment, carries it out and writes a report to standard output.
func Main() {
	var t Task
	try(json.Unmarshal([]byte(os.Getenv(TaskVariable)), &t))
	prepare(t)
	try(json.NewEncoder(os.Stdout).Encode(run(t)))
}

func try(err error) {
	if err != nil {
		panic(err)
	}
}

// prepare sets the limits. Calls on files are passed to the parent from its end on.
func prepare(t Task) {
	if t.Cgroup != "" {
		try(os.WriteFile(filepath.Join(t.Cgroup, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0))
	}
	for resource, limit := range map[int]uint64{syscall.RLIMIT_NOFILE: t.Descriptors, syscall.RLIMIT_FSIZE: t.FileSize} {
		if limit > 0 {
			try(syscall.Setrlimit(resource, &syscall.Rlimit{Cur: limit, Max: limit}))
		}
	}
	if t.Submit {
		try(diskcalls.Submit())
	}
}

func run(t Task) (r Report) {
	client, err := hogapi.NewClient(hogapi.WithCaptureURL(t.URL), hogapi.WithProjectAPIKey(hogapitest.DefaultProjectKey))
	try(err)
	begin := time.Now()
	r.Receipt, err = client.Import(context.Background(), hogapi.JSONLinesFile(t.File), &hogapi.ImportOptions{
		ID:             "faults",
		MaxRejectShare: -1, // many of the events are bad on purpose
		Checkpoint:     hogapi.FileCheckpoint(filepath.Join(t.Folder, "state", "checkpoint")),
		Rejects:        hogapi.RejectFile(filepath.Join(t.Folder, "state", "rejects.jsonl")),
		Rate:           t.Rate,
		Delivery: hogapi.DeliveryOptions{
			GiveUpAfter: t.GiveUpAfter,
			Tuning:      hogapi.Tuning{Lanes: t.Lanes, MaxBatchEvents: t.MaxBatchEvents, MaxInFlight: t.MaxInFlight, Linger: 5 * time.Millisecond},
		},
	})
	r.Took, r.GCShare = time.Since(begin), gcShare()
	if err == nil {
		return r
	}
	r.Error = err.Error()
	if stop, ok := errors.AsType[*hogapi.StopError](err); ok {
		r.Reason = stop.Reason
	}
	errors.As(err, &r.Errno)
	r.Held = errors.Is(err, hogapi.ErrHeld)
	return r
}

// gcShare returns the collector's share of the used processor time, 0 if it has not run yet.
func gcShare() float64 {
	samples := []metrics.Sample{{Name: "/cpu/classes/gc/total:cpu-seconds"}, {Name: "/cpu/classes/total:cpu-seconds"}, {Name: "/cpu/classes/idle:cpu-seconds"}}
	metrics.Read(samples)
	used := samples[1].Value.Float64() - samples[2].Value.Float64()
	if used <= 0 {
		return 0
	}
	return samples[0].Value.Float64() / used
}
