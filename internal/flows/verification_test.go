package flows_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/testevents"
	"github.com/hogapi/hogapi/ops"
)

// givenBy reads a source, and returns its error.
func givenBy(source history.Source) (ids []uuid.UUID, err error) {
	for ev, err := range source.Events(context.Background(), hogapi.Position{}) {
		if err != nil {
			return ids, err
		}
		ids = append(ids, ev.UUID)
	}
	return ids, nil
}

// Where no missing event is known, Missing is an error and not an empty source.
func TestMissingSaysWhyItIsEmpty(t *testing.T) {
	t.Parallel()
	ids := []uuid.UUID{numberedUUID(1)}
	var none history.Verification
	for want, missing := range map[string]history.Source{
		"no Verification":                           none.Missing(numbered(3)),
		"want the source that was verified":         (history.Verification{State: history.VerificationMissing, MissingEvents: 1, MissingIDs: ids}).Missing(nil),
		"nothing is missing":                        (history.Verification{State: history.VerificationComplete}).Missing(numbered(3)),
		`the import is "still arriving"`:            (history.Verification{State: history.VerificationStillArriving}).Missing(numbered(3)),
		"the 2 missing events are not identified":   (history.Verification{State: history.VerificationMissing, MissingEvents: 2}).Missing(numbered(3)),
		`the import is "complete with unconfirmed"`: (history.Verification{State: history.VerificationCompleteUnconfirmed}).Missing(numbered(3)),
	} {
		got, err := givenBy(missing)
		require.ErrorContains(t, err, want)
		assert.Empty(t, got)
		server := hogapitest.New()
		_, err = history.Import(t.Context(), server.Client(t), missing, &history.Options{ID: verifiedID})
		require.ErrorContains(t, err, want)
		assert.Empty(t, server.Calls(ops.Capture))
	}
}

// The checkpoint of the first import, or of other missing events, is refused, and does not continue at its end.
func TestMissingRefusesAnotherCheckpoint(t *testing.T) {
	t.Parallel()
	server := hogapitest.New()
	client, path := server.Client(t), filepath.Join(t.TempDir(), "import.ckpt")
	again := func(source history.Source) error {
		return failed(history.Import(t.Context(), client, source, &history.Options{ID: verifiedID, Rate: hogapi.RateUnlimited, Checkpoint: history.CheckpointFile(path)}))
	}
	require.NoError(t, again(numbered(5)))
	first := history.Verification{ID: verifiedID, State: history.VerificationMissing, MissingEvents: 1, MissingIDs: []uuid.UUID{numberedUUID(2)}}
	require.ErrorIs(t, again(first.Missing(numbered(5))), hogapi.ErrInvalid)
	require.NoError(t, os.Remove(path))
	require.NoError(t, again(first.Missing(numbered(5))))
	require.NoError(t, again(first.Missing(numbered(5))), "the same is continued")
	_, err := givenBy(first.Missing(numbered(1)))
	require.ErrorContains(t, err, "1 of the 1 missing events were not found")
	other := first
	other.MissingIDs = []uuid.UUID{numberedUUID(1)}
	require.ErrorIs(t, again(other.Missing(numbered(5))), hogapi.ErrInvalid)
}

