package flows_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/coverage"
	"github.com/hogapi/hogapi/destination"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/integration"
	"github.com/hogapi/hogapi/ops"
)

// brokenExport is an export with gaps, within a bubble that begins at coverageNow.
type brokenExport struct {
	server  *hogapitest.Server
	project *hogapitest.Project
	client  *hogapi.Client
	export  uuid.UUID
}

func newBroken(t *testing.T, hours int, x hogapitest.Export, except map[int]hogapi.RunStatus, options ...hogapitest.Option) *brokenExport {
	t.Helper()
	b := &brokenExport{server: hogapitest.New(append(options, hogapitest.WithTime(coverageNow), hogapitest.WithPolls(2))...)}
	b.project = b.server.Project(hogapitest.DefaultProject)
	b.client = b.server.Client(t)
	b.export = exportOf(b.project, hours, x, except)
	return b
}

func (b *brokenExport) plan(t *testing.T, o *coverage.RepairOptions) *coverage.Plan {
	t.Helper()
	c, err := coverage.Of(t.Context(), b.client, b.export, nil)
	require.NoError(t, err)
	plan, err := coverage.MakePlan(t.Context(), b.client, c, o)
	require.NoError(t, err)
	return plan
}

func brief(plan *coverage.Plan) (all []string) {
	for _, s := range plan.Steps {
		all = append(all, fmt.Sprintf("%s %s %d %s", s.Action, s.Rows, s.Intervals, s.State))
	}
	return all
}

func TestRepairOfYoungGaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroken(t, 40, hogapitest.Export{}, map[int]hogapi.RunStatus{30: "", 29: hogapi.RunStatusFailed, 12: hogapi.RunStatusCancelled})
		plan := b.plan(t, nil)
		assert.Equal(t, []string{"backfill as_scheduled 2 planned", "backfill as_scheduled 1 planned"}, brief(plan))

		report, err := coverage.Repair(t.Context(), b.client, plan, nil)
		require.NoError(t, err)
		assert.Equal(t, []string{"backfill as_scheduled 2 done", "backfill as_scheduled 1 done"}, brief(plan))
		assert.Empty(t, report.After.Gaps(), report)
		assert.Len(t, b.project.Backfills(b.export), 2)

		_, err = coverage.Repair(t.Context(), b.client, plan, nil)
		require.NoError(t, err, "a plan that is done")
		assert.Len(t, b.project.Backfills(b.export), 2)
		assert.Equal(t, "nothing to repair", strings.Split(b.plan(t, nil).String(), "\n")[2])
	})
}

// A gap that the plan exports as the schedule would is so in the coverage afterwards too: both measure its age alike.
func TestRepairOfADayAtTheAgeLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroken(t, 0, hogapitest.Export{}, nil)
		b.export = b.project.AddExport(hogapitest.Export{Interval: hogapi.IntervalDay, Created: coverageNow.AddDate(0, 0, -8), DestinationType: "BigQuery"})
		b.project.RunSchedule(b.export, func(_, end time.Time) (hogapitest.Outcome, bool) {
			age := coverageNow.Sub(end)
			return hogapitest.Outcome{}, age < 4*24*time.Hour || age > 5*24*time.Hour
		})
		plan := b.plan(t, nil)
		require.Equal(t, []string{"backfill as_scheduled 1 planned"}, brief(plan))
		report, err := coverage.Repair(t.Context(), b.client, plan, nil)
		require.NoError(t, err)
		for _, x := range report.After.Intervals {
			assert.Contains(t, []coverage.State{coverage.StateCompleted, coverage.StateNotDue}, x.State, report.After)
		}
	})
}

// Backfill, coverage.MakePlan, Repair and Coverage measure an age by one line: of the host, or of the plan, which keeps its own.
func TestOneAgeLineForARepair(t *testing.T) {
	cloud := []hogapi.Option{hogapi.WithBaseURL("https://eu.posthog.com")}
	for name, tt := range map[string]struct {
		options []hogapi.Option
		line    time.Duration // of coverage.RepairOptions
		rows    coverage.RowChoice
		after   []string
	}{
		"cloud":       {cloud, 0, coverage.RowsAsScheduled, nil},
		"self-hosted": {nil, 0, coverage.RowsByTimestamp, []string{"150 completed by timestamp"}},
		"its own":     {nil, 7 * 24 * time.Hour, coverage.RowsAsScheduled, nil},
		"no line":     {nil, math.MaxInt64, coverage.RowsAsScheduled, nil},
		"a short one": {cloud, 4 * 24 * time.Hour, coverage.RowsByTimestamp, []string{"150 completed by timestamp"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBroken(t, 200, hogapitest.Export{}, map[int]hogapi.RunStatus{150: ""})
				b.client = b.server.Client(t, tt.options...)
				b.addEvent(150, "e")
				plan := b.plan(t, &coverage.RepairOptions{AgeLine: tt.line})
				assert.Equal(t, []string{"backfill " + string(tt.rows) + " 1 planned"}, brief(plan))
				stored, err := json.Marshal(plan)
				require.NoError(t, err)
				require.NoError(t, json.Unmarshal(stored, plan))
				report, err := coverage.Repair(t.Context(), b.client, plan, nil)
				require.NoError(t, err)
				assert.Empty(t, report.After.Gaps())
				assert.Equal(t, tt.after, exceptCompleted(states(report.After)))
			})
		})
	}
}

