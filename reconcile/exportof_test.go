package reconcile

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/coverage"
	"github.com/hogapi/hogapi/destination"
	"github.com/hogapi/hogapi/hogapitest"
)

// An export of the service, with its coverage, becomes the rules by which rows are judged.
func TestExportOf(t *testing.T) {
	t.Parallel()
	created := modelEnd.Add(-10 * time.Hour).Add(20 * time.Minute)
	server := hogapitest.New(hogapitest.WithClock(func() time.Time { return modelEnd }))
	project := server.Project(hogapitest.DefaultProject)
	id := project.AddExport(hogapitest.Export{
		Name: "to the warehouse", Created: created, DestinationType: "BigQuery",
		Config: map[string]any{"include_events": []string{"a", "b"}, "exclude_events": []string{"c"}},
	})
	for hour := 9; hour > 2; hour-- {
		project.AddRun(id, hogapitest.Run{Status: hogapi.RunStatusCompleted, End: modelEnd.Add(-time.Duration(hour) * time.Hour), Created: modelEnd.Add(-time.Duration(hour)*time.Hour + time.Minute)})
	}
	client := server.Client(t)
	e, err := client.BatchExports.Get(t.Context(), id)
	require.NoError(t, err)
	c, err := coverage.Of(t.Context(), client, id, &coverage.Options{From: created.Add(-time.Hour)})
	require.NoError(t, err)
	x := ExportOf(e, c)
	assert.Equal(t, Export{
		Name: "to the warehouse", Since: created.Truncate(time.Hour), Until: modelEnd.Add(-3 * time.Hour),
		BackfillsFrom: created.Add(-time.Hour), Include: []string{"a", "b"}, Exclude: []string{"c"},
	}, x)

	assert.Empty(t, ExportOf(&hogapi.BatchExport{}, nil).Unknown, "without a config")
	edited := *e
	edited.LastUpdatedAt = modelEnd.Add(-time.Hour)
	x = ExportOf(&edited, c)
	assert.Equal(t, edited.LastUpdatedAt, x.UnknownUntil, "its lists may have been others before")
	assert.Contains(t, x.Unknown, "may have been changed")
	edited.Destination.Config = destination.BigQuery{DatasetID: hogapi.Set("posthog")}
	assert.Empty(t, ExportOf(&edited, c).Unknown, "without a list, an absent row is missing at worst")
	edited.Destination.Config = destination.Raw(`{"include_events":"['a']"}`)
	assert.Contains(t, ExportOf(&edited, c).Unknown, "cannot be read", "the oldest servers have a text")

	for filters, isKnown := range map[string]bool{`null`: true, `[]`: true, `[{"key":"plan","value":"paid"}]`: false, `{"a":1}`: false} {
		e.Filters = json.RawMessage(filters)
		assert.Equal(t, isKnown, ExportOf(e, nil).Unknown == "", filters)
	}
	e.Filters, e.Model = nil, hogapi.ModelPersons
	assert.Equal(t, "the export has the model persons", ExportOf(e, nil).Unknown)

	at := func(hour int) time.Time { return created.Truncate(time.Hour).Add(time.Duration(hour) * time.Hour) }
	run := func(from, to int, rows coverage.RowChoice, status hogapi.RunStatus) coverage.Run {
		return coverage.Run{Start: at(from), End: at(to), Rows: rows, Status: status}
	}
	part := func(hour int, from, to time.Duration) coverage.Run {
		return coverage.Run{Start: at(hour).Add(from), End: at(hour).Add(to), Rows: coverage.RowsByTimestamp, Status: hogapi.RunStatusCompleted}
	}
	past := &coverage.Coverage{Intervals: []coverage.Interval{{
		Start: at(-9), End: at(-8), State: coverage.StateByTimestamp, Runs: []coverage.Run{
			run(-9, -8, coverage.RowsByTimestamp, hogapi.RunStatusCompleted), run(-8, -7, coverage.RowsByTimestamp, hogapi.RunStatusCompleted),
			run(-5, -4, coverage.RowsByTimestamp, hogapi.RunStatusFailed), run(-3, -2, coverage.RowsAsScheduled, hogapi.RunStatusCompleted),
			part(-20, 20*time.Minute, 160*time.Minute), part(-16, 20*time.Minute, 50*time.Minute), part(-14, 0, 40*time.Minute),
		},
	}}}
	assert.Equal(t, []Span{{at(-19), at(-18)}, {at(-9), at(-7)}}, ExportOf(e, past).Backfills, "an hour of which a part was sent does not count")
}

