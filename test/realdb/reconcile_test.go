package realdb

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/testevents"
	"github.com/hogapi/hogapi/reconcile"
)

// clickhouse is a driver for database/sql over the engine of the tests.
type clickhouse struct{ e *engine }

func (c clickhouse) Connect(context.Context) (driver.Conn, error) { return c, nil }
func (c clickhouse) Driver() driver.Driver                        { return nil }
func (c clickhouse) Prepare(string) (driver.Stmt, error)          { return nil, errors.New("not needed") }
func (c clickhouse) Begin() (driver.Tx, error)                    { return nil, errors.New("not needed") }
func (c clickhouse) Close() error                                 { return nil }

func (c clickhouse) QueryContext(_ context.Context, text string, _ []driver.NamedValue) (driver.Rows, error) {
	rows, err := c.e.ask(text)
	return &clickhouseRows{rows}, err
}

type clickhouseRows struct{ rows [][]any }

func (r *clickhouseRows) Columns() []string {
	if len(r.rows) == 0 {
		return nil
	}
	return make([]string, len(r.rows[0]))
}
func (r *clickhouseRows) Close() error { return nil }
func (r *clickhouseRows) Next(dest []driver.Value) error {
	if len(r.rows) == 0 {
		return io.EOF
	}
	for i, v := range r.rows[0] {
		if f, ok := v.(float64); ok {
			v = int64(f)
		}
		dest[i] = v
	}
	r.rows = r.rows[1:]
	return nil
}

// hogql is a client with a ClickHouse that answers its HogQL queries unchanged. It keeps the texts.
type hogql struct {
	http.RoundTripper

	e     *engine
	view  string
	mu    sync.Mutex
	texts []string
}

func (h *hogql) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(r.URL.Path, "/query/") {
		return h.RoundTripper.RoundTrip(r)
	}
	var body struct {
		Query struct {
			Query  string
			Values map[string]any
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return nil, err
	}
	var pairs []string
	for name, value := range body.Query.Values {
		if text, ok := value.(string); ok {
			value = "'" + strings.ReplaceAll(text, "'", "\\'") + "'"
		}
		pairs = append(pairs, "{"+name+"}", fmt.Sprint(value))
	}
	h.mu.Lock()
	h.texts = append(h.texts, body.Query.Query)
	h.mu.Unlock()
	text := strings.NewReplacer(pairs...).Replace(body.Query.Query)
	rows, err := h.e.ask(strings.ReplaceAll(text, "FROM events", "FROM "+h.view) +
		" SETTINGS cast_string_to_date_time_mode = 'best_effort', date_time_input_format = 'best_effort'")
	if err != nil {
		return nil, err
	}
	answer, err := json.Marshal(map[string]any{"results": numbers(rows), "is_cached": false, "hasMore": false})
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(answer)), Request: r,
	}, err
}

// newHogQL makes a project with a table of the ClickHouse as its events, with times in another zone than UTC.
func newHogQL(t *testing.T, e *engine, name string) (*hogql, *reconcile.PostHogSide) {
	t.Helper()
	e.run("CREATE DATABASE IF NOT EXISTS " + name)
	e.run("CREATE OR REPLACE TABLE " + name + `.stored (uuid UUID, event String, distinct_id String, properties JSON,
		timestamp DateTime64(6, 'UTC'), created_at DateTime64(6, 'UTC')) ENGINE = MergeTree PARTITION BY toYYYYMM(timestamp) ORDER BY timestamp`)
	e.run("CREATE OR REPLACE VIEW " + name + ".events AS SELECT * REPLACE (toTimeZone(timestamp, 'America/New_York') AS timestamp) FROM " + name + ".stored")
	server := hogapitest.New()
	h := &hogql{RoundTripper: server.Transport(), e: e, view: name + ".events"}
	client, err := hogapi.NewClient(append(server.ClientOptions(hogapitest.DefaultProject), hogapi.WithHTTPClient(&http.Client{Transport: h}), hogapi.WithTryTimeout(10*time.Minute))...)
	require.NoError(t, err)
	return h, reconcile.PostHog(client, nil)
}

