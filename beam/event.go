package hogbeam

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/internal/jsonb"
)

// Event is one past event on its way through a pipeline.
type Event struct {
	Name       string
	DistinctID string          // the person; where empty, the property distinct_id is used
	Timestamp  time.Time       // when it happened
	Properties json.RawMessage // a JSON object, sent as it is; $set and $set_once are members of it
	UUID       uuid.UUID       // the event's identity; nil: derived from import id and position
	Position   hogapi.Position // where the event stands in its source; no two events of an import may have the same

	// A record that made no event has these in place of all but the position, and its uuid if it has one. It becomes a reject.
	Bad string // what is wrong with it
	Raw []byte // the record
}

// EventOf makes an event of the core's, as [hogapi.Identify] and its like make them.
func EventOf(ev hogapi.Event) (Event, error) {
	out := Event{
		Name: ev.Name, DistinctID: ev.DistinctID, Timestamp: ev.Timestamp, Properties: ev.RawProperties, UUID: ev.UUID, Position: ev.Position,
	}
	if ev.Properties == nil && ev.Set == nil && ev.SetOnce == nil {
		return out, nil
	}
	if ev.RawProperties != nil {
		return out, errors.New("hogbeam: an event with raw properties has its $set and $set_once in them, and no others")
	}
	members := maps.Clone(ev.Properties)
	if members == nil {
		members = map[string]any{}
	}
	for key, values := range map[string]map[string]any{"$set": ev.Set, "$set_once": ev.SetOnce} {
		if values == nil {
			continue
		}
		if _, own := members[key]; own {
			return out, fmt.Errorf("hogbeam: an event has %s either in its field or in its properties", key)
		}
		members[key] = values
	}
	var err error
	if out.Properties, err = new(jsonb.Encoder).AppendValue(nil, members); err != nil {
		err = fmt.Errorf("hogbeam: the properties are no JSON: %w", err)
	}
	return out, err
}

// core is the event in the core's form.
func (ev *Event) core() hogapi.Event {
	if ev.Bad != "" {
		bad := hogapi.BadEvent(ev.Position, ev.Raw, errors.New(ev.Bad))
		bad.UUID = ev.UUID
		return bad
	}
	out := hogapi.Event{Name: ev.Name, DistinctID: ev.DistinctID, Timestamp: ev.Timestamp, UUID: ev.UUID, Position: ev.Position}
	if len(ev.Properties) > 0 {
		out.RawProperties = ev.Properties
	}
	return out
}

// person is the distinct id that decides about the lane: the field, else the property. Where there is none the event will be refused.
func (ev *Event) person() string {
	if ev.DistinctID != "" || !bytes.Contains(ev.Properties, []byte("distinct_id")) {
		return ev.DistinctID
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(ev.Properties, &members) != nil {
		return ""
	}
	raw := members["distinct_id"]
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// The encoded form of an event begins with what a lane sorts by, so that comparing bytes sorts events: time, position, uuid. The same
// event always has the same bytes.

// appendEvent adds the encoded event.
func appendEvent(b []byte, ev *Event) []byte {
	b = appendSigned(b, ev.Timestamp.Unix())
	b = binary.BigEndian.AppendUint32(b, uint32(ev.Timestamp.Nanosecond()))
	b = append(b, strings.ReplaceAll(ev.Position.Key, "\x00", "\x00\xff")...)
	b = append(b, keyEnd...)
	b = appendSigned(b, ev.Position.Offset)
	b = append(b, ev.UUID[:]...)
	for _, text := range []string{ev.Name, ev.DistinctID, ev.Bad} {
		b = binary.AppendUvarint(b, uint64(len(text)))
		b = append(b, text...)
	}
	if ev.Bad != "" {
		return append(b, ev.Raw...)
	}
	return append(b, ev.Properties...)
}

// keyEnd sorts before every longer key.
const keyEnd = "\x00\x01"

// appendSigned adds a number so that its bytes sort as it does.
func appendSigned(b []byte, n int64) []byte { return binary.BigEndian.AppendUint64(b, uint64(n)^1<<63) }

var errDamaged = errors.New("hogbeam: an encoded event is damaged")

// parseEvent reads an encoded event. The event shares its bytes.
func parseEvent(b []byte) (ev Event, err error) {
	const times = 8 + 4
	if len(b) < times {
		return ev, errDamaged
	}
	seconds := int64(binary.BigEndian.Uint64(b) ^ 1<<63)
	ev.Timestamp = time.Unix(seconds, int64(binary.BigEndian.Uint32(b[8:]))).UTC()
	b = b[times:]
	end := bytes.Index(b, []byte(keyEnd))
	if end < 0 || len(b) < end+len(keyEnd)+8+16 {
		return ev, errDamaged
	}
	ev.Position.Key = strings.ReplaceAll(string(b[:end]), "\x00\xff", "\x00")
	b = b[end+len(keyEnd):]
	ev.Position.Offset = int64(binary.BigEndian.Uint64(b) ^ 1<<63)
	copy(ev.UUID[:], b[8:])
	b = b[8+16:]
	for _, text := range []*string{&ev.Name, &ev.DistinctID, &ev.Bad} {
		n, used := binary.Uvarint(b)
		if used <= 0 || n > uint64(len(b)-used) {
			return ev, errDamaged
		}
		*text = string(b[used:][:n])
		b = b[used+int(n):]
	}
	switch {
	case len(b) == 0:
	case ev.Bad != "":
		ev.Raw = b
	default:
		ev.Properties = b
	}
	return ev, nil
}
