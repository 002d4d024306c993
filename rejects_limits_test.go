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

// An import that rejects too much does not end well, whatever it has sent.
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
		"at the default share":        {n: 1000, isBad: every(100), sent: 990},
		"over the default share":      {n: 1100, isBad: every(90), want: "12 of 1100 records were rejected, more than MaxRejectShare (0.01)", sent: 1088},
		"far over it":                 {n: 30_000, isBad: every(50), want: "more than MaxRejectShare (0.01)", read: 1400},
		"over it at 1,000, not later": {n: 30_000, isBad: func(i int) bool { return i%20 == 0 && i <= 1000 }, want: "of 1", read: 1400},
		"over it only before 1,000":   {n: 1000, isBad: func(i int) bool { return i > 100 && i <= 110 }, sent: 990},
		"over it at the end":          {n: 900, isBad: every(2), want: "450 of 900 records were rejected, more than MaxRejectShare (0.01)", sent: 450},
		"another share":               {n: 900, isBad: every(2), share: 0.5, sent: 450},
		"over another share":          {n: 900, isBad: every(2), share: 0.4, want: "more than MaxRejectShare (0.4)", sent: 450},
		"one reject of fifty":         {n: 50, isBad: every(30), sent: 49},
		"two rejects of fifty":        {n: 50, isBad: every(20), want: "2 of 50 records were rejected", sent: 48},
		"no limit":                    {n: 3000, isBad: every(2), share: -1, sent: 1500},
		"no limit, all rejected":      {n: 300, isBad: every(1), share: -1},
		"at the number":               {n: 900, isBad: every(180), share: -1, most: 5, sent: 895},
		"over the number":             {n: 30_000, isBad: every(150), share: -1, most: 5, want: "records were rejected, more than MaxRejects (5)", read: 1300},
		"over the number at once":     {n: 30_000, isBad: first(500), share: -1, most: 5, want: "6 of 6 records were rejected, more than MaxRejects (5)"},
		"the first 100":               {n: 30_000, isBad: first(100), want: "100 of 100 records were rejected, every one of the first records"},
		"the first 99":                {n: 30_000, isBad: first(99), share: 0.2, sent: 29_901},
		"all of fewer":                {n: 30, isBad: every(1), want: "30 of 30 records were rejected, every record of the source"},
		"the only one":                {n: 1, isBad: every(1), want: "1 of 1 records were rejected, every record of the source"},
		"all of 100 under any share":  {n: 100, isBad: every(1), share: 1, want: "100 of 100 records were rejected"},
	} {
		t.Run(name, parallelBubble(func(t *testing.T) {
			server := hogapitest.New()
			receipt, err := server.Client(t).Import(t.Context(), rejecting(tt.n, tt.isBad), &hogapi.ImportOptions{
				ID: "limits", Checkpoint: &memoryCheckpoint{}, Rejects: ignoreRejects, MaxRejectShare: tt.share, MaxRejects: tt.most,
				Rate: hogapi.Unpaced, Delivery: hogapi.DeliveryOptions{MaxInFlight: 300},
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
			yield(hogapi.Event{}, errors.New("the disk was pulled out"))
		}
	})
}

// The limits are judged over all runs of an import.
func TestRejectLimitsOverAllRuns(t *testing.T) {
	t.Parallel()
	run := func(t *testing.T, o hogapi.ImportOptions, server *hogapitest.Server, sources ...hogapi.Source) (receipt hogapi.Receipt, err error) {
		t.Helper()
		o.ID, o.Rejects, o.Rate = "runs", ignoreRejects, hogapi.Unpaced
		if o.Checkpoint == nil {
			o.Checkpoint = &memoryCheckpoint{}
		}
		client := server.Client(t)
		for i, source := range sources {
			receipt, err = client.Import(t.Context(), source, &o)
			requireBalanced(t, receipt)
			if i < len(sources)-1 {
				require.Equal(t, hogapi.StopSource, stopOf(t, err).Reason, "%v", err)
				require.NotContains(t, err.Error(), "MaxReject", "the import is not at its end")
			}
		}
		return receipt, err
	}
	t.Run("rejects of an earlier run", parallelBubble(func(t *testing.T) {
		source := rejecting(1800, func(i int) bool { return i%9 == 0 && i <= 900 })
		checkpoint := &memoryCheckpoint{}
		server := hogapitest.New()
		_, err := run(t, hogapi.ImportOptions{Checkpoint: checkpoint}, server, broken(source, 900), broken(source, 0), source)
		tooMany(t, err)
		require.ErrorContains(t, err, "more than MaxRejectShare (0.01)")

		sent := len(server.Calls())
		_, err = run(t, hogapi.ImportOptions{Checkpoint: checkpoint}, server, source)
		tooMany(t, err)
		require.ErrorContains(t, err, "in the runs before", "it says that this run has rejected nothing")
		assert.Len(t, server.Calls(), sent, "and sends nothing")

		receipt, err := run(t, hogapi.ImportOptions{Checkpoint: checkpoint, MaxRejectShare: 0.1}, server, source)
		require.NoError(t, err)
		assert.Equal(t, []int64{1800, 1700, 100}, []int64{receipt.Read, receipt.Acknowledged, receipt.Rejected})
	}))
	t.Run("good records of an earlier run", parallelBubble(func(t *testing.T) {
		source := rejecting(11_000, func(i int) bool { return i > 10_000 && i%10 == 0 })
		_, err := run(t, hogapi.ImportOptions{}, hogapitest.New(), broken(source, 9500), source)
		require.NoError(t, err)
	}))
	t.Run("the number", parallelBubble(func(t *testing.T) {
		source := rejecting(1200, every(200))
		_, err := run(t, hogapi.ImportOptions{MaxRejects: 5}, hogapitest.New(), broken(source, 700), source)
		tooMany(t, err)
		require.ErrorContains(t, err, "6 of 1200 records were rejected, more than MaxRejects (5)")
	}))
}

// What a mapping leaves out on purpose is skipped, counted by its reason, and no reject.
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