// Verify refuses a file that it cannot open before it asks anything.
func TestVerifyChecksFilesFirst(t *testing.T) {
	t.Parallel()
	server, client := fake(t)
	receipt := importInto(t, client, numbered(5))
	calls, dir := len(server.Calls()), t.TempDir()
	for want, o := range map[string]history.VerifyOptions{
		"VerifyOptions.Rejects":  {Rejects: []string{filepath.Join(dir, "no.jsonl")}},
		"VerifyOptions.Rejects ": {Rejects: []string{dir}},
		"VerifyOptions.Source":   {Source: history.JSONLines(filepath.Join(dir, "no.jsonl"))},
		"VerifyOptions.Source: ": {Source: history.Func("none", nil)},
	} {
		v, err := history.Verify(t.Context(), client, receipt, &o)
		require.ErrorIs(t, err, hogapi.ErrInvalid)
		require.ErrorContains(t, err, want)
		assert.NotContains(t, err.Error(), filepath.Dir(dir))
		assert.Zero(t, v)
	}
	receipt.Days = []event.DayCount{{Day: "1998-01-01", Event: "e", Digest: "x"}}
	_, err := history.Verify(t.Context(), client, receipt, nil)
	assert.Equal(t, "receipt.Days", requireInputError(t, err).Field)
	receipt.ID = "2024"
	_, err = history.Verify(t.Context(), client, receipt, nil)
	assert.Equal(t, "receipt.ID", requireInputError(t, err).Field)
	assert.Len(t, server.Calls(), calls)
}

// An error of the disk names the file of Dir and its remedy.
func TestVerifyNamesItsFiles(t *testing.T) {
	t.Parallel()
	_, client := fake(t)
	receipt := importInto(t, client, numbered(5))
	for _, name := range []string{"", "verify.lock", "verify.json", "verify.compared.jsonl", "verify.uuids"} {
		dir := filepath.Join(t.TempDir(), "kept")
		if name == "" {
			require.NoError(t, os.WriteFile(dir, nil, 0o600))
		} else {
			require.NoError(t, os.MkdirAll(filepath.Join(dir, name, "in the way"), 0o700))
		}
		_, err := history.Verify(t.Context(), client, receipt, &history.VerifyOptions{Dir: dir, Source: numbered(5), EveryUUID: true})
		require.ErrorContains(t, err, "verify: VerifyOptions.Dir: "+name)
		require.ErrorContains(t, err, "and verify again with the same Dir")
		assert.NotContains(t, err.Error(), filepath.Dir(dir))
	}
}

// An import that did not reach the end of its source is not complete, though all that it sent is there.
func TestAnUnfinishedImportIsNotComplete(t *testing.T) {
	t.Parallel()
	server, checkpoint := hogapitest.New(), &memoryCheckpoint{}
	client := server.Client(t)
	options := &history.Options{ID: "hogapi-half", Checkpoint: checkpoint}
	receipt, err := history.Import(t.Context(), client, broken(numbered(100), 50), options)
	require.ErrorIs(t, err, errPulledOut)
	assert.Equal(t, hogapi.StopSource, stopOf(t, err).Reason)
	assert.EqualValues(t, []int64{50, 0}, []int64{receipt.Acknowledged, receipt.Pending}, "what came before the error is settled")
	assert.False(t, receipt.Finished)
	v := verified(t, client, receipt, nil)
	assert.False(t, v.Complete(), "%s", v)
	assert.Equal(t, history.VerificationUnfinished, v.State)
	assert.Contains(t, v.String(), "not finished")
	assert.NotContains(t, v.String(), "complete")

	receipt = imported(t, client, numbered(100), options)
	assert.True(t, receipt.Finished)
	v = verified(t, client, receipt, nil)
	assert.True(t, v.Complete(), "%s", v)
}

// A file without uuids has others under another name. Where only the events of its first name are there, the receipt of the second is not complete, though the counts are right.
func TestVerifyTellsEventsOfEqualCountsApart(t *testing.T) {
	t.Parallel()
	first := writeFile(t, "a.jsonl", strings.Repeat(`{"event":"e","distinct_id":"d","timestamp":"2024-03-01T10:00:00Z"}`+"\n", 500))
	second := first + ".renamed"
	server := hogapitest.New()
	importInto(t, server.Client(t), history.JSONLines(first))
	require.NoError(t, os.Rename(first, second))
	source := history.JSONLines(second)
	receipt := receiptOf(t, source)

	v := verified(t, server.Client(t, later(30*time.Hour)), receipt, nil)
	assert.False(t, v.Complete(), "%v", v)
	assert.Equal(t, history.VerificationUnknown, v.State)
	v = looksOver(t, server, receipt, history.VerifyOptions{Source: source})
	assert.False(t, v.Complete(), "%v", v)
	assert.Equal(t, history.VerificationMissing, v.State)
	assert.Len(t, v.MissingIDs, 500)
	assert.EqualValues(t, 500, v.ForeignEvents)
}

