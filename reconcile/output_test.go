package reconcile

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/coverage"
)

// A report in files: each uuid is in the file of its class, the page loads nothing, and hostile names stay texts.
func TestFilesOfAReport(t *testing.T) {
	t.Parallel()
	w, o := killedWorld()
	hostile := w.newRow("e")
	hostile.who = "<script>alert(1)</script>\x1b[31m\nCOMPLETE"
	w.service.rows = append(w.service.rows, hostile)
	r := compare(t, w.service, w.there, o)
	dir := filepath.Join(t.TempDir(), "report")
	require.NoError(t, r.WriteFiles(dir))
	require.NoError(t, r.WriteFiles(dir), "an earlier report is replaced")

	counts := map[Class]int{}
	for _, f := range r.Findings {
		counts[f.Class]++
	}
	for _, class := range listed {
		text, err := os.ReadFile(filepath.Join(dir, string(class)+".uuids"))
		require.NoError(t, err)
		assert.Len(t, strings.Fields(string(text)), counts[class], class)
	}
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		return string(text)
	}
	assert.Equal(t, len(r.Findings), strings.Count(read("differences.jsonl"), "\n"))
	assert.Contains(t, read("missing.uuids"), hostile.id.String())
	var back Report
	require.NoError(t, json.Unmarshal([]byte(read("report.json")), &back))
	assert.Equal(t, r.Counts, back.Counts)
	assert.Equal(t, r.Summary(), back.Summary())
	page := read("report.html")
	assert.NotContains(t, page, "<script")
	assert.NotContains(t, page, "\x1b")
	for _, way := range []string{"http:", "https:", "src=", "href=", "url(", "@import"} {
		assert.NotContains(t, page, way)
	}
	assert.NotContains(t, r.String(), "\nCOMPLETE")
	info, err := os.Stat(filepath.Join(dir, "missing.uuids"))
	require.NoError(t, err)
	if runtime.GOOS != "windows" {
		assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	}

	mine := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(mine, "report.json"), []byte(`{"my": "own"}`), 0o600))
	require.ErrorContains(t, r.WriteFiles(mine), "report.json exists and is not part of a report")
	require.NoError(t, os.Rename(filepath.Join(mine, "report.json"), filepath.Join(mine, "missing.uuids")))
	require.ErrorContains(t, r.WriteFiles(mine), "missing.uuids exists and is not part of a report")
}

// An undecided comparison is never complete: each verdict has its words.
func TestSummaries(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	for want, r := range map[string]*Report{
		"COMPLETE: 1,234,567 rows delivered, 2 pending":                      {Verdict: Complete, Counts: map[Class]int64{Delivered: 1_234_567, Pending: 2}},
		"COMPLETE, WITH DIFFERENCES: 5 rows delivered, 1 doubled, 3 altered": {Verdict: CompleteWithDifferences, Counts: map[Class]int64{Delivered: 5, Doubled: 1, Altered: 3}},
		"INCOMPLETE: 0 rows delivered, 7 missing, 2 cannot tell":             {Verdict: Incomplete, Counts: map[Class]int64{Missing: 7, CannotTell: 2}},
		"CANNOT TELL: 0 rows delivered":                                      {Verdict: Undecided, Unknown: []Unknown{{Part: Part{From: at, To: at.Add(time.Hour)}, Why: "why\nnot"}}},
	} {
		assert.Equal(t, want, r.Summary())
		assert.True(t, strings.HasSuffix(r.String(), want))
		page, err := r.HTML()
		require.NoError(t, err)
		assert.Equal(t, r.Verdict == Complete, strings.Contains(string(page), "The destination is complete"), want)
	}
}

// The missing rows of a report become intervals to export again, and a list of uuids by day.
func TestRepairOfAReport(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	one, two, three := uuid.New(), uuid.New(), uuid.New()
	r := &Report{Counts: map[Class]int64{Doubled: 1, Missing: 3}, Findings: []Finding{
		{Class: Missing, Day: at, UUID: one, ArrivedAt: at.Add(90 * time.Minute)},
		{Class: Missing, Day: at, UUID: two, ArrivedAt: at.Add(3*time.Hour - time.Second)},
		{Class: Missing, Day: at.AddDate(0, 0, -9), UUID: three, ArrivedAt: at.Add(50 * time.Hour)},
		{Class: Pending, Day: at, UUID: uuid.New(), ArrivedAt: at.Add(60 * time.Hour)},
	}}
	repair := r.Repair(SQL(nil, Postgres, Table{Name: "events", TeamID: 1}))
	assert.Equal(t, []Span{{at.Add(time.Hour), at.Add(4 * time.Hour)}, {at.Add(50 * time.Hour), at.Add(51 * time.Hour)}}, repair.Arrivals)
	assert.Equal(t, []RepairDay{{"2026-10-23", []uuid.UUID{three}}, {"2026-11-01", []uuid.UUID{one, two}}}, repair.Days)
	assert.Contains(t, repair.Dedupe, "FROM events WHERE team_id = 1 AND uuid IS NOT NULL")
	assert.Contains(t, repair.String(), "2026-11-01: 2 rows are missing")
	assert.Empty(t, r.Repair(SQL(nil, Postgres, Table{Name: "events", TeamID: 1, UUID: "lower(id)"})).Dedupe, "no statement by expressions")
	assert.Contains(t, r.Repair(nil).String(), "Doubled rows: 1. No statement is known")
	assert.Equal(t, `"timestamp"`, SQL(nil, Redshift, Table{Name: "events", TeamID: 1}).table.Timestamp, "a reserved word there")
	assert.Equal(t, "nothing to repair: no row is known to be missing or doubled", (&Report{}).Repair(nil).String())

	c := &coverage.Coverage{}
	for hour := range 60 {
		run := coverage.Run{Status: hogapi.RunStatusCompleted}
		c.Intervals = append(c.Intervals, coverage.Interval{
			Start: at.Add(time.Duration(hour) * time.Hour), End: at.Add(time.Duration(hour+1) * time.Hour), State: coverage.StateCompleted, Runs: []coverage.Run{run},
		})
	}
	var marked []int
	for i, x := range r.Mark(c).Intervals {
		if x.State == coverage.StateFailed {
			marked = append(marked, i)
			assert.Empty(t, x.Runs)
		}
	}
	assert.Equal(t, []int{1, 2, 3, 50}, marked, "of a row that arrived at the end of an hour, the next hour too")
	assert.Equal(t, coverage.StateCompleted, c.Intervals[1].State, "the coverage itself stays")
}

