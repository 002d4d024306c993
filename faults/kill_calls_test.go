//go:build linux && (amd64 || arm64)

package faults

import (
	"maps"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/faults/diskcalls"
)

// smallImport makes about ten checkpoints.
func smallImport(t *testing.T) *bench {
	t.Helper()
	return newBench(t, 150, 0)
}

// place is the n-th system call of a name, from 1.
type place struct {
	call string
	n    int
}

// places are all the calls of a small import on its files; in the gate a few of each name, from all over the run.
func places(t *testing.T, short int) (places []place) {
	t.Helper()
	b := smallImport(t)
	calls := map[string]int{}
	report := b.judged(t, func(c diskcalls.Call) syscall.Errno {
		calls[c.Name]++
		return 0
	})
	b.requireExact(t, *report)
	require.GreaterOrEqual(t, calls["renameat"], 8, "checkpoints")
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		step := sized(max(calls[name]/short, 1), 1)
		for n := 1; n <= calls[name]; n += step {
			places = append(places, place{name, n})
		}
	}
	t.Logf("%d places among %v", len(places), calls)
	return places
}

// at returns a judge that lets everything pass but the call of a place, and whether that was met.
func (p place) at(verdict syscall.Errno) (judge func(diskcalls.Call) syscall.Errno, met *bool) {
	calls := 0
	met = new(bool)
	return func(c diskcalls.Call) syscall.Errno {
		if c.Name != p.call {
			return 0
		}
		if calls++; calls == p.n {
			*met = true
			return verdict
		}
		return 0
	}, met
}

// K2. The import is killed at each system call on its files, and goes on with nothing lost, no record twice and nothing for
// anybody to do.
func TestKilledAtEveryDiskCall(t *testing.T) {
	t.Parallel()
	kills, most := 0, 0
	all := places(t, 3)
	for _, p := range all {
		b := smallImport(t)
		judge, met := p.at(diskcalls.Kill)
		report := b.judged(t, judge)
		require.Equal(t, *met, report == nil)
		if report != nil { // some calls depend on chance: the run had fewer of them
			b.requireExact(t, *report)
			continue
		}
		kills++
		b.requireExact(t, b.run(t))
		resent := b.server.Ledger().Duplicates()
		require.LessOrEqual(t, resent, b.MaxInFlight, "resent after a kill at %v", p)
		most = max(most, resent)
	}
	require.GreaterOrEqual(t, kills*10, len(all)*9)
	t.Logf("%d kills, at most %d events sent twice", kills, most)
}