// Late arrival and late merges are still arriving, then complete, and never missing, in any time zone.
func TestVerifyLag(t *testing.T) {
	t.Parallel()
	const n = 60
	server := hogapitest.New(hogapitest.WithTimezone(time.FixedZone("Asia/Tokyo", 9*60*60)))
	client := server.Client(t)
	server.HoldEvents()
	server.Script(ops.Capture, hogapitest.CutAfter())
	receipt := importInto(t, client, spread(n))
	for seen := range 4 {
		v := verified(t, client, receipt, nil)
		assert.Equal(t, history.VerificationStillArriving, v.State)
		assert.EqualValues(t, 10*seen, v.Copies)
		assert.Zero(t, v.MissingEvents)
		server.ReleaseEvents(10)
	}
	server.ReleaseEvents(-1)
	v := verified(t, client, receipt, nil)
	assert.True(t, v.Complete(), "%v", v)
	assert.Greater(t, v.Copies, int64(n), "before they are merged")
	server.MergeEvents()
	v = verified(t, client, receipt, nil)
	assert.True(t, v.Complete(), "%v", v)
	assert.EqualValues(t, n, v.Copies)
}

// The unconfirmed events of an import are unconfirmed: counting cannot say which of them are there, and Source and Rejects settle it.
func TestVerifyUnconfirmed(t *testing.T) {
	t.Parallel()
	const n, arrived = 30, 4 // of 8 unconfirmed ones
	server, client := fake(t)
	rejects := filepath.Join(t.TempDir(), "rejects.jsonl")
	server.Script(ops.Capture, hogapitest.Results(func(i int, _ hogapitest.StoredEvent) hogapitest.Result {
		if i%2 == 0 && i < 16 {
			return hogapitest.Result{Result: "word of a newer service", Stored: i%4 == 0}
		}
		return hogapitest.Result{}
	}))
	source := altered(spread(n), func(ev *hogapi.Event) {
		ev.Name, ev.Timestamp = "one name", time.Date(1999, 1, 1, 0, int(ev.Position.Offset), 0, 0, time.UTC)
		if ev.Position.Offset == 20 {
			ev.DistinctID = "" // the gate refuses it
		}
	})
	receipt := imported(t, client, source, &history.Options{
		ID: verifiedID, Rate: hogapi.RateUnlimited, Rejects: history.RejectFile(rejects), MaxRejectShare: -1, Delivery: hogapi.DeliveryOptions{Tuning: hogapi.Tuning{Lanes: 1}},
	})
	require.EqualValues(t, []int64{8, 21}, []int64{receipt.Unconfirmed, receipt.Acknowledged})

	v := verified(t, client, receipt, nil)
	assert.EqualValues(t, 21+arrived, v.Seen)
	assert.Equal(t, history.VerificationCompleteUnconfirmed, v.State, "%v", v)
	settle := history.VerifyOptions{Source: source, Rejects: []string{rejects}}
	v = verified(t, client, receipt, &settle)
	assert.Equal(t, history.VerificationCompleteUnconfirmed, v.State, "those that are not there may still arrive: %v", v)
	assert.Empty(t, append(v.MissingIDs, v.ForeignIDs...))
	assert.Contains(t, v.Cells[0].Reason, "4 events are not there, and the unconfirmed ones among them may still arrive")

	v = looksOver(t, server, receipt, settle)
	assert.Equal(t, history.VerificationMissing, v.State)
	notThere := sortedIDs(uuidOf(3), uuidOf(7), uuidOf(11), uuidOf(15))
	assert.Equal(t, notThere, v.MissingIDs, "%v", v)
	missing, err := givenBy(v.Missing(source))
	require.NoError(t, err)
	assert.ElementsMatch(t, notThere, missing)

	v = looksOver(t, server, receipt, history.VerifyOptions{Source: source})
	assert.Equal(t, history.VerificationCompleteUnconfirmed, v.State, "without Rejects it is not known which are which: %v", v)
	assert.Empty(t, v.MissingIDs)

	lost := server.Project(hogapitest.DefaultProject).LoseEvents(verifiedID, 1)
	settle.EveryUUID = true
	v = looksOver(t, server, receipt, settle)
	assert.Equal(t, sortedIDs(append(lost, notThere...)...), v.MissingIDs)
}