func TestRepairPlansByAgeAndDestination(t *testing.T) {
	gap := map[int]hogapi.RunStatus{150: "", 149: "", 122: hogapi.RunStatusFailed, 121: "", 120: "", 119: "", 10: ""}
	for name, tt := range map[string]struct {
		export hogapitest.Export
		events bool // with a timestamp in the gaps
		want   []string
	}{
		"table": {hogapitest.Export{DestinationType: "BigQuery"}, true, []string{
			"backfill by_timestamp 2 planned", "backfill by_timestamp 2 planned", "backfill as_scheduled 2 planned", "backfill as_scheduled 1 planned"}},
		"table without events": {hogapitest.Export{DestinationType: "BigQuery"}, false, []string{
			"file_download as_scheduled 2 left_to_you", "file_download as_scheduled 2 left_to_you", "backfill as_scheduled 2 planned", "backfill as_scheduled 1 planned"}},
		"object store": {hogapitest.Export{DestinationType: "AwsS3", Integration: 1, Config: map[string]any{"bucket_name": "b", "region": "r", "prefix": "p/"}}, true, []string{
			"second_export by_timestamp 2 planned", "second_export by_timestamp 2 planned", "backfill as_scheduled 2 planned", "backfill as_scheduled 1 planned"}},
		"persons":   {hogapitest.Export{DestinationType: "BigQuery", Model: hogapi.ModelPersons}, true, []string{"backfill as_scheduled 2 planned", "backfill as_scheduled 4 planned", "backfill as_scheduled 1 planned"}},
		"hogql":     {hogapitest.Export{DestinationType: "BigQuery", Model: hogapi.ModelHogQL, Extra: map[string]any{"hogql_query": "SELECT {data_interval_start}"}}, true, []string{"backfill as_scheduled 2 planned", "backfill as_scheduled 4 planned", "backfill as_scheduled 1 planned"}},
		"workflows": {hogapitest.Export{DestinationType: "HTTP"}, true, []string{"by_hand by_timestamp 2 left_to_you", "by_hand by_timestamp 2 left_to_you", "by_hand as_scheduled 2 left_to_you", "by_hand as_scheduled 1 left_to_you"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBroken(t, 200, tt.export, gap)
				for _, back := range []int{150, 122} {
					at := coverageNow.Truncate(time.Hour).Add(-time.Duration(back)*time.Hour + time.Minute)
					if tt.events {
						b.project.AddEvent(hogapitest.StoredEvent{UUID: uuid.New(), Event: "e", DistinctID: "x", Time: at})
					}
				}
				plan := b.plan(t, nil)
				assert.Equal(t, tt.want, brief(plan), plan)
				stored, err := json.Marshal(plan)
				require.NoError(t, err)
				var again coverage.Plan
				require.NoError(t, json.Unmarshal(stored, &again))
				assert.Equal(t, *plan, again)
			})
		})
	}
}

// Each run of a query without placeholders exports all rows: it covers each gap before it, and no backfill is planned.
// Postgres, and Redshift with INSERT and VARCHAR, have the first rows of a run that failed. The other tables get the rows of
// a run at once, and Redshift with SUPER keeps one row for each uuid.
func TestRepairNotesSayWhatComesTwice(t *testing.T) {
	const part, twice, replace = "rows that are already in the table", "neighbouring intervals are duplicated", "replace rows with the same uuid"
	for name, tt := range map[string]struct {
		kind       string
		config     map[string]any
		gap        hogapi.RunStatus
		young, old string
	}{
		"Postgres":          {"Postgres", nil, hogapi.RunStatusFailed, part, twice},
		"cancelled":         {"Postgres", nil, hogapi.RunStatusCancelled, part, twice},
		"never ran":         {"Postgres", nil, "", "", twice},
		"Redshift":          {"Redshift", map[string]any{}, hogapi.RunStatusFailed, part, twice},
		"Redshift, VARCHAR": {"Redshift", map[string]any{"properties_data_type": "varchar", "mode": "INSERT"}, hogapi.RunStatusFailed, part, twice},
		"Redshift, COPY":    {"Redshift", map[string]any{"properties_data_type": "varchar", "mode": "COPY"}, hogapi.RunStatusFailed, "", twice},
		"Redshift, SUPER":   {"Redshift", map[string]any{"properties_data_type": "SUPER", "mode": "INSERT"}, hogapi.RunStatusFailed, "", replace},
		"BigQuery":          {"BigQuery", nil, hogapi.RunStatusFailed, "", twice},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBroken(t, 200, hogapitest.Export{DestinationType: tt.kind, Config: tt.config}, map[int]hogapi.RunStatus{180: tt.gap, 10: tt.gap})
				at := coverageNow.Truncate(time.Hour).Add(-180*time.Hour + time.Minute)
				b.project.AddEvent(hogapitest.StoredEvent{UUID: uuid.New(), Event: "e", DistinctID: "x", Time: at})
				plan := b.plan(t, &coverage.RepairOptions{AcceptCopies: true})
				require.Len(t, plan.Steps, 2, plan)
				assert.Contains(t, plan.Steps[0].Note, tt.old)
				assert.Contains(t, plan.Steps[1].Note, tt.young)
				assert.Equal(t, tt.young == "", plan.Steps[1].Note == "")
				assert.Equal(t, tt.young == "", b.plan(t, nil).Steps[1].State == coverage.StepPlanned)
			})
		})
	}
}

func TestRepairOfAnExportOfAllRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := hogapitest.Export{DestinationType: "BigQuery", Model: hogapi.ModelHogQL, Extra: map[string]any{"hogql_query": "SELECT event FROM events"}}
		b := newBroken(t, 40, x, map[int]hogapi.RunStatus{20: "", 9: hogapi.RunStatusFailed, 1: hogapi.RunStatusFailed})
		plan := b.plan(t, nil)
		assert.Equal(t, []string{"by_hand as_scheduled 1 left_to_you"}, brief(plan))
		assert.Contains(t, plan.String(), "each run exports all rows, so the next run covers the gap")
	})
}

