package proof_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/testevents"
)

// A checkpoint stays readable after every kind of reject: times outside of any calendar, names that are not valid UTF-8.
func TestResumeAfterStrangeRejects(t *testing.T) {
	strange := []func(*hogapi.Event){
		func(ev *hogapi.Event) {
			ev.Timestamp = time.Date(9999, 12, 31, 23, 59, 59, 0, time.FixedZone("", -3600))
		},
		func(ev *hogapi.Event) { ev.Timestamp = time.Date(12024, 1, 1, 0, 0, 0, 0, time.UTC) },
		func(ev *hogapi.Event) { ev.Timestamp = time.Date(-44, 3, 15, 0, 0, 0, 0, time.UTC) },
		func(ev *hogapi.Event) { ev.Timestamp = time.Time{} },
		func(ev *hogapi.Event) { ev.Name = "\xff\xfe" },
		func(ev *hogapi.Event) { ev.Name = "" },
		func(ev *hogapi.Event) { ev.DistinctID = "\xff" },
		func(ev *hogapi.Event) { ev.Properties = map[string]any{"n": func() {}} },
		func(ev *hogapi.Event) { *ev = hogapi.BadEvent(ev.Position, []byte("\xff{"), errors.New("no JSON")) },
	}
	synctest.Test(t, func(t *testing.T) {
		server := hogapitest.New()
		client := server.Client(t)
		const n = 200
		source := testevents.Altered(testevents.Source(n), func(ev *hogapi.Event) {
			if i := int(ev.Position.Offset); i%10 == 5 {
				strange[i/10%len(strange)](ev)
			}
		})
		checkpoint := &testevents.Checkpoint{}
		options := hogapi.ImportOptions{
			ID: "strange", Checkpoint: checkpoint, Rejects: testevents.IgnoreRejects, MaxRejectShare: -1, Rate: hogapi.Unpaced,
			Delivery: hogapi.DeliveryOptions{Tuning: hogapi.Tuning{MaxBatchEvents: 10, MaxInFlight: 20}},
		}
		for stop := range int64(n) {
			ctx, cancel := context.WithCancel(t.Context())
			_, err := client.Import(ctx, testevents.Altered(source, func(ev *hogapi.Event) {
				if ev.Position.Offset == stop {
					cancel()
				}
			}), &options)
			cancel()
			if err != nil {
				require.ErrorIs(t, err, context.Canceled)
			}
		}
		receipt, err := client.Import(t.Context(), source, &options)
		require.NoError(t, err)
		testevents.RequireBalanced(t, receipt)
		assert.EqualValues(t, n/10, receipt.Rejected)
		assert.EqualValues(t, n-n/10, receipt.Acknowledged)
		assert.Equal(t, n-n/10, server.Ledger().Unique())
	})
}

// A name that a checkpoint cannot hold is refused before anything is sent: it would be read back changed, and no run could resume.
func TestANameThatIsNoText(t *testing.T) {
	server := hogapitest.New()
	source := hogapi.SourceFunc("caf\xe9", testevents.Source(3).Events)
	_, err := server.Client(t).Import(t.Context(), source, &hogapi.ImportOptions{ID: "binary", Checkpoint: &testevents.Checkpoint{}})
	require.ErrorContains(t, err, "want a name of UTF-8")
	require.Empty(t, server.Ledger().Requests())
}

// A time in a zone that JSON cannot write, such as a local mean time with seconds, is a valid time.
func TestTimesInStrangeZones(t *testing.T) {
	for _, offset := range []time.Duration{25 * time.Hour, 19*time.Minute + 32*time.Second} {
		synctest.Test(t, func(t *testing.T) {
			zone := time.FixedZone("strange", int(offset.Seconds()))
			source := testevents.Altered(testevents.Source(3), func(ev *hogapi.Event) { ev.Timestamp = ev.Timestamp.In(zone) })
			checkpoint := &testevents.Checkpoint{}
			receipt, err := hogapitest.New().Client(t).Import(t.Context(), source, &hogapi.ImportOptions{ID: "zones", Checkpoint: checkpoint})
			require.NoError(t, err)
			assert.EqualValues(t, 3, receipt.Acknowledged)
			saved := testevents.SavedReceipt(t, checkpoint.State)
			assert.True(t, testevents.Event(1).Timestamp.Equal(saved.Oldest), "%v", saved.Oldest)
			assert.True(t, testevents.Event(3).Timestamp.Equal(saved.Newest), "%v", saved.Newest)
		})
	}
}