// Without the reject file, the source has more events than the receipt counts: then Verify names no event.
func TestVerifyWithoutRejects(t *testing.T) {
	t.Parallel()
	server, client := fake(t)
	rejects := filepath.Join(t.TempDir(), "rejects.jsonl")
	server.Script(ops.Capture, hogapitest.Results(func(i int, _ hogapitest.StoredEvent) hogapitest.Result {
		if i == 3 {
			return hogapitest.Result{Result: "drop", Details: "quota"}
		}
		return hogapitest.Result{}
	}))
	source := altered(spread(10), func(ev *hogapi.Event) {
		ev.Name, ev.Timestamp = "one name", time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC)
	})
	receipt := imported(t, client, source, &history.Options{ID: verifiedID, Rejects: history.RejectFile(rejects), MaxRejectShare: -1, Delivery: hogapi.DeliveryOptions{Tuning: hogapi.Tuning{Lanes: 1}}})
	require.EqualValues(t, 1, receipt.Rejected)
	lost := server.Project(hogapitest.DefaultProject).LoseEvents(verifiedID, 1)
	v := looksOver(t, server, receipt, history.VerifyOptions{Source: source})
	assert.Equal(t, history.VerificationMissing, v.State)
	assert.EqualValues(t, 1, v.MissingEvents)
	assert.Empty(t, v.MissingIDs)
	assert.Contains(t, v.String(), "a reject file is not in Rejects")
	v = looksOver(t, server, receipt, history.VerifyOptions{Source: source, Rejects: []string{rejects}})
	assert.Equal(t, lost, v.MissingIDs)

	importInto(t, client, v.Missing(source))
	imported(t, client, history.Rejected(rejects, nil), &history.Options{ID: "hogapi-rejects"})
	v = verified(t, client, receipt, nil)
	assert.Equal(t, history.VerificationTooMany, v.State, "the reject has kept the ID of its first import")
	v = verified(t, client, receipt, &history.VerifyOptions{Source: source, Rejects: []string{rejects}})
	assert.True(t, v.Complete(), "%v", v)
	assert.Contains(t, v.Cells[0].Reason, "1 rejected events are there too")
	_, err := history.Verify(t.Context(), client, receipt, &history.VerifyOptions{Source: source, Rejects: []string{rejects + ".no"}, EveryUUID: true})
	require.ErrorIs(t, err, hogapi.ErrInvalid)
}

