package realdb

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/reconcile"
)

// A wrong password, a table or column that is not there, and a table that may not be read end a comparison with an error
// that names it, of the package and of the program. No password is in it.
func TestRefusedTables(t *testing.T) {
	db := startPostgres(t)
	rules, err := os.ReadFile(filepath.Join(db.dir, "data", "pg_hba.conf"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(db.dir, "data", "pg_hba.conf"), append([]byte("local all secured scram-sha-256\n"), rules...), 0o600))
	db.run("SELECT pg_reload_conf()")
	db.run("CREATE ROLE secured LOGIN PASSWORD 'right'")
	db.run("CREATE TABLE public.events (uuid uuid, event text, distinct_id text, team_id bigint, timestamp timestamptz)")
	db.run("CREATE TABLE public.bare (uuid uuid, event text, distinct_id text, team_id bigint)")
	db.run("CREATE TABLE public.closed AS SELECT * FROM public.events")
	db.run("GRANT SELECT ON public.events, public.bare TO secured")
	url := func(password string) string {
		return "postgres://secured:" + password + "@/postgres?sslmode=disable&host=" + db.dir
	}

	server := hogapitest.New()
	t.Cleanup(server.Close)
	server.Project(hogapitest.DefaultProject).AddExport(hogapitest.Export{Name: "tables", Created: time.Now().Add(-time.Hour), DestinationType: "Postgres"})
	client, err := hogapi.NewClient(server.ClientOptions(hogapitest.DefaultProject)...)
	require.NoError(t, err)
	c := buildCommand(t, server)
	for _, f := range []struct {
		password, table, says string
		code                  int
	}{
		{"right", "events", "", 7}, {"s3cret", "events", `password authentication failed for user "secured"`, 5}, {"right", "nowhere", `"nowhere" does not exist`, 1},
		{"right", "bare", `"timestamp" does not exist`, 1}, {"right", "closed", "permission denied for table closed", 1},
	} {
		pool, err := sql.Open("pgx", url(f.password))
		require.NoError(t, err)
		side := reconcile.SQL(pool, reconcile.Postgres, reconcile.Table{Name: f.table, TeamID: 1})
		_, err = reconcile.Compare(t.Context(), reconcile.PostHog(client, nil), side, &reconcile.Options{From: year, To: year.AddDate(0, 0, 1)})
		require.NoError(t, pool.Close())
		code, printed := c.run([]string{"HOGEXPORT_TO=" + url(f.password)}, "reconcile", "tables", "--table", f.table, "--since", "40h")
		assert.Equal(t, f.code, code, "%s: %s", f.table, printed)
		if f.says == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, f.says)
		assert.NotContains(t, err.Error(), "s3cret")
		assert.Contains(t, printed, f.says)
	}
}

// The same for ClickHouse, as far as one without users and passwords goes.
func TestRefusedTablesOfClickHouse(t *testing.T) {
	e := newEngine(t)
	_, service := newHogQL(t, e, "refused")
	e.run("CREATE OR REPLACE TABLE refused.bare (uuid UUID, event String, distinct_id String, team_id Int64) ENGINE = MergeTree ORDER BY uuid")
	db := sql.OpenDB(clickhouse{e})
	for table, says := range map[string]string{"refused.nowhere": "refused.nowhere", "refused.bare": "`timestamp`"} {
		side := reconcile.SQL(db, reconcile.ClickHouse, reconcile.Table{Name: table, TeamID: 1})
		_, err := reconcile.Compare(t.Context(), service, side, &reconcile.Options{From: year, To: year.AddDate(0, 0, 1)})
		require.ErrorContains(t, err, says)
		require.ErrorContains(t, err, table)
	}
	e.run("DROP DATABASE refused")
}
