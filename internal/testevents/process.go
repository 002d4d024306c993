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
// It is an error if the process has ended.
func Resident(process, what string) (size int64, err error) {
	status, err := os.ReadFile("/proc/" + process + "/status") //nolint:gosec // a process of the test
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(status), what+":")
	_, err = fmt.Sscan(rest, &size)
	return size << 10, err
}
