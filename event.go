package hogapi

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/internal/pipeline"
	"github.com/hogapi/hogapi/internal/wire"
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

	bad   *badRecord
	noted *wire.Reserved // the reserved keys of RawProperties, noted while they were read; see trusts
	from  pipeline.Provenance
}

func (ev *Event) fields() wire.Fields {
	return wire.Fields{
		Name: ev.Name, DistinctID: ev.DistinctID, Timestamp: ev.Timestamp, UUID: ev.UUID,
		Properties: ev.Properties, RawProperties: ev.RawProperties, Set: ev.Set, SetOnce: ev.SetOnce,
	}
}

// fill sets e to the event in the form of a pipeline. trusting means that the event comes straight from a
// source that notes the reserved properties while it reads: no code of the user ran in between.
func (ev *Event) fill(e *pipeline.Event, trusting bool) {
	*e = pipeline.Event{Provenance: ev.from, Fields: ev.fields(), Position: ev.Position, Origin: ev.Origin}
	if trusting {
		e.Noted = ev.noted
	}
	if ev.bad != nil {
		e.IsBad, e.Record = true, ev.bad.raw
		if e.Skip, _ = ev.Skipped(); e.Skip == "" {
			e.Fault = ev.bad.refusal()
		}
	} else if ev.from.NeedsMapping {
		e.Fault = &EventError{Reason: event.ReasonBadRecord, Err: errNeedsMapping}
	}
}

// numberOfChild returns the number of the i-th event that a mapping makes of one, or 0 if it is counted later.
func (ev *Event) numberOfChild(i int) uint64 {
	if ev.from.Number == 0 && !ev.from.IsLoose {
		return 0
	}
	return wire.NthChild(ev.from.Number, i)
}

func (ev *Event) origin() Position {
	if ev.Origin.IsZero() {
		return ev.Position
	}
	return ev.Origin
}

// badRecord is a record of a source without an event.
type badRecord struct {
	raw []byte
	err error
}

// errNeedsMapping rejects a record of an import with a mapping that is now given without one.
var errNeedsMapping = errors.New("the import that rejected this record had a mapping: give RejectedRecords to MapSource, or remove $reject from a line that is corrected by hand")

func (b *badRecord) refusal() *EventError {
	if own, ok := errors.AsType[*EventError](b.err); ok {
		return own
	}
	return &EventError{Reason: event.ReasonBadRecord, Err: b.err}
}

// BadEvent returns the event of a record that cannot be converted, such as a line that is not JSON. The import
// gives it to the reject handler, with raw and err, and continues. The reason of the reject is that of err, if
// err is an [*EventError]. If the record has a uuid, set it as the event's UUID: the reject keeps it, so that
// the corrected record is the same event.
func BadEvent(p Position, raw []byte, err error) Event {
	return Event{Position: p, bad: &badRecord{raw: raw, err: err}}
}

// SkippedEvent returns the event of a record that is left out on purpose, such as the visit of an employee. The
// receipt counts it by its reason. It is not a reject.
func SkippedEvent(p Position, reason string) Event { return BadEvent(p, nil, Skip(reason)) }

// SkipError is the error of a record that is left out on purpose.
type SkipError struct{ Reason string }

// Skip returns the error with which a mapping leaves a record out on purpose: see [MapSource].
func Skip(reason string) error { return &SkipError{Reason: reason} }

// Error says that the record is skipped, and gives the reason.
func (e *SkipError) Error() string { return "hogapi: the record is skipped: " + e.Reason }

// Skipped returns the reason if the event is one of a record that is left out on purpose: see [SkippedEvent].
func (ev *Event) Skipped() (reason string, yes bool) {
	if ev.bad == nil {
		return "", false
	}
	skip, yes := errors.AsType[*SkipError](ev.bad.err)
	if !yes {
		return "", false
	}
	return mask.Clean(cmp.Or(skip.Reason, "no reason given")), true
}

// Position is a position in a source: see [event.Position].
type Position = event.Position

// Warning names a fact to look at, although the event is sent: see [event.Warning].
type Warning = event.Warning

// Reason says why an event was refused before it was sent, or rejected by the service: see [event.Reason].
type Reason = event.Reason

// EventError is the error of an event that the gate refuses or the service has rejected: see [event.Error].
type EventError = event.Error

// StopError is the error of an import or a Capture that has stopped: see [event.StopError].
type StopError = event.StopError

// UnsettledError lists the events that were taken and are not settled: see [event.UnsettledError].
type UnsettledError = event.UnsettledError

// UnsettledEvent is an event that was taken and is not settled: see [event.UnsettledEvent].
type UnsettledEvent = event.UnsettledEvent

// StopReason is the reason why an import stopped: see [event.StopReason].
type StopReason = event.StopReason