func (p *postgres) open(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", "host="+p.dir+" user=postgres dbname=postgres sslmode=disable")
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// year is the year of the rows.
var year = time.Date(2025, 11, 1, 0, 0, 0, 0, time.UTC)

// fill makes rows of a year from a seed, the same in both engines, 0.5 % of them twice in ClickHouse.
func fill(e *engine, db *postgres, name string, n int, seed uint64) {
	const row = `concat(substring(h, 1, 8), '-', substring(h, 9, 4), '-7', substring(h, 14, 3), '-8', substring(h, 18, 3), '-', substring(h, 21, 12))`
	source := fmt.Sprintf(`(SELECT number AS n, lower(hex(MD5(concat('%d-', toString(number))))) AS h FROM numbers(%d))`, seed, n)
	selected := fmt.Sprintf(`SELECT toUUID(%s), concat('event ', toString(n %% 17)), concat('person ', toString(n %% 1009)), '{}',
		toDateTime64('2025-11-01 00:00:00', 6, 'UTC') + toIntervalSecond(n * 31536000 / %d), toDateTime64('2025-11-01 00:01:00', 6, 'UTC') + toIntervalSecond(n * 31536000 / %d) FROM %s`,
		row, n, n, source)
	e.run("INSERT INTO " + name + ".stored " + selected)
	e.run("INSERT INTO " + name + ".stored " + selected + " WHERE n % 200 = 7")
	db.run("DROP TABLE IF EXISTS " + name)
	db.run("CREATE UNLOGGED TABLE " + name + " (uuid varchar(200), event varchar(200), distinct_id varchar(200), team_id integer, timestamp timestamptz)")
	db.run(fmt.Sprintf(`INSERT INTO %s SELECT substr(h, 1, 8) || '-' || substr(h, 9, 4) || '-7' || substr(h, 14, 3) || '-8' || substr(h, 18, 3) || '-' || substr(h, 21, 12),
		'event ' || n %% 17, 'person ' || n %% 1009, 1, TIMESTAMPTZ '2025-11-01 00:00:00+00' + make_interval(secs => floor(n::float8 * 31536000 / %d))
		FROM (SELECT n, md5('%d-' || n) AS h FROM generate_series(0, %d) AS n) g`, name, n, seed, n-1))
	db.run("INSERT INTO " + name + " SELECT uuid, event, distinct_id, 2, timestamp FROM " + name + " LIMIT 100") // of another project
	db.run("CREATE INDEX ON " + name + " (team_id, timestamp)")
}

// One row of each kind among very many, in random months: each is found in its class, with one question a level.
func TestReconcileFindsTheOneRow(t *testing.T) {
	e := newEngine(t)
	db := startPostgres(t)
	pool := db.open(t)
	seeds, n := testevents.Sized[uint64](3, 3, 10), testevents.Sized(100_000, 1_000_000, 10_000_000)
	requireParser(t)
	const name = "year_of_events"
	h, service := newHogQL(t, e, name)
	fill(e, db, name, n, 1)
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { findTheOneRow(t, db, pool, service, name, n, seed) })
	}
	known := readNames(t)
	slices.Sort(h.texts)
	texts := slices.Compact(h.texts)
	for i, tree := range parse(t, texts) {
		require.NoError(t, known.check(tree), texts[i])
	}
	e.run("DROP DATABASE " + name)
	db.run("DROP TABLE " + name)
}

// assertFound compares the findings of a report with one row of each class.
func assertFound(t *testing.T, r *reconcile.Report, missing, doubled, altered, foreign string) {
	t.Helper()
	got := map[string]reconcile.Class{}
	for _, f := range r.Findings {
		got[f.UUID.String()] = f.Class
	}
	assert.Equal(t, map[string]reconcile.Class{missing: reconcile.Missing, doubled: reconcile.Doubled, altered: reconcile.Altered, foreign: reconcile.OnlyThere}, got)
	assert.Equal(t, reconcile.Incomplete, r.Verdict)
}

