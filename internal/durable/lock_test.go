package durable_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/durable"
	"github.com/hogapi/hogapi/internal/durable/simdisk"
)

func TestLock(t *testing.T) {
	t.Parallel()
	for name, fsys := range map[string]durable.FS{"machine": durable.OS{}, "simulated": new(simdisk.Disk)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "lock")
			first, err := fsys.Lock(path)
			require.NoError(t, err)
			_, err = fsys.Lock(path)
			require.ErrorIs(t, err, durable.ErrLocked)
			other, err := fsys.Lock(path + "2")
			require.NoError(t, err)
			require.NoError(t, first.Close())
			again, err := fsys.Lock(path)
			require.NoError(t, err)
			require.NoError(t, again.Close())
			require.NoError(t, other.Close())
		})
	}
}

func TestLockInAMissingFolder(t *testing.T) {
	t.Parallel()
	_, err := durable.OS{}.Lock(filepath.Join(t.TempDir(), "missing", "lock"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// The test program, started again with this variable, takes the lock and waits to be killed.
const holdLock = "HOGAPI_TEST_HOLD_LOCK"

func TestMain(m *testing.M) {
	if path := os.Getenv(holdLock); path != "" {
		if _, err := (durable.OS{}).Lock(path); err != nil {
			os.Exit(1)
		}
		_, _ = os.Stdout.WriteString("held\n")
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func TestLockEndsWithAKill(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	owner := exec.CommandContext(t.Context(), os.Args[0])
	owner.Env = append(os.Environ(), holdLock+"="+path)
	_, err := owner.StdinPipe()
	require.NoError(t, err)
	out, err := owner.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, owner.Start())
	word, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "held\n", word)

	_, err = durable.OS{}.Lock(path)
	require.ErrorIs(t, err, durable.ErrLocked)
	require.NoError(t, owner.Process.Kill())
	assert.Error(t, owner.Wait())
	lock, err := durable.OS{}.Lock(path)
	require.NoError(t, err)
	require.NoError(t, lock.Close())
}
