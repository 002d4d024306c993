package hogapitest_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/integration"
)

func TestExportLife(t *testing.T) {
	over(t, nil, func(t *testing.T, w *wire) {
		w.project().AddIntegration(hogapitest.Integration{Kind: integration.KindPostgres})
		status, made := w.call("POST", "/batch_exports/", `{"name":"a","interval":"day","destination":{"type":"Postgres","config":{"database":"d","user":"u","password":"p","port":5432},"integration_id":1}}`)
		require.Equal(t, 201, status, made)
		id := made["id"].(string)
		assert.Equal(t, map[string]any{"type": "Postgres", "config": map[string]any{"database": "d", "port": 5432.0}, "integration": 1.0}, made["destination"])
		assert.Equal(t, "2026-03-04T12:00:00Z", made["created_at"])
		assert.Equal(t, 12345.0, made["team_id"])

		status, paused := w.call("POST", "/batch_exports/"+id+"/pause", "")
		assert.Equal(t, 200, status)
		assert.Equal(t, map[string]any{"paused": true}, paused)
		assert.Equal(t, true, w.get("/batch_exports/%s/", id)["paused"])

		status, changed := w.call("PATCH", "/batch_exports/"+id+"/", `{"name":"b","end_at":null}`)
		require.Equal(t, 200, status)
		assert.Equal(t, "b", changed["name"])

		status, _ = w.call("DELETE", "/batch_exports/"+id+"/", "")
		assert.Equal(t, 204, status)
		w.refused(404, "not_found", "GET", "/batch_exports/"+id+"/", "")
		w.refused(404, "not_found", "DELETE", "/batch_exports/"+id+"/", "")
	})
}

func TestRunsComeToTheirEnd(t *testing.T) {
	over(t, nil, func(t *testing.T, w *wire) {
		export := w.project().AddExport(hogapitest.Export{})
		w.project().FailNextRuns(1, "no such bucket")
		status, made := w.call("POST", "/batch_exports/"+export.String()+"/backfills/", `{"start_at":"2026-03-04T00:00:00Z","end_at":"2026-03-04T02:30:00Z"}`)
		require.Equal(t, 201, status, made)

		backfill := "/batch_exports/" + export.String() + "/backfills/" + made["backfill_id"].(string)
		var seen []any
		for range 20 {
			b := w.get("%s", backfill)
			seen = append(seen, b["status"])
			if b["status"] == "Completed" {
				break
			}
		}
		assert.Equal(t, "Starting", seen[0])
		assert.Equal(t, "Completed", seen[len(seen)-1], "though a run failed")

		runs := results(w.get("/batch_exports/%s/runs/", export))
		require.Len(t, runs, 2, "the half hour is dropped")
		assert.Equal(t, []any{"Completed", "Failed"}, pluck(runs, "status"))
		assert.Equal(t, []any{"2026-03-04T01:00:00Z", "2026-03-04T00:00:00Z"}, pluck(runs, "data_interval_start"))
		assert.Equal(t, []any{nil, "no such bucket"}, pluck(runs, "latest_error"))
	})
}
