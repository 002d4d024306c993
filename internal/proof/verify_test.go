//go:build linux

package proof_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/testevents"
	"github.com/hogapi/hogapi/ops"
)

// Verify reports the fate of an import, in little memory, under every fault of the service and every kill of the process.

func init() { childTasks["verify"], childTasks["send missing"] = verifyFile, sendMissing }

type importedFile struct {
	Receipt hogapi.Receipt
	Found   history.Verification `json:",omitzero"` // by an earlier child
}

func readImported(w task) (of importedFile) {
	raw, err := os.ReadFile(filepath.Join(w.State, "imported.json"))
	if err == nil {
		err = json.Unmarshal(raw, &of)
	}
	if err != nil {
		panic(err)
	}
	return of
}

// verifyFile verifies the import of a file, at a later time.
func verifyFile(w task) childReport {
	client := childClient(w.URL, hogapi.WithBaseURL(w.URL), hogapi.WithProject(hogapitest.DefaultProject), hogapi.WithPersonalAPIKey(hogapitest.DefaultPersonalKey),
		hogapi.WithClock(func() time.Time { return time.Now().Add(w.For) }))
	v, err := history.Verify(context.Background(), client, readImported(w).Receipt, &history.VerifyOptions{
		Source: history.JSONLines(w.File), Dir: filepath.Join(w.State, "verify"),
	})
	report := reported(hogapi.Receipt{}, err)
	report.Found, report.Values = v, map[string]float64{"peak": resident("VmHWM")}
	return report
}

func sendMissing(w task) childReport {
	source := readImported(w).Found.Missing(history.JSONLines(w.File))
	return reported(history.Import(context.Background(), childClient(w.URL), source, &history.Options{
		ID: "proof", Rate: hogapi.RateUnlimited, Checkpoint: history.CheckpointFile(filepath.Join(w.State, "missing.ckpt")),
	}))
}

// verifyBench is an import that child processes verify, at a fake in this process.
type verifyBench struct {
	task

	server *hogapitest.Server
	peak   float64
}

func (b *verifyBench) keep(t *testing.T, of importedFile) {
	t.Helper()
	raw, err := json.Marshal(of)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(b.State, "imported.json"), raw, 0o600))
}

// verify runs a child that verifies as if the given time had passed.
func (b *verifyBench) verify(t *testing.T, after time.Duration) history.Verification {
	t.Helper()
	work := b.task
	work.Do, work.For = "verify", after
	r := runChild(t, work)
	require.Empty(t, r.Error)
	b.peak = max(b.peak, r.Values["peak"])
	return r.Found
}

// manyLines returns lines of n events without uuids, of three names, a minute apart.
func manyLines(n int) string {
	var b strings.Builder
	for i := range n {
		at := testevents.LongAgo.Add(time.Duration(i) * time.Minute).Format(time.RFC3339)
		fmt.Fprintf(&b, "{\"event\":\"name %d\",\"distinct_id\":\"p%d\",\"timestamp\":%q}\n", i%3, i%1009, at)
	}
	return b.String()
}

func sortedUUIDs(ids []uuid.UUID) []uuid.UUID {
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	return ids
}

// Some of many events arrive late, are merged late, are lost or are moved, and some are foreign. Verify names exactly the lost, moved and
// foreign ones, in little memory, through refusals and kills. The lost events are then sent again, and nothing is missing. Only many
// events show a cell that is wrong by one.
func TestVerifyFindsExactlyWhatIsMissing(t *testing.T) {
	t.Parallel()
	n := testevents.Sized(20_000, 200_000, 1_000_000)
	if raceDetector {
		n = 5000
	}
	b := &verifyBench{server: hogapitest.New(hogapitest.WithCompactLedger())}
	state := t.TempDir()
	b.task = task{Do: "import", URL: serve(t, b.server), File: writeFile(t, "e.jsonl", manyLines(n)), State: state}
	b.server.HoldEvents()
	b.server.Script(ops.Capture, hogapitest.CutAfter(), hogapitest.CutAfter()) // sent twice
	imported := runChild(t, b.task)
	require.Empty(t, imported.Error)
	require.EqualValues(t, n, imported.Receipt.Acknowledged)
	b.keep(t, importedFile{Receipt: imported.Receipt})

	for _, share := range []int{0, n / 2} { // lag
		b.server.ReleaseEvents(share)
		v := b.verify(t, time.Minute)
		assert.Equal(t, history.VerificationStillArriving, v.State)
		assert.Zero(t, v.MissingEvents)
		assert.EqualValues(t, share, v.Copies)
	}
	b.server.ReleaseEvents(-1)
	v := b.verify(t, 2*time.Minute)
	assert.True(t, v.Complete(), "%v", v)
	assert.Greater(t, v.Copies, v.Seen, "not merged yet")
	b.server.MergeEvents()

	project := b.server.Project(hogapitest.DefaultProject)
	lost, moved := project.LoseEvents("proof", 17), project.MoveEvents("proof", 5, 24*time.Hour)
	var foreign []uuid.UUID
	for i := range 3 {
		foreign = append(foreign, uuid.New())
		project.AddEvent(hogapitest.StoredEvent{
			UUID: foreign[i], Event: "name 1", DistinctID: "p1", Time: testevents.LongAgo.Add(time.Duration(20*i+1) * time.Hour), Properties: json.RawMessage(`{"$import_job_id":"proof"}`),
		})
	}
	assert.NotEqual(t, history.VerificationMissing, b.verify(t, time.Hour).State, "a day has not passed")
	b.verify(t, 25*time.Hour)
	b.server.Script(ops.Query, hogapitest.Slow(time.Millisecond), hogapitest.RateLimit("1"), hogapitest.RateLimit("1"), hogapitest.Status(504))
	b.verify(t, 25*time.Hour+30*time.Minute)

	work := b.task
	work.Do, work.For = "verify", 26*time.Hour+time.Minute
	for kills, random := testevents.Sized(4, 10, 20), randomMoments(t); kills > 0; kills-- {
		c := startVictim(t, work)
		time.Sleep(time.Duration(random.IntN(testevents.Sized(400, 4000))) * time.Millisecond)
		c.kill(t)
	}
	v = b.verify(t, 26*time.Hour+time.Minute)
	assert.Equal(t, history.VerificationMissing, v.State)
	assert.Equal(t, sortedUUIDs(lost), v.MissingIDs)
	assert.EqualValues(t, 17, v.MissingEvents)
	assert.Equal(t, sortedUUIDs(moved), v.MovedIDs)
	assert.EqualValues(t, 5, v.MovedEvents)
	assert.Equal(t, sortedUUIDs(foreign), v.ForeignIDs)
	assert.EqualValues(t, 3, v.ForeignEvents)

	b.keep(t, importedFile{imported.Receipt, v})
	work.Do = "send missing"
	again := runChild(t, work)
	require.Empty(t, again.Error)
	assert.EqualValues(t, 17, again.Receipt.Acknowledged)
	v = b.verify(t, 27*time.Hour)
	assert.Zero(t, v.MissingEvents)
	assert.Empty(t, v.MissingIDs)
	assert.Equal(t, sortedUUIDs(moved), v.MovedIDs)
	assertResident(t, maxResident, b.peak)
	t.Logf("%d events in %d cells: at most %.1f MiB resident", n, len(v.Cells), b.peak/(1<<20))
}
