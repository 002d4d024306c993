package ga4

import (
	"time"

	"github.com/hogapi/hogapi/formats/internal/record"
)

// row has the columns of a row, as raw JSON; nil where absent.
type row struct {
	record.Reader

	name, timestamp, params, userID, pseudoID, userProperties []byte
	trafficSource, items                                      []byte
	bundle, batchPage, batchOrdering, batchEvent              []byte
}

func (r *row) bind() {
	r.Fields = record.Fields{
		"event_name": &r.name, "event_timestamp": &r.timestamp, "event_params": &r.params, "user_id": &r.userID,
		"user_pseudo_id": &r.pseudoID, "user_properties": &r.userProperties, "traffic_source": &r.trafficSource,
		"items": &r.items, "event_bundle_sequence_id": &r.bundle, "batch_page_id": &r.batchPage,
		"batch_ordering_id": &r.batchOrdering, "batch_event_index": &r.batchEvent,
	}.Drop("event_server_timestamp_offset", "event_previous_timestamp")
}

// time is the time of a row.
func (r *row) time() (time.Time, error) {
	if micros, ok := record.Int(r.timestamp); ok && micros > 0 {
		return time.UnixMicro(micros).UTC(), nil
	}
	return time.Time{}, record.Want("event_timestamp", "microseconds since 1970", r.timestamp)
}

// hasBatch reports whether a row has the three numbers that tell an event from all others of its
// visitor.
func (r *row) hasBatch() bool {
	return !record.IsNone(r.batchPage) && !record.IsNone(r.batchOrdering) && !record.IsNone(r.batchEvent)
}
