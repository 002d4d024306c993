package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"slices"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/internal/jsonb"
)

// airbyteData is the member, or the column, in which Airbyte keeps a record of its source.
const airbyteData = "_airbyte_data"

// unwrapped is a format of a vendor that also reads the vendor's records inside Airbyte's envelopes.
func unwrapped(format history.Format) history.Format {
	if convert := format.Convert; convert != nil {
		format.Convert = func(record []byte) ([]hogapi.Event, error) { return convert(inner(record)) }
	}
	if id := format.ID; id != nil {
		format.ID = func(record []byte) uuid.UUID { return id(inner(record)) }
	}
	return format
}

// inner returns the record of the source in a record of Airbyte, and any other record as it is.
func inner(record []byte) []byte {
	if !bytes.Contains(record, []byte(airbyteData+`"`)) { // records have many quotes: the search begins with a rarer byte
		return record
	}
	found := record
	_ = jsonb.Object(record, func(key, value []byte) {
		var text string
		switch {
		case string(key) != airbyteData:
		case value[0] == '{':
			found = value
		case json.Unmarshal(value, &text) == nil && json.Valid([]byte(text)):
			found = []byte(text)
		}
	})
	return found
}

// airbyteMap says how a table of Airbyte is read.
const airbyteMap = "these are records of Airbyte, with the record of the source as JSON in " + airbyteData + ": name its members, such as " +
	"--map 'event=" + airbyteData + "|json.event' --map 'person=" + airbyteData + "|json.distinct_id' --map 'time=" + airbyteData + "|json.time' --map '*=" + airbyteData +
	"|json'. As JSON lines, --format with the vendor reads them as they are"

// checkNames refuses lines of Snowplow with a header, which would be read as an event, unless --named-columns says so.
func (in *input) checkNames(ctx context.Context) error {
	if in.Format != "snowplow" || in.NamedColumns || len(in.Files) == 0 {
		return nil
	}
	path := in.paths()[0]
	columns, _, _ := head(ctx, path)
	if !slices.Contains(columns, "event_id") || !slices.Contains(columns, "collector_tstamp") {
		return nil
	}
	return shell.UsageError(filepath.Base(path)+" has a header, and --format snowplow reads lines of enriched events, which have none",
		"add --named-columns, for CSV and for TSV")
}
