//go:build unix

package proof_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
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

func newKillBench(t *testing.T, n int) *killBench {
	t.Helper()
	content, good, rejects := testevents.MixedLines(n, "")
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
	b.killSoonAfter(t, time.Duration(random.IntN(6000))*time.Microsecond, func() bool { return b.settledIn(t) >= place })
	return b.settledIn(t), b.server.Ledger().Duplicates() - before
}

func (b *killBench) killSoonAfter(t *testing.T, pause time.Duration, hasBegun func() bool) {
	t.Helper()
	c := startVictim(t, b.task)
	for !hasBegun() {
		if text := c.out.String(); text != "" && !hasBegun() {
			c.kill(t)
			require.Fail(t, "the import ended before it was killed", text)
		}
		time.Sleep(200 * time.Microsecond)
	}
	time.Sleep(pause)
	c.kill(t)
	b.slow.quiet()
}

// killAll kills the import again and again, at random moments all over it. It returns how many kills came between the first and the last
// checkpoint, and how many events a run sent again at most.
func (b *killBench) killAll(t *testing.T, kills int) (between, most int) {
	t.Helper()
	random := randomMoments(t)
	for k := range kills {
		settled, resent := b.killAt(t, random, int(float64(b.N)*(float64(k)+random.Float64())/float64(kills+1)))
		most = max(most, resent)
		if settled > 0 && settled < b.N {
			between++
		}
	}
	return between, most
}

func (b *killBench) end(t *testing.T) hogapi.Receipt {
	t.Helper()
	report := runChild(t, b.task)
	require.Empty(t, report.Error)
	return report.Receipt
}

// requireExact requires that the last run's receipt, the fake and the reject file agree.
func (b *killBench) requireExact(t *testing.T, r hogapi.Receipt) {
	t.Helper()
	testevents.RequireOnly(t, b.server, b.good)
	require.EqualValues(t, b.N, r.Read)
	require.EqualValues(t, len(b.good), r.Acknowledged)
	require.EqualValues(t, b.rejects, r.Rejected)
	require.Zero(t, r.Pending)
	require.Equal(t, digestOf(b.good), r.Digest)
	requireCounts(t, b.server.Ledger(), r)
	testevents.RequireRejects(t, []byte(readFile(t, b.task.rejects())), b.rejects)
}

// K1. The import is killed again and again, at random moments all over it. Every run resumes where the one before
// ended. Only kills of a real process show data that was written but not yet synced.
func TestKilledAtRandom(t *testing.T) {
	t.Parallel()
	kills := testevents.Sized(12, 200, 5000)
	bench := newKillBench(t, testevents.Sized(3000, 20_000, 100_000))
	between, most := bench.killAll(t, kills)
	require.LessOrEqual(t, most, bench.Delivery.MaxInFlight, "resent after a kill")
	bench.requireExact(t, bench.end(t))
	assert.GreaterOrEqual(t, between*10, kills*9, "kills between the first and the last checkpoint")
	t.Logf("%d kills, %d of them between the first and the last checkpoint; %d events sent twice, at most %d after one kill", kills, between, bench.server.Ledger().Duplicates(), most)
}

// However long the import, a kill costs no more than the default window of 2,000 events, which every import with a pace has.
func TestKilledInALongImport(t *testing.T) {
	t.Parallel()
	const window, kills = 2000, 6
	n := testevents.Sized(30_000, 200_000, 1_000_000)
	bench := &killBench{server: hogapitest.New(hogapitest.WithCompactLedger()), good: testevents.IDs(n)}
	bench.open(t, goodLines(n), n)
	bench.Rate = 10_000_000 // a pace that slows nothing down
	bench.Delivery.MaxInFlight = window
	var resent []int
	for k := range kills {
		before := bench.server.Ledger().Duplicates()
		bench.killing.Store(int64(n * (k + 1) / (kills + 1)))
		held := bench.slow.held.Load()
		bench.killSoonAfter(t, 0, func() bool { return bench.slow.held.Load() > held })
		resent = append(resent, bench.server.Ledger().Duplicates()-before) // since the previous kill
	}
	bench.killing.Store(0)
	before := bench.server.Ledger().Duplicates()
	receipt := bench.end(t)
	resent = append(resent[1:], bench.server.Ledger().Duplicates()-before)
	for _, events := range resent {
		require.LessOrEqual(t, events, window)
		require.Positive(t, events, "each kill leaves a request that was served, and nobody heard of it")
	}
	bench.requireExact(t, receipt)
	t.Logf("%d events, %d kills; sent twice after each: %v", n, kills, resent)
}

