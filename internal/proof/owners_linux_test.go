package proof_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/coverage"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/testevents"
)

// While an import runs, a second one with its files is refused at once and sends nothing. A kill of the first one releases the files.
func TestTwoOwners(t *testing.T) {
	t.Parallel()
	b := newKillBench(t, 220)
	begun, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	owned := b.task
	owned.URL = serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		once.Do(func() { close(begun) })
		<-release
		b.server.ServeHTTP(w, r)
	}))
	free := sync.OnceFunc(func() { close(release) })
	t.Cleanup(free) // before the server ends, which waits for its requests
	owner := startVictim(t, owned)
	<-begun
	for range 3 {
		r := runChild(t, b.task)
		require.Contains(t, r.Error, "locked")
		require.Zero(t, r.Receipt.Read)
	}
	require.Zero(t, b.server.Ledger().Len())

	owner.kill(t)
	free()
	b.requireExact(t, b.end(t))
}

// The disk of checkpoint and reject file, of 1 MiB, fills up: with rejects, or with files of others. With more room the import continues
// with nothing lost, and nobody needs to touch the old files.
func TestDiskFillsUp(t *testing.T) {
	const size = 1 << 20
	for name, others := range map[string]int{"by rejects": 0, "by others": size - 64<<10, "from the start": size + 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newKillBench(t, 0)
			content, good, rejects := testevents.MixedLines(3000, strings.Repeat("p", 2000))
			b.open(t, content, 3000)
			b.good, b.rejects, b.Delivery.MaxBatchEvents, b.Delivery.MaxInFlight = good, rejects, 30, 60
			b.State = t.TempDir()
			mountMemory(t, b.State, "size=1m")
			ballast := filepath.Join(b.State, "ballast")
			err := os.WriteFile(ballast, make([]byte, others), 0o600)
			require.Equal(t, others > size, errors.Is(err, syscall.ENOSPC))
			for range 2 {
				r := runChild(t, b.task)
				require.Contains(t, r.Error, syscall.ENOSPC.Error())
				require.Equal(t, r.Receipt.Read, r.Receipt.Acknowledged+r.Receipt.Rejected+r.Receipt.Pending)
				assert.Equal(t, others < size, r.Receipt.Acknowledged > 0)
				assert.Less(t, r.Receipt.Acknowledged, int64(len(b.good)))
			}
			require.NoError(t, os.Remove(ballast))
			require.NoError(t, syscall.Mount("", b.State, "", syscall.MS_REMOUNT, "size=8m"))
			b.requireExact(t, b.end(t))
		})
	}
}

// The disk of a range of file downloads, of 1 MiB, is full: the range ends with that, marks nothing as whole, and has every
// event once there is more room.
func TestRangeOnAFullDisk(t *testing.T) {
	t.Parallel()
	const events = 60
	server := hogapitest.New()
	client, folder := server.Client(t), t.TempDir()
	mountMemory(t, folder, "size=1m")
	from := time.Now().UTC().Truncate(time.Hour).AddDate(0, 0, -30)
	capture, err := client.NewCapture(nil)
	require.NoError(t, err)
	for i := range events {
		at := from.Add(time.Duration(1+i) * 30 * time.Minute)
		require.NoError(t, capture.Enqueue(t.Context(), hogapi.Event{UUID: uuid.New(), Name: "e", DistinctID: "x", Timestamp: at, Properties: map[string]any{"p": strings.Repeat("p", 40_000)}}))
	}
	_, err = capture.Close(t.Context())
	require.NoError(t, err)
	o := &coverage.RangeOptions{Folder: folder, Step: 24 * time.Hour, File: hogapi.FileOptions{Format: hogapi.FileFormatJSONLines}, Watch: &hogapi.WatchOptions{Interval: time.Millisecond, Settle: time.Millisecond}}
	for range 2 {
		done, err := coverage.Download(t.Context(), client, from, from.AddDate(0, 0, 2), o)
		require.ErrorIs(t, err, syscall.ENOSPC)
		require.Zero(t, done.Written, "the first day alone has more than the disk takes")
		require.Empty(t, done.Files)
	}
	require.NoError(t, syscall.Mount("", folder, "", syscall.MS_REMOUNT, "size=16m"))
	done, err := coverage.Download(t.Context(), client, from, from.AddDate(0, 0, 2), o)
	require.NoError(t, err)
	require.Equal(t, []int64{events, events}, []int64{done.Expected, done.Written})
}

func mountMemory(t *testing.T, folder, options string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to mount") // the nightly run counts this as a failure
	}
	require.NoError(t, syscall.Mount("none", folder, "tmpfs", 0, "mode=0700,"+options))
	t.Cleanup(func() { // a process that another test starts has our files for a moment, until it executes
		require.Eventually(t, func() bool { return syscall.Unmount(folder, 0) == nil }, 10*time.Second, 10*time.Millisecond, "a file is still open")
	})
}
