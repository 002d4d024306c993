package flows_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/coverage"
)

// night is a service with one hourly export of events to Databricks that lacks runs for the last full hours. It plays
// the rules of PostHog's source without the fake: a backfill begins at the hour of the earliest timestamp in its range
// (temporal/backfill_batch_export.py, get_backfill_info), chooses rows by their arrival, and ends as Completed; the
// test of a destination drops the volume of its name (views/destination_tests/databricks.py, DatabricksVolumeTestStep).
type night struct {
	export    uuid.UUID
	now       time.Time
	rows      []nightRow
	runs      []map[string]any // newest first
	backfills []map[string]any
	delivered map[int]int // by row
	volumes   map[string]bool
}

type nightRow struct{ timestamp, arrived time.Time }

func (n *night) hour(back int) time.Time {
	return n.now.Truncate(time.Hour).Add(-time.Duration(back) * time.Hour)
}

// run exports the rows that arrived in an hour.
func (n *night) run(start time.Time, backfill any) (records int) {
	for i, row := range n.rows {
		if !row.arrived.Before(start) && row.arrived.Before(start.Add(time.Hour)) {
			n.delivered[i]++
			records++
		}
	}
	created := start.Add(61 * time.Minute)
	if backfill != nil {
		created = n.now
	}
	n.runs = append([]map[string]any{{
		"id": uuid.New(), "batch_export": n.export, "status": "Completed", "records_completed": records, "data_interval_start": start, "data_interval_end": start.Add(time.Hour),
		"created_at": created, "finished_at": created, "last_updated_at": created, "backfill": backfill,
	}}, n.runs...)
	return records
}

// backfill begins at the hour of the earliest timestamp.
func (n *night) backfill(start, end time.Time) uuid.UUID {
	id, first, total, runs := uuid.New(), end, 0, 0
	for _, row := range n.rows {
		if at := row.timestamp.Truncate(time.Hour); !row.timestamp.Before(start) && at.Before(first) {
			first = at
		}
	}
	for at := first; at.Before(end); at = at.Add(time.Hour) {
		total, runs = total+n.run(at, id), runs+1
	}
	record := map[string]any{
		"id": id, "team": 1, "batch_export": n.export, "start_at": start, "end_at": end, "status": "Completed", "created_at": n.now, "finished_at": n.now, "last_updated_at": n.now,
		"total_records_count": total, "adjusted_start_at": first, "progress": map[string]any{"total_runs": runs, "finished_runs": runs, "progress": 1.0},
	}
	if runs == 0 {
		record["adjusted_start_at"] = nil
	}
	n.backfills = append([]map[string]any{record}, n.backfills...)
	return id
}

func (n *night) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Start time.Time `json:"start_at"`
		End   time.Time `json:"end_at"`
		Step  int       `json:"step"`
	}
	_ = json.NewDecoder(r.Body).Decode(&body) // of a POST
	answer := func(status int, x any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(x) //nolint:errchkjson // of the test
	}
	steps := []map[string]any{}
	for _, name := range []string{
		"Establish connection to Databricks", "Verify Databricks catalog", "Verify Databricks schema", "Verify Databricks table", "Verify permissions to create a Databricks volume",
	} {
		steps = append(steps, map[string]any{"name": name, "description": "", "result": nil})
	}
	path := strings.TrimSuffix(r.URL.Path[strings.Index(r.URL.Path, "/batch_exports")+len("/batch_exports"):], "/")
	switch rest := strings.TrimPrefix(path, "/"+n.export.String()); {
	case !strings.Contains(r.URL.Path, "/batch_exports/"):
		answer(http.StatusForbidden, map[string]any{"type": "authentication_error", "detail": "no scope"})
	case path == "/test":
		answer(http.StatusOK, map[string]any{"steps": steps})
	case rest == "/run_test_step":
		if body.Step == 4 {
			delete(n.volumes, "events_test") // created if it is not there, and dropped
		}
		steps[body.Step]["result"] = map[string]any{"status": "Passed", "message": nil}
		answer(http.StatusOK, steps[body.Step])
	case rest == "/runs":
		answer(http.StatusOK, map[string]any{"next": nil, "previous": nil, "results": n.runs})
	case rest == "/backfills" && r.Method == http.MethodPost:
		answer(http.StatusCreated, map[string]any{"backfill_id": n.backfill(body.Start, body.End)})
	case rest == "/backfills":
		answer(http.StatusOK, map[string]any{"next": nil, "previous": nil, "results": n.backfills})
	case strings.HasPrefix(rest, "/backfills/"), strings.HasPrefix(rest, "/runs/"):
		for _, x := range append(n.backfills, n.runs...) {
			if strings.HasSuffix(rest, fmt.Sprint(x["id"])) {
				answer(http.StatusOK, x)
				return
			}
		}
		answer(http.StatusNotFound, map[string]any{"type": "invalid_request", "code": "not_found", "detail": "Not found."})
	default:
		answer(http.StatusOK, map[string]any{
			"id": n.export, "team_id": 1, "name": "nightly", "model": "events", "interval": "hour", "paused": false, "timezone": "UTC", "latest_runs": n.runs[:1],
			"created_at": n.hour(20), "last_updated_at": n.hour(20), "last_paused_at": nil, "start_at": nil, "end_at": nil,
			"destination": map[string]any{"type": "Databricks", "integration": 1, "config": map[string]any{"http_path": "/p", "catalog": "c", "schema": "s", "table_name": "events"}},
		})
	}
}

