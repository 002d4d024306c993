package realdb

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/coverage"
	"github.com/hogapi/hogapi/formats/posthogexport"
	"github.com/hogapi/hogapi/hogapitest"
	rows "github.com/hogapi/hogapi/internal/exported"
)

// The histories are of an hourly export. The rows are chosen by SQL as the service chooses them: by inserted_at for the
// schedule and young backfills, by timestamp for old backfills.

var (
	historyEnd   = time.Date(2026, 11, 26, 12, 20, 0, 0, time.UTC)
	historyBegin = historyEnd.Add(-9 * 24 * time.Hour)
)

// cutOff is the age of a backfill from which the service chooses its rows by timestamp.
const cutOff = 6 * 24 * time.Hour

const clock = "2006-01-02 15:04:05"

// pastExport is one export with its rows, its runs and its destination.
type pastExport struct {
	*rand.Rand

	t       *testing.T
	engine  *engine
	table   string // of the destination
	db      *postgres
	store   *store
	project *hogapitest.Project
	client  *hogapi.Client
	export  uuid.UUID
}

func TestRepairOfTables(t *testing.T) {
	newEngine(t)
	db := startPostgres(t)
	for seed := range uint64(10) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { newHistory(t, seed, db, nil).check() })
	}
}

func TestRepairOfObjectStores(t *testing.T) {
	newEngine(t)
	store := startStore(t)
	for seed := range uint64(10) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { newHistory(t, 100+seed, nil, store).check() })
	}
}

func newHistory(t *testing.T, seed uint64, db *postgres, store *store) *pastExport {
	t.Helper()
	h := &pastExport{Rand: rand.New(rand.NewPCG(seed, 7)), t: t, engine: newEngine(t), table: fmt.Sprint("history_", seed), db: db, store: store}
	server := hogapitest.New(hogapitest.WithClock(func() time.Time { return historyEnd }), hogapitest.WithPolls(1))
	h.project = server.Project(hogapitest.DefaultProject)
	client, err := hogapi.NewClient(append(server.ClientOptions(hogapitest.DefaultProject),
		hogapi.WithHTTPClient(&http.Client{Transport: &hogql{RoundTripper: server.Transport(), e: h.engine, view: h.table + ".events"}}))...)
	require.NoError(t, err)
	h.client = client
	x := hogapitest.Export{Name: h.table, Created: historyBegin, DestinationType: "BigQuery", Config: map[string]any{}}
	if store != nil {
		x.DestinationType, x.Integration, x.Config = "AwsS3", 1, map[string]any{"bucket_name": "bucket", "region": "us-east-1", "prefix": h.table + "/"}
	} else {
		db.run("CREATE TABLE " + h.table + " (uuid uuid, event text, distinct_id text, timestamp timestamptz)")
	}
	h.export = h.project.AddExport(x)
	h.insert()
	h.schedule()
	h.project.SetRecords(h.export, func(start, end time.Time) int { return int(h.number("timestamp", start, end)) })
	h.project.ExportRows(func(run hogapitest.ExportedRun) int {
		column := "inserted_at"
		if historyEnd.Sub(run.BackfillStart) > cutOff {
			column = "timestamp"
		}
		rows := h.rows(column, run.Start, run.End)
		prefix, _ := run.Export.Config["prefix"].(string)
		h.write(prefix, run.Start, run.End, rows)
		return len(rows)
	})
	return h
}

// insert makes the rows: most arrive at once, some hours late, some days late.
func (h *pastExport) insert() {
	h.engine.run("CREATE DATABASE IF NOT EXISTS " + h.table)
	h.engine.run("CREATE OR REPLACE TABLE " + h.table + `.stored (uuid UUID, event String, distinct_id String, properties JSON,
		timestamp DateTime64(6, 'UTC'), inserted_at DateTime64(6, 'UTC')) ENGINE = MergeTree ORDER BY timestamp`)
	h.engine.run("CREATE OR REPLACE VIEW " + h.table + ".events AS SELECT * REPLACE (toTimeZone(timestamp, 'America/New_York') AS timestamp) FROM " + h.table + ".stored")
	var rows []string
	for range 4000 {
		arrived := historyBegin.Add(time.Duration(h.Float64() * float64(historyEnd.Sub(historyBegin))))
		late := time.Duration(h.Float64() * float64(time.Minute))
		switch n := h.IntN(100); {
		case n < 4:
			late = time.Duration((2 + 6*h.Float64()) * 24 * float64(time.Hour))
		case n < 10:
			late = time.Duration((1 + 20*h.Float64()) * float64(time.Hour))
		}
		rows = append(rows, fmt.Sprintf("('%s', 'e', 'x', '{}', '%s', '%s')", uuid.New(), arrived.Add(-late).Format(clock), arrived.Format(clock)))
	}
	h.engine.run("INSERT INTO " + h.table + ".stored VALUES " + strings.Join(rows, ", "))
}

