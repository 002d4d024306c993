//go:build linux && (amd64 || arm64)

package faults

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/faults/importer"
)

// requireStopped requires that the files stopped the run, and nothing else.
func requireStopped(t *testing.T, r importer.Report, errno syscall.Errno) {
	t.Helper()
	require.Equal(t, errno, r.Errno, r.Error)
	require.Contains(t, []hogapi.StopReason{hogapi.StopCheckpoint, hogapi.StopHandler}, r.Reason, r.Error)
	require.Equal(t, r.Receipt.Read, r.Receipt.Acknowledged+r.Receipt.Rejected+r.Receipt.Pending)
}

// K4. The disk of checkpoint and reject file, of 1 MiB, fills up: with rejects, or with files of others. With more room the import
// continues with nothing lost, and nobody needs to touch the old files.
func TestDiskFillsUp(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	for name, others := range map[string]int{"by rejects": 0, "by others": size - 64<<10, "from the start": size + 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, 3000, 2000)
			mountMemory(t, b.Folder, "size=1m")
			ballast := filepath.Join(b.Folder, "ballast")
			err := os.WriteFile(ballast, make([]byte, others), 0o600)
			require.Equal(t, others > size, errors.Is(err, syscall.ENOSPC))
			first := b.run(t)
			requireStopped(t, first, syscall.ENOSPC)
			requireStopped(t, b.run(t), syscall.ENOSPC)
			if others < size {
				assert.Positive(t, first.Receipt.Acknowledged)
			}
			assert.Less(t, first.Receipt.Acknowledged, int64(len(b.good)))

			require.NoError(t, os.Remove(ballast))
			require.NoError(t, unix.Mount("", b.Folder, "", unix.MS_REMOUNT, "size=8m"))
			b.requireExact(t, b.run(t))
		})
	}
}

func mountMemory(t *testing.T, folder, options string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to mount") // the nightly run counts this as a failure
	}
	require.NoError(t, unix.Mount("none", folder, "tmpfs", 0, "mode=0700,"+options))
	t.Cleanup(func() { require.NoError(t, unix.Unmount(folder, 0)) })
}

// A limit on the size of files stops the import like a full disk. It cuts a write short before it fails the next.
func TestFileSizeLimit(t *testing.T) {
	t.Parallel()
	for _, limit := range []uint64{1, 100, 5_000, 20_000} {
		b := newBench(t, 300, 500)
		b.FileSize = limit
		requireStopped(t, b.run(t), syscall.EFBIG)
		b.FileSize = 0
		b.requireExact(t, b.run(t))
	}
}

// Descriptors run out, at every small number of them: the import stops with an error, or succeeds, and never loses an event.
func TestDescriptorsRunOut(t *testing.T) {
	t.Parallel()
	stops := map[hogapi.StopReason]int{}
	for limit := uint64(10); limit < 20; limit++ { // with fewer, the program cannot start
		b := smallImport(t)
		b.Descriptors, b.GiveUpAfter = limit, 300*time.Millisecond
		r := b.run(t)
		stops[r.Reason]++
		if r.Error == "" {
			b.requireExact(t, r)
			continue
		}
		require.Equal(t, syscall.EMFILE, r.Errno, r.Error)
		require.NotEmpty(t, r.Reason, r.Error)
		b.Descriptors = 0
		b.requireExact(t, b.run(t))
	}
	assert.Positive(t, stops[hogapi.StopHandler]+stops[hogapi.StopCheckpoint])
	assert.Positive(t, stops[""], "enough in the end")
	t.Logf("stopped by %v", stops)
}