// Reasons of a stop.
const (
	StopUnauthorized   = event.StopUnauthorized   // 401: the project key
	StopQuota          = event.StopQuota          // 402, or an answer that lists a quota
	StopForbidden      = event.StopForbidden      // 403
	StopNotFound       = event.StopNotFound       // 404: the capture URL
	StopRedirect       = event.StopRedirect       // 3xx: the capture URL
	StopRefused        = event.StopRefused        // another 4xx or 501, or 400 to everything
	StopNotService     = event.StopNotService     // an answer that the service does not send, from a host that has accepted no event
	StopUnreachable    = event.StopUnreachable    // no connection before the first answer
	StopCertificate    = event.StopCertificate    // the server's certificate is not valid, before the first answer
	StopWrongScheme    = event.StopWrongScheme    // https to a server that speaks http
	StopTLS            = event.StopTLS            // the TLS handshake failed in another way, before the first answer
	StopNoProgress     = event.StopNoProgress     // failures lasted longer than the limit
	StopTooManyRejects = event.StopTooManyRejects // over MaxRejectShare or MaxRejects
	StopRejected       = event.StopRejected       // an event was rejected and there is no handler
	StopHandler        = event.StopHandler        // the reject handler failed
	StopCheckpoint     = event.StopCheckpoint     // the checkpoint could not be saved
	StopSource         = event.StopSource         // the source ended with an error
	StopWrongKey       = event.StopWrongKey       // the preflight: no project has this key
	StopCanceled       = event.StopCanceled       // the context ended
	StopInternal       = event.StopInternal       // a fault of this package
)

// Identify returns an event that sets person properties. To also merge an anonymous person into this one, add
// the property "$anon_distinct_id".
func Identify(distinctID string, at time.Time, set map[string]any) Event {
	return Event{Name: wire.EventIdentify, DistinctID: distinctID, Timestamp: at, Set: set}
}

// GroupIdentify returns an event that sets properties of a group, such as the company "acme".
func GroupIdentify(groupType, groupKey string, at time.Time, set map[string]any) Event {
	if set == nil {
		set = map[string]any{}
	}
	return Event{
		Name: wire.EventGroupIdentify, DistinctID: "$" + groupType + "_" + groupKey, Timestamp: at,
		Properties: map[string]any{"$group_type": groupType, "$group_key": groupKey, "$group_set": set},
	}
}

// Alias returns an event that merges the person alias into the person distinctID. A merge cannot be undone.
func Alias(distinctID, alias string, at time.Time) Event {
	return Event{Name: wire.EventAlias, DistinctID: distinctID, Timestamp: at, Properties: map[string]any{"alias": alias}}
}

func init() {
	wire.AppendEvent = func(b []byte, event any) ([]byte, error) { return event.(*Event).appendKept(b) }
	wire.ReadEvent = func(data []byte, event any) error { return event.(*Event).readKept(data) }
}

// appendKept appends the event with its uuid or the origin of its uuid, its position, its record for a reject, and the
// reason if it is skipped or rejected. Properties that JSON cannot hold are an error.
func (ev *Event) appendKept(b []byte) ([]byte, error) {
	k := wire.Kept{
		Fields: ev.fields(), AnonymousID: ev.AnonymousID, UserIDs: ev.UserIDs, Position: ev.Position, Origin: ev.Origin,
		Record: ev.from.Record, Where: ev.from.Location(), Format: ev.from.Format, Number: ev.from.Number,
		IsMapped: ev.from.IsMapped, IsFinal: ev.from.IsFinal, NeedsMapping: ev.from.NeedsMapping, IsLoose: ev.from.IsLoose || ev.from.File == nil && ev.from.Where == "",
	}
	if ev.from.Table != nil {
		var err error
		if k.Table, err = json.Marshal(ev.from.Table); err != nil {
			return b, fmt.Errorf("hogapi: the event cannot be kept: %w", err)
		}
	}
	if ev.bad != nil {
		k.Bad = &wire.KeptBad{Raw: ev.bad.raw, Note: noteOf(ev.bad.err)}
	}
	b, err := k.Append(b)
	if err != nil {
		err = fmt.Errorf("hogapi: the event cannot be kept: %w", err)
	}
	return b, err
}

// readKept reads what appendKept has written. The event shares the bytes of data.
func (ev *Event) readKept(data []byte) error {
	k, err := wire.ReadKept(data)
	if err != nil {
		return fmt.Errorf("hogapi: %w", err)
	}
	*ev = Event{
		Name: k.Name, DistinctID: k.DistinctID, AnonymousID: k.AnonymousID, UserIDs: k.UserIDs, Timestamp: k.Timestamp, UUID: k.UUID,
		Position: k.Position, Origin: k.Origin, RawProperties: k.RawProperties, Set: k.Set, SetOnce: k.SetOnce,
		from: pipeline.Provenance{
			Record: k.Record, Where: k.Where, Format: k.Format, Number: k.Number,
			IsMapped: k.IsMapped, IsFinal: k.IsFinal, NeedsMapping: k.NeedsMapping, IsLoose: k.IsLoose,
		},
	}
	if k.Table != nil && json.Unmarshal(k.Table, &ev.from.Table) != nil {
		return fmt.Errorf("hogapi: %w", wire.ErrDamaged)
	}
	if k.Bad != nil {
		ev.bad = &badRecord{raw: k.Bad.Raw, err: errorOf(k.Bad.Note)}
	}
	return nil
}

func noteOf(err error) wire.KeptNote {
	if skip, ok := errors.AsType[*SkipError](err); ok {
		return wire.KeptNote{Skip: &skip.Reason}
	}
	if e, ok := errors.AsType[*EventError](err); ok {
		return wire.NoteOf(e)
	}
	return wire.KeptNote{Text: bare(err).Error()}
}

func errorOf(n wire.KeptNote) error {
	switch {
	case n.Skip != nil:
		return Skip(*n.Skip)
	case n.Refusal == nil:
		return errors.New(n.Text)
	}
	return n.Fault()
}
