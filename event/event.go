package event

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/inside"
	"github.com/hogapi/hogapi/internal/mask"
)

// Event is one past event.
type Event struct {
	Name       string    // such as "$pageview"
	DistinctID string    // the person; if empty, the property distinct_id is used
	Timestamp  time.Time // when it happened; sent in UTC, with all digits of its fraction

	Properties    map[string]any  // values that encoding/json can marshal
	RawProperties json.RawMessage // instead of Properties: a JSON object that is sent as it is; Enqueue copies it
	Set           map[string]any  // person properties to set
	SetOnce       map[string]any  // person properties to set if the person lacks them
	// AnonymousID is the id of the visitor before the login, or of the device, which other persons may have used too.
	// UserIDs are further ids that belong to nobody else, such as the one that the vendor calls its user. Neither is
	// sent: formats.Links joins them to DistinctID.
	AnonymousID string
	UserIDs     []string

	// UUID is the identity of the event. The gate refuses an invalid UUID, and never replaces one. By default, the
	// UUID is derived from the import's ID and Origin.
	UUID uuid.UUID
	// Position is where an import resumes after the event's record. All events of a record share it.
	Position Position
	// Origin is the position that the UUID is derived from. The default is Position. It needs a Key, such as the name
	// of the table or the queue: the gate refuses an event that has neither UUID nor Key.
	Origin Position

	inside inside.Event
}

// Inside returns the hidden part of the event. Only packages of this module can call it.
func (ev *Event) Inside(inside.Key) *inside.Event { return &ev.inside }

// Bad returns the event of a record that cannot be converted, such as a line that is not JSON. The import
// gives it to the reject handler, with raw and err, and continues. The reason of the reject is that of err, if
// err is an [*Error]. If the record has a uuid, set it as the event's UUID: the reject keeps it, so that
// the corrected record is the same event.
func Bad(p Position, raw []byte, err error) Event {
	return Event{Position: p, inside: inside.Event{Bad: &inside.BadRecord{Raw: raw, Err: err}}}
}

// Skip returns the event of a record that is left out on purpose, such as the visit of an employee. The
// receipt counts it by its reason. It is not a reject.
func Skip(p Position, reason string) Event { return Bad(p, nil, &SkipError{Reason: reason}) }

// SkipError is the error of a record that is left out on purpose.
type SkipError struct{ Reason string }

// Error says that the record is skipped, and gives the reason.
func (e *SkipError) Error() string { return "hogapi: the record is skipped: " + e.Reason }

// Skipped returns the reason if the event is one of a record that is left out on purpose: see [Skip].
func (ev *Event) Skipped() (reason string, yes bool) {
	if ev.inside.Bad == nil {
		return "", false
	}
	skip, yes := errors.AsType[*SkipError](ev.inside.Bad.Err)
	if !yes {
		return "", false
	}
	return mask.Clean(cmp.Or(skip.Reason, "no reason given")), true
}

// Identify returns an event that sets person properties. To also merge an anonymous person into this one, add
// the property "$anon_distinct_id".
func Identify(distinctID string, at time.Time, set map[string]any) Event {
	return Event{Name: "$identify", DistinctID: distinctID, Timestamp: at, Set: set}
}

// GroupIdentify returns an event that sets properties of a group, such as the company "acme".
func GroupIdentify(groupType, groupKey string, at time.Time, set map[string]any) Event {
	if set == nil {
		set = map[string]any{}
	}
	return Event{
		Name: "$groupidentify", DistinctID: "$" + groupType + "_" + groupKey, Timestamp: at,
		Properties: map[string]any{"$group_type": groupType, "$group_key": groupKey, "$group_set": set},
	}
}

// Alias returns an event that merges the person alias into the person distinctID. A merge cannot be undone.
func Alias(distinctID, alias string, at time.Time) Event {
	return Event{Name: "$create_alias", DistinctID: distinctID, Timestamp: at, Properties: map[string]any{"alias": alias}}
}

// Protocol is the way in which events are sent. An import uses one protocol; its checkpoint remembers which.
type Protocol string

// The protocols.
const (
	ProtocolAuto  Protocol = ""      // capture v1 if the server has it, otherwise /batch/; asked once before the first event
	ProtocolV1    Protocol = "v1"    // POST /i/v1/analytics/events: the answer names the fate of each event
	ProtocolBatch Protocol = "batch" // POST /batch/: one answer for all events of a request
)

// PersonPolicy controls the person properties in the events of an import.
type PersonPolicy uint8

// The policies for person properties.
const (
	// PersonPolicyKeep sends $set as it is. The values that arrive last win, not the values of the newest event.
	PersonPolicyKeep PersonPolicy = iota
	// PersonPolicySetOnce turns $set into $set_once: only values that a person lacks are set. If an event has
	// both, it keeps the keys of both, with the value of $set for a key that is in both.
	PersonPolicySetOnce
	// PersonPolicyStrip removes $set and $set_once from all but identity events.
	PersonPolicyStrip
)

// Position is a position in a source, such as the base name of a file and a byte offset, or the key of a row of
// a table. Key must be valid UTF-8. The zero value is the start. Consecutive events with the same Position are
// one record, which is settled and resumed as a whole. Events without a Position do not advance the point at
// which an import resumes.
type Position struct {
	Key    string `json:"key,omitempty"`
	Offset int64  `json:"offset,omitempty"`
}

// IsZero reports whether p is the zero value: the start of a source, or no position.
func (p Position) IsZero() bool { return p == Position{} }

// String returns "key@offset", "key" or "offset", with the key quoted if it is not printable. (Errors name a
// line of a file as "file:line".)
func (p Position) String() string {
	switch {
	case p.Key == "":
		return strconv.FormatInt(p.Offset, 10)
	case p.Offset == 0:
		return mask.OneLine(p.Key)
	}
	return fmt.Sprintf("%s@%d", mask.OneLine(p.Key), p.Offset)
}
