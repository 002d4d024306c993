package engine

import (
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/ledger"
)

// counts are accepted and rejected records, and one that was skipped, which counts nowhere.
func counts(accepted, rejected int64) ledger.Counts {
	return ledger.Counts{Acknowledged: accepted, Rejected: rejected, Skipped: 1}
}

func TestRejectLimits(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		limits  RejectLimits
		at      []ledger.Counts // judged one after the other
		end     ledger.Counts   // judged if at does not stop it
		want    string          // "" for no error
		stopsAt int             // in at; len(at): at the end
		none    bool            // no limits; otherwise a share of 0 stands for 0.01
	}{
		"nothing at all":                      {end: counts(0, 0)},
		"one reject is no share":              {at: []ledger.Counts{counts(50, 1)}, end: counts(50, 1)},
		"too many of a short source":          {at: []ledger.Counts{counts(50, 2)}, end: counts(50, 2), want: "2 of 52 records were rejected, more than MaxRejectShare (0.01)", stopsAt: 1},
		"just as many as allowed":             {at: []ledger.Counts{counts(990, 10)}, end: counts(990, 10)},
		"the first look, after 1,000 records": {at: []ledger.Counts{counts(900, 99), counts(989, 11)}, want: "11 of 1000 records were rejected, more than MaxRejectShare (0.01)", stopsAt: 1},
		"a bad stretch later":                 {at: []ledger.Counts{counts(1000, 0), counts(1000, 500)}, end: counts(60_000, 500)},
		"a bad stretch that weighs":           {at: []ledger.Counts{counts(1000, 0), counts(1000, 500)}, end: counts(10_000, 500), want: "500 of 10500 records were rejected", stopsAt: 2},
		"all of the first":                    {at: []ledger.Counts{counts(0, 99), counts(0, 100)}, want: "100 of 100 records were rejected, every one of the first records", stopsAt: 1},
		"all of a short source":               {at: []ledger.Counts{counts(0, 3)}, end: counts(0, 3), want: "3 of 3 records were rejected, every record of the source", stopsAt: 1},
		"a source of one bad record":          {end: counts(0, 1), want: "1 of 1 records were rejected, every record of the source"},
		"a number":                            {limits: RejectLimits{Most: 5, Share: 0.01}, at: []ledger.Counts{counts(10_000, 5), counts(10_000, 6)}, want: "6 of 10006 records were rejected, more than MaxRejects (5)", stopsAt: 1},
		"a number without a share":            {limits: RejectLimits{Most: 5}, at: []ledger.Counts{counts(0, 5)}, end: counts(0, 6), want: "more than MaxRejects (5)", stopsAt: 1},
		"a number, with unconfirmed ones":     {limits: RejectLimits{Most: 5}, at: []ledger.Counts{{Acknowledged: 10, Rejected: 2, Unconfirmed: 3}, {Acknowledged: 10, Rejected: 2, Unconfirmed: 4}}, want: "6 of 16 records were rejected, more than MaxRejects (5)", stopsAt: 1},
		"unconfirmed ones alone":              {limits: RejectLimits{Most: 5}, at: []ledger.Counts{{Acknowledged: 10, Unconfirmed: 5}}, end: ledger.Counts{Acknowledged: 10, Unconfirmed: 6}, want: "more than MaxRejects (5)", stopsAt: 1},
		"another share":                       {limits: RejectLimits{Share: 0.5}, at: []ledger.Counts{counts(500, 500)}, end: counts(500, 501), want: "501 of 1001 records were rejected, more than MaxRejectShare (0.5)", stopsAt: 1},
		"every reject is allowed":             {limits: RejectLimits{Share: 1}, at: []ledger.Counts{counts(1, 2000)}, end: counts(1, 2000)},
		"no limit":                            {limits: RejectLimits{}, none: true, at: []ledger.Counts{counts(0, 5000)}, end: counts(0, 5000)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limits, why := tt.limits, errors.New("hogapi: no name")
			if limits == (RejectLimits{}) && !tt.none {
				limits.Share = 0.01
			}
			limits.First = why
			at := 0
			var err error
			for ; at < len(tt.at) && err == nil; at++ {
				err = limits.Judge(tt.at[at])
			}
			if err == nil {
				err = limits.JudgeEnd(tt.end)
			} else {
				at--
			}
			if tt.want == "" {
				require.NoError(t, err)
				return
			}
			assert.Equal(t, tt.stopsAt, at)
			require.ErrorContains(t, err, tt.want)
			require.ErrorContains(t, err, "; the first of this run: no name")
			require.ErrorIs(t, err, why)
		})
	}
}

// At most so many rejects are handed over at once that the limits are judged in time.
func TestStep(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		limits RejectLimits
		at     ledger.Counts
		want   int
	}{
		{RejectLimits{}, counts(0, 0), math.MaxInt},
		{RejectLimits{Share: 0.01}, counts(0, 0), 100},
		{RejectLimits{Share: 0.01}, counts(0, 40), 60},
		{RejectLimits{Share: 0.01}, counts(1, 0), 999},
		{RejectLimits{Share: 0.01}, counts(500, 400), 100},
		{RejectLimits{Share: 0.01}, counts(999, 0), 1},
		{RejectLimits{Share: 0.01}, counts(1000, 0), math.MaxInt},
		{RejectLimits{Most: 5}, counts(0, 0), 6},
		{RejectLimits{Most: 5}, counts(0, 5), 1},
		{RejectLimits{Most: 5}, counts(0, 9), 1},
		{RejectLimits{Most: 5, Share: 0.01}, counts(0, 96), 1},
		{RejectLimits{Most: 500, Share: 0.01}, counts(0, 0), 100},
	} {
		assert.Equal(t, tt.want, tt.limits.step(tt.at), "%+v at %+v", tt.limits, tt.at)
	}
}

func TestJudgeBefore(t *testing.T) {
	t.Parallel()
	limits := RejectLimits{Most: 5}
	require.NoError(t, limits.JudgeBefore(counts(10, 5)))
	require.ErrorContains(t, limits.JudgeBefore(counts(10, 6)), "in the runs before, 6 of 16 records were rejected, more than MaxRejects (5)")

	limits = RejectLimits{Share: 0.01}
	require.NoError(t, limits.JudgeBefore(counts(1990, 10)))
	require.NoError(t, limits.Judge(counts(1990, 50)), "the share was judged in the run before, and is judged again at the end")
	require.Error(t, limits.JudgeEnd(counts(1990, 50)))
}
