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
	"github.com/hogapi/hogapi/faults/diskcalls"
	"github.com/hogapi/hogapi/faults/importer"
)

// K4. Each system call on the files of an import fails, once or from then on. The import stops within a batch of each lane and tells the
// reason, and it continues with nothing lost after the disk works again.
func TestEveryDiskCallFails(t *testing.T) {
	t.Parallel()
	all := places(t, 2)
	for name, errno := range map[string]syscall.Errno{"no space": syscall.ENOSPC, "input/output error": syscall.EIO} {
		for _, forGood := range []bool{false, true} {
			how := name + " once"
			if forGood {
				how = name + " for good"
			}
			t.Run(how, func(t *testing.T) {
				t.Parallel()
				stops, most := map[hogapi.StopReason]int{}, 0
				for _, p := range all {
					stopped, further := failAt(t, p, errno, forGood)
					stops[stopped]++
					most = max(most, further)
				}
				require.Positive(t, stops[hogapi.StopCheckpoint])
				require.Positive(t, stops[hogapi.StopHandler])
				t.Logf("%d places: stopped by %v, at most %d events taken by the service after the failure", len(all), stops, most)
			})
		}
	}
}

// failAt fails one call of a small import, or that call and all later ones, and then resumes the import. If a run ends before that call,
// failAt fails its last such call.
func failAt(t *testing.T, p place, errno syscall.Errno, forGood bool) (reason hogapi.StopReason, further int) {
	t.Helper()
	b := smallImport(t)
	judge, seen := p.at(errno)
	before := 0
	report := b.judged(t, func(c diskcalls.Call) syscall.Errno {
		if *seen >= p.n && forGood {
			return errno
		}
		verdict := judge(c)
		if verdict != 0 {
			before = b.server.Ledger().Len()
		}
		return verdict
	})
	if report.Error == "" { // the end must be as good as after an undisturbed run
		b.requireExact(t, *report)
		if *seen < p.n {
			return failAt(t, place{p.call, *seen}, errno, forGood)
		}
		return "", 0
	}
	further = b.server.Ledger().Len() - before
	require.LessOrEqual(t, further, b.Lanes*b.MaxBatchEvents, "%v: %s", p, report.Error)
	requireStopped(t, *report, errno)
	b.requireExact(t, b.run(t))
	return report.Reason, further
}

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
