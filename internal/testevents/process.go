package testevents

import (
	"fmt"
	"os"
	"strings"
)

// Sized is the figure of a test for the gate, or for the nightly run. The deep run has its own figure if there is one.
func Sized[V any](short, long V, deep ...V) V {
	switch level := os.Getenv("HOGAPI_TEST"); {
	case level == "deep" && len(deep) > 0:
		return deep[0]
	case level == "" || level == "gate":
		return short
	}
	return long
}

// Resident is the resident size of a process in bytes: now (VmRSS) or at its peak (VmHWM). The process is a number, or "self".
func Resident(process, what string) (size int64) {
	status, err := os.ReadFile("/proc/" + process + "/status") //nolint:gosec // a process of the test
	if err != nil {
		panic(err)
	}
	_, rest, _ := strings.Cut(string(status), what+":")
	if _, err := fmt.Sscan(rest, &size); err != nil {
		panic(err)
	}
	return size << 10
}
