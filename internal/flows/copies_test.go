package flows_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/coverage"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/reconcile"
)

// A run that did not complete may have left rows in a table that gets them in several transactions. Neither the plan nor the
// repair adds to them without a yes.
func TestRepairAsksBeforeItAddsCopies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroken(t, 40, hogapitest.Export{DestinationType: "Postgres"}, map[int]hogapi.RunStatus{
			30: "", 12: hogapi.RunStatusFailed, 9: hogapi.RunStatusFailedBilling, 5: hogapi.RunStatusCancelled, 3: hogapi.RunStatus("Terminated"),
		})
		yes := &coverage.RepairOptions{AcceptCopies: true}
		accepted, careful := b.plan(t, yes), b.plan(t, nil)
		const added, left = "backfill as_scheduled 1 planned", "backfill as_scheduled 1 left_to_you"
		assert.Equal(t, []string{added, added, added, added, added}, brief(accepted))
		assert.Equal(t, []string{added, left, added, left, left}, brief(careful))
		for _, part := range []string{"2026-11-26T00:00:00Z to 2026-11-26T01:00:00Z may be in the table", "package reconcile", "statement that removes duplicates", "AcceptCopies"} {
			assert.Contains(t, careful.Steps[1].Note, part)
		}

		for range 2 { // another process has the plan, and not the yes
			report, err := coverage.Repair(t.Context(), b.client, accepted, nil)
			require.NoError(t, err)
			assert.Len(t, report.After.Gaps(), 3)
			assert.Contains(t, accepted.Steps[1].Result, "may be in the table")
			assert.Len(t, b.project.Backfills(b.export), 2)
		}
		report, err := coverage.Repair(t.Context(), b.client, b.plan(t, yes), yes)
		require.NoError(t, err)
		assert.Empty(t, report.After.Gaps())
		twice := func(x coverage.Interval) bool { return x.Leftovers }
		assert.True(t, slices.ContainsFunc(report.After.Intervals, twice))
		assert.Contains(t, report.After.String(), "completed perhaps twice")
	})
}

// The backfill of a repair can fail after it has written. The next call with the plan does not begin at the first row again.
func TestRepairDoesNotRepeatItsOwnPart(t *testing.T) {
	for name, tt := range map[string]struct {
		x    hogapitest.Export
		rows int // of 100
	}{
		"Postgres":         {hogapitest.Export{DestinationType: "Postgres"}, 60},
		"Redshift, INSERT": {hogapitest.Export{DestinationType: "Redshift", Config: map[string]any{"mode": "INSERT", "properties_data_type": "varchar"}}, 60},
		"Redshift, SUPER":  {hogapitest.Export{DestinationType: "Redshift", Config: map[string]any{"mode": "INSERT", "properties_data_type": "super"}}, 100},
		"BigQuery":         {hogapitest.Export{}, 100},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBroken(t, 20, tt.x, map[int]hogapi.RunStatus{7: ""})
				b.project.ExportEvents()
				at := coverageNow.Truncate(time.Hour).Add(-7*time.Hour + time.Minute)
				for range 100 {
					b.project.AddEvent(hogapitest.StoredEvent{UUID: uuid.New(), Event: "e", DistinctID: "x", Time: at, CreatedAt: at})
				}
				rows := func() (n int) {
					for _, x := range b.project.Exported(b.export) {
						n += len(x.Events)
					}
					return n
				}
				plan := b.plan(t, nil)
				b.project.NextRuns(hogapitest.Outcome{Status: "Failed", Error: "connection reset", Written: 60})
				_, err := coverage.Repair(t.Context(), b.client, plan, nil)
				require.ErrorContains(t, err, "connection reset")
				report, err := coverage.Repair(t.Context(), b.client, plan, nil)
				require.NoError(t, err)
				assert.Equal(t, tt.rows, rows())
				assert.Equal(t, tt.rows < 100, len(report.After.Gaps()) > 0)
				assert.Equal(t, tt.rows < 100, plan.Steps[0].State == coverage.StepLeft, plan)
				yes := &coverage.RepairOptions{AcceptCopies: true}
				report, err = coverage.Repair(t.Context(), b.client, b.plan(t, yes), yes)
				require.NoError(t, err)
				assert.Empty(t, report.After.Gaps())
			})
		})
	}
}

