package proof

import (
	"bytes"
	"context"
	"math/rand/v2"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/testevents"
	hogtemporal "github.com/hogapi/hogapi/temporal"
)

// TestKilledAtRandom ends workers and the server, and freezes workers for longer than the heartbeat time-out, while an import runs:
// nothing is lost, nothing is changed, the receipt is exact.
func TestKilledAtRandom(t *testing.T) {
	type form struct{ events, shards, kills, restarts, freezes, rate int }
	small := form{50_000, 8, 2, 1, 1, 3000}
	long := form{150_000, 20, 12, 2, 2, 3000}
	deep := form{1_000_000, 40, 20, 2, 2, 3000}
	for name, withStore := range map[string]bool{"folder": true, "temporal": false} {
		t.Run(name, func(t *testing.T) {
			testKilled(t, testevents.Sized(small, long, deep), withStore)
		})
	}
}

func testKilled(t *testing.T, f struct{ events, shards, kills, restarts, freezes, rate int }, withStore bool) {
	const heartbeat = 2 * time.Second
	s := newSite(t)
	if withStore {
		s.args = []string{"--store", s.store()}
	}
	all := writeEvents(t, filepath.Join(s.dir, "events"), f.events, f.shards)
	for range 3 {
		s.startWorker()
	}
	ctx := t.Context()
	params := hogtemporal.ImportParams{ID: "killed", Shards: all.shards, Rate: f.rate, Heartbeat: heartbeat}
	require.NoError(t, hogtemporal.Start(ctx, s.client, params))
	require.ErrorIs(t, hogtemporal.Start(ctx, s.client, params), hogtemporal.ErrStarted)

	type fault func(sender int)
	var faults []fault
	var frozen []time.Duration
	for range f.kills {
		faults = append(faults, func(sender int) { s.kill(sender) })
	}
	for range f.restarts {
		faults = append(faults, func(int) {
			s.engine.end(syscall.SIGKILL)
			s.startEngine()
		})
	}
	for range f.freezes {
		faults = append(faults, func(sender int) {
			p := s.workers[sender]
			p.signal(syscall.SIGSTOP)
			began := time.Now()
			before := s.service.runs()
			require.Eventually(t, func() bool { return s.service.runs() > before }, time.Minute, 5*time.Millisecond, "another worker takes over")
			<-time.After(time.Until(began.Add(2 * heartbeat)))
			frozen = append(frozen, time.Since(began))
			p.signal(syscall.SIGCONT)
		})
	}
	rand.Shuffle(len(faults), func(i, j int) { faults[i], faults[j] = faults[j], faults[i] })
	for i, do := range faults {
		at := f.events * (i + 1) / (len(faults) + 1)
		require.Eventually(t, func() bool { return s.service.fake.Ledger().Len() >= at }, 10*time.Minute, 10*time.Millisecond)
		sender := 0
		if status, err := hogtemporal.GetStatus(ctx, s.client, "killed"); err == nil && status.Beat != nil {
			sender = s.worker(status.Beat.Worker)
		}
		do(sender)
	}
	out := s.wait("killed")
	for _, p := range s.workers {
		p.look()
	}

	ledger := s.service.fake.Ledger()
	assert.Empty(t, ledger.Missing(all.ids), "lost")
	assert.Equal(t, f.events, ledger.Unique())
	assert.Empty(t, ledger.Changed(), "copies that differ")
	assert.Empty(t, ledger.Dropped())
	for _, b := range s.service.fake.Violations() {
		assert.True(t, b.AfterRestart, b)
	}
	r := out.Receipt
	assert.EqualValues(t, f.events, r.Read)
	assert.EqualValues(t, f.events, r.Acknowledged)
	assert.Zero(t, r.Rejected+r.Unconfirmed+r.Skipped+r.Pending)
	assert.True(t, r.Finished)
	assert.Equal(t, all.digest(), r.Digest)
	days := map[hogapitest.EventDay]int{}
	for _, d := range r.Days {
		days[hogapitest.EventDay{Event: d.Event, Day: d.Day}] += int(d.Acknowledged)
	}
	assert.Equal(t, ledger.Counts(), days)
	require.NotNil(t, out.Arrival)
	assert.Equal(t, history.VerificationComplete, out.Arrival.State)

	const lanes = 8
	begun, read, longest := s.service.late()
	inversions := ledger.Inversions(all.ids)
	assert.Zero(t, begun, "requests that began while another run was sending")
	assert.LessOrEqual(t, read, lanes*len(frozen), "requests under way at a pause")
	if read == 0 {
		assert.Zero(t, inversions, "the order of a person's events, by the last commit")
	}
	var peak int64
	for _, p := range append(s.workers, s.ended...) {
		peak = max(peak, p.peak)
	}
	assert.LessOrEqual(t, peak, int64(96<<20), "memory of a worker")
	history := s.history("killed")
	t.Logf("%d commits, %d copies, %d runs, frozen for %v; late: %d began, %d were under way, by up to %v; %d inversions; a worker's peak %d MiB; %d history events",
		ledger.Len(), ledger.Duplicates(), s.service.runs(), frozen, begun, read, longest, inversions, peak>>20, history)
	s.noKeys()
	s.record("killed")
}

func (s *site) wait(id string) *hogtemporal.Outcome {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), testevents.Sized(3*time.Minute, time.Hour))
	defer cancel()
	out, err := hogtemporal.Wait(ctx, s.client, id)
	if err != nil {
		text, _ := s.hogworker("status", id)
		s.t.Log(text)
	}
	require.NoError(s.t, err)
	return out
}

// history returns how many events Temporal has of the newest run of the workflow.
func (s *site) history(id string) int64 {
	d, err := s.client.DescribeWorkflowExecution(s.t.Context(), hogtemporal.WorkflowID(id), "")
	require.NoError(s.t, err)
	return d.GetWorkflowExecutionInfo().GetHistoryLength()
}

// noKeys looks for keys in all files: Temporal's database, logs, states.
func (s *site) noKeys() {
	s.t.Helper()
	seen := 0
	s.files(func(name string, content []byte) {
		seen += bytes.Count(content, []byte("hogapi-import-"))
		for _, key := range []string{hogapitest.DefaultProjectKey, hogapitest.DefaultPersonalKey} {
			assert.False(s.t, bytes.Contains(content, []byte(key)), "%s holds a key", name)
			assert.False(s.t, bytes.Contains(content, []byte(key[8:])), "%s holds a part of a key", name)
		}
	})
	assert.Positive(s.t, seen, "the database is not looked at")
}
