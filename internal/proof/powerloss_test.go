package proof_test

import (
	"math/rand/v2"
	"strconv"
	"testing"
	"testing/synctest"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/durable"
	"github.com/hogapi/hogapi/internal/durable/simdisk"
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
			const lines = 100
			content, good, rejects := testevents.MixedLines(lines, "")
			bench := &powerBench{writeFile(t, "e.jsonl", content), lines, good, rejects}
			cuts, imports := 0, 0
			for ; cuts < least; imports++ {
				seed := uint64(imports)*shards + shard
				synctest.Test(t, func(t *testing.T) { cuts += bench.run(t, seed) })
			}
			t.Logf("%d cuts of the power in %d imports", cuts, imports)
		})
	}
}

// powerBench is an import of a file, with its checkpoint and rejects in two folders of a simulated disk.
type powerBench struct {
	path    string
	lines   int
	good    []uuid.UUID
	rejects int
}

func (b *powerBench) run(t *testing.T, seed uint64) (cuts int) {
	t.Helper()
	const inFlight = 16
	random := rand.New(rand.NewPCG(seed, 3))
	server := hogapitest.New()
	testevents.RefusePoison(server)
	client := server.Client(t)
	disk := new(simdisk.Disk)
	for duplicates := 0; ; {
		disk.CrashAt(1 + random.IntN(40))
		receipt, err := client.Import(t.Context(), hogapi.JSONLinesFile(b.path), &hogapi.ImportOptions{
			ID: "power", MaxRejectShare: -1, Rate: hogapi.Unpaced, Checkpoint: checkpointOn(disk, "d/ckpt"), Rejects: rejectsOn(disk, "elsewhere/rejects"),
			Gate: hogapi.GateOptions{MinAge: -1}, Delivery: hogapi.DeliveryOptions{NoCompression: true, Tuning: hogapi.Tuning{MaxBatchEvents: 4, Lanes: 2, MaxInFlight: inFlight}},
		})
		if err == nil {
			require.EqualValues(t, b.lines, receipt.Read)
			break
		}
		require.ErrorIs(t, err, simdisk.ErrCrashed, "seed %d", seed)
		before := duplicates
		duplicates = server.Ledger().Duplicates()
		require.LessOrEqual(t, duplicates-before, inFlight, "seed %d", seed)
		if random.IntN(4) == 0 {
			disk = disk.Killed()
			continue
		}
		disk = disk.Crashed(random.Uint64())
		cuts++
	}
	testevents.RequireOnly(t, server, b.good)
	file, err := durable.Read(disk.Crashed(random.Uint64()), "elsewhere/rejects")
	require.NoError(t, err)
	testevents.RequireRejects(t, file, b.rejects)

	path := writeFile(t, "rejects", string(file))
	again, err := hogapitest.New().Client(t).Import(t.Context(), hogapi.RejectedRecords(path, nil), &hogapi.ImportOptions{
		ID: "again", MaxRejectShare: -1, Rate: hogapi.Unpaced, Rejects: testevents.IgnoreRejects,
	})
	require.NoError(t, err)
	require.EqualValues(t, b.rejects, again.Rejected+again.Acknowledged, "seed %d", seed)
	return cuts
}
