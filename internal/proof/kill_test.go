//go:build unix

package proof_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/durable"
	"github.com/hogapi/hogapi/internal/testevents"
	"github.com/hogapi/hogapi/ops"
)

// killBench is an import of a file by child processes, to a fake in this process.
type killBench struct {
	task

	server  *hogapitest.Server
	slow    *slowly
	good    []uuid.UUID
	rejects int

	killing atomic.Int64 // lines that may be settled before the next kill; 0: no kill is due
}

// newKillBench has a file with malformed, rejected and poisonous lines.
func newKillBench(t *testing.T, n int) *killBench {
	t.Helper()
	content, good, rejects := mixedLines(n)
	b := &killBench{server: hogapitest.New(), good: good, rejects: rejects}
	testevents.RefusePoison(b.server)
	b.open(t, content, n)
	b.Delivery = hogapi.DeliveryOptions{Tuning: hogapi.Tuning{MaxInFlight: 2000, MaxBatchEvents: 50, Lanes: 4}}
	return b
}

func (b *killBench) open(t *testing.T, content string, n int) {
	t.Helper()
	b.slow = &slowly{Handler: b.server}
	b.slow.delay.Store(int64(time.Millisecond))
	b.slow.holds = func() bool {
		place := b.killing.Load()
		return place > 0 && int64(b.settledIn(t)) >= place
	}
	b.task = task{Do: "import", URL: serve(t, b.slow), File: writeFile(t, "e.jsonl", content), State: filepath.Join(t.TempDir(), "state"), N: n}
}

// randomMoments returns a source of moments that differ in each run. HOGAPI_SEED repeats a run as far as processes and disks can be
// repeated.
func randomMoments(t *testing.T) *rand.Rand {
	t.Helper()
	seed := time.Now().UnixNano()
	if text := os.Getenv("HOGAPI_SEED"); text != "" {
		var err error
		seed, err = strconv.ParseInt(text, 10, 64)
		require.NoError(t, err)
	}
	t.Logf("HOGAPI_SEED=%d", seed)
	return rand.New(rand.NewPCG(uint64(seed), 0))
}

// killAt runs the import until place lines are settled and for a random few milliseconds more, and kills it there. The import cannot
// finish before this process notices: half way to its end the server no longer answers. killAt returns how many events are settled and
// how many this run sent again.
func (b *killBench) killAt(t *testing.T, random *rand.Rand, place int) (settled, resent int) {
	t.Helper()
	before := b.server.Ledger().Duplicates()
	b.killing.Store(int64(place + 1 + max(0, b.N-place)/2))
	defer b.killing.Store(0)
	c := startVictim(t, b.task)
	for b.settledIn(t) < place {
		time.Sleep(200 * time.Microsecond)
	}
	time.Sleep(time.Duration(random.IntN(6000)) * time.Microsecond)
	c.kill(t)
	b.slow.quiet()
	return b.settledIn(t), b.server.Ledger().Duplicates() - before
}

// requireExact requires that the last run's receipt, the fake and the reject file agree.
func (b *killBench) requireExact(t *testing.T, r hogapi.Receipt) {
	t.Helper()
	ledger := b.server.Ledger()
	require.Empty(t, ledger.Missing(b.good), "lost")
	require.Equal(t, len(b.good), ledger.Unique(), "events that nobody sent")
	require.Empty(t, ledger.Changed(), "duplicates that are not the same")
	require.Zero(t, ledger.Inversions(b.good), "order per person by the last commit")
	for _, request := range ledger.Requests() {
		require.True(t, request.Historical)
	}
	require.EqualValues(t, b.N, r.Read)
	require.EqualValues(t, len(b.good), r.Acknowledged)
	require.EqualValues(t, b.rejects, r.Rejected)
	require.Zero(t, r.Pending)
	require.Equal(t, digestOf(b.good), r.Digest)
	requireCounts(t, ledger, r)
	file, err := os.ReadFile(b.task.rejects())
	require.NoError(t, err)
	requireExactRejects(t, file, b.rejects)
}

// K1. The import is killed again and again, at random moments all over it. Every run resumes where the one before ended.
func TestKilledAtRandom(t *testing.T) {
	t.Parallel()
	kills := sized(12, 200, 5000)
	bench := newKillBench(t, sized(3000, 20_000, 100_000))
	random := randomMoments(t)
	between, most := 0, 0
	for k := range kills {
		settled, resent := bench.killAt(t, random, int(float64(bench.N)*(float64(k)+random.Float64())/float64(kills+1)))
		require.LessOrEqual(t, resent, bench.Delivery.MaxInFlight, "resent after a kill")
		most = max(most, resent)
		if settled > 0 && settled < bench.N {
			between++
		}
	}
	report := runChild(t, bench.task)
	require.Empty(t, report.Error)
	bench.requireExact(t, report.Receipt)
	assert.GreaterOrEqual(t, between*10, kills*9, "kills between the first and the last checkpoint")
	t.Logf("%d kills, %d of them between the first and the last checkpoint; %d events sent twice, at most %d after one kill", kills, between, bench.server.Ledger().Duplicates(), most)
}

