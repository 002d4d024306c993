package realdb

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/coverage"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/reconcile"
)

// A run of the service failed after it had written some of 100 rows into a Postgres. Without a yes, a repair adds
// nothing to them, unless a comparison shows that the table has no such row. After a yes, the comparison's statement
// removes the duplicates.
func TestRepairAfterAPartInPostgres(t *testing.T) {
	e, db := newEngine(t), startPostgres(t)
	for _, there := range []int{60, 0} {
		t.Run(fmt.Sprint(there), func(t *testing.T) {
			name := fmt.Sprint("part_", there)
			server := hogapitest.New(hogapitest.WithPolls(1))
			project := server.Project(hogapitest.DefaultProject)
			client, err := hogapi.NewClient(append(server.ClientOptions(hogapitest.DefaultProject),
				hogapi.WithHTTPClient(&http.Client{Transport: &hogql{RoundTripper: server.Transport(), e: e, view: name + ".stored"}}))...)
			require.NoError(t, err)
			hour := time.Now().UTC().Truncate(time.Hour)
			begin := hour.Add(-5 * time.Hour)
			export := project.AddExport(hogapitest.Export{Name: name, Created: hour.Add(-10 * time.Hour), DestinationType: "Postgres", Config: map[string]any{}})
			for end := hour.Add(-9 * time.Hour); !end.After(hour); end = end.Add(time.Hour) {
				run := hogapitest.Run{End: end, Created: end.Add(time.Minute)}
				if end.Equal(begin.Add(time.Hour)) {
					run.Status = hogapi.RunStatusFailed
				}
				project.AddRun(export, run)
			}

			e.run("CREATE DATABASE IF NOT EXISTS " + name)
			e.run("CREATE OR REPLACE TABLE " + name + `.stored (uuid UUID, event String, distinct_id String, properties JSON,
				timestamp DateTime64(6, 'UTC'), created_at DateTime64(6, 'UTC')) ENGINE = MergeTree ORDER BY timestamp`)
			db.run("CREATE TABLE " + name + " (uuid varchar(200), event varchar(200), distinct_id varchar(200), team_id integer, timestamp timestamptz)")
			var stored, rows []string
			for i := range 100 {
				id, at := uuid.New(), begin.Add(time.Duration(i)*30*time.Second).Format(clock)
				stored = append(stored, fmt.Sprintf("('%s', 'e', 'x', '{}', '%s', '%s')", id, at, at))
				rows = append(rows, fmt.Sprintf("%s\te\tx\t1\t%s+00", id, at))
			}
			e.run("INSERT INTO " + name + ".stored VALUES " + strings.Join(stored, ", "))
			write := func(rows []string) int {
				if len(rows) > 0 {
					db.run("COPY "+name+" FROM STDIN", rows...)
				}
				return len(rows)
			}
			write(rows[:there])
			project.SetRecords(export, func(time.Time, time.Time) int { return 100 })
			project.ExportRows(func(hogapitest.ExportedRun) int { return write(rows) })
			count := func() string { return db.run("SELECT count(*) FROM " + name)[0] }

			service := reconcile.PostHog(client, nil)
			side := reconcile.SQL(db.open(t), reconcile.Postgres, reconcile.Table{Name: name, TeamID: 1})
			compare := func() (*reconcile.Report, *coverage.Coverage) {
				of, err := client.BatchExports.Get(t.Context(), export)
				require.NoError(t, err)
				c, err := coverage.Of(t.Context(), client, export, nil)
				require.NoError(t, err)
				r, err := reconcile.Compare(t.Context(), service, side, &reconcile.Options{From: begin.Add(-2 * time.Hour), Exports: []reconcile.Export{reconcile.ExportOf(of, c)}})
				require.NoError(t, err)
				return r, c
			}
			repair := func(c *coverage.Coverage, o coverage.RepairOptions) *coverage.Plan {
				plan, err := coverage.MakePlan(t.Context(), client, c, &o)
				require.NoError(t, err)
				o.Watch = &hogapi.WatchOptions{Interval: time.Millisecond}
				_, err = coverage.Repair(t.Context(), client, plan, &o)
				require.NoError(t, err, plan)
				return plan
			}
			r, c := compare()
			require.EqualValues(t, 100-there, r.Counts[reconcile.Missing], r)
			assert.Equal(t, coverage.StepLeft, repair(c, coverage.RepairOptions{}).Steps[0].State)
			assert.Equal(t, fmt.Sprint(there), count(), "nothing was added without a yes")
			if there == 0 {
				assert.Equal(t, coverage.StepDone, repair(r.Mark(c), coverage.RepairOptions{}).Steps[0].State, "nothing is there")
			} else {
				assert.Equal(t, coverage.StepLeft, repair(r.Mark(c), coverage.RepairOptions{}).Steps[0].State)
				repair(c, coverage.RepairOptions{AcceptCopies: true})
				assert.Equal(t, fmt.Sprint(100+there), count())
				r, c = compare()
				assert.EqualValues(t, there, r.Counts[reconcile.Doubled], r)
				assert.Contains(t, c.String(), "completed perhaps twice")
				db.run(r.Repair(side).Dedupe)
			}
			assert.Equal(t, "100", count())
			r, _ = compare()
			assert.Equal(t, reconcile.Complete, r.Verdict, r)
			e.run("DROP DATABASE " + name)
		})
	}
}