// A comparison of rows decides: an interval that it found empty is exported again without a yes, and one that lacks rows is
// exported again though its run completed.
func TestRepairByAComparison(t *testing.T) {
	for name, tt := range map[string]struct {
		status      hogapi.RunStatus
		there       bool // some rows
		kind        string
		needs, adds bool
	}{
		"failed, nothing there":            {hogapi.RunStatusFailed, false, "Postgres", false, true},
		"failed, some there":               {hogapi.RunStatusFailed, true, "Postgres", true, false},
		"completed, nothing there":         {hogapi.RunStatusCompleted, false, "Postgres", false, true},
		"completed, some there":            {hogapi.RunStatusCompleted, true, "Postgres", true, false},
		"completed, some there, BigQuery":  {hogapi.RunStatusCompleted, true, "BigQuery", true, false},
		"completed, some there, an object": {hogapi.RunStatusCompleted, true, "AzureBlob", false, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBroken(t, 20, hogapitest.Export{DestinationType: tt.kind, Integration: 1}, map[int]hogapi.RunStatus{7: tt.status})
				at := coverageNow.Truncate(time.Hour).Add(-7*time.Hour + 30*time.Minute)
				r := &reconcile.Report{
					From: coverageNow.Add(-time.Hour * 48), To: coverageNow, CheckedAt: coverageNow,
					Findings: []reconcile.Finding{{Class: reconcile.Missing, Day: at.Truncate(24 * time.Hour), ArrivedAt: at}},
				}
				if tt.there {
					r.Arrived = []reconcile.Span{{From: at.Truncate(5 * time.Minute), To: at.Truncate(5 * time.Minute).Add(5 * time.Minute)}}
				}
				time.Sleep(time.Minute)
				c, err := coverage.Of(t.Context(), b.client, b.export, nil)
				require.NoError(t, err)
				plan, err := coverage.MakePlan(t.Context(), b.client, r.Mark(c), nil)
				require.NoError(t, err)
				require.Len(t, plan.Steps, 1, plan)
				assert.Equal(t, tt.needs, plan.Steps[0].State == coverage.StepLeft, plan)
				_, err = coverage.Repair(t.Context(), b.client, plan, nil)
				require.NoError(t, err)
				assert.Equal(t, tt.adds, len(b.project.Backfills(b.export)) == 1, plan)
				if tt.adds {
					assert.Equal(t, coverage.StepDone, plan.Steps[0].State, plan)
				}
			})
		})
	}
}

// The log of the export says that a run needed several attempts, each of which began at the first row. It is read only where
// that matters.
func TestCoverageShowsWhatIsPerhapsTwice(t *testing.T) {
	kinds := map[string]bool{"Postgres": true, "Redshift": true, "BigQuery": false}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBroken(t, 20, hogapitest.Export{DestinationType: kind}, map[int]hogapi.RunStatus{9: "", 6: "", 3: ""})
				end := coverageNow.Truncate(time.Hour)
				for back, attempts := range map[int]int{9: 2, 6: 1, 3: 3} {
					end := end.Add(-time.Duration(back-1) * time.Hour)
					b.project.AddRun(b.export, hogapitest.Run{End: end, Created: end.Add(time.Minute), Attempts: attempts})
				}
				logs := &paths{RoundTripper: b.server.Transport()}
				client := b.server.Client(t, hogapi.WithHTTPClient(&http.Client{Transport: logs}))
				c, err := coverage.Of(t.Context(), client, b.export, nil)
				require.NoError(t, err)
				assert.True(t, c.IsExported(), c)
				twice := func(c *coverage.Coverage) (hours []time.Duration) {
					for _, x := range c.Intervals {
						if x.Leftovers {
							hours = append(hours, end.Sub(x.End)/time.Hour+1)
						}
					}
					return hours
				}
				if !kinds[kind] {
					assert.Empty(t, twice(c))
					assert.Zero(t, logs.count("/logs/"))
					return
				}
				assert.Equal(t, []time.Duration{9, 3}, twice(c))
				assert.Equal(t, 2, logs.count("/logs/"), "a page, and the end of the walk")
				assert.Contains(t, c.String(), "2 intervals perhaps twice in the table")

				time.Sleep(90 * time.Minute)
				b.project.AddRun(b.export, hogapitest.Run{End: end.Add(time.Hour), Created: end.Add(time.Hour + time.Minute), Attempts: 2})
				c, err = coverage.Of(t.Context(), client, b.export, &coverage.Options{Since: c})
				require.NoError(t, err)
				assert.Equal(t, []time.Duration{9, 3, 0}, twice(c))
			})
		})
	}
}

// paths keeps the paths of requests.
type paths struct {
	http.RoundTripper

	all []string
}

func (p *paths) RoundTrip(r *http.Request) (*http.Response, error) {
	p.all = append(p.all, r.URL.Path)
	return p.RoundTripper.RoundTrip(r)
}

func (p *paths) count(part string) (n int) {
	for _, path := range p.all {
		if strings.HasSuffix(path, part) {
			n++
		}
	}
	return n
}

// A server that keeps its log from keys does not keep the coverage from them.
func TestCoverageWithoutALog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroken(t, 5, hogapitest.Export{DestinationType: "Postgres"}, nil, hogapitest.WithEra(hogapitest.E1))
		c, err := coverage.Of(t.Context(), b.client, b.export, nil)
		require.NoError(t, err)
		assert.Contains(t, c.String(), "The log of the export cannot be read: status 403")
	})
}
