package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// sqlCheckpoint keeps the state of an import in a table. Each write compares the row's version with
// the one it knows and raises it, so of two processes only one can write. The owner holds the row
// for a minute after each write: a process that was killed gives it up in that way. An owner that
// was silent for longer, and was replaced, fails at its next write.
type sqlCheckpoint struct {
	db      *sql.DB
	id      string
	owner   string
	version int64
}

const hold = time.Minute

const checkpointTable = `CREATE TABLE IF NOT EXISTS import_checkpoints
	(id TEXT PRIMARY KEY, version INTEGER NOT NULL, owner TEXT NOT NULL, held_until INTEGER NOT NULL, state BLOB)`

// Open takes the row. It fails if somebody else holds it.
func (c *sqlCheckpoint) Open(ctx context.Context) (state []byte, err error) {
	if _, err := c.db.ExecContext(ctx, checkpointTable); err != nil {
		return nil, err
	}
	const newRow = `INSERT INTO import_checkpoints VALUES (?, 0, '', 0, NULL) ON CONFLICT (id) DO NOTHING`
	if _, err := c.db.ExecContext(ctx, newRow, c.id); err != nil {
		return nil, err
	}
	var owner string
	var until int64
	row := c.db.QueryRowContext(ctx, `SELECT version, owner, held_until, state FROM import_checkpoints WHERE id = ?`, c.id)
	if err := row.Scan(&c.version, &owner, &until, &state); err != nil {
		return nil, err
	}
	if owner != "" && time.Now().Unix() < until {
		free := time.Unix(until, 0).Format(time.TimeOnly)
		return nil, fmt.Errorf("another process holds the checkpoint %q until %s", c.id, free)
	}
	c.owner = rand.Text()
	return state, c.Save(ctx, state)
}

// Save replaces the state if the row's version is still the known one.
func (c *sqlCheckpoint) Save(ctx context.Context, state []byte) error {
	const swap = `UPDATE import_checkpoints SET version = version + 1, owner = ?, held_until = ?, state = ?
		WHERE id = ? AND version = ?`
	result, err := c.db.ExecContext(ctx, swap, c.owner, time.Now().Add(hold).Unix(), state, c.id, c.version)
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n != 1 {
		return errors.Join(fmt.Errorf("another process has taken the checkpoint %q", c.id), err)
	}
	c.version++
	return nil
}

// Close gives up the row.
func (c *sqlCheckpoint) Close() error {
	const free = `UPDATE import_checkpoints SET owner = '', held_until = 0 WHERE id = ? AND version = ? AND owner = ?`
	_, err := c.db.ExecContext(context.Background(), free, c.id, c.version, c.owner)
	return err
}