// The estimate counts only events with the names that the export sends. With filters too, it is a bound.
func TestAnEstimateCountsTheExportsEvents(t *testing.T) {
	const atMost = "note: The export has filters, so each estimate is an upper bound."
	filters := map[string]any{"filters": []any{map[string]any{"key": "$browser", "operator": "exact", "type": "event", "value": []string{"Chrome"}}}}
	for name, tt := range map[string]struct {
		config, extra map[string]any
		era           hogapitest.Era
		want          int64
		steps         []string
		isBound       bool
	}{
		"all":      {nil, nil, hogapitest.E4, 6, []string{"backfill", "backfill"}, false},
		"none":     {map[string]any{"include_events": []string{}, "exclude_events": nil}, nil, hogapitest.E4, 6, []string{"backfill", "backfill"}, false},
		"included": {map[string]any{"include_events": []string{"paid", "o'clock"}}, nil, hogapitest.E4, 3, []string{"backfill", "file_download"}, false},
		"excluded": {map[string]any{"exclude_events": []string{"paid", "left"}}, nil, hogapitest.E4, 4, []string{"backfill", "backfill"}, false},
		"both": {map[string]any{"include_events": []string{"paid", "viewed"}, "exclude_events": []string{"paid"}}, nil, hogapitest.E4, 3,
			[]string{"backfill", "backfill"}, false},
		"filters":    {map[string]any{"include_events": []string{"paid"}}, filters, hogapitest.E4, 2, []string{"backfill", "file_download"}, true},
		"no filters": {nil, map[string]any{"filters": []any{}}, hogapitest.E4, 6, []string{"backfill", "backfill"}, false},
		"as a text":  {map[string]any{"include_events": "['paid']"}, nil, hogapitest.E1, 6, []string{"backfill", "backfill"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := hogapitest.Export{DestinationType: "Postgres", Config: tt.config, Extra: tt.extra}
				b := newBroken(t, 200, x, map[int]hogapi.RunStatus{150: "", 130: ""}, hogapitest.WithEra(tt.era))
				for _, event := range []string{"paid", "paid", "o'clock", "viewed", "viewed", "viewed"} {
					b.addEvent(150, event)
				}
				b.addEvent(130, "viewed")
				plan := b.plan(t, nil)
				require.Len(t, plan.Steps, 2)
				assert.Equal(t, tt.steps, []string{string(plan.Steps[0].Action), string(plan.Steps[1].Action)})
				assert.Equal(t, tt.want, *plan.Steps[0].Estimate)
				assert.Equal(t, tt.isBound, strings.Contains(plan.String(), atMost), plan)
			})
		})
	}
}

// The last line counts each state by its name: a step that has begun is not planned any more.
func TestAPlanAsText(t *testing.T) {
	steps := []coverage.Step{{State: coverage.StepPlanned}, {State: coverage.StepDone}, {State: coverage.StepLeft}}
	last := func() string {
		lines := strings.Split((&coverage.Plan{Steps: steps}).String(), "\n")
		return lines[len(lines)-1]
	}
	assert.Equal(t, "3 steps: 1 planned, 1 done or covered, 0 failed, 1 left to you", last())
	steps = append(steps, coverage.Step{State: coverage.StepBegun})
	assert.Equal(t, "4 steps: 1 planned, 1 begun, 1 done or covered, 0 failed, 1 left to you", last())
}

// A server of E1 begins the run of a week, which is over on a Thursday, up to a day after its end. Until then, the week is
// no gap.
func TestARunThatIsStillDueIsNotRepaired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroken(t, 0, hogapitest.Export{}, nil, hogapitest.WithOldService())
		thursday := time.Date(2026, 11, 26, 0, 0, 0, 0, time.UTC)
		b.export = b.project.AddExport(hogapitest.Export{Interval: hogapi.IntervalWeek, Created: thursday.AddDate(0, 0, -14), DestinationType: "BigQuery"})
		for end := thursday.AddDate(0, 0, -7); !end.After(thursday); end = end.AddDate(0, 0, 7) {
			b.project.AddRun(b.export, hogapitest.Run{Start: end.AddDate(0, 0, -7), End: end, Created: end.Add(20 * time.Hour)})
		}
		end := thursday.AddDate(0, 0, 7)
		last := func() coverage.State {
			c, err := coverage.Of(t.Context(), b.client, b.export, nil)
			require.NoError(t, err)
			return c.Intervals[len(c.Intervals)-1].State
		}
		time.Sleep(end.Sub(coverageNow))
		for _, after := range []time.Duration{2 * time.Hour, 21 * time.Hour} {
			time.Sleep(after)
			assert.Equal(t, coverage.StateNotDue, last(), after)
			assert.Empty(t, b.plan(t, nil).Steps, after)
		}
		time.Sleep(2 * time.Hour)
		assert.Equal(t, coverage.StateNeverScheduled, last())
		assert.Len(t, b.plan(t, nil).Steps, 1)
	})
}

var lake = hogapitest.Export{
	Name: "lake", DestinationType: "AwsS3", Integration: 1, Config: map[string]any{"bucket_name": "b", "region": "r", "prefix": "p/"},
}

// Without an integration and credentials, the plan has the request for a second export, with blanks.
func TestRepairPlanWithoutCredentials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old := hogapitest.Export{Name: "lake", DestinationType: "S3", Config: map[string]any{"bucket_name": "b", "region": "r", "prefix": "p/", "aws_secret_access_key": "hidden"}}
		b := newBroken(t, 200, old, map[int]hogapi.RunStatus{150: ""}, hogapitest.WithOldService())
		plan := b.plan(t, nil)
		require.Equal(t, []string{"file_download as_scheduled 1 left_to_you"}, brief(plan))
		assert.JSONEq(t, `{"name": "lake (repair of 2026-11-20T06:00:00Z)", "model": "events", "interval": "hour", "paused": true, "filters": null, "destination": {"type": "S3",
			"config": {"bucket_name": "b", "region": "r", "prefix": "p/repair-2026-11-20T060000Z/", "aws_access_key_id": "", "aws_secret_access_key": ""}}}`, string(plan.Steps[0].Request))
		assert.Contains(t, plan.String(), "instead of the download from 2026-11-20 06:00: create this paused export")

		at := coverageNow.Truncate(time.Hour).Add(-150*time.Hour + time.Minute)
		b.project.AddEvent(hogapitest.StoredEvent{UUID: uuid.New(), Event: "e", DistinctID: "x", Time: at})
		credentials := destination.S3{AWSAccessKeyID: hogapi.Set(hogapi.NewSecret("id")), AWSSecretAccessKey: hogapi.Set(hogapi.NewSecret("secret"))}
		plan = b.plan(t, &coverage.RepairOptions{Credentials: credentials})
		require.Equal(t, []string{"second_export by_timestamp 1 planned"}, brief(plan))
		_, err := coverage.Repair(t.Context(), b.client, plan, &coverage.RepairOptions{Credentials: credentials})
		require.NoError(t, err)
		second := b.project.Exports()[1]
		assert.Equal(t, "secret", second.Config["aws_secret_access_key"])
		assert.True(t, second.Paused)
	})
}

