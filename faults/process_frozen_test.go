//go:build linux && (amd64 || arm64)

package faults

import (
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The import is frozen and thawed, by signals and by the system's freezer, for longer than the limit of a try, than the server keeps
// connections, and than failures may last. A failure after the thaw counts as the first one. The import continues as soon as it is
// thawed, with nothing lost, and does not spin.
func TestFrozenForLongerThanTimeouts(t *testing.T) {
	t.Parallel()
	for name, freezer := range map[string]func(*testing.T, *importChild) (freeze, thaw func() error){"signals": bySignals, "freezer": byFreezer} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			frozen := sized(time.Second, 5*time.Second)
			b := newBench(t, 600, 0)
			b.TryTimeout, b.GiveUpAfter = frozen/2, frozen*9/10
			b.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(frozen / 4)) // also for the next request
				time.Sleep(2 * time.Millisecond)
				b.server.ServeHTTP(w, r)
			})
			url, end := b.serve()
			defer end()
			b.URL = url
			c := newImportChild(t, b.Task)
			require.NoError(t, c.Start())
			freeze, thaw := freezer(t, c)
			defer func() { _ = thaw() }()
			const times = 3
			for k := range times {
				b.awaitStored(t, len(b.good)*(k+1)/(times+2))
				require.NoError(t, freeze())
				time.Sleep(frozen)
				before := b.server.Ledger().Len()
				require.NoError(t, thaw())
				thawed := time.Now()
				b.awaitStored(t, before+1)
				assert.Less(t, time.Since(thawed), 10*time.Second, "no standstill")
			}
			require.NoError(t, c.Wait(), "%s", c.out.String())
			b.requireExact(t, c.report(t))
			used := c.ProcessState.UserTime() + c.ProcessState.SystemTime()
			assert.Less(t, used, 5*time.Second, "processor time")
			t.Logf("processor time %v, %d events sent twice", used, b.server.Ledger().Duplicates())
		})
	}
}

// awaitStored waits until the service has stored n events.
func (b *bench) awaitStored(t *testing.T, n int) {
	t.Helper()
	require.Eventually(t, func() bool { return b.server.Ledger().Len() >= n }, time.Minute, time.Millisecond)
}

func bySignals(_ *testing.T, c *importChild) (freeze, thaw func() error) {
	return func() error { return c.Process.Signal(syscall.SIGSTOP) }, func() error { return c.Process.Signal(syscall.SIGCONT) }
}

func byFreezer(t *testing.T, c *importChild) (freeze, thaw func() error) {
	t.Helper()
	group := newControlGroup(t, "freezer", map[string]string{})
	require.NoError(t, joinControlGroup(group, c.Process.Pid))
	if state := filepath.Join(group, "freezer.state"); exists(state) {
		return writer(state, "FROZEN"), writer(state, "THAWED")
	}
	state := filepath.Join(group, "cgroup.freeze")
	return writer(state, "1"), writer(state, "0")
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func writer(path, text string) func() error {
	return func() error { return os.WriteFile(path, []byte(text), 0) }
}
