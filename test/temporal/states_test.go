package proof

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/converter"

	hogtemporal "github.com/hogapi/hogapi/temporal"
)

const (
	fewEvents = 8000
	fewShards = 4
	inFlight  = 2000 // two seconds of the rate: the most that an ended run can leave to the next one
)

func (s *site) begin(all events, id string) {
	s.t.Helper()
	require.NoError(s.t, hogtemporal.Start(s.t.Context(), s.client, hogtemporal.ImportParams{
		ID: id, Shards: all.shards, Rate: 1000, Heartbeat: 2 * time.Second,
	}))
}

// until waits for a state, and requires that both hogworker and Temporal itself show it.
func (s *site) until(id string, is func(hogtemporal.Status) bool, shown ...string) hogtemporal.Status {
	s.t.Helper()
	var last hogtemporal.Status
	if !assert.Eventually(s.t, func() bool {
		status, err := hogtemporal.GetStatus(s.t.Context(), s.client, id)
		last = status
		return err == nil && is(status)
	}, time.Minute, 50*time.Millisecond) {
		s.t.Fatalf("the last status: %v", last)
	}
	text := s.tell("status", id)
	memo, _ := s.described(id)
	for _, words := range shown {
		assert.Contains(s.t, text, words, "hogworker status")
		assert.Contains(s.t, memo, words, "Temporal's describe")
	}
	return last
}

// described returns the memo and status that Temporal has of a workflow, without any worker.
func (s *site) described(id string) (memo string, status enums.WorkflowExecutionStatus) {
	d, err := s.client.DescribeWorkflowExecution(s.t.Context(), hogtemporal.WorkflowID(id), "")
	require.NoError(s.t, err)
	info := d.GetWorkflowExecutionInfo()
	require.NoError(s.t, converter.GetDefaultDataConverter().FromPayload(info.GetMemo().GetFields()["hogapi"], &memo))
	return memo, info.GetStatus()
}

func (s *site) complete(all events, id string) {
	s.t.Helper()
	out := s.wait(id)
	ledger := s.service.fake.Ledger()
	assert.Empty(s.t, ledger.Missing(all.ids))
	assert.Empty(s.t, ledger.Changed())
	assert.EqualValues(s.t, len(all.ids), out.Receipt.Acknowledged)
	assert.Equal(s.t, all.digest(), out.Receipt.Digest)
	s.until(id, func(st hogtemporal.Status) bool { return st.State == hogtemporal.StateComplete }, "complete")
	s.noKeys()
	s.record(id)
}

func sending(st hogtemporal.Status) bool {
	return st.Stage == hogtemporal.StageSend && st.State == hogtemporal.StateRunning && st.Acknowledged > 0
}

func problem(kind string) func(hogtemporal.Status) bool {
	return func(st hogtemporal.Status) bool { return st.Problem != nil && st.Problem.Type == kind }
}

func newStateSite(t *testing.T) (*site, events) {
	s := newSite(t)
	s.args = []string{"--store", s.store()}
	return s, writeEvents(t, filepath.Join(s.dir, "events"), fewEvents, fewShards)
}

func TestPauseAndResume(t *testing.T) {
	t.Parallel()
	s, all := newStateSite(t)
	s.startWorker()
	s.begin(all, "paused")
	s.until("paused", sending)
	s.tell("pause", "paused")
	s.until("paused", func(st hogtemporal.Status) bool { return st.State == hogtemporal.StatePaused && st.Beat == nil }, "paused", "send")
	held := s.service.fake.Ledger().Len()
	s.kill(0) // workers come and go over the night
	<-time.After(3 * time.Second)
	assert.Equal(t, held, s.service.fake.Ledger().Len(), "sent while paused")
	s.tell("rate", "paused", "2000")
	s.tell("resume", "paused")
	st := s.until("paused", sending)
	assert.Equal(t, 2000, st.Rate)
	s.complete(all, "paused")
	assert.LessOrEqual(t, s.service.fake.Ledger().Duplicates(), inFlight, "what a pause repeats")

	s.refused("has ended", "pause", "paused")
	s.refused("knows no import", "status", "unknown")
}

