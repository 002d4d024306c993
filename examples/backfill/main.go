// Command backfill imports past events from a table of a database: the key of a row is the position, and the checkpoint stands in
// the same database. Killed and started again, it goes on where it was.
//
//	backfill -db app.sqlite -id orders-2024
//
// Without keys it works with a fake of the service, and without -db it makes a table of the events that come with the examples.
package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	_ "modernc.org/sqlite" // the driver

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/examples/internal/demo"
)

func main() { demo.Main(run) }

func run(ctx context.Context, out io.Writer, args []string) error {
	flags := flag.NewFlagSet("backfill", flag.ContinueOnError)
	path := flags.String("db", "", "the SQLite `file` with the table events")
	id := flags.String("id", "backfill", "the import's `name`, the same for every run: the identity of events is derived from it")
	if err := flags.Parse(args); err != nil {
		return err
	}
	site, err := demo.Connect(out, demo.ProjectKey)
	if err != nil {
		return err
	}
	defer site.Close()
	if *path == "" {
		if site.Fake == nil {
			return errors.New("say -db: the events of the examples are for the fake only")
		}
		remove, err := makeTable(ctx, path)
		if err != nil {
			return err
		}
		defer remove()
	}
	db, err := open(*path)
	if err != nil {
		return err
	}
	defer db.Close()

	receipt, err := site.Client.Import(ctx, rowsOf(db), hogapi.ImportOptions{
		ID:         *id,
		Checkpoint: &sqlCheckpoint{db: db, id: *id},
		Rejects: hogapi.RejectFunc(func(_ context.Context, r hogapi.Reject) error {
			_, err := fmt.Fprintf(out, "row %v is rejected: %v\n", r.Position, r.Err)
			return err
		}),
		Rate: site.Rate(),
		OnProgress: func(s hogapi.Stats) {
			fmt.Fprintf(out, "%6d rows acknowledged, up to row %v\n", s.Acknowledged, s.Position)
		},
	})
	fmt.Fprintf(out, "\n%v\n", receipt)
	if err == nil && site.Fake != nil {
		fmt.Fprintf(out, "\nThe fake holds %d events.\n", site.Fake.Ledger().Unique())
	}
	return err
}

// open opens a database so that rows can be read while the checkpoint is written.
func open(path string) (*sql.DB, error) {
	return sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(WAL)&_pragma=busy_timeout(10000)")
}

const pageOfRows = `SELECT id, name, person, happened_at, properties FROM events WHERE id > ? ORDER BY id LIMIT 1000`

// rowsOf reads the table page after page, oldest row first. A row needs no uuid: it is derived from the import's id and the key.
func rowsOf(db *sql.DB) hogapi.Source {
	return hogapi.PagedSource("events", func(ctx context.Context, after hogapi.Position) (events []hogapi.Event, upTo hogapi.Position, err error) {
		rows, err := db.QueryContext(ctx, pageOfRows, after.Offset)
		if err != nil {
			return nil, upTo, err
		}
		defer rows.Close()
		for rows.Next() {
			var (
				ev         hogapi.Event
				happenedAt string
				properties []byte
			)
			if err := rows.Scan(&ev.Position.Offset, &ev.Name, &ev.DistinctID, &happenedAt, &properties); err != nil {
				return nil, upTo, err
			}
			ev.RawProperties = properties
			if ev.Timestamp, err = time.Parse(time.RFC3339, happenedAt); err != nil {
				ev = hogapi.BadEvent(ev.Position, []byte(happenedAt), err) // one bad row is rejected, and does not end the import
			}
			events, upTo = append(events, ev), ev.Position
		}
		return events, upTo, rows.Err()
	})
}
