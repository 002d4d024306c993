package main

import (
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/hogapi/hogapi"
)

// On a terminal there is a bar, with all that the lines say elsewhere.
func TestBarOnATerminal(t *testing.T) {
	screen, terminal := openTerminal(t)
	p := newProgress(terminal, 1000)
	require.NotNil(t, p.bar)
	p.show(hogapi.Stats{Total: 1000, Acknowledged: 100})
	p.show(hogapi.Stats{Total: 1000, Acknowledged: 490, Rejected: 10})
	p.end()
	require.NoError(t, terminal.Close())
	shown, _ := io.ReadAll(screen) // it ends with an error, as the terminal is gone
	for _, want := range []string{"10%", "50%", "490 of 1000 acknowledged, 10 rejected", "/s, ", " left", "█"} {
		assert.Contains(t, string(shown), want)
	}
}

// openTerminal makes a terminal and its screen.
func openTerminal(t *testing.T) (screen, terminal *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = screen.Close() })
	fd := int(screen.Fd())
	require.NoError(t, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	require.NoError(t, err)
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	return screen, terminal
}