func TestCancelAndStartAgain(t *testing.T) {
	t.Parallel()
	s, all := newStateSite(t)
	s.startWorker()
	s.begin(all, "canceled")
	s.until("canceled", sending)
	s.refused("was not started twice", "start", "--id", "canceled", all.shards[0].Path)
	s.tell("cancel", "canceled")
	s.until("canceled", func(st hogtemporal.Status) bool { return st.State == hogtemporal.StateCanceled }, "canceled", "send")
	_, status := s.described("canceled")
	require.Eventually(t, func() bool {
		_, status = s.described("canceled")
		return status == enums.WORKFLOW_EXECUTION_STATUS_CANCELED
	}, 10*time.Second, 20*time.Millisecond)
	s.begin(all, "canceled")
	s.complete(all, "canceled")
	assert.LessOrEqual(t, s.service.fake.Ledger().Duplicates(), inFlight, "with a store it continues")
	s.refused("was not started twice", "start", "--id", "canceled", all.shards[0].Path)
}

func TestWrongKey(t *testing.T) {
	t.Parallel()
	s, all := newStateSite(t)
	s.env = []string{"POSTHOG_PROJECT_API_KEY=phc_nobodyHasThisKey0000000000000000000000000"}
	s.startWorker()
	s.begin(all, "wrong-key")
	st := s.until("wrong-key", problem("wrong_key"), "stopped", "wrong_key", "POSTHOG_PROJECT_API_KEY")
	assert.Equal(t, hogtemporal.StateStopped, st.State)
	assert.Zero(t, s.service.fake.Ledger().Len())
	s.env = nil
	s.kill(0)
	s.tell("resume", "wrong-key")
	s.complete(all, "wrong-key")
	s.files(func(name string, content []byte) {
		assert.NotContains(t, string(content), "nobodyHasThisKey", name)
	})
}

func TestMissingAndChangedShard(t *testing.T) {
	t.Parallel()
	s, all := newStateSite(t)
	s.startWorker()
	gone, moved := all.shards[2].Path, all.shards[2].Path+".elsewhere"
	require.NoError(t, os.Rename(gone, moved))
	s.begin(all, "missing")
	st := s.until("missing", problem("shard_missing"), "stopped", "check", "shard 3 of 4", "shard_missing")
	assert.Equal(t, hogtemporal.StateStopped, st.State)
	require.NoError(t, os.Rename(moved, gone))
	s.tell("resume", "missing")

	last := all.shards[3].Path
	content, err := os.ReadFile(last)
	require.NoError(t, err)
	s.until("missing", sending)
	require.NoError(t, os.WriteFile(last, []byte(strings.Replace(string(content), "team", "free", 1)), 0o600))
	s.until("missing", problem("shard_changed"), "stopped", "send", "shard 4 of 4", "shard_changed")
	require.NoError(t, os.WriteFile(last, content, 0o600))
	s.tell("resume", "missing")
	s.complete(all, "missing")
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to mount a small disk")
	}
	s, all := newStateSite(t)
	require.NoError(t, os.MkdirAll(s.store(), 0o700))
	require.NoError(t, syscall.Mount("tmpfs", s.store(), "tmpfs", 0, "size=256k"))
	t.Cleanup(func() { _ = syscall.Unmount(s.store(), syscall.MNT_DETACH) })
	ballast := filepath.Join(s.store(), "ballast")
	_ = os.WriteFile(ballast, make([]byte, 1<<20), 0o600) // until it is full
	s.startWorker()
	s.begin(all, "full")
	st := s.until("full", problem("checkpoint_failed"), "send", "shard 1 of 4", "checkpoint_failed", "make room")
	assert.Equal(t, hogtemporal.StateRunning, st.State, "it is tried again by itself")
	require.NoError(t, os.Remove(ballast))
	s.complete(all, "full")
}