// After a repair, the destination has the rows that the plan promised: all rows of young gaps, rows by timestamp of old
// ones, and no replaced object.
func TestRepairedRowsAreThoseOfThePlan(t *testing.T) {
	for _, isTable := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			server := hogapitest.New(hogapitest.WithTime(coverageNow), hogapitest.WithPolls(1))
			b := &brokenExport{server: server, project: server.Project(hogapitest.DefaultProject), client: server.Client(t)}
			b.project.ExportEvents()
			random, begin := rand.New(rand.NewPCG(30, 9)), coverageNow.AddDate(0, 0, -9)
			arrived := map[uuid.UUID]time.Time{}
			for range 3000 {
				at, late := begin.Add(time.Duration(random.IntN(9*24*60))*time.Minute), time.Duration(0)
				if random.IntN(10) == 0 {
					late = time.Duration(random.IntN(30*60)) * time.Minute
				}
				id := uuid.New()
				arrived[id] = at
				b.project.AddEvent(hogapitest.StoredEvent{UUID: id, Event: "paid", DistinctID: "ada", Time: at.Add(-late), CreatedAt: at})
			}
			x := lake
			if isTable {
				x = hogapitest.Export{DestinationType: "BigQuery", Integration: 2, Config: map[string]any{"dataset_id": "d", "table_id": "t"}}
			}
			x.Created = begin
			b.export = b.project.AddExport(x)
			isOut := func(start time.Time) bool {
				age := int(coverageNow.Sub(start).Hours())
				return age >= 190 && age < 200 || age >= 30 && age < 40
			}
			b.project.RunSchedule(b.export, func(start, _ time.Time) (hogapitest.Outcome, bool) { return hogapitest.Outcome{}, !isOut(start) })
			before := b.project.Exported(b.export)
			plan := b.plan(t, nil)
			if isTable {
				require.Equal(t, []string{"backfill by_timestamp 10 planned", "backfill as_scheduled 10 planned"}, brief(plan))
			} else {
				require.Equal(t, []string{"second_export by_timestamp 10 planned", "backfill as_scheduled 10 planned"}, brief(plan))
			}
			_, err := coverage.Repair(t.Context(), b.client, plan, nil)
			require.NoError(t, err)

			assert.Equal(t, before, b.project.Exported(b.export)[:len(before)], "nothing that was there is replaced")
			copies := map[uuid.UUID]int{}
			for _, export := range b.project.Exports() {
				for _, part := range b.project.Exported(export.ID) {
					for _, id := range part.Events {
						copies[id]++
					}
				}
			}
			var again int64
			for id, at := range arrived {
				isOld, isDue := isOut(at.Truncate(time.Hour)) && coverageNow.Sub(at) > 5*24*time.Hour, at.Before(coverageNow.Truncate(time.Hour))
				if isDue && !isOld {
					assert.Positive(t, copies[id], "a row of no old gap is missing")
				}
				again += int64(max(copies[id]-1, 0))
			}
			assert.Positive(t, again, "rows of neighbouring hours come twice")
			assert.Less(t, again, *plan.Steps[0].Estimate, "of the rows of the old step only")
		})
	}
}

// A server that keeps no records of backfills chooses the rows of each by timestamp.
func TestRepairOnAnOldServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroken(t, 40, hogapitest.Export{DestinationType: "Postgres", Config: map[string]any{}}, map[int]hogapi.RunStatus{5: ""}, hogapitest.WithEra(hogapitest.E1))
		b.project.AddEvent(hogapitest.StoredEvent{UUID: uuid.New(), Event: "e", DistinctID: "x", Time: coverageNow.Truncate(time.Hour).Add(-5*time.Hour + time.Minute)})
		plan := b.plan(t, nil)
		assert.Equal(t, []string{"backfill by_timestamp 1 planned"}, brief(plan))
		report, err := coverage.Repair(t.Context(), b.client, plan, nil)
		require.NoError(t, err)
		assert.Empty(t, report.After.Gaps())
		assert.Equal(t, coverage.StateByTimestamp, report.After.Intervals[0].State)
	})
}

// An old gap of an object store goes to another prefix, so no object of the export is replaced. The second export cannot
// have the old names of files, which only an export keeps that writes them.
func TestRepairWithASecondExport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old := lake
		old.Config = maps.Clone(lake.Config)
		maps.Copy(old.Config, map[string]any{"file_format": "Parquet", "compression": "zstd", "legacy_parquet_extension": true})
		b := newBroken(t, 200, old, map[int]hogapi.RunStatus{150: ""})
		b.project.AddEvent(hogapitest.StoredEvent{UUID: uuid.New(), Event: "e", DistinctID: "x", Time: coverageNow.Truncate(time.Hour).Add(-150*time.Hour + time.Minute)})
		plan := b.plan(t, nil)
		require.Equal(t, []string{"second_export by_timestamp 1 planned"}, brief(plan))
		assert.EqualValues(t, 1, *plan.Steps[0].Estimate)
		_, err := coverage.Repair(t.Context(), b.client, plan, nil)
		require.NoError(t, err)
		assert.Equal(t, []string{"second_export by_timestamp 1 done"}, brief(plan))
		all := b.project.Exports()
		require.Len(t, all, 2)
		assert.Equal(t, "p/repair-2026-11-20T060000Z/", all[1].Config["prefix"])
		assert.Equal(t, false, all[1].Config["legacy_parquet_extension"])
		assert.Contains(t, plan.Steps[0].Note, "; its Parquet files end in .parquet, without the codec")
		assert.True(t, all[1].Paused)
		assert.Empty(t, b.project.Backfills(b.export))
		assert.Len(t, b.project.Backfills(all[1].ID), 1)
	})
}

