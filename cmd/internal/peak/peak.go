// Package peak measures the memory of programs that tests start. It needs Linux.
package peak

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// Watch reads the most memory that a process has had resident, in KiB, until the caller calls end. The number that the
// system gives after the end of the process includes the memory of its parent: the test, with the race detector.
func Watch(pid int) (end func() int) {
	done, most := make(chan struct{}), make(chan int)
	go func() {
		highest := 0
		for {
			select {
			case <-done:
				most <- highest
				return
			case <-time.After(2 * time.Millisecond):
			}
			status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)) // it may just have ended
			_, rest, _ := strings.Cut(string(status), "VmHWM:")
			kib := 0
			_, _ = fmt.Sscan(rest, &kib)
			highest = max(highest, kib)
		}
	}()
	return func() int { close(done); return <-most }
}