func findTheOneRow(t *testing.T, db *postgres, pool *sql.DB, service *reconcile.PostHogSide, name string, n int, seed uint64) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 1))
	pick := func() string {
		return db.run(fmt.Sprintf("SELECT uuid FROM %s WHERE team_id = 1 ORDER BY timestamp OFFSET %d LIMIT 1", name, random.IntN(n)))[0]
	}
	missing, doubled, altered, foreign := pick(), pick(), pick(), uuid.New().String()
	if missing == altered || doubled == missing || doubled == altered {
		require.Fail(t, "take another seed")
	}
	db.run("CREATE TABLE removed AS SELECT * FROM " + name + " WHERE uuid = '" + missing + "'")
	db.run("DELETE FROM " + name + " WHERE uuid = '" + missing + "'")
	db.run("INSERT INTO " + name + " SELECT * FROM " + name + " WHERE team_id = 1 AND uuid = '" + doubled + "'")
	db.run("UPDATE " + name + " SET event = event || 'x' WHERE uuid = '" + altered + "'")
	db.run(fmt.Sprintf("INSERT INTO %s VALUES (upper('%s'), 'e', 'p', 1, TIMESTAMPTZ '2026-03-03 03:03:03+00')", name, foreign))
	defer func() { // for the next seed
		db.run("INSERT INTO " + name + " SELECT * FROM removed")
		db.run("DROP TABLE removed")
		db.run("DELETE FROM " + name + " WHERE ctid = (SELECT min(ctid) FROM " + name + " WHERE team_id = 1 AND uuid = '" + doubled + "')")
		db.run("UPDATE " + name + " SET event = left(event, -1) WHERE uuid = '" + altered + "'")
		db.run(fmt.Sprintf("DELETE FROM %s WHERE uuid = upper('%s')", name, foreign))
	}()

	debug.FreeOSMemory()
	require.NoError(t, os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)) // the greatest memory is that of now
	begin := time.Now()
	r, err := reconcile.Compare(t.Context(), service, reconcile.SQL(pool, reconcile.Postgres, reconcile.Table{Name: name, TeamID: 1}),
		&reconcile.Options{From: year, To: year.AddDate(1, 0, 0)})
	require.NoError(t, err)
	assertFound(t, r, missing, doubled, altered, foreign)
	assert.EqualValues(t, n-2, r.Counts[reconcile.Delivered])
	assert.LessOrEqual(t, max(r.Queries[0], r.Queries[1]), 10)
	resident, err := testevents.Resident("self", "VmHWM")
	require.NoError(t, err)
	assert.LessOrEqual(t, resident, int64(128<<20))
	t.Logf("%d rows: %v, %d and %d questions, %d MiB resident; %s", n, time.Since(begin).Round(time.Millisecond), r.Queries[0], r.Queries[1], resident>>20, r.Summary())
}