func TestRepairCancelsAStuckRunFirst(t *testing.T) {
	t.Run("", func(t *testing.T) { testCancelFirst(t) })
	t.Run("somebody cancels it at the same time", func(t *testing.T) { testCancelFirst(t, hogapitest.Acted(hogapitest.Status(400))) })
}

func testCancelFirst(t *testing.T, faults ...hogapitest.Fault) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroken(t, 40, hogapitest.Export{}, map[int]hogapi.RunStatus{9: ""})
		b.project.NextRuns(hogapitest.Outcome{Polls: 1 << 30})
		end := coverageNow.Truncate(time.Hour).Add(-8 * time.Hour)
		b.project.AddRun(b.export, hogapitest.Run{Status: hogapi.RunStatusRunning, End: end, Created: end.Add(time.Minute)})
		b.server.Script(ops.RunsCancel, faults...)
		plan := b.plan(t, nil)
		assert.Equal(t, []string{"cancel_run  1 planned", "backfill as_scheduled 1 planned"}, brief(plan))
		report, err := coverage.Repair(t.Context(), b.client, plan, nil)
		require.NoError(t, err)
		assert.Equal(t, "the run ended as Cancelled", plan.Steps[0].Result)
		assert.Empty(t, report.After.Gaps())
	})
}

// A paused export is unpaused after the last backfill, and runs again. Without the option it stays paused.
func TestRepairUnpausesAtTheEnd(t *testing.T) {
	for isAsked, want := range map[bool][]string{
		true:  {"backfill as_scheduled 1 done", "unpause  0 done"},
		false: {"backfill as_scheduled 1 done"},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBroken(t, 0, hogapitest.Export{}, nil)
			b.export = b.project.AddExport(hogapitest.Export{Created: coverageNow.Add(-10 * time.Hour), DestinationType: "BigQuery"})
			missing := coverageNow.Truncate(time.Hour).Add(-4 * time.Hour)
			b.project.RunSchedule(b.export, func(start, _ time.Time) (hogapitest.Outcome, bool) {
				return hogapitest.Outcome{}, !start.Equal(missing)
			})
			b.project.EditExport(b.export, coverageNow, func(x *hogapitest.Export) { x.Paused = true })
			isPaused := func() bool { return b.project.Exports()[len(b.project.Exports())-1].Paused }
			plan := b.plan(t, &coverage.RepairOptions{Unpause: isAsked})
			assert.Equal(t, !isAsked, strings.Contains(plan.String(), "The export is paused and stays so"), plan)
			var pausedAt []bool // at each store of the plan
			_, err := coverage.Repair(t.Context(), b.client, plan, &coverage.RepairOptions{Save: func(p *coverage.Plan) error {
				if p.Steps[0].State != coverage.StepDone {
					pausedAt = append(pausedAt, isPaused())
				}
				return nil
			}})
			require.NoError(t, err)
			assert.Equal(t, want, brief(plan))
			assert.Equal(t, []bool{true, true}, pausedAt, "paused until the backfill is done")
			assert.Equal(t, !isAsked, isPaused())

			time.Sleep(2 * time.Hour)
			after, err := coverage.Of(t.Context(), b.client, b.export, &coverage.Options{From: coverageNow})
			require.NoError(t, err)
			require.Len(t, after.Intervals, 2)
			for _, x := range after.Intervals {
				assert.Equal(t, map[bool]coverage.State{true: coverage.StateCompleted, false: coverage.StatePaused}[isAsked], x.State, after)
			}
		})
	}
}

// Repair stops at the first step that fails, and goes on from there.
func TestRepairStopsAtAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroken(t, 40, hogapitest.Export{}, map[int]hogapi.RunStatus{30: "", 12: "", 5: ""})
		plan := b.plan(t, nil)
		b.project.NextRuns(hogapitest.Outcome{}, hogapitest.Outcome{Status: "Failed", Error: "no such bucket"})
		report, err := coverage.Repair(t.Context(), b.client, plan, nil)
		require.ErrorIs(t, err, hogapi.ErrRunFailed)
		require.ErrorContains(t, err, "no such bucket; fix the cause, and call Repair again with this plan")
		assert.NotContains(t, plan.Steps[1].Result, "Repair", "the advice is of the error only")
		assert.Equal(t, []string{"backfill as_scheduled 1 done", "backfill as_scheduled 1 failed", "backfill as_scheduled 1 planned"}, brief(plan))
		assert.Len(t, report.After.Gaps(), 2)

		_, err = coverage.Repair(t.Context(), b.client, plan, nil)
		require.NoError(t, err)
		assert.Len(t, b.project.Backfills(b.export), 4)
	})
}

// A repair waits for somebody else's backfill, and does not export its intervals again.
func TestRepairBesideAnotherOperator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroken(t, 40, hogapitest.Export{}, map[int]hogapi.RunStatus{30: "", 12: ""}, hogapitest.WithRunDelay(time.Minute))
		plan := b.plan(t, nil)
		first := plan.Steps[0]
		_, err := b.client.BatchExports.Backfill(t.Context(), b.export, hogapi.BackfillRange{Start: hogapi.AtTime(first.Start), End: hogapi.AtTime(first.End)}, nil)
		require.NoError(t, err)
		_, err = coverage.Repair(t.Context(), b.client, plan, nil)
		require.NoError(t, err)
		assert.Equal(t, []string{"backfill as_scheduled 1 covered_already", "backfill as_scheduled 1 done"}, brief(plan))
		assert.Len(t, b.project.Backfills(b.export), 2)
	})
}

