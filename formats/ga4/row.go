package ga4

import (
	"time"

	"github.com/hogapi/hogapi/formats/internal/props"
)

// row has the columns of a row, as raw JSON; nil where absent.
type row struct {
	name, timestamp, params, userID, pseudoID, userProperties []byte
	trafficSource, items                                      []byte
	stream, bundle, batchPage, batchOrdering, batchEvent      []byte

	rest []column // what is kept under its own name
}

// column is a column of a row. Both parts are valid as long as the record is.
type column struct{ name, value []byte }

// visit notes a column.
func (r *row) visit(key, value []byte) {
	switch string(key) {
	case "event_name":
		r.name = value
	case "event_timestamp":
		r.timestamp = value
	case "event_params":
		r.params = value
	case "user_id":
		r.userID = value
	case "user_pseudo_id":
		r.pseudoID = value
	case "user_properties":
		r.userProperties = value
	case "traffic_source":
		r.trafficSource = value
	case "items":
		r.items = value
	case "event_bundle_sequence_id":
		r.bundle = value
	case "batch_page_id":
		r.batchPage = value
	case "batch_ordering_id":
		r.batchOrdering = value
	case "batch_event_index":
		r.batchEvent = value
	case "event_server_timestamp_offset", "event_previous_timestamp": // bookkeeping
	case "stream_id":
		r.stream = value
		r.rest = append(r.rest, column{key, value})
	default:
		r.rest = append(r.rest, column{key, value})
	}
}

// time is the time of a row.
func (r *row) time() (time.Time, error) {
	if micros, ok := props.Int(r.timestamp); ok && micros > 0 {
		return time.UnixMicro(micros).UTC(), nil
	}
	return time.Time{}, props.Want("event_timestamp", "microseconds since 1970", r.timestamp)
}

// hasBatch reports whether a row has the three numbers that tell an event from all others of its visitor.
func (r *row) hasBatch() bool {
	return !props.IsNone(r.batchPage) && !props.IsNone(r.batchOrdering) && !props.IsNone(r.batchEvent)
}
