package event

import (
	"encoding/json"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/inside"
)

// Reject is an event that the gate or the service refused, or a record that made no event. The service does not
// have it, unless its reason is [ReasonUnconfirmed]: then it may. The import does not send it again.
type Reject struct {
	Event json.RawMessage // as it was, or would have been, sent; nil if there is no event
	// Raw is the record of the source if it made no event or a mapping changed it, or the properties if they are
	// not JSON.
	Raw      []byte
	UUID     uuid.UUID
	Position Position // of the record in its source
	Where    string   // the record's file and line, such as "events.jsonl:17"; empty if they are not known
	Status   int      // of the service's answer; 0 if the gate refused
	Err      *Error

	note any // further facts for a reject file
}

// Inside returns the hidden part of the reject. Only packages of this module can call it.
func (r *Reject) Inside(inside.Key) *any { return &r.note }