func TestRepairRefusesAPlanThatDoesNotFit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroken(t, 200, hogapitest.Export{}, map[int]hogapi.RunStatus{119: ""})
		plan := b.plan(t, nil)
		time.Sleep(3 * time.Hour)
		_, err := coverage.Repair(t.Context(), b.client, plan, nil)
		require.ErrorContains(t, err, "this gap has become older since the plan was made, so make a new plan")
		require.ErrorIs(t, err, hogapi.ErrInvalid)

		plan = b.plan(t, nil)
		b.project.EditExport(b.export, time.Now(), func(x *hogapitest.Export) { x.Interval = hogapi.IntervalDay })
		_, err = coverage.Repair(t.Context(), b.client, plan, nil)
		require.ErrorContains(t, err, "make a new plan")
		assert.Empty(t, b.project.Backfills(b.export))
		_, err = coverage.Repair(t.Context(), b.client, nil, nil)
		require.ErrorIs(t, err, hogapi.ErrInvalid)
		_, err = coverage.MakePlan(t.Context(), b.client, nil, nil)
		require.ErrorIs(t, err, hogapi.ErrInvalid)
	})
}

// Only the part without a run is exported again, also where it is shorter than an interval.
func TestRepairOfAPartOfAnInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroken(t, 40, hogapitest.Export{}, map[int]hogapi.RunStatus{12: ""})
		b.project.EditExport(b.export, coverageNow.Add(-10*time.Minute), func(x *hogapitest.Export) { x.Interval = hogapi.IntervalEvery15Minutes })
		missing := coverageNow.Truncate(time.Hour).Add(-12 * time.Hour)
		half := missing.Add(30 * time.Minute)
		b.project.AddRun(b.export, hogapitest.Run{Start: half, End: missing.Add(time.Hour), Created: coverageNow.Add(-time.Minute)})
		plan := b.plan(t, nil)
		require.Len(t, plan.Steps, 1)
		assert.Equal(t, []coverage.State{coverage.StatePartly}, plan.Steps[0].Gap)
		assert.Equal(t, half, plan.Steps[0].End)
		report, err := coverage.Repair(t.Context(), b.client, plan, nil)
		require.NoError(t, err)
		assert.Empty(t, report.After.Gaps(), report)
		require.Len(t, b.project.Backfills(b.export), 1)
		assert.Equal(t, half, b.project.Backfills(b.export)[0].End.UTC())
	})
}

// One more failed run would pause the export.
func TestRepairDoesNotPauseTheExport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroken(t, 40, hogapitest.Export{}, map[int]hogapi.RunStatus{5: hogapi.RunStatusFailed, 3: hogapi.RunStatusFailed})
		_, err := coverage.Repair(t.Context(), b.client, b.plan(t, nil), nil)
		require.ErrorContains(t, err, "2 of the last 24 runs have failed, and one more failure would pause the export")
		assert.Empty(t, b.project.Backfills(b.export))
	})
}

// A repair runs the steps of a destination's test that change nothing, with a config as a new export may have it. A test that
// fails is a note if the newest run completed, since exports need fewer rights.
func TestRepairTestsTheDestinationFirst(t *testing.T) {
	files := func(extra map[string]any) map[string]any {
		config := map[string]any{"bucket_name": "b", "region": "r", "prefix": "p/", "file_format": "Parquet", "compression": "zstd"}
		maps.Copy(config, extra)
		return config
	}
	databricks := hogapitest.Export{DestinationType: "Databricks", Config: map[string]any{"http_path": "/p", "catalog": "c", "schema": "s", "table_name": "events"}}
	const denied = "We couldn't access bucket 'b'"
	for name, tt := range map[string]struct {
		kind    integration.Kind
		export  hogapitest.Export
		last    hogapi.RunStatus // of the newest run
		fails   string           // a step
		testAll bool
		steps   int
		note    string
		stops   bool

		lacksTest bool
	}{
		"it passes":                 {kind: "aws-s3", export: hogapitest.Export{DestinationType: "AwsS3", Config: files(nil)}, steps: 2},
		"old names of files":        {kind: "aws-s3", export: hogapitest.Export{DestinationType: "AwsS3", Config: files(map[string]any{"legacy_parquet_extension": true})}, steps: 2},
		"without s3:ListBucket":     {kind: "aws-s3", export: hogapitest.Export{DestinationType: "AwsS3", Config: files(nil)}, fails: "Check S3 bucket exists", steps: 2, note: `does not pass its test "Check S3 bucket exists": ` + denied + ". The newest run completed, so the repair continues."},
		"the newest run failed":     {kind: "aws-s3", export: hogapitest.Export{DestinationType: "AwsS3", Config: files(nil)}, last: hogapi.RunStatusFailed, fails: "Check S3 bucket exists", steps: 2, stops: true},
		"a volume of the customer":  {kind: "databricks", export: databricks, steps: 3},
		"a server without the test": {kind: "databricks", export: databricks, lacksTest: true, note: "The destination was not tested: "},
		"all steps":                 {kind: "databricks", export: databricks, testAll: true, steps: 5},
		"hogql, default table": {kind: "google-cloud-service-account", testAll: true, steps: 5, export: hogapitest.Export{
			DestinationType: "BigQuery", Config: map[string]any{"dataset_id": "d"}, Model: hogapi.ModelHogQL, Extra: map[string]any{"hogql_query": "SELECT {data_interval_start}"}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBroken(t, 0, hogapitest.Export{}, nil)
				if tt.lacksTest {
					b.server.Script(ops.BatchExportsRunTestStepOf, hogapitest.Status(http.StatusNotFound, map[string]any{"detail": "Endpoint not found."}))
				}
				tt.export.Integration = b.project.AddIntegration(hogapitest.Integration{Kind: tt.kind, Config: map[string]any{"name": "n"}})
				except := map[int]hogapi.RunStatus{5: ""}
				if tt.last != "" {
					except[1] = tt.last
				}
				b.export = exportOf(b.project, 40, tt.export, except)
				plan := b.plan(t, nil)
				if tt.fails != "" {
					b.project.FailTestStep(tt.fails, denied)
				}
				_, err := coverage.Repair(t.Context(), b.client, plan, &coverage.RepairOptions{TestAll: tt.testAll})
				if !tt.lacksTest {
					assert.Len(t, b.server.Calls(ops.BatchExportsRunTestStepOf), tt.steps)
				}
				assert.Empty(t, b.server.Calls(ops.BatchExportsRunTestStep), "the test of another export")
				assert.Equal(t, tt.note != "", strings.Contains(plan.String(), "note: The destination"), plan)
				assert.Contains(t, plan.String(), tt.note)
				if tt.stops {
					require.ErrorContains(t, err, denied)
					assert.Empty(t, b.project.Backfills(b.export))
					return
				}
				require.NoError(t, err)
				assert.Len(t, b.project.Backfills(b.export), 1)
			})
		})
	}
}

