package main

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/examples/internal/demotest"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

func TestWithoutKeys(t *testing.T) {
	out := demotest.Run(t, nil, run)
	assert.Contains(t, out, "read 10000 = good 10000 + rejected 0")
	assert.Contains(t, out, " of 10000, acknowledged ")
	assert.Contains(t, out, "read 10000 = acknowledged 10000 + rejected 0 + pending 0")
	assert.Contains(t, out, "The fake holds 10000 events.")
}

// table makes a database with the first rows of the examples' events.
func table(t *testing.T, rows int) (path string, db *sql.DB) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "app.sqlite")
	require.NoError(t, fill(t.Context(), path, rows))
	db, err := open(path)
	require.NoError(t, err)
	t.Cleanup(func() { db.Close() })
	return path, db
}

func TestARunThatStoppedContinues(t *testing.T) {
	path, db := table(t, 900)
	_, err := db.ExecContext(t.Context(), `UPDATE events SET happened_at = 'yesterday' WHERE id = 700`)
	require.NoError(t, err)
	server := hogapitest.New()
	server.Script(ops.Capture, hogapitest.Repeat(2, hogapitest.Slow(0)), hogapitest.Status(401))
	_, err = demotest.RunAt(t, server, run, "-db", path)
	require.ErrorIs(t, err, hogapi.ErrUnauthorized)
	held := server.Ledger().Unique()
	require.Positive(t, held)
	require.Less(t, held, 899)

	out := demotest.Run(t, server, run, "-db", path)
	assert.Contains(t, out, "read 900 = acknowledged 899 + rejected 1 + pending 0")
	rejects := filepath.Join(filepath.Dir(path), "backfill.rejects.jsonl")
	assert.Contains(t, out, "backfill -db "+path+" -id backfill-rejects -rejected "+rejects)
	ledger := server.Ledger()
	assert.Equal(t, 899, ledger.Unique())
	assert.Empty(t, ledger.Changed())

	demotest.Run(t, server, run, "-db", path)
	assert.Equal(t, ledger.Len(), server.Ledger().Len(), "what is done is not sent again")

	lines, err := os.ReadFile(rejects)
	require.NoError(t, err)
	corrected := strings.ReplaceAll(string(lines), "yesterday", "2024-05-01T00:00:00Z")
	require.NoError(t, os.WriteFile(rejects, []byte(corrected), 0o600))
	out = demotest.Run(t, server, run, "-db", path, "-id", "backfill-rejects", "-rejected", rejects)
	assert.Contains(t, out, "read 1 = acknowledged 1 + rejected 0 + pending 0")
	assert.Equal(t, 900, server.Ledger().Unique())
}

func TestTooManyBadRowsAreNotImported(t *testing.T) {
	path, db := table(t, 50)
	_, err := db.ExecContext(t.Context(), `UPDATE events SET person = '' WHERE id % 10 = 0`)
	require.NoError(t, err)
	server := hogapitest.New()
	out, err := demotest.RunAt(t, server, run, "-db", path)
	require.ErrorContains(t, err, "check: too_many_rejects: 5 of 50 records were rejected")
	assert.Contains(t, out, "refused, no_distinct_id: 5")
	assert.Empty(t, server.Calls())
}

func TestTheCheckpointHasOneOwner(t *testing.T) {
	_, db := table(t, 0)
	ctx := t.Context()
	take := func() (*sqlCheckpoint, string, error) {
		c := &sqlCheckpoint{db: db, id: "shop"}
		state, err := c.Open(ctx)
		return c, string(state), err
	}
	first, state, err := take()
	require.NoError(t, err)
	assert.Empty(t, state)
	require.NoError(t, first.Save(ctx, []byte("one")))
	_, _, err = take()
	require.ErrorContains(t, err, "another process holds the checkpoint")
	require.NoError(t, first.Close())

	second, state, err := take()
	require.NoError(t, err, "it was given up")
	assert.Equal(t, "one", state)

	silence(ctx, t, db)
	third, state, err := take()
	require.NoError(t, err, "its owner was silent for too long")
	assert.Equal(t, "one", state)
	require.ErrorContains(t, second.Save(ctx, []byte("two")), "another process has taken the checkpoint")
	require.NoError(t, second.Close(), "and gives nothing up that is not its own")
	require.NoError(t, third.Save(ctx, []byte("three")))
	_, _, err = take()
	require.ErrorContains(t, err, "another process holds the checkpoint")
}

// silence lets the time of the row's owner pass.
func silence(ctx context.Context, t *testing.T, db *sql.DB) {
	t.Helper()
	_, err := db.ExecContext(ctx, `UPDATE import_checkpoints SET held_until = 1`)
	require.NoError(t, err)
}
