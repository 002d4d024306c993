// Package peak measures the memory of programs that tests start. It needs Linux.
package peak

import (
	"strconv"
	"time"

	"github.com/hogapi/hogapi/internal/testevents"
)

// Watch reads the most memory that a process has had resident, in bytes, until the caller calls end. The number that the
// system gives after the end of the process includes the memory of its parent: the test, with the race detector.
func Watch(pid int) (end func() int64) {
	done, most := make(chan struct{}), make(chan int64)
	go func() {
		highest := int64(0)
		for {
			select {
			case <-done:
				most <- highest
				return
			case <-time.After(2 * time.Millisecond):
			}
			size, _ := testevents.Resident(strconv.Itoa(pid), "VmHWM") // it may just have ended
			highest = max(highest, size)
		}
	}()
	return func() int64 { close(done); return <-most }
}