// The three engines agree on digests and lists: rows with odd texts, uuids of each form, copies, and rows without a uuid.
func TestEnginesAgree(t *testing.T) {
	e := newEngine(t)
	db := startPostgres(t)
	pool := db.open(t)
	h, service := newHogQL(t, e, "agree")
	e.run(`CREATE OR REPLACE TABLE agree.exported (uuid Nullable(String), event String, distinct_id String, team_id Int64, timestamp DateTime64(6, 'Asia/Kolkata')) ENGINE = MergeTree ORDER BY timestamp`)
	db.run("CREATE TABLE as_text (uuid text, event text, distinct_id text, team_id bigint, timestamp timestamptz)")
	db.run("CREATE TABLE as_uuid (uuid uuid, event text, distinct_id text, team_id bigint, at timestamp)")
	db.run("CREATE TABLE as_bytes (uuid bytea, event text, distinct_id text, team_id bigint, timestamp timestamptz)")
	random := rand.New(rand.NewPCG(1, 1))
	rows := map[string][]string{}
	add := func(table, format string, args ...any) {
		rows[table] = append(rows[table], fmt.Sprintf(format, args...))
	}
	for i := range 300 {
		id, err := uuid.NewV7()
		require.NoError(t, err)
		at := year.Add(time.Duration(random.IntN(60*24)) * time.Hour).Add(59*time.Minute + 59*time.Second + 999999*time.Microsecond).Format("2006-01-02 15:04:05.999999")
		name := []string{"$pageview", `it''s \\ "x"`, "naïve 🦔", "a|b", " blank "}[i%5]
		for range 1 + i%7/6 {
			add("agree.stored", "('%s', '%s', 'p|%d', '{}', '%s', '%s')", id, name, i%9, at, at)
		}
		bare := strings.ReplaceAll(id.String(), "-", "")
		text := []string{id.String(), strings.ToUpper(id.String()), bare}[i%3]
		add("agree.exported", "('%s', '%s', 'p|%d', 1, toDateTime64('%s', 6, 'UTC'))", text, name, i%9, at)
		name = strings.ReplaceAll(name, `\\`, `\`)
		add("as_text", "('%s', '%s', 'p|%d', 1, '%s+00')", text, name, i%9, at)
		add("as_uuid", "('%s', '%s', 'p|%d', 1, '%s')", text, name, i%9, at)
		add("as_bytes", `('\x%s', '%s', 'p|%d', 1, '%s+00')`, bare, name, i%9, at)
	}
	for table, list := range rows {
		statement := "INSERT INTO " + table + " VALUES " + strings.Join(list, ", ")
		if strings.HasPrefix(table, "agree.") {
			e.run(statement)
		} else {
			db.run(statement)
		}
	}
	o := &reconcile.Options{From: year, To: year.AddDate(0, 3, 0)}
	chdb := sql.OpenDB(clickhouse{e})
	sides := map[string]reconcile.Side{
		"itself":     service,
		"ClickHouse": reconcile.SQL(chdb, reconcile.ClickHouse, reconcile.Table{Name: "agree.exported", TeamID: 1}),
		"text":       reconcile.SQL(pool, reconcile.Postgres, reconcile.Table{Name: "as_text", TeamID: 1}),
		"uuid":       reconcile.SQL(pool, reconcile.Postgres, reconcile.Table{Name: "as_uuid", TeamID: 1, Timestamp: "at AT TIME ZONE 'UTC'"}),
		"bytes":      reconcile.SQL(pool, reconcile.Postgres, reconcile.Table{Name: "as_bytes", TeamID: 1}),
	}
	for name, side := range sides {
		r, err := reconcile.Compare(t.Context(), service, side, o)
		require.NoError(t, err, name)
		assert.Equal(t, reconcile.Complete, r.Verdict, "%s: %v", name, r)
		assert.EqualValues(t, 300, r.Counts[reconcile.Delivered], name)
		for _, by := range []reconcile.Bucket{reconcile.ByHour, reconcile.BySlice} {
			part := reconcile.Selection{Parts: []reconcile.Part{{From: year, To: year.AddDate(0, 0, 20)}, {From: year.AddDate(0, 0, 30), To: year.AddDate(0, 0, 50), Suffix: "a"}}}
			want, err := service.Digest(t.Context(), part, by)
			require.NoError(t, err)
			got, err := side.Digest(t.Context(), part, by)
			require.NoError(t, err, name)
			assert.Equal(t, keysOnly(want), keysOnly(got), name)
		}
	}
	assert.NotEmpty(t, h.texts)

	db.run("INSERT INTO as_text VALUES (NULL, 'e', 'p', 1, '2025-11-20 00:00:00+00'), ('x', 'e', 'p', 1, '2025-11-20 00:00:00+00')")
	db.run("DELETE FROM as_text WHERE ctid IN (SELECT ctid FROM as_text WHERE timestamp < '2025-11-03' LIMIT 1)")
	r, err := reconcile.Compare(t.Context(), service, sides["text"], o)
	require.NoError(t, err)
	assert.Equal(t, reconcile.Incomplete, r.Verdict)
	assert.Len(t, r.Unknown, 1)
	assert.Contains(t, r.String(), "2 rows of the destination have no uuid")

	for want, table := range map[string]reconcile.Table{
		`"nowhere" does not exist`: {Name: "nowhere", TeamID: 1}, `"distinct" does not exist`: {Name: "as_text", TeamID: 1, DistinctID: `"distinct"`},
		"at has no time zone": {Name: "as_uuid", TeamID: 1, Timestamp: "at"},
		"TeamID is missing":   {Name: "as_text"},
	} {
		_, err := reconcile.Compare(t.Context(), service, reconcile.SQL(pool, reconcile.Postgres, table), o)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, table.Name)
	}
	_, err = pool.Exec("CREATE ROLE reader LOGIN")
	require.NoError(t, err)
	other, err := sql.Open("pgx", "host="+db.dir+" user=reader dbname=postgres sslmode=disable")
	require.NoError(t, err)
	defer other.Close()
	_, err = reconcile.Compare(t.Context(), service, reconcile.SQL(other, reconcile.Postgres, reconcile.Table{Name: "as_text", TeamID: 1}), o)
	require.ErrorContains(t, err, "permission denied for table as_text")
	_, err = reconcile.Compare(t.Context(), service, reconcile.SQL(chdb, reconcile.ClickHouse, reconcile.Table{Name: "agree.nothing", TeamID: 1}), o)
	require.ErrorContains(t, err, "agree.nothing")
}

func keysOnly(digests []reconcile.Digest) []reconcile.Digest {
	for i := range digests {
		digests[i].Rows = 0
	}
	slices.SortFunc(digests, func(a, b reconcile.Digest) int {
		if c := a.At.Compare(b.At); c != 0 {
			return c
		}
		return strings.Compare(a.Slice, b.Slice)
	})
	return digests
}

// The statements that remove doubled rows leave one row of each key and day.
func TestDedupeStatements(t *testing.T) {
	e := newEngine(t)
	db := startPostgres(t)
	e.run("CREATE DATABASE IF NOT EXISTS dedupe")
	e.run(`CREATE OR REPLACE TABLE dedupe.t (uuid Nullable(String), event String, distinct_id String, team_id Nullable(Int64), timestamp DateTime64(6, 'UTC')) ENGINE = MergeTree ORDER BY timestamp`)
	db.run("CREATE TABLE t (uuid text, event text, distinct_id text, team_id bigint, timestamp timestamptz)")
	const a, b = "'0190f3c0-0000-7000-8000-00000000000a'", "'0190f3c0-0000-7000-8000-00000000000b'"
	var rows []string
	for _, row := range [][3]string{
		{a, "1", "01 10"}, {a, "1", "01 10"}, {a, "1", "01 11"}, {strings.ToUpper(a), "1", "01 12"}, // one of these stays
		{a, "1", "02 10"}, {b, "1", "01 10"},
		{a, "2", "01 10"}, {a, "2", "01 10"}, {a, "NULL", "01 10"}, {a, "NULL", "01 10"}, // of other projects
		{"NULL", "1", "01 10"}, {"NULL", "1", "01 10"}, // without a key
	} {
		rows = append(rows, fmt.Sprintf("(%s, 'e', 'p', %s, '2026-11-%s:00:00')", row[0], row[1], row[2]))
	}
	const left = 3 + 4 + 2
	values := strings.Join(rows, ", ")
	db.run("SET TimeZone = 'UTC'; INSERT INTO t VALUES " + values)
	e.run("INSERT INTO dedupe.t VALUES " + values)
	for range 2 { // the second time there is nothing to remove
		db.run(reconcile.SQL(nil, reconcile.Postgres, reconcile.Table{Name: "t", TeamID: 1}).Dedupe())
	}
	for statement := range strings.SplitSeq(strings.TrimSuffix(reconcile.SQL(nil, reconcile.ClickHouse, reconcile.Table{Name: "dedupe.t", TeamID: 1}).Dedupe(), ";"), ";\n") {
		e.run(statement)
	}
	assert.Equal(t, []string{strconv.Itoa(left)}, db.run("SELECT count(*) FROM t"))
	assert.Equal(t, []string{"4"}, db.run("SELECT count(*) FROM t WHERE team_id = 2 OR team_id IS NULL"))
	assert.Equal(t, strconv.Itoa(left), fmt.Sprint(e.run("SELECT toString(count()) FROM dedupe.t")[0][0]))
	assert.Equal(t, "4", fmt.Sprint(e.run("SELECT toString(count()) FROM dedupe.t WHERE ifNull(team_id, 2) = 2")[0][0]))
}
