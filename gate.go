package hogapi

import (
	"cmp"
	"strconv"
	"time"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/internal/statefile"
	"github.com/hogapi/hogapi/internal/wire"
)

// Reason says why an event was refused before it was sent, or rejected by the service: see [event.Reason].
type Reason = event.Reason

// EventError is the error of an event that the gate refuses or the service has rejected.
type EventError struct {
	Reason   Reason
	Where    string   // the record in its file, such as "events.jsonl:17"; empty if that is not known
	Position Position // in the source; zero if the event has no Position
	Field    string   // the field with the fault
	Value    string   // the refused value, cut, and without keys; may be empty
	Want     string   // the allowed values
	Err      error    // the error of the source, the encoder or the service; may be nil

	Also []*EventError // further faults that the gate found in the event: correct them too
}

// newEventError returns a refusal as a caller sees it, without its position.
func newEventError(r *wire.Refusal) *EventError {
	e := &EventError{Reason: r.Reason, Field: r.Field, Value: r.Value, Want: r.Want, Err: r.Err}
	for _, other := range r.Also {
		e.Also = append(e.Also, newEventError(other))
	}
	return e
}

func rejectError(r *statefile.Reject) *EventError {
	e := newEventError(r.Refusal)
	e.Position, e.Where = Position(r.Note.Position), r.Note.Where
	return e
}

// refusal returns the error in the form of internal packages. It is nil without an error.
func (e *EventError) refusal() *wire.Refusal {
	if e == nil {
		return nil
	}
	r := &wire.Refusal{Reason: e.Reason, Field: e.Field, Value: e.Value, Want: e.Want, Err: e.Err}
	for _, other := range e.Also {
		r.Also = append(r.Also, other.refusal())
	}
	return r
}

const eventRefused = "event refused: "

// Error names the reason, the value, the allowed values and the position.
func (e *EventError) Error() string {
	var b errtext.Text
	b.Add("%s%s%v", prefix, eventRefused, e.refusal())
	b.AddIf(e.Where != "", " (%s, byte offset %d)", e.Where, e.Position.Offset)
	b.AddIf(e.Where == "" && !e.Position.IsZero(), " (at %s)", e.Position)
	return b.String()
}

// Unwrap returns the cause.
func (e *EventError) Unwrap() error { return e.Err }

// Is matches ErrInvalid.
func (e *EventError) Is(target error) bool { return target == ErrInvalid }

// GateOptions control the gate, which refuses events before they are sent. The zero value follows the rules of
// the service.
type GateOptions struct {
	// MinAge is the least age of an event. The service treats younger events as live events and bills them. A
	// negative MinAge allows every event, even one in the future. The default is 48 h.
	MinAge time.Duration
	// PersonPolicy controls $set in old events, which could overwrite newer values of a person. The default is
	// PersonPolicyKeep.
	PersonPolicy PersonPolicy
	// NoHeatmaps sends events without heatmap data: it removes $heatmap_data and renames $prev_pageview_pathname
	// to import_prev_pageview_pathname. With such data, the service adds rows to its heatmaps each time an event
	// is sent, so an event that is sent twice counts twice there. The default is false: the data is sent, and the
	// receipt has a warning.
	NoHeatmaps bool
	// AllowMergeDangerously allows the event $merge_dangerously, which permanently merges persons of today, even
	// identified ones. The default is false.
	AllowMergeDangerously bool
}

// PersonPolicy controls the person properties in the events of an import.
type PersonPolicy uint8

const (
	// PersonPolicyKeep sends $set as it is. The values that arrive last win, not the values of the newest event.
	PersonPolicyKeep PersonPolicy = iota
	// PersonPolicySetOnce turns $set into $set_once: only values that a person lacks are set. If an event has
	// both, it keeps the keys of both, with the value of $set for a key that is in both.
	PersonPolicySetOnce
	// PersonPolicyStrip removes $set and $set_once from all but identity events.
	PersonPolicyStrip
)

func (o GateOptions) check(op Op) error {
	policy := strconv.Itoa(int(o.PersonPolicy))
	return refused(op, cmp.Or(
		outgoing.If(outgoing.LacksUnit(o.MinAge), "Gate.MinAge", o.MinAge.String(), outgoing.WantUnit),
		outgoing.If(o.PersonPolicy > PersonPolicyStrip, "Gate.PersonPolicy", policy,
			"PersonPolicyKeep, PersonPolicySetOnce or PersonPolicyStrip"),
	))
}

func (o GateOptions) rules(p wire.Protocol, now func() time.Time) wire.Rules {
	return wire.Rules{
		MinAge: o.MinAge, PersonPolicy: wire.PersonPolicy(o.PersonPolicy), StripHeatmaps: o.NoHeatmaps,
		AllowMergeDangerously: o.AllowMergeDangerously, Protocol: p, Now: now,
	}
}

// Warning names a fact to look at, although the event is sent: see [event.Warning].
type Warning = event.Warning