// schedule runs the export each hour, but leaves out hours, and lets runs fail.
func (h *pastExport) schedule() {
	outage := historyBegin.Add(time.Duration(h.Float64() * float64(7*24*time.Hour)))
	pause := historyBegin.Add(time.Duration(h.Float64() * float64(8*24*time.Hour))).Truncate(time.Hour).Add(20 * time.Minute)
	paused := time.Duration(1+h.IntN(20)) * time.Hour
	h.project.EditExport(h.export, pause, func(x *hogapitest.Export) { x.Paused = true })
	h.project.EditExport(h.export, pause.Add(paused), func(x *hogapitest.Export) { x.Paused = false })
	for end := historyBegin.Truncate(time.Hour).Add(time.Hour); end.Before(historyEnd); end = end.Add(time.Hour) {
		status := hogapi.RunStatusCompleted
		if n := h.IntN(40); n < 4 && historyEnd.Sub(end) > 30*time.Hour {
			status = []hogapi.RunStatus{hogapi.RunStatusFailed, hogapi.RunStatusFailedBilling, hogapi.RunStatusCancelled, ""}[n]
		}
		isOut := end.After(outage) && end.Before(outage.Add(time.Duration(10)*time.Hour))
		isPaused := end.After(pause) && end.Before(pause.Add(paused))
		if isOut || isPaused || status == "" {
			continue
		}
		run := hogapitest.Run{Status: status, End: end, Created: end.Add(2 * time.Minute)}
		if status == hogapi.RunStatusCompleted {
			rows := h.rows("inserted_at", end.Add(-time.Hour), end)
			h.write(h.table+"/", end.Add(-time.Hour), end, rows)
			run.Records = len(rows)
		}
		h.project.AddRun(h.export, run)
	}
}

func within(column string, start, end time.Time) string {
	return fmt.Sprintf(" WHERE %s >= '%s' AND %s < '%s'", column, start.UTC().Format(clock), column, end.UTC().Format(clock))
}

func (h *pastExport) rows(column string, start, end time.Time) (rows []string) {
	for _, row := range h.engine.run("SELECT toString(uuid), toString(timestamp) FROM " + h.table + ".stored" + within(column, start, end)) {
		rows = append(rows, fmt.Sprint(row[0], "\te\tx\t", row[1]))
	}
	return rows
}

func (h *pastExport) number(column string, start, end time.Time) int64 {
	var n json.Number
	require.NoError(h.t, json.Unmarshal(fmt.Appendf(nil, "%v", h.engine.run("SELECT count() FROM " + h.table + ".stored" + within(column, start, end))[0][0]), &n))
	count, err := n.Int64()
	require.NoError(h.t, err)
	return count
}

// write exports rows into the destination. The key of an object has the interval and no run, as the service's keys.
func (h *pastExport) write(prefix string, start, end time.Time, rows []string) {
	switch {
	case h.store != nil && len(rows) > 0:
		ids := make([]string, len(rows))
		for i, row := range rows {
			ids[i], _, _ = strings.Cut(row, "\t")
		}
		h.store.put(prefix+start.Format("2006-01-02T150405Z")+"-"+end.Format("2006-01-02T150405Z"), ids)
	case h.store == nil && len(rows) > 0:
		h.db.run("COPY "+h.table+" FROM STDIN", rows...)
	}
}

// copies returns how often each row is in the destination.
func (h *pastExport) copies() map[string]int {
	if h.store != nil {
		return h.store.copies(h.table)
	}
	copies := map[string]int{}
	for _, id := range h.db.run("SELECT uuid FROM " + h.table) {
		copies[id]++
	}
	return copies
}

// numbers turns texts of whole numbers into numbers: ClickHouse quotes 64 bits, PostHog does not.
func numbers(rows [][]any) [][]any {
	for _, row := range rows {
		for i, value := range row {
			if text, ok := value.(string); ok && strings.Trim(text, "0123456789") == "" {
				row[i] = json.Number(text)
			}
		}
	}
	return rows
}

