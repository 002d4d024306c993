package proof_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats"
)

// sortedSource returns the rows of the file with their links before them. It keeps all its files in the state's folder.
func (w task) sortedSource() hogapi.Source {
	if err := os.Setenv("TMPDIR", w.temporary()); err != nil { // of this child
		panic(err)
	}
	rows := rowFormat
	rows.Convert = func(record []byte) ([]hogapi.Event, error) {
		var row struct{ Device string }
		events, err := rowFormat.Convert(record)
		if err == nil {
			err = json.Unmarshal(record, &row)
		}
		for i := range events {
			events[i].AnonymousID = row.Device
		}
		return events, err
	}
	source := formats.Sorted(hogapi.FileSource(rows, w.File), w.sorted())
	return hogapi.Concat(formats.Links(source), source)
}

func (w task) temporary() string { return filepath.Join(w.State, "temporary") }
func (w task) sorted() string    { return filepath.Join(w.State, "sorted") }

// rowFormat makes one event of each row, and two of some rows.
var rowFormat = hogapi.Format{Name: "rows", Convert: func(record []byte) ([]hogapi.Event, error) {
	var row struct {
		Event, Timestamp string
		DistinctID       string `json:"distinct_id"`
		UUID             uuid.UUID
	}
	if err := json.Unmarshal(record, &row); err != nil {
		return nil, err
	}
	at, err := time.Parse(time.RFC3339Nano, row.Timestamp)
	if err != nil {
		return nil, errors.New("timestamp: want RFC 3339")
	}
	ev := hogapi.Event{Name: row.Event, DistinctID: row.DistinctID, Timestamp: at, UUID: row.UUID, RawProperties: record}
	if row.Event == "two" {
		return []hogapi.Event{ev, {Name: "second", DistinctID: row.DistinctID, Timestamp: at}}, nil
	}
	return []hogapi.Event{ev}, nil
}}
