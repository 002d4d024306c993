// Command backfill checks past events in a table of a database and imports them: the key of a row is
// its position, and the checkpoint is kept in the same database. After a kill it continues where it
// was.
//
//	backfill -db app.sqlite -id orders-2024
//	backfill -db app.sqlite -id orders-2024-rejects -rejected orders-2024.rejects.jsonl
//
// The second form imports the rejects, after the code below or the lines of that file were corrected.
// Without keys it works with a fake of the service, and without -db it makes a table of invented
// events.
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // the driver

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/examples/internal/demo"
	"github.com/hogapi/hogapi/history"
)

func main() { demo.Main(run) }

func run(ctx context.Context, out io.Writer, args []string) error {
	flags := flag.NewFlagSet("backfill", flag.ExitOnError)
	path := flags.String("db", "", "the SQLite `file` with the table events")
	id := flags.String("id", "backfill", "the import's `name`, the same for every run: uuids are derived from it")
	rejected := flags.String("rejected", "", "import the rows of this reject `file`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	client, fake, err := demo.ConnectToImport(out)
	if err != nil {
		return err
	}
	if *path == "" {
		if fake == nil {
			return errors.New("name a database with -db: the invented events are for the fake only")
		}
		folder, err := os.MkdirTemp("", "backfill-")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(folder) }()
		*path = filepath.Join(folder, "app.sqlite")
		if err := fill(ctx, *path, 10_000); err != nil {
			return err
		}
	}
	db, err := open(*path)
	if err != nil {
		return err
	}
	defer db.Close()

	source := rowsOf(db)
	if *rejected != "" {
		source = history.Rejected(*rejected, parse)
	}
	rejects := filepath.Join(filepath.Dir(*path), *id+".rejects.jsonl")
	options := history.Options{ID: *id, Rejects: history.RejectFile(rejects), OnProgress: demo.EachSecond(out)}
	if fake == nil {
		options.Checkpoint = &sqlCheckpoint{db: db, id: *id}
	} else { // the fake is gone after this run: its events must not count as imported
		options.Rate = hogapi.RateUnlimited
	}
	report, err := history.Check(ctx, source, &options) // sends nothing; the error names the faults to correct
	fmt.Fprintf(out, "Checked: %v\n\n", report)
	if err != nil {
		return err
	}
	options.Total = report.Read
	receipt, err := history.Import(ctx, client, source, &options)
	if receipt.Source != "" { // otherwise it did not begin
		fmt.Fprintf(out, "\n%v\n", receipt)
	}
	stop, _ := errors.AsType[*hogapi.StopError](err)
	if receipt.Rejected > 0 && (err == nil || stop != nil && stop.Reason == hogapi.StopTooManyRejects) {
		fmt.Fprintf(out, rejectsAre, rejects, *path, *id, rejects)
	}
	if err == nil && fake != nil {
		fmt.Fprintf(out, "\nThe fake holds %d events.\n", fake.Ledger().Unique())
	}
	return err
}

const rejectsAre = `
The rejects are in %s, each with its reason. They keep their uuids, so correct the code
that reads a row, or correct a line there and remove "$reject" from it. Then import them:

	backfill -db %s -id %s-rejects -rejected %s
`

// open opens a database so that rows can be read while the checkpoint is written.
func open(path string) (*sql.DB, error) {
	return sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(WAL)&_pragma=busy_timeout(10000)")
}

const pageOfRows = `SELECT id, name, person, happened_at, properties FROM events WHERE id > ? ORDER BY id LIMIT 1000`

// rowsOf reads the table page after page, oldest row first. A row needs no uuid: it is derived from
// the import's id and the key.
func rowsOf(db *sql.DB) history.Source {
	read := func(ctx context.Context, after hogapi.Position) (events []hogapi.Event, upTo hogapi.Position, err error) {
		rows, err := db.QueryContext(ctx, pageOfRows, after.Offset)
		if err != nil {
			return nil, upTo, err
		}
		defer rows.Close()
		for rows.Next() {
			var r row
			upTo.Key = "events"
			if err := rows.Scan(&upTo.Offset, &r.Name, &r.Person, &r.HappenedAt, &r.Properties); err != nil {
				return nil, upTo, err
			}
			ev, err := r.event()
			if err != nil { // one bad row is rejected, and does not end the import
				raw, badRow := json.Marshal(r)
				ev = event.Bad(upTo, raw, errors.Join(err, badRow))
			}
			ev.Position = upTo
			events = append(events, ev)
		}
		return events, upTo, rows.Err()
	}
	return history.Paged("events", read)
}

// row is a row of the table, and the form of a bad row in the reject file.
type row struct{ Name, Person, HappenedAt, Properties string }

func (r row) event() (hogapi.Event, error) {
	at, err := time.Parse(time.RFC3339, r.HappenedAt)
	properties := json.RawMessage(r.Properties)
	return hogapi.Event{Name: r.Name, DistinctID: r.Person, Timestamp: at, RawProperties: properties}, err
}

func parse(raw []byte) ([]hogapi.Event, error) {
	var r row
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, err
	}
	ev, err := r.event()
	return []hogapi.Event{ev}, err
}
