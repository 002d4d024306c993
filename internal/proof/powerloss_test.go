package proof_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/durable"
	"github.com/hogapi/hogapi/internal/durable/simdisk"
	"github.com/hogapi/hogapi/internal/statefile"
	"github.com/hogapi/hogapi/internal/testevents"
)

// The power fails at random moments, again and again, and now and then only the process dies. The import continues each time, nothing is
// lost or changed, little is sent again, and in the end the reject file is exact.
func TestImportSurvivesPowerLoss(t *testing.T) {
	t.Parallel()
	const shards = 4
	for shard := range uint64(shards) {
		t.Run(strconv.FormatUint(shard, 10), func(t *testing.T) {
			t.Parallel()
			least := testevents.Sized(1000, 10_000, 100_000) / shards
			if raceDetector {
				least /= 5
			}
			bench := newPowerBench(t, 100)
			cuts, imports := 0, 0
			for ; cuts < least; imports++ {
				seed := uint64(imports)*shards + shard
				synctest.Test(t, func(t *testing.T) { cuts += bench.cut(t, seed) })
			}
			t.Logf("%d cuts of the power in %d imports", cuts, imports)
		})
	}
}

// The process dies at each operation on its checkpoint and reject file. The next one continues: nothing is lost, no reject is written
// twice, and no more is sent again than was in flight.
func TestKilledAtEveryDiskCall(t *testing.T) {
	t.Parallel()
	bench := newPowerBench(t, 60)
	kills := 0
	for n := 1; ; n++ {
		finished := false
		synctest.Test(t, func(t *testing.T) {
			run := bench.newRun(t)
			run.disk.CrashAt(n)
			_, err := run.start(t)
			if finished = err == nil; finished {
				return
			}
			require.ErrorIs(t, err, simdisk.ErrCrashed, "operation %d", n)
			run.disk = run.disk.Killed()
			run.end(t)
			require.LessOrEqual(t, run.server.Ledger().Duplicates(), powerWindow, "operation %d", n)
		})
		if finished {
			break
		}
		kills++
	}
	require.Greater(t, kills, 40)
	t.Logf("%d kills", kills)
}

// Each operation on the files of an import fails, once or from then on. The import stops with that error, its receipt stays true, and
// the next one loses nothing.
func TestEveryDiskCallFails(t *testing.T) {
	t.Parallel()
	for name, errno := range map[string]syscall.Errno{"no space": syscall.ENOSPC, "input/output error": syscall.EIO} {
		for _, forGood := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, for good %t", name, forGood), func(t *testing.T) {
				t.Parallel()
				bench, stops := newPowerBench(t, 60), map[hogapi.StopReason]int{}
				for n := 1; ; n++ {
					met := false
					synctest.Test(t, func(t *testing.T) {
						run := bench.newRun(t)
						run.disk.FailAt(n, errno)
						if forGood {
							run.disk.FailFrom(n, errno)
						}
						receipt, err := run.start(t)
						if met = run.disk.Operations() >= n; !met {
							require.NoError(t, err)
							return
						}
						if err != nil { // a lock that is not removed harms nobody
							require.ErrorIs(t, err, errno, "operation %d", n)
							require.Equal(t, receipt.Read, receipt.Acknowledged+receipt.Rejected+receipt.Pending)
							if stop, ok := errors.AsType[*hogapi.StopError](err); ok {
								stops[stop.Reason]++
							}
						}
						run.disk = run.disk.Killed()
						run.end(t)
					})
					if !met {
						require.Greater(t, n, 40)
						break
					}
				}
				require.Positive(t, stops[hogapi.StopCheckpoint])
				require.Positive(t, stops[hogapi.StopHandler])
			})
		}
	}
}

// powerBench is an import of a file, with its checkpoint and rejects in two folders of a simulated disk.
type powerBench struct {
	path    string
	lines   int
	good    []uuid.UUID
	rejects int
}