// From an import to its end and back: previewed, requested once, approved and gone.
func TestDataDeletionFlow(t *testing.T) {
	t.Parallel()
	server := hogapitest.New(hogapitest.WithDataDeletions())
	client, ctx := server.Client(t), t.Context()
	importInto(t, client, spread(20))
	imported(t, client, numbered(5), &history.Options{ID: "hogapi-kept"})
	request := hogapi.DataDeletionRequest{ImportID: verifiedID}
	count, err := client.DataDeletions.Preview(ctx, request)
	require.NoError(t, err)
	assert.EqualValues(t, 20, count)

	server.Script(ops.DataDeletionsCreate, hogapitest.CutAfter())
	first, err := client.DataDeletions.Create(ctx, request)
	require.NoError(t, err)
	again, err := client.DataDeletions.Create(ctx, request)
	require.NoError(t, err)
	assert.Equal(t, first.ID, again.ID, "one deletion, however often it is asked for")
	project := server.Project(hogapitest.DefaultProject)
	assert.Len(t, project.DataDeletions(), 1)

	project.SetDataDeletion(first.ID, "approved")
	got, err := client.DataDeletions.Get(ctx, first.ID)
	require.NoError(t, err)
	assert.Equal(t, hogapi.DataDeletionStatusApproved, got.Status)
	assert.EqualValues(t, 20, *got.Count)
	project.SetDataDeletion(first.ID, "completed")
	all := testevents.Walked(t, client.DataDeletions.All(ctx, nil))
	require.Len(t, all, 1)
	assert.Equal(t, hogapi.DataDeletionStatusCompleted, all[0].Status)
	count, err = client.DataDeletions.Preview(ctx, request)
	require.NoError(t, err)
	assert.Zero(t, count)
	count, err = client.DataDeletions.Preview(ctx, hogapi.DataDeletionRequest{ImportID: "hogapi-kept"})
	require.NoError(t, err)
	assert.EqualValues(t, 5, count, "other imports stay")

	closed := hogapitest.New().Client(t)
	_, err = closed.DataDeletions.Create(ctx, request)
	require.ErrorIs(t, err, hogapi.ErrForbidden)
	require.ErrorContains(t, err, "PostHog's support deletes events on request")
}

func TestVerificationInWords(t *testing.T) {
	t.Parallel()
	v := history.Verification{
		ID: "i", State: history.VerificationMissing, Unfinished: true, Looks: 3, Acknowledged: 10, Unconfirmed: 1, Seen: 7, Copies: 8,
		MissingEvents: 3, MissingIDs: []uuid.UUID{numberedUUID(1)},
		Cells: []history.VerificationCell{
			{Day: "1999-03-01", Event: "a\nb", Acknowledged: 10, Seen: 7, State: history.VerificationMissing, Reason: "why\nso"},
			{State: history.VerificationComplete, Doubled: 2},
		},
		Uncountable: []string{"$x", ""}, Notes: []string{"one\nnote"},
		Warnings: []hogapi.IngestionWarning{{Type: "dropped", Count: 4, LastSeen: longAgo}},
	}
	assert.Equal(t, `import "i": missing; but the import is not finished: import the rest, and verify its last receipt
acknowledged 10, unconfirmed 1, seen 7 (8 copies, not merged yet), after look 3
missing: 3
  `+numberedUUID(1).String()+`
stored once: 2, which share the uuid of another event of the source
  day        event                          acknowledged         seen  state
  1999-03-01 "a\nb"                                   10            7  missing: why so
names that counting can miss: $x (none)
ingestion warning dropped: 4, last seen `+longAgo.UTC().Format(time.RFC3339)+`
note: one note`, v.String())

	// Of very many cells and uuids some are shown, and the number of the others.
	v = history.Verification{State: history.VerificationMissing, Cells: make([]history.VerificationCell, 52), MissingEvents: 9, MissingIDs: make([]uuid.UUID, 9)}
	lines := strings.Split(v.String(), "\n")
	require.Len(t, lines, 2+1+5+1+50+1)
	assert.Equal(t, "  and 2 more", lines[len(lines)-1])
	v.Cells = v.Cells[:50]
	assert.NotContains(t, v.String(), "more")

	v = history.Verification{ID: "i", State: history.VerificationUnfinished, Unfinished: true}
	assert.True(t, strings.HasPrefix(v.String(), `import "i": not finished; import the rest, and verify its last receipt`+"\n"))
	v = history.Verification{ID: "i", State: history.VerificationComplete, Looks: 1, Acknowledged: 10, Seen: 10, Copies: 10}
	assert.Equal(t, "import \"i\": complete\nacknowledged 10, seen 10, after look 1", v.String())
}