// On a quiet night, rows arrive late. A repair exports the rows that a backfill takes, and says where the others are,
// also in a second repair. It drops nothing.
func TestRepairOfAQuietNight(t *testing.T) {
	n := &night{export: uuid.New(), now: time.Now().UTC().Truncate(time.Second), delivered: map[int]int{}, volumes: map[string]bool{"events_test": true}, backfills: []map[string]any{}}
	for back := 8; back > 2; back-- { // six hours: in the first three only late rows arrive
		for i := range 4 {
			row := nightRow{n.hour(back).Add(time.Duration(i) * time.Minute), n.hour(back).Add(time.Duration(i) * time.Minute)}
			if back > 5 {
				row.timestamp = n.hour(30)
			}
			n.rows = append(n.rows, row)
		}
	}
	for _, back := range []int{19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 2, 1} {
		n.run(n.hour(back), nil)
	}
	server := httptest.NewServer(n)
	defer server.Close()
	client, err := hogapi.NewClient(hogapi.WithBaseURL(server.URL), hogapi.WithPersonalAPIKey("phx_night"), hogapi.WithProject("1"))
	require.NoError(t, err)
	plan := func() *coverage.Plan {
		c, err := coverage.Of(t.Context(), client, n.export, &coverage.Options{From: n.hour(19)})
		require.NoError(t, err)
		plan, err := coverage.MakePlan(t.Context(), client, c, nil)
		require.NoError(t, err)
		return plan
	}
	first := plan()
	require.Equal(t, []string{"backfill as_scheduled 6 planned"}, brief(first))
	report, err := coverage.Repair(t.Context(), client, first, &coverage.RepairOptions{Watch: &hogapi.WatchOptions{Interval: time.Millisecond, Settle: time.Millisecond}})
	require.NoError(t, err)
	assert.Equal(t, []string{"backfill as_scheduled 6 left_to_you"}, brief(first))
	assert.Equal(t, []hogapi.BackfillPart{{Start: n.hour(8), End: n.hour(5), Reason: hogapi.BackfillLeftOut}}, first.Steps[0].Left)
	for _, plan := range []*coverage.Plan{first, plan()} {
		t.Log("\n" + plan.String())
		assert.Contains(t, plan.String(), "coverage.DownloadRange")
		assert.Contains(t, plan.String(), "1 left to you")
	}
	assert.Equal(t, []string{"file_download as_scheduled 3 left_to_you"}, brief(plan()))
	require.Len(t, report.After.Gaps(), 1)
	assert.Equal(t, n.hour(8), report.After.Gaps()[0].Start)
	assert.Equal(t, n.hour(5), report.After.Gaps()[0].End)
	assert.Len(t, n.delivered, 12, "of 24 rows")
	assert.True(t, n.volumes["events_test"], "a volume of the customer")
	assert.Len(t, n.backfills, 1)
}
