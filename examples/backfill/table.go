package main

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/examples/internal/commits"
)

// makeTable fills a database in a temporary folder with the events of the examples, as an application's own table could hold them.
func makeTable(ctx context.Context, path *string) (remove func(), err error) {
	folder, err := os.MkdirTemp("", "backfill-")
	if err != nil {
		return nil, err
	}
	*path = filepath.Join(folder, "app.sqlite")
	if err := fill(ctx, folder, *path, commits.Count); err != nil {
		return nil, err
	}
	return func() { _ = os.RemoveAll(folder) }, nil
}

// fill makes the table with the first events.
func fill(ctx context.Context, folder, path string, rows int) error {
	file, err := commits.WriteFile(folder)
	if err != nil {
		return err
	}
	db, err := open(path)
	if err != nil {
		return err
	}
	defer db.Close()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after a commit there is nothing to roll back
	const table = `CREATE TABLE events (id INTEGER PRIMARY KEY, name TEXT NOT NULL, person TEXT NOT NULL, happened_at TEXT NOT NULL, properties TEXT NOT NULL)`
	if _, err := tx.ExecContext(ctx, table); err != nil {
		return err
	}
	insert, err := tx.PrepareContext(ctx, `INSERT INTO events (name, person, happened_at, properties) VALUES (?, ?, ?, ?)`)
	if err != nil {
		return err
	}
	defer insert.Close()
	for ev, err := range hogapi.JSONLinesFile(file).Events(ctx, hogapi.Position{}) {
		if err != nil {
			return err
		}
		if rows--; rows < 0 {
			break
		}
		if _, err := insert.ExecContext(ctx, ev.Name, ev.DistinctID, ev.Timestamp.Format(time.RFC3339Nano), string(ev.RawProperties)); err != nil {
			return err
		}
	}
	return tx.Commit()
}