func goodLines(n int) string {
	var b strings.Builder
	for i, id := range testevents.IDs(n) {
		at := testevents.LongAgo.Add(time.Duration(i) * time.Second).Format(time.RFC3339)
		fmt.Fprintf(&b, "{\"event\":\"a\",\"distinct_id\":\"p%d\",\"timestamp\":%q,\"uuid\":%q}\n", i%17, at, id)
	}
	return b.String()
}

// The import is killed again and again while a server gives mixed answers.
func TestKilledDuringMixedAnswers(t *testing.T) {
	t.Parallel()
	const n = 20_000
	bench := &killBench{server: hogapitest.New()}
	bench.open(t, goodLines(n), n)
	bench.Delivery = hogapi.DeliveryOptions{Tuning: hogapi.Tuning{MaxInFlight: 4000, MaxBatchEvents: 250, Lanes: 16}} // each batch waits a second for its rest
	mixed := &mixedAnswers{visited: map[uuid.UUID]bool{}}
	bench.server.Script(ops.Capture, hogapitest.Always(hogapitest.Results(mixed.of)))
	bench.killAll(t, testevents.Sized(10, 60, 200))
	requireMixed(t, bench.server, bench.end(t), bench.task.rejects(), n)
	for _, b := range bench.server.Violations() {
		require.NotEqual(t, hogapitest.RuleProtocol, b.Rule, strings.TrimSpace(b.String()))
	}
}

// An interrupted import of a file, plain or zipped, leaves a state from which another process continues. Events without a uuid in the file
// keep their uuids.
// Only two processes show state that the first kept in memory alone.
func TestInterruptedAndResumed(t *testing.T) {
	t.Parallel()
	for _, form := range []string{"plain", "zipped", "without uuids"} {
		bench := newKillBench(t, testevents.Sized(1500, 5000))
		switch content := readFile(t, bench.File); form {
		case "zipped":
			bench.File = writeFile(t, "e.jsonl.gz", testevents.Gzip(content))
		case "without uuids":
			bench.File = writeFile(t, "e.jsonl", regexp.MustCompile(`,"uuid":"[^"]*"`).ReplaceAllString(content, ""))
		}
		bench.Delivery.MaxInFlight = 100 // an interrupted import sends what it has read
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
		if form != "without uuids" {
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

// The process is frozen and thawed again and again, for longer than the limit of a try, than the server keeps connections, and than
// failures may last: a failure after the thaw counts as the first one. The import continues with nothing lost, and does not spin.
func TestFrozenAndThawed(t *testing.T) {
	t.Parallel()
	frozen := testevents.Sized(2*time.Second, 5*time.Second)
	bench := newKillBench(t, testevents.Sized(1500, 5000))
	bench.TryTimeout, bench.Delivery.GiveUpAfter = frozen/2, frozen*9/10
	bench.slow.keeps.Store(int64(frozen / 4))
	bench.slow.delay.Store(int64(2 * time.Millisecond))
	c := startChild(t, bench.task)
	for k := range 3 {
		for bench.settledIn(t) < bench.N*(k+1)/5 {
			time.Sleep(time.Millisecond)
		}
		require.NoError(t, c.Process.Signal(syscall.SIGSTOP))
		time.Sleep(frozen)
		require.NoError(t, c.Process.Signal(syscall.SIGCONT))
	}
	report := c.report(t)
	require.Empty(t, report.Error)
	bench.requireExact(t, report.Receipt)
	used := c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	assert.Less(t, used, 5*time.Second, "processor time")
	t.Logf("processor time %v, %d events sent twice", used, bench.server.Ledger().Duplicates())
}