// However long the import, a kill costs no more than the default window of 2,000 events, which every import with a pace has.
func TestKilledInALongImport(t *testing.T) {
	t.Parallel()
	const window, kills = 2000, 6
	n := sized(30_000, 200_000, 1_000_000)
	bench := &killBench{server: hogapitest.New(hogapitest.WithCompactLedger()), good: testevents.IDs(n)}
	bench.open(t, goodLines(n), n)
	bench.Rate = 10_000_000 // a pace that slows nothing down
	bench.Delivery.MaxInFlight = window
	var resent []int
	for k := range kills {
		before := bench.server.Ledger().Duplicates()
		bench.killing.Store(int64(n * (k + 1) / (kills + 1)))
		c := startVictim(t, bench.task)
		for held := bench.slow.held.Load(); bench.slow.held.Load() == held; {
			time.Sleep(200 * time.Microsecond)
		}
		c.kill(t)
		bench.slow.quiet()
		resent = append(resent, bench.server.Ledger().Duplicates()-before) // since the previous kill
	}
	bench.killing.Store(0)
	before := bench.server.Ledger().Duplicates()
	report := runChild(t, bench.task)
	require.Empty(t, report.Error)
	resent = append(resent[1:], bench.server.Ledger().Duplicates()-before)
	for _, events := range resent {
		require.LessOrEqual(t, events, window)
		require.Positive(t, events, "each kill leaves a request that was served, and nobody heard of it")
	}
	bench.requireExact(t, report.Receipt)
	t.Logf("%d events, %d kills; sent twice after each: %v", n, kills, resent)
}

// goodLines are lines of the numbered events.
func goodLines(n int) string {
	var b strings.Builder
	for i, id := range testevents.IDs(n) {
		at := testevents.LongAgo.Add(time.Duration(i) * time.Second).Format(time.RFC3339)
		fmt.Fprintf(&b, "{\"event\":\"a\",\"distinct_id\":\"p%d\",\"timestamp\":%q,\"uuid\":%q}\n", i%17, at, id)
	}
	return b.String()
}

// The import is killed while the service also fails: nothing is lost either.
func TestKilledDuringFaults(t *testing.T) {
	t.Parallel()
	kills := sized(3, 15, 50)
	bench := newKillBench(t, sized(400, 2000, 10_000))
	bench.server.Chaos(ops.Capture, 7, 0.2, hogapitest.Status(500), hogapitest.PartialCommit(-1, 503), hogapitest.CutBefore(), hogapitest.CutAfter(), hogapitest.CutBody(4))
	random := randomMoments(t)
	for k := range kills {
		c := startVictim(t, bench.task)
		place := bench.N * k / (kills + 1)
		for bench.settledIn(t) < place {
			time.Sleep(200 * time.Microsecond)
		}
		time.Sleep(time.Duration(random.IntN(40_000)) * time.Microsecond)
		c.kill(t)
		bench.slow.quiet()
	}
	report := runChild(t, bench.task)
	require.Empty(t, report.Error)
	bench.requireExact(t, report.Receipt)
}

// An interrupted import leaves a state from which another process continues. Events without a uuid in the file keep their uuids.
func TestInterruptedAndResumed(t *testing.T) {
	t.Parallel()
	for _, withUUIDs := range []bool{true, false} {
		bench := newKillBench(t, sized(1500, 5000))
		if !withUUIDs {
			bench.File = withoutUUIDs(t, bench.File)
		}
		interrupts := 0
		var report childReport
		for {
			c := startChild(t, bench.task)
			if from := bench.settledIn(t); interrupts < 5 {
				for bench.settledIn(t) == from {
					time.Sleep(200 * time.Microsecond)
				}
				require.NoError(t, c.Process.Signal(os.Interrupt))
			}
			report = c.report(t)
			testevents.RequireBalanced(t, report.Receipt)
			require.NoFileExists(t, bench.checkpoint()+durable.TempEnding)
			if report.Error == "" {
				break
			}
			require.True(t, report.Canceled, report.Error)
			interrupts++
			require.LessOrEqual(t, bench.settledIn(t), int(report.Receipt.Acknowledged+report.Receipt.Rejected))
		}
		require.GreaterOrEqual(t, interrupts, 2)
		if withUUIDs {
			bench.requireExact(t, report.Receipt)
			continue
		}
		ledger := bench.server.Ledger()
		require.Equal(t, len(bench.good), ledger.Unique(), "0 new uuids")
		require.Empty(t, ledger.Changed())
		again := bench.task
		again.State = filepath.Join(t.TempDir(), "from the start")
		report = runChild(t, again)
		require.Empty(t, report.Error)
		require.Equal(t, len(bench.good), bench.server.Ledger().Unique(), "0 new uuids in a run from the start")
		require.Empty(t, bench.server.Ledger().Changed())
	}
}

func withoutUUIDs(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	var b strings.Builder
	for line := range strings.Lines(string(content)) {
		if i := strings.Index(line, `,"uuid":"`); i >= 0 {
			line = line[:i] + line[i+len(`,"uuid":"`)+36+1:]
		}
		b.WriteString(line)
	}
	return writeFile(t, "e.jsonl", b.String())
}

// The process is frozen and thawed again and again: the import continues as if nothing had happened, and does not spin.
func TestFrozenAndThawed(t *testing.T) {
	t.Parallel()
	bench := newKillBench(t, sized(1500, 5000))
	bench.slow.delay.Store(int64(2 * time.Millisecond))
	c := startChild(t, bench.task)
	for k := range 4 {
		for bench.settledIn(t) < bench.N*(k+1)/6 {
			time.Sleep(time.Millisecond)
		}
		require.NoError(t, c.Process.Signal(syscall.SIGSTOP))
		time.Sleep(sized(100*time.Millisecond, 5*time.Second))
		require.NoError(t, c.Process.Signal(syscall.SIGCONT))
	}
	report := c.report(t)
	require.Empty(t, report.Error)
	bench.requireExact(t, report.Receipt)
	used := c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	assert.Less(t, used, 5*time.Second, "processor time")
	t.Logf("processor time %v, %d events sent twice", used, bench.server.Ledger().Duplicates())
}
