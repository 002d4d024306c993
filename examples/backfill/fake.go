package main

import (
	"context"
	"fmt"
	"time"
)

// fill makes a table of invented events, as an application could have kept them.
func fill(ctx context.Context, path string, rows int) error {
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
	const table = `CREATE TABLE events
		(id INTEGER PRIMARY KEY, name TEXT NOT NULL, person TEXT NOT NULL,
		happened_at TEXT NOT NULL, properties TEXT NOT NULL)`
	if _, err := tx.ExecContext(ctx, table); err != nil {
		return err
	}
	insert, err := tx.PrepareContext(ctx, `INSERT INTO events (name, person, happened_at, properties) VALUES (?, ?, ?, ?)`)
	if err != nil {
		return err
	}
	defer insert.Close()
	begin := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range rows {
		person, at := fmt.Sprintf("person-%d", i%500), begin.Add(time.Duration(i)*5*time.Second).Format(time.RFC3339Nano)
		if _, err := insert.ExecContext(ctx, "order placed", person, at, fmt.Sprintf(`{"order":%d}`, i)); err != nil {
			return err
		}
	}
	return tx.Commit()
}
