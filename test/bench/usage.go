package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"
)

type usage struct {
	at     time.Time
	cpu    time.Duration // user and system
	allocs uint64
	bytes  uint64 // allocated
}

func usageNow() usage {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return usage{at: time.Now(), cpu: processorTime(), allocs: m.Mallocs, bytes: m.TotalAlloc}
}

func processorTime() time.Duration {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// residentMemory returns the process's resident size in bytes, now (VmRSS) or at its peak (VmHWM), 0 if the system does not tell. The
// figures of rusage include the parent process.
func residentMemory(what string) (size int64) {
	status, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := strings.Cut(string(status), what+":")
	_, _ = fmt.Sscan(rest, &size)
	return size << 10
}

// load returns the machine's load over the last minute, "?" if the system does not tell.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "?"
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}