// The service has too many backfills for a while.
func TestRepairWaitsForOtherBackfills(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroken(t, 40, hogapitest.Export{}, map[int]hogapi.RunStatus{5: ""})
		busy := hogapitest.Status(http.StatusTooManyRequests, map[string]any{"type": "throttled_error", "code": "too_many_concurrent_backfills", "detail": "Too many."})
		b.server.Script(ops.BackfillsCreate, busy, busy)
		report, err := coverage.Repair(t.Context(), b.client, b.plan(t, nil), nil)
		require.NoError(t, err)
		assert.Empty(t, report.After.Gaps())
	})
	synctest.Test(t, func(t *testing.T) { // one without an end, which covers the gap
		b := newBroken(t, 40, hogapitest.Export{DestinationType: "NoOp"}, map[int]hogapi.RunStatus{5: ""})
		plan := b.plan(t, nil)
		open := hogapi.BackfillRange{Start: hogapi.AtTime(plan.Steps[0].Start), End: hogapi.CaughtUp()}
		_, err := b.client.BatchExports.Backfill(t.Context(), b.export, open, nil)
		require.NoError(t, err)
		_, err = coverage.Repair(t.Context(), b.client, plan, nil)
		require.NoError(t, err)
		assert.Equal(t, []string{"backfill as_scheduled 1 covered_already"}, brief(plan))
		require.Len(t, b.project.Backfills(b.export), 1)
		assert.Equal(t, hogapi.RunStatusCompleted, b.project.Backfills(b.export)[0].Status)
	})
}

var errKilled = errors.New("killed")

// dying ends the process at a request: before it is sent, or when its answer has come.
type dying struct {
	http.RoundTripper

	left  int
	after bool
	die   func()
}

func (d *dying) RoundTrip(r *http.Request) (*http.Response, error) {
	d.left--
	if d.left > 0 {
		return d.RoundTripper.RoundTrip(r)
	}
	if d.left == 0 && d.after {
		if answer, err := d.RoundTripper.RoundTrip(r); err == nil {
			_ = answer.Body.Close()
		}
	}
	d.die()
	return nil, errKilled
}

// A repair that is killed at any request, also between a request and its answer, begins no gap twice.
func TestRepairThatDiesAtAnyRequest(t *testing.T) {
	deaths, lost := 0, 0
	for at := 1; at < 200; at++ {
		for _, how := range []struct{ after, isSaved bool }{{false, at%2 == 0}, {true, true}, {true, false}} {
			survived := false
			synctest.Test(t, func(t *testing.T) { survived = repairKilled(t, at, how.after, how.isSaved, &lost) })
			if survived {
				assert.Greater(t, deaths, 120)
				assert.Equal(t, 2, lost, "a backfill of each gap began, and its answer was lost")
				return
			}
			deaths++
		}
	}
	t.Error("the repair never ended")
}

// An old and a young gap of an object store: the old one goes to a second export.
func TestRepairOfAnObjectStoreThatDiesAtAnyRequest(t *testing.T) {
	lost := 0
	defer func() { assert.Equal(t, 2, lost, "a backfill of each gap began, and its answer was lost") }()
	for at, survived := 1, false; !survived; at++ {
		synctest.Test(t, func(t *testing.T) {
			b := newBroken(t, 130, lake, map[int]hogapi.RunStatus{128: "", 12: ""}, hogapitest.WithRunDelay(time.Minute), hogapitest.WithLateRows(1))
			b.project.AddEvent(hogapitest.StoredEvent{UUID: uuid.New(), Event: "e", DistinctID: "x", Time: coverageNow.Truncate(time.Hour).Add(-128*time.Hour + time.Minute)})
			survived = b.killed(t, at, true, true, &lost)
			if all := b.project.Exports(); !survived {
				require.Len(t, all, 2, "killed at request %d", at)
				assert.Len(t, b.project.Backfills(all[1].ID), 1, "killed at request %d", at)
				assert.Len(t, b.project.Backfills(b.export), 1, "killed at request %d", at)
			} else {
				assert.Greater(t, at, 40)
			}
		})
	}
}