// Mark calls a gap empty if the rows that arrived in it are missing, and no other shows that a run has written some of them.
func TestMarkOfLeftovers(t *testing.T) {
	t.Parallel()
	begin := modelEnd.Add(-10 * time.Hour)
	row := func(at time.Time, late time.Duration) stored { return stored{uuid.New(), "e", "p", at, at.Add(late)} }
	for name, tt := range map[string]struct {
		missing, there []stored
		state          coverage.State
		want           bool
	}{
		"all are missing":           {[]stored{row(begin, 0), row(begin.Add(50*time.Minute), 0)}, nil, coverage.StateFailed, false},
		"one is there":              {[]stored{row(begin, 0)}, []stored{row(begin.Add(time.Minute), 0)}, coverage.StateFailed, true},
		"of the next run":           {[]stored{row(begin, 0)}, []stored{row(begin.Add(59*time.Minute), 0)}, coverage.StateCancelled, false},
		"of another arrival":        {[]stored{row(begin, 0)}, []stored{row(begin.Add(time.Minute), 3*time.Hour)}, coverage.StateFailed, false},
		"a late one is missing":     {[]stored{row(begin.Add(-50*time.Hour), 50*time.Hour)}, []stored{row(begin.Add(time.Minute), 0)}, coverage.StateFailed, true},
		"completed, some are there": {[]stored{row(begin.Add(-50*time.Hour), 50*time.Hour)}, []stored{row(begin.Add(time.Minute), 0)}, coverage.StateCompleted, true},
		"nothing is missing":        {nil, []stored{row(begin, 0)}, coverage.StateFailed, true},
	} {
		service := &memory{rows: slices.Concat(tt.missing, tt.there)}
		r := compare(t, service, &memory{rows: tt.there}, &Options{From: begin.AddDate(0, 0, -5), To: modelEnd, now: func() time.Time { return modelEnd.Add(2 * time.Hour) }})
		c := &coverage.Coverage{Intervals: []coverage.Interval{{Start: begin, End: begin.Add(time.Hour), State: tt.state, Leftovers: tt.state != coverage.StateCompleted}}}
		assert.Equal(t, tt.want, r.Mark(c).Intervals[0].Leftovers, "%s: %v", name, r.Arrived)
		r.Cut = 1
		assert.Equal(t, tt.want || tt.state != coverage.StateCompleted, r.Mark(c).Intervals[0].Leftovers, name)
	}
}

// A plan has the cost of a comparison, and queries each side once.
func TestPlan(t *testing.T) {
	t.Parallel()
	w, o := killedWorld()
	p, err := PlanFor(t.Context(), w.service, w.there, o)
	require.NoError(t, err)
	inTime := func(rows []stored, exports []Export) (n int64) {
		for _, r := range rows {
			if !r.at.Before(o.From) && r.at.Before(o.To) && w.service.sends(exports, r) {
				n++
			}
		}
		return n
	}
	assert.Equal(t, inTime(w.service.rows, o.Exports), p.ServiceRows)
	assert.Equal(t, inTime(w.there.rows, nil), p.DestinationRows)
	assert.Contains(t, p.String(), "rows in the service")
	assert.Positive(t, p.Queries)
	assert.Positive(t, p.Time)

	o.MaxFindings = 5
	few := compare(t, w.service, w.there, o)
	assert.Len(t, few.Findings, 5)
	assert.Contains(t, few.String(), "others already differ: MaxFindings")
	assert.Positive(t, few.Counts[CannotTell])

	o.MaxQueries = 3
	w.service.asked, w.there.asked = nil, nil
	r := compare(t, w.service, w.there, o)
	assert.Equal(t, Undecided, r.Verdict)
	assert.Contains(t, r.String(), "MaxQueries (3) is reached")
	assert.LessOrEqual(t, max(len(w.service.asked), len(w.there.asked)), 3)
}
