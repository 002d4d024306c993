package hogapi_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

// Late arrival and late merges, as the service has them: still arriving, then complete, and never missing,
// in a project with any time zone.
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
		assert.Equal(t, hogapi.ArrivalInProgress, v.State)
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

// The unconfirmed events of an import are unsure: counting cannot say which of them are there, and Source and Rejects settle it.
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
	receipt := imported(t, client, source, &hogapi.ImportOptions{
		ID: verifiedID, Rate: hogapi.Unpaced, Rejects: hogapi.RejectFile(rejects), MaxRejectShare: -1, Delivery: hogapi.DeliveryOptions{Lanes: 1},
	})
	require.EqualValues(t, []int64{8, 21}, []int64{receipt.Unconfirmed, receipt.Acknowledged})

	v := verified(t, client, receipt, nil)
	assert.EqualValues(t, 21+arrived, v.Seen)
	assert.Equal(t, hogapi.ArrivalCompleteUnsure, v.State, "%v", v)
	settle := hogapi.VerifyOptions{Source: source, Rejects: []string{rejects}}
	v = verified(t, client, receipt, &settle)
	assert.Equal(t, hogapi.ArrivalCompleteUnsure, v.State, "those that are not there may still arrive: %v", v)
	assert.Empty(t, append(v.MissingIDs, v.ForeignIDs...))
	assert.Contains(t, v.Cells[0].Reason, "4 events are not there, and the unconfirmed ones among them may still arrive")

	v = looksOver(t, server, receipt, settle)
	assert.Equal(t, hogapi.ArrivalMissing, v.State)
	notThere := sortedIDs(uuidOf(3), uuidOf(7), uuidOf(11), uuidOf(15))
	assert.Equal(t, notThere, v.MissingIDs, "%v", v)
	missing, err := givenBy(v.Missing(source), hogapi.Position{})
	require.NoError(t, err)
	assert.ElementsMatch(t, notThere, missing)

	v = looksOver(t, server, receipt, hogapi.VerifyOptions{Source: source})
	assert.Equal(t, hogapi.ArrivalCompleteUnsure, v.State, "without Rejects it is not known which are which: %v", v)
	assert.Empty(t, v.MissingIDs)

	lost := server.Project(hogapitest.DefaultProject).LoseEvents(verifiedID, 1)
	settle.EveryUUID = true
	v = looksOver(t, server, receipt, settle)
	assert.Equal(t, sortedIDs(append(lost, notThere...)...), v.MissingIDs)
}

// Without the reject file, the source has more events than the receipt counts: then none is named.
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
	receipt := imported(t, client, source, &hogapi.ImportOptions{ID: verifiedID, Rejects: hogapi.RejectFile(rejects), MaxRejectShare: -1, Delivery: hogapi.DeliveryOptions{Lanes: 1}})
	require.EqualValues(t, 1, receipt.Rejected)
	lost := server.Project(hogapitest.DefaultProject).LoseEvents(verifiedID, 1)
	v := looksOver(t, server, receipt, hogapi.VerifyOptions{Source: source})
	assert.Equal(t, hogapi.ArrivalMissing, v.State)
	assert.EqualValues(t, 1, v.MissingEvents)
	assert.Empty(t, v.MissingIDs)
	assert.Contains(t, v.String(), "a reject file is not in Rejects")
	v = looksOver(t, server, receipt, hogapi.VerifyOptions{Source: source, Rejects: []string{rejects}})
	assert.Equal(t, lost, v.MissingIDs)

	importInto(t, client, v.Missing(source))
	imported(t, client, hogapi.RejectedRecords(rejects, nil), &hogapi.ImportOptions{ID: "hogapi-rejects"})
	v = verified(t, client, receipt, nil)
	assert.Equal(t, hogapi.ArrivalTooMany, v.State, "the reject has kept the ID of its first import")
	v = verified(t, client, receipt, &hogapi.VerifyOptions{Source: source, Rejects: []string{rejects}})
	assert.True(t, v.Complete(), "%v", v)
	assert.Contains(t, v.Cells[0].Reason, "1 rejected events are there too")
	_, err := client.Verify(t.Context(), receipt, &hogapi.VerifyOptions{Source: source, Rejects: []string{rejects + ".no"}, EveryUUID: true})
	require.ErrorIs(t, err, hogapi.ErrInvalid)
}

// From an import to its end and back: previewed, requested once, approved and gone.
func TestDataDeletionFlow(t *testing.T) {
	t.Parallel()
	server := hogapitest.New(hogapitest.WithDataDeletions())
	client, ctx := server.Client(t), t.Context()
	importInto(t, client, spread(20))
	_, err := client.Import(ctx, numbered(5), &hogapi.ImportOptions{ID: "hogapi-kept"})
	require.NoError(t, err)
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
	for d, err := range client.DataDeletions.All(ctx, nil) {
		require.NoError(t, err)
		assert.Equal(t, hogapi.DataDeletionStatusCompleted, d.Status)
	}
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
