package proof_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/testevents"
	"github.com/hogapi/hogapi/ops"
)

// mixedAnswers answers 30 % of the events with a result other than ok.
type mixedAnswers struct {
	mu      sync.Mutex
	visited map[uuid.UUID]bool
}

// kindOf returns a number from 0 to 99 that decides how the server treats an event, at each try.
func kindOf(id uuid.UUID) int { return int(id[3]) * 100 / 256 }

const (
	mixedDrop    = 8  // below: dropped
	mixedUnknown = 14 // below: an unknown word
	mixedSilent  = 16 // below: never named
	mixedAbsent  = 23 // below: not named at first
	mixedRetry   = 30 // below: asked for again at first
)

func (m *mixedAnswers) of(_ int, e hogapitest.StoredEvent) hogapitest.Result {
	m.mu.Lock()
	defer m.mu.Unlock()
	again, stored := m.visited[e.UUID], e.UUID[4]%2 == 0
	m.visited[e.UUID] = true
	switch kind := kindOf(e.UUID); {
	case kind < mixedDrop:
		return hogapitest.Result{Result: "drop", Details: "event_restriction_drop"}
	case kind < mixedUnknown:
		return hogapitest.Result{Result: "limited", Stored: stored}
	case kind < mixedSilent:
		return hogapitest.Result{Absent: true, Stored: stored}
	case kind < mixedAbsent && !again:
		return hogapitest.Result{Absent: true, Stored: stored}
	case kind < mixedRetry && !again:
		return hogapitest.Result{Result: "retry", Details: "not_persisted"}
	}
	return hogapitest.Result{}
}

// requireMixed demands that ledger, receipt and reject file agree exactly on n events of a mixed server.
func requireMixed(t *testing.T, server *hogapitest.Server, r hogapi.Receipt, rejectFile string, n int) {
	t.Helper()
	var acknowledged []uuid.UUID
	reasons, mayBeThere := map[uuid.UUID]string{}, map[uuid.UUID]bool{}
	dropped, unconfirmed := 0, 0
	for _, id := range testevents.IDs(n) {
		switch kind := kindOf(id); {
		case kind < mixedDrop:
			dropped++
			reasons[id] = "drop_event_restriction_drop"
		case kind < mixedSilent:
			unconfirmed++
			reasons[id] = "unconfirmed"
			mayBeThere[id] = true
		default:
			acknowledged = append(acknowledged, id)
		}
	}
	testevents.RequireBalanced(t, r)
	require.Equal(t, hogapi.ProtocolV1, r.Protocol)
	require.EqualValues(t, n, r.Read)
	require.EqualValues(t, len(acknowledged), r.Acknowledged)
	require.EqualValues(t, dropped, r.Rejected)
	require.EqualValues(t, unconfirmed, r.Unconfirmed)
	require.EqualValues(t, dropped, r.Rejects["drop_event_restriction_drop"])
	require.Zero(t, r.Pending)
	require.Equal(t, digestOf(acknowledged), r.Digest)

	ledger := server.Ledger()
	require.Empty(t, ledger.Missing(acknowledged), "lost")
	require.Empty(t, ledger.Changed(), "duplicates that are not the same")
	for e := range ledger.Events() {
		require.True(t, mayBeThere[e.UUID] || reasons[e.UUID] == "", "an event that is rejected was stored")
	}

	found := map[uuid.UUID]string{}
	for text := range testevents.RejectLines([]byte(readFile(t, rejectFile))) {
		var line struct {
			UUID   uuid.UUID
			Reject struct{ Reason string } `json:"$reject"`
		}
		require.NoError(t, json.Unmarshal([]byte(text), &line), text)
		found[line.UUID] = line.Reject.Reason
	}
	require.Equal(t, reasons, found, "the reject file")
}

// The server drops 30 % of the events, asks for them again, does not name them, or answers with an unknown word. Ledger, receipt and
// rejects agree exactly, and the import never sends an event again that has a final answer.
func TestMixedAnswersOfCaptureV1(t *testing.T) {
	t.Parallel()
	const n = 20_000
	server, folder := hogapitest.New(), t.TempDir()
	mixed := &mixedAnswers{visited: map[uuid.UUID]bool{}}
	server.Script(ops.Capture, hogapitest.Always(hogapitest.Results(mixed.of)))
	receipt, err := history.Import(t.Context(), server.Client(t), testevents.Source(n), &history.Options{
		ID: "proof", Rate: hogapi.RateUnlimited, MaxRejectShare: -1,
		Checkpoint: history.CheckpointFile(filepath.Join(folder, "ckpt")), Rejects: history.RejectFile(filepath.Join(folder, "rejects")),
	})
	require.NoError(t, err)
	rejects := filepath.Join(folder, "rejects")
	requireMixed(t, server, receipt, rejects, n)
	whole := readFile(t, rejects)
	require.NoError(t, os.WriteFile(rejects, []byte(whole[:100]+"\n"+whole), 0o600)) // as a kill within a line leaves it
	requireMixed(t, server, receipt, rejects, n)
	assert.Empty(t, server.Violations())
	server.ClearScript(ops.Capture)

	// A second import sends the unconfirmed events again, unchanged. The line that a kill cut is not an event.
	again, err := history.Import(t.Context(), server.Client(t), history.Rejected(filepath.Join(folder, "rejects"), nil), &history.Options{
		ID: "proof", Rate: hogapi.RateUnlimited, Rejects: history.RejectFile(filepath.Join(folder, "again")),
	})
	require.NoError(t, err)
	assert.EqualValues(t, 1, again.Rejected)
	assert.Equal(t, receipt.Rejected+receipt.Unconfirmed, again.Acknowledged)
	assert.Equal(t, n, server.Ledger().Unique())
	assert.Empty(t, server.Ledger().Changed())
}