// engineOfStatement is the engine that a paragraph before a statement begins with.
var engineOfStatement = regexp.MustCompile(`^\*\*(\w+)\*\*`)

// The statements of docs/exports.md leave one row of each key and day. Postgres runs its statements as they are. For
// engines with QUALIFY that are not available here, ClickHouse runs the queries.
func TestStatementsOfTheDocs(t *testing.T) {
	text, err := os.ReadFile("../../docs/exports.md")
	require.NoError(t, err)
	statements, names := map[string]string{}, []string{}
	parts := strings.Split(string(text), "```sql\n")
	for i, after := range parts[1:] {
		paragraphs := strings.Split(strings.TrimSpace(parts[i]), "\n\n")
		name := engineOfStatement.FindStringSubmatch(paragraphs[len(paragraphs)-1])[1]
		statements[name], _, _ = strings.Cut(after, "```")
		names = append(names, name)
	}
	require.Equal(t, []string{"Postgres", "BigQuery", "Snowflake", "Redshift"}, names, "a statement that no test runs")

	e, db := newEngine(t), startPostgres(t)
	const columns = "uuid, event, distinct_id, team_id, timestamp, bq_ingested_timestamp"
	var rows []string
	for _, row := range []string{"'a', 'e', 'p', 1, '01 10'", "'a', 'e', 'p', 1, '01 11'", "'a', 'e', 'p', 1, '01 10'", "'a', 'e', 'p', 1, '02 10'", "'a', 'f', 'p', 1, '01 10'", "'a', 'e', 'q', 1, '01 10'", "'a', 'e', 'p', 2, '01 10'", "'b', 'e', 'p', 1, '01 10'"} {
		row = strings.TrimSuffix(strings.Replace(row, "'0", "'2026-11-0", 1), "'")
		rows = append(rows, "("+row+":00:00', '2026-11-03 00:00:00')")
	}
	const kept = 6
	db.run("CREATE TABLE events (uuid text, event text, distinct_id text, team_id integer, timestamp timestamptz, bq_ingested_timestamp timestamptz)")
	db.run("SET TimeZone = 'UTC'; INSERT INTO events VALUES " + strings.Join(rows, ", "))
	e.run("CREATE DATABASE dataset")
	e.run("CREATE TABLE dataset.events (uuid String, event String, distinct_id String, team_id Int64, timestamp DateTime64(6, 'UTC'), bq_ingested_timestamp DateTime64(6, 'UTC')) ENGINE = MergeTree ORDER BY timestamp")
	e.run("INSERT INTO dataset.events VALUES " + strings.Join(rows, ", "))

	db.run("SET TimeZone = 'UTC'; " + strings.NewReplacer("…", strings.TrimPrefix(columns, "uuid, event, ")).Replace(statements["Redshift"]))
	assert.Equal(t, []string{fmt.Sprint(kept)}, db.run("SELECT count(*) FROM events_once"))
	for range 2 { // the second time there is nothing to remove
		db.run(statements["Postgres"])
		assert.Equal(t, []string{fmt.Sprint(kept)}, db.run("SELECT count(*) FROM events"))
	}
	for _, name := range []string{"BigQuery", "Snowflake"} {
		query := statements[name][strings.Index(statements[name], "SELECT"):]
		query = strings.Replace(strings.TrimSuffix(strings.TrimSpace(query), ";"), `FROM "events"`, "FROM dataset.events", 1)
		assert.Len(t, e.run(query), kept, name)
	}
	e.run("DROP DATABASE dataset")
}