// Where it is not known which rows an export sent, an absent row is neither missing nor filtered, and the report is not
// complete. A row that another export sends for sure is missing all the same.
func TestUnknownFilters(t *testing.T) {
	t.Parallel()
	w := newWorld(2)
	w.service.rows, w.there.rows, w.want, w.exports = nil, nil, nil, nil
	for range 20 {
		fates["delivered"](w)
	}
	fates["missing"](w)
	o := &Options{From: w.from.Truncate(time.Hour), To: w.to, now: func() time.Time { return modelEnd }}
	changed := modelEnd.Add(-time.Hour)
	for want, exports := range map[Verdict][]Export{
		Undecided:  {{Name: "x", Unknown: "its filter was changed", UnknownUntil: changed}},
		Incomplete: {{Name: "x", Unknown: "its filter was changed", UnknownUntil: changed}, {Name: "y", Include: []string{"e"}}},
	} {
		o.Exports = exports
		r := compare(t, w.service, w.there, o)
		assert.Equal(t, want, r.Verdict)
		require.Len(t, r.Findings, 1)
		if want == Undecided {
			assert.Equal(t, CannotTell, r.Findings[0].Class)
			assert.Equal(t, "x: its filter was changed", r.Findings[0].Why)
		}
	}
	o.Exports = []Export{{Name: "x", Unknown: "its filter was changed", UnknownUntil: modelEnd.Add(-1e6 * time.Hour)}}
	r := compare(t, w.service, w.there, o)
	assert.Equal(t, Incomplete, r.Verdict, "the row arrived after the change")
}

// If a side lags by less than the margin, or gets rows while it is read, no such row is missing or foreign, and no
// report is complete that lacks a row.
func TestSidesThatChange(t *testing.T) {
	t.Parallel()
	for seed := range uint64(400) {
		w := newWorld(seed / 2)
		w.service.rows, w.there.rows, w.want, w.exports = nil, nil, nil, nil
		isIncomplete := seed/2%2 == 0
		if isIncomplete {
			fates["missing"](w)
		}
		for range 40 {
			fates["delivered"](w)
		}
		side, wrong := w.there, Missing
		if seed%2 == 0 {
			side, wrong = w.service, OnlyThere
		}
		all := side.rows
		visible := 1 + w.IntN(len(all)-1)
		side.rows = all[:visible]
		isFrozen := false // rows that show after their look-up are in the report as they were
		side.lie = func(method string) error {
			if isFrozen = isFrozen || method == "look up"; !isFrozen {
				visible = min(len(all), visible+w.IntN(8))
				side.rows = all[:visible]
			}
			return nil
		}
		o := w.options()
		o.Exports, w.there.most, w.service.most = nil, 0, 0
		r := compare(t, w.service, w.there, o)
		for _, f := range r.Findings {
			isThere := slices.ContainsFunc(side.rows, func(s stored) bool { return s.id == f.UUID })
			assert.False(t, f.Class == wrong && isThere, "seed %d: %v", seed, f)
		}
		if isIncomplete {
			assert.NotContains(t, []Verdict{Complete, CompleteWithDifferences}, r.Verdict, "seed %d", seed)
		}
	}
}

// The intervals of missing rows become a plan of the package.
func TestAMarkedCoverageIsPlanned(t *testing.T) {
	t.Parallel()
	server := hogapitest.New(hogapitest.WithClock(func() time.Time { return modelEnd }))
	project, client := server.Project(hogapitest.DefaultProject), server.Client(t)
	id := project.AddExport(hogapitest.Export{Name: "to the warehouse", Created: modelEnd.AddDate(0, 0, -2), DestinationType: "BigQuery"})
	project.RunSchedule(id, nil)
	c, err := coverage.Of(t.Context(), client, id, nil)
	require.NoError(t, err)
	require.Empty(t, c.Gaps())
	lost := modelEnd.Add(-10*time.Hour + 30*time.Minute)
	r := &Report{Findings: []Finding{{Class: Missing, Day: lost.AddDate(0, 0, -3), ArrivedAt: lost}}}
	plan, err := coverage.MakePlan(t.Context(), client, r.Mark(c), nil)
	require.NoError(t, err)
	require.Len(t, plan.Steps, 1)
	assert.Equal(t, coverage.ActionBackfill, plan.Steps[0].Action)
	assert.Equal(t, coverage.RowsAsScheduled, plan.Steps[0].Rows)
	assert.Equal(t, lost.Truncate(time.Hour), plan.Steps[0].Start)
	assert.Equal(t, lost.Truncate(time.Hour).Add(time.Hour), plan.Steps[0].End)
}

// A row that no export asks for may have been lost by a backfill that is not known: it is never a part of a complete report.
func TestUnknownBackfills(t *testing.T) {
	t.Parallel()
	w := newWorld(5)
	w.service.rows, w.there.rows, w.want = nil, nil, nil
	for range 20 {
		fates["delivered"](w)
		fates["never asked"](w)
	}
	o := w.options()
	for from, want := range map[time.Time]Verdict{{}: Complete, o.From: Complete, o.To: Undecided} {
		o.Exports = slices.Clone(w.exports)
		o.Exports[0].Backfills, o.Exports[0].BackfillsFrom = nil, from
		r := compare(t, w.service, w.there, o)
		assert.Equal(t, want, r.Verdict, "%v: %v", from, r)
		assert.EqualValues(t, 20, r.Counts[NeverAsked]+r.Counts[CannotTell], from)
		assert.Equal(t, want == Undecided, strings.Contains(r.String(), "an unknown backfill"), r)
	}
}
