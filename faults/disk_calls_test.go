//go:build linux && (amd64 || arm64)

package faults

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/faults/diskcalls"
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