// check repairs the export, and compares the destination with the words of the plan.
func (h *pastExport) check() {
	t := h.t
	c, err := coverage.Of(t.Context(), h.client, h.export, nil)
	require.NoError(t, err)
	plan, err := coverage.MakePlan(t.Context(), h.client, c, nil)
	require.NoError(t, err)
	before := h.copies()
	planned := slices.Clone(plan.Steps)
	report, err := coverage.Repair(t.Context(), h.client, plan, &coverage.RepairOptions{Watch: &hogapi.WatchOptions{Interval: time.Millisecond}})
	require.NoError(t, err, plan)
	after := h.copies()

	var missing, doubled int
	for _, row := range h.engine.run("SELECT toString(uuid), toString(timestamp), toString(inserted_at) FROM " + h.table + ".stored") {
		id := row[0].(string)
		happened, arrived := parsed(t, row[1]), parsed(t, row[2])
		if !arrived.Before(historyEnd.Truncate(time.Hour)) {
			continue // not due yet
		}
		want, isNamed := before[id], false
		for _, step := range planned {
			hasArrived, hasHappened := !arrived.Before(step.Start) && arrived.Before(step.End), !happened.Before(step.Start) && happened.Before(step.End)
			switch {
			case step.State == coverage.StepLeft:
				isNamed = isNamed || hasArrived
			case step.Rows == coverage.RowsByTimestamp && h.isOld(step):
				isNamed = isNamed || hasArrived
				if hasHappened {
					want++
				}
			case hasArrived:
				want++
			}
		}
		assert.Equal(t, want, after[id], "row %s, arrived %v, of %v", id, arrived, happened)
		if after[id] == 0 {
			missing++
			assert.True(t, isNamed, "row %s is missing and no step says so", id)
		}
		if after[id] > 1 {
			doubled++
		}
	}
	for _, step := range planned {
		if step.Estimate != nil {
			assert.Equal(t, h.number("timestamp", step.Start, step.End), *step.Estimate)
		}
	}
	if h.store != nil {
		assert.Empty(t, h.store.overwrote)
	}
	t.Logf("%d steps, %d rows missing, %d doubled; %s", len(planned), missing, doubled, report.After.String()[strings.LastIndex(report.After.String(), "\n")+1:])
}

// isOld reports whether the service chooses the rows of a step by timestamp: the line of the plan leaves a day to spare.
func (h *pastExport) isOld(step coverage.Step) bool { return historyEnd.Sub(step.Start) > cutOff }

func parsed(t *testing.T, text any) time.Time {
	at, err := time.Parse("2006-01-02 15:04:05.999999", text.(string))
	require.NoError(t, err)
	return at
}

// A real table, made and filled as the service does, gives the rows that the fake writes for Postgres.
func TestRowsOfPostgres(t *testing.T) {
	db := startPostgres(t)
	db.run(`CREATE TABLE events (uuid VARCHAR(200), event VARCHAR(200), properties JSONB, elements JSONB, set JSONB, set_once JSONB,
		distinct_id VARCHAR(200), team_id INTEGER, ip VARCHAR(200), site_url VARCHAR(200), timestamp TIMESTAMP WITH TIME ZONE)`)
	row := rows.Row{
		UUID: "0190a6a5-6f6c-7000-8000-000000000001", Event: "$autocapture", DistinctID: "ann", TeamID: 7, Elements: `a:text="Say \"é\"\n";body:x="1"`,
		Timestamp:  time.Date(2024, 2, 29, 23, 59, 58, 12e6, time.UTC),
		Properties: []byte(`{"b":[1.50,123456789012345678901234567890,1e3],"$ip":"203.0.113.9","a":"caf\u00e9 \ud83d\ude00 <&>","$set":{"n":null},"z":1,"z":2,"t":"\\u0000"}`),
	}
	elements, err := json.Marshal(row.Elements) // toJSONString, twice
	require.NoError(t, err)
	elements, err = json.Marshal(string(elements))
	require.NoError(t, err)
	quoted := func(text []byte) string { return `"` + strings.ReplaceAll(string(text), `"`, `""`) + `"` }
	db.run("COPY events FROM STDIN WITH (FORMAT CSV, DELIMITER '\t')", strings.Join([]string{
		row.UUID, row.Event, quoted(row.Properties), quoted(elements), quoted([]byte(`{"n":null}`)), "", row.DistinctID, "7", "203.0.113.9", "",
		"2024-02-29 23:59:58.012000+00:00",
	}, "\t"))
	text, err := db.psql("SET timezone = 'UTC'; SELECT row_to_json(events) FROM events", "").Output()
	require.NoError(t, err)
	_, line, _ := strings.Cut(string(text), "\n") // after SET
	assert.JSONEq(t, strings.ReplaceAll(string(row.AppendText(nil, "Postgres", false)), ".012000+", ".012+"), line)
	events, err := posthogexport.Format(nil).Convert([]byte(line))
	require.NoError(t, err)
	want, err := posthogexport.Format(nil).Convert(row.AppendText(nil, "Postgres", false))
	require.NoError(t, err)
	assert.JSONEq(t, string(want[0].RawProperties), string(events[0].RawProperties))
	assert.Equal(t, row.Timestamp, events[0].Timestamp)
}
