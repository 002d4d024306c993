package hogapi_test

import (
	"context"
	"errors"
	"iter"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

// rejecting is a source of n records of which the gate refuses some.
func rejecting(n int, isBad func(i int) bool) hogapi.Source {
	return altered(numbered(n), func(ev *hogapi.Event) {
		if isBad(int(ev.Position.Offset)) {
			ev.Name = ""
		}
	})
}

func first(n int) func(int) bool { return func(i int) bool { return i <= n } }
func every(n int) func(int) bool { return func(i int) bool { return i%n == 0 } }

// tooMany is the stop of an import that has rejected too much.
func tooMany(t *testing.T, err error) *hogapi.StopError {
	t.Helper()
	stop := stopOf(t, err)
	require.Equal(t, hogapi.StopTooManyRejects, stop.Reason, "%v", err)
	return stop
}

// An import that rejects too much fails, however much it has sent. Package commit has the limits to the last record.
func TestRejectLimits(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		n          int
		isBad      func(int) bool
		share      float64
		most       int64
		want       string // empty: the import ends well
		read, sent int    // 0: any number
	}{
		"at the default share":    {n: 1000, isBad: every(100), sent: 990},
		"over the default share":  {n: 1100, isBad: every(90), want: "12 of 1100 records were rejected, more than MaxRejectShare (0.01)", sent: 1088},
		"far over it":             {n: 30_000, isBad: every(50), want: "more than MaxRejectShare (0.01)", read: 1400},
		"over it at the end":      {n: 900, isBad: every(2), want: "450 of 900 records were rejected, more than MaxRejectShare (0.01)", sent: 450},
		"another share":           {n: 900, isBad: every(2), share: 0.5, sent: 450},
		"no limit":                {n: 3000, isBad: every(2), share: -1, sent: 1500},
		"over the number":         {n: 30_000, isBad: every(150), share: -1, most: 5, want: "records were rejected, more than MaxRejects (5)", read: 1300},
		"over the number at once": {n: 30_000, isBad: first(500), share: -1, most: 5, want: "6 of 6 records were rejected, more than MaxRejects (5)"},
		"the first 100":           {n: 30_000, isBad: first(100), want: "100 of 100 records were rejected, every one of the first records"},
		"all of fewer":            {n: 30, isBad: every(1), want: "30 of 30 records were rejected, every record of the source"},
	} {
		t.Run(name, parallelBubble(func(t *testing.T) {
			server := hogapitest.New()
			receipt, err := server.Client(t).Import(t.Context(), rejecting(tt.n, tt.isBad), &hogapi.ImportOptions{
				ID: "limits", Checkpoint: &memoryCheckpoint{}, Rejects: ignoreRejects, MaxRejectShare: tt.share, MaxRejects: tt.most,
				Rate: hogapi.Unpaced, Delivery: hogapi.DeliveryOptions{Tuning: hogapi.Tuning{MaxInFlight: 300}},
			})
			requireBalanced(t, receipt)
			if tt.want == "" {
				require.NoError(t, err)
			} else {
				tooMany(t, err)
				require.ErrorContains(t, err, tt.want)
				require.ErrorContains(t, err, "the first of this run: event refused: no_name: event")
				require.ErrorContains(t, err, "correct the source or the mapping")
			}
			if tt.read > 0 {
				assert.LessOrEqual(t, receipt.Read, int64(tt.read), "it stops on its way")
			}
			if tt.sent > 0 {
				assert.Equal(t, tt.sent, server.Ledger().Unique(), "everything else is sent")
			}
		}))
	}
}

var errPulledOut = errors.New("the disk was pulled out")

// broken is the beginning of a source, which then fails.
func broken(source hogapi.Source, after int) hogapi.Source {
	return hogapi.SourceFunc(source.Name(), func(ctx context.Context, from hogapi.Position) iter.Seq2[hogapi.Event, error] {
		return func(yield func(hogapi.Event, error) bool) {
			for ev, err := range source.Events(ctx, from) {
				if ev.Position.Offset > int64(after) {
					break
				}
				if !yield(ev, err) {
					return
				}
			}
			yield(hogapi.Event{}, errPulledOut)
		}
	})
}

// The limits are judged over all runs of an import.
func TestRejectLimitsOverAllRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := rejecting(1800, func(i int) bool { return i%9 == 0 && i <= 900 })
		server, client := fake(t)
		options := hogapi.ImportOptions{ID: "runs", Checkpoint: &memoryCheckpoint{}, Rejects: ignoreRejects, Rate: hogapi.Unpaced}
		for _, after := range []int{900, 0} {
			receipt, err := client.Import(t.Context(), broken(source, after), &options)
			requireBalanced(t, receipt)
			require.Equal(t, hogapi.StopSource, stopOf(t, err).Reason, "%v", err)
			require.NotContains(t, err.Error(), "MaxReject", "the import is not at its end")
		}
		_, err := client.Import(t.Context(), source, &options)
		tooMany(t, err)
		require.ErrorContains(t, err, "more than MaxRejectShare (0.01)")

		sent := len(server.Calls())
		_, err = client.Import(t.Context(), source, &options)
		tooMany(t, err)
		require.ErrorContains(t, err, "in the runs before", "it says that this run has rejected nothing")
		assert.Len(t, server.Calls(), sent, "and sends nothing")

		options.MaxRejectShare = 0.1
		receipt := imported(t, client, source, &options)
		assert.Equal(t, []int64{1800, 1700, 100}, []int64{receipt.Read, receipt.Acknowledged, receipt.Rejected})
	})
}

// A record that a mapping skips on purpose is counted by its reason, and is not a reject.
func TestSkippedRecordsAreNoRejects(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := hogapitest.New()
		skips := map[int64]string{0: "internal user", 1: "test device"}
		source := hogapi.MapSource(numbered(500), func(ev hogapi.Event) ([]hogapi.Event, error) {
			switch n := ev.Position.Offset % 5; n {
			case 0, 1:
				return nil, hogapi.Skip(skips[n])
			case 2:
				return nil, nil
			}
			return []hogapi.Event{ev}, nil
		})
		checkpoint := &memoryCheckpoint{}
		options := hogapi.ImportOptions{ID: "skips", Checkpoint: checkpoint, MaxRejects: 1, Rate: hogapi.Unpaced} // no handler: the first reject would stop it
		receipt := imported(t, server.Client(t), source, &options)
		requireBalanced(t, receipt)
		assert.Equal(t, []int64{500, 200, 0, 300, 0}, []int64{receipt.Read, receipt.Acknowledged, receipt.Rejected, receipt.Skipped, receipt.Pending})
		assert.Equal(t, map[string]int64{"internal user": 100, "test device": 100, "left out by the mapping": 100}, receipt.Skips)
		assert.Equal(t, receipt.Skips, savedReceipt(t, checkpoint.State).Skips, "of a resumed import too")
		assert.Contains(t, receipt.String(), "read 500 = acknowledged 200 + rejected 0 + skipped 300 + pending 0")
		assert.Contains(t, receipt.String(), "\n  skipped, internal user: 100\n")
		assert.Equal(t, 200, server.Ledger().Unique())

		report, err := hogapi.Check(t.Context(), source, &options)
		require.NoError(t, err)
		assert.Equal(t, []int64{500, 200, 0, 300}, []int64{report.Read, report.Good, report.Rejected, report.Skipped})
		assert.Equal(t, receipt.Skips, report.Skips)
	})
}