// A backfill of a time without rows ends without a run, so only its record shows that it was there. Where the service keeps
// no records, the saved plan knows it, unless the answer to the request was lost too.
func TestRepairOfAGapWithoutRowsThatDiesAtAnyRequest(t *testing.T) {
	for name, tt := range map[string]struct {
		export hogapitest.Export
		era    hogapitest.Era
		plans  []bool // whether the plan was saved
		want   string
	}{
		"events":           {hogapitest.Export{}, hogapitest.E4, []bool{true, false}, "only coverage.DownloadRange gets rows that arrived in it"},
		"days of a zone":   {hogapitest.Export{Interval: hogapi.IntervalDay, Timezone: "Asia/Tokyo"}, hogapitest.E4, []bool{true, false}, "coverage.DownloadRange"},
		"persons":          {hogapitest.Export{Model: hogapi.ModelPersons}, hogapitest.E4, []bool{true, false}, "the service found no rows in this time"},
		"without a record": {hogapitest.Export{Model: hogapi.ModelPersons}, hogapitest.E1, []bool{true}, "the service found no rows in this time"},
	} {
		t.Run(name, func(t *testing.T) {
			lost := 0
			for n, survived := 1, false; !survived; n++ {
				for _, isSaved := range tt.plans {
					synctest.Test(t, func(t *testing.T) {
						options := []hogapitest.Option{hogapitest.WithRunDelay(time.Minute), hogapitest.WithLateRows(1), hogapitest.WithEra(tt.era)}
						b := newBroken(t, 40, tt.export, map[int]hogapi.RunStatus{12: ""}, options...)
						if tt.export.Interval == hogapi.IntervalDay {
							b.export = b.project.AddExport(hogapitest.Export{Interval: hogapi.IntervalDay, Timezone: tt.export.Timezone, Created: coverageNow.AddDate(0, 0, -5), DestinationType: "BigQuery"})
							b.project.RunSchedule(b.export, func(_, end time.Time) (hogapitest.Outcome, bool) { return hogapitest.Outcome{}, end.Day() != 24 })
						}
						b.project.SetRecords(b.export, func(time.Time, time.Time) int { return 0 })
						if survived = b.killed(t, n, n%2 == 0 && tt.era == hogapitest.E4, isSaved, &lost); survived {
							assert.Greater(t, n, 9)
							return
						}
						require.Len(t, b.project.Backfills(b.export), 1, "killed at request %d (saved %v)", n, isSaved)
						if tt.era == hogapitest.E4 {
							plan := b.plan(t, nil)
							require.Len(t, plan.Steps, 1)
							assert.Equal(t, coverage.StepLeft, plan.Steps[0].State)
							assert.Contains(t, plan.String(), tt.want)
						}
					})
				}
			}
		})
	}
}

func repairKilled(t *testing.T, at int, after, isSaved bool, lost *int) (survived bool) {
	b := newBroken(t, 40, hogapitest.Export{}, map[int]hogapi.RunStatus{30: "", 29: "", 12: ""}, hogapitest.WithRunDelay(time.Minute), hogapitest.WithLateRows(1))
	if survived = b.killed(t, at, after, isSaved, lost); !survived {
		assert.Empty(t, b.plan(t, nil).Steps, "killed at request %d", at)
		assert.Len(t, b.project.Backfills(b.export), 2, "killed at request %d (after %v, saved %v)", at, after, isSaved)
	}
	return survived
}

// killed repairs an export, is killed at a request, and repairs again. It counts the lost answers: a backfill began, and the
// stored plan does not know that.
func (b *brokenExport) killed(t *testing.T, at int, after, isSaved bool, lost *int) (survived bool) {
	plan := b.plan(t, nil)
	var saved []byte
	save := func(p *coverage.Plan) (err error) {
		saved, err = json.Marshal(p)
		return err
	}
	require.NoError(t, save(plan))
	const most = 12 * time.Hour // of a repair: one that begins a gap again and again does not end
	ctx, die := context.WithTimeout(t.Context(), most)
	defer die()
	transport := &dying{b.server.Transport(), at, after, die}
	mortal, err := hogapi.NewClient(append(b.server.ClientOptions(hogapitest.DefaultProject), hogapi.WithHTTPClient(&http.Client{Transport: transport}))...)
	require.NoError(t, err)
	_, err = coverage.Repair(ctx, mortal, plan, &coverage.RepairOptions{Save: func(p *coverage.Plan) error {
		if ctx.Err() != nil { // the dead store nothing
			return errKilled
		}
		return save(p)
	}})
	if survived = err == nil; survived {
		return true
	}
	require.Error(t, ctx.Err())
	if isSaved {
		plan = new(coverage.Plan)
		require.NoError(t, json.Unmarshal(saved, plan))
		begun, tickets := 0, 0
		for _, x := range b.project.Exports() {
			begun += len(b.project.Backfills(x.ID))
		}
		for _, step := range plan.Steps {
			if step.Ticket != nil && !step.Ticket.OutcomeUnknown {
				tickets++
			}
		}
		*lost += begun - tickets
	} else {
		time.Sleep(time.Minute) // whoever starts it again takes a while
		plan = b.plan(t, nil)
	}
	again, end := context.WithTimeout(t.Context(), most)
	defer end()
	_, err = coverage.Repair(again, b.client, plan, &coverage.RepairOptions{Save: save})
	require.NoError(t, err, "killed at request %d", at)
	return false
}

var keptExport = uuid.MustParse("0190f3c0-0000-7000-8000-00000000e4e4")

// The coverage and the plan that a version has stored are read by each later one: the one is continued, the other carried out.
func TestStoredCoverageAndPlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		read := func(name string, into any) {
			text, err := os.ReadFile("testdata/v0.1.0/" + name)
			require.NoError(t, err)
			require.NoError(t, json.Unmarshal(text, into))
			again, err := json.Marshal(into)
			require.NoError(t, err)
			assert.JSONEq(t, string(text), string(again), name)
		}
		var since coverage.Coverage
		var plan coverage.Plan
		read("coverage.json", &since)
		read("plan.json", &plan)
		lake := hogapitest.Export{ID: keptExport, Name: "lake", DestinationType: "AwsS3", Integration: 1, Config: map[string]any{"bucket_name": "b", "region": "r", "prefix": "p/"}}
		b := newBroken(t, 130, lake, map[int]hogapi.RunStatus{128: "", 90: hogapi.RunStatusFailed, 12: ""})
		b.addEvent(128, "e")
		c, err := coverage.Of(t.Context(), b.client, b.export, &coverage.Options{Since: &since})
		require.NoError(t, err)
		assert.Equal(t, []string{"131 before start", "128 never scheduled", "90 failed", "12 never scheduled"}, exceptCompleted(states(c)))
		_, err = coverage.Repair(t.Context(), b.client, &plan, nil)
		require.NoError(t, err)
		assert.Equal(t, []string{"second_export by_timestamp 1 done", "backfill as_scheduled 1 done", "backfill as_scheduled 1 done"}, brief(&plan))
	})
}