func newPowerBench(t *testing.T, lines int) *powerBench {
	t.Helper()
	content, good, rejects := testevents.MixedLines(lines, "")
	return &powerBench{writeFile(t, "e.jsonl", content), lines, good, rejects}
}

// powerRun is a sequence of processes that import the file to one service.
type powerRun struct {
	*powerBench

	server *hogapitest.Server
	client *hogapi.Client
	disk   *simdisk.Disk
}

const powerWindow = 16 // events in flight

func (b *powerBench) newRun(t *testing.T) *powerRun {
	t.Helper()
	server := hogapitest.New()
	testevents.RefusePoison(server)
	return &powerRun{b, server, server.Client(t), new(simdisk.Disk)}
}

// start imports until the end, or until the disk stops it.
func (r *powerRun) start(t *testing.T) (hogapi.Receipt, error) {
	t.Helper()
	return history.Import(t.Context(), r.client, history.JSONLines(r.path), &history.Options{
		ID: "power", MaxRejectShare: -1, Rate: hogapi.RateUnlimited, Checkpoint: statefile.NewCheckpoint(r.disk, "d/ckpt"), Rejects: rejectsOn(r.disk, "elsewhere/rejects"),
		Gate: hogapi.GateOptions{MinAge: -1}, Delivery: hogapi.DeliveryOptions{Compression: hogapi.CompressionNone, Tuning: hogapi.Tuning{MaxBatchEvents: 4, Lanes: 2, MaxInFlight: powerWindow}},
	})
}

// end imports until the end, and requires that nothing is lost and no reject is there twice.
func (r *powerRun) end(t *testing.T) {
	t.Helper()
	receipt, err := r.start(t)
	require.NoError(t, err)
	require.EqualValues(t, r.lines, receipt.Read)
	testevents.RequireOnly(t, r.server, r.good)
	file, err := durable.Read(r.disk, "elsewhere/rejects")
	require.NoError(t, err)
	testevents.RequireRejects(t, file, r.rejects)
}

// cut cuts the power again and again until the import is complete.
func (b *powerBench) cut(t *testing.T, seed uint64) (cuts int) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 3))
	r := b.newRun(t)
	for duplicates := 0; ; {
		r.disk.CrashAt(1 + random.IntN(40))
		receipt, err := r.start(t)
		if err == nil {
			require.EqualValues(t, b.lines, receipt.Read)
			break
		}
		require.ErrorIs(t, err, simdisk.ErrCrashed, "seed %d", seed)
		before := duplicates
		duplicates = r.server.Ledger().Duplicates()
		require.LessOrEqual(t, duplicates-before, powerWindow, "seed %d", seed)
		if random.IntN(4) == 0 {
			r.disk = r.disk.Killed()
			continue
		}
		r.disk = r.disk.Crashed(random.Uint64())
		cuts++
	}
	testevents.RequireOnly(t, r.server, b.good)
	file, err := durable.Read(r.disk.Crashed(random.Uint64()), "elsewhere/rejects")
	require.NoError(t, err)
	testevents.RequireRejects(t, file, b.rejects)

	path := writeFile(t, "rejects", string(file))
	again, err := history.Import(t.Context(), hogapitest.New().Client(t), history.Rejected(path, nil), &history.Options{
		ID: "again", MaxRejectShare: -1, Rate: hogapi.RateUnlimited, Rejects: testevents.IgnoreRejects,
	})
	require.NoError(t, err)
	require.EqualValues(t, b.rejects+tornLines(file), again.Rejected+again.Acknowledged, "seed %d", seed)
	return cuts
}

// tornLines counts the lines that a loss of power has cut, but not the lines with holes.
func tornLines(file []byte) (n int) {
	for line := range bytes.Lines(file) {
		if !json.Valid(line) && bytes.IndexByte(line, 0) < 0 {
			n++
		}
	}
	return n
}
