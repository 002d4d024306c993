package hogapi

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/jsonb"
)

// Reject is an event that is not in the service and will not be: refused by the gate or the service, or a record that
// made no event.
type Reject struct {
	Event    json.RawMessage // as it was, or would have been, sent; nil where there is none
	Raw      []byte          // the source's record, of a BadEvent
	UUID     uuid.UUID
	Position Position
	Status   int // of the service's answer; 0 where the gate refused
	Err      *EventError
}

// RejectHandler takes rejects, one at a time and in the order of the source. An error stops the import; the event is
// then not settled and comes again with the next run. After a crash, rejects since the last checkpoint come again too.
type RejectHandler interface {
	Reject(ctx context.Context, r Reject) error
}

// RejectFunc makes a handler of a function.
type RejectFunc func(ctx context.Context, r Reject) error

// Reject calls f.
func (f RejectFunc) Reject(ctx context.Context, r Reject) error { return f(ctx, r) }

// newReject describes an event that the gate refused, as far as it can be written down.
func newReject(ev *Event, refusal *EventError) *Reject {
	r := &Reject{UUID: ev.UUID, Position: ev.Position, Err: refusal}
	if ev.bad != nil {
		r.Raw = slices.Clone(ev.bad.raw)
		return r
	}
	r.Event = describe(ev)
	return r
}

// describe writes a refused event in the form of a line, so that it can be mended and imported again. What JSON cannot hold is
// left out: the reason says what it was.
func describe(ev *Event) json.RawMessage {
	line := struct {
		Event      string          `json:"event"`
		DistinctID string          `json:"distinct_id"`
		Timestamp  string          `json:"timestamp,omitzero"`
		UUID       string          `json:"uuid,omitzero"`
		Properties json.RawMessage `json:"properties,omitzero"`
		Set        map[string]any  `json:"$set,omitzero"`
		SetOnce    map[string]any  `json:"$set_once,omitzero"`
	}{Event: ev.Name, DistinctID: ev.DistinctID, Set: ev.Set, SetOnce: ev.SetOnce}
	if !ev.Timestamp.IsZero() {
		line.Timestamp = string(jsonb.AppendTime(nil, ev.Timestamp))
	}
	if ev.UUID != uuid.Nil {
		line.UUID = ev.UUID.String()
	}
	line.Properties = ev.RawProperties
	if raw, err := json.Marshal(ev.Properties); err == nil && ev.Properties != nil {
		line.Properties = raw
	}
	raw, err := json.Marshal(line)
	if err != nil {
		line.Properties, line.Set, line.SetOnce = nil, nil, nil
		raw, _ = json.Marshal(line) //nolint:errchkjson // texts always marshal
	}
	return raw
}
