package hogapi

import (
	"context"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/delivery"
	"github.com/hogapi/hogapi/internal/ingest"
	"github.com/hogapi/hogapi/internal/ledger"
	"github.com/hogapi/hogapi/internal/wire"
	"github.com/hogapi/hogapi/ops"
)

// encoder makes the bytes of events. It is not safe for concurrent use.
type encoder struct {
	*wire.Encoder

	trusting bool // events come straight from a source that notes the reserved properties while it reads
}

// newStamps are what this library adds to the events of an import.
func newStamps(importID string) wire.Stamps {
	return wire.NewStamps(libraryName, libraryVersion(), importID)
}

const libraryName = "hogapi-go"

// trust spares the second reading of raw properties where no code of the user is between the source
// and the encoder.
func (e *encoder) trust(s Source) { _, e.trusting = s.(*jsonLines) }

// encode checks an event and makes its bytes, or says why it is refused.
func (e *encoder) encode(ev *Event) (wire.Encoded, *EventError) {
	if !ev.isReadable() {
		return wire.Encoded{}, ev.unreadable()
	}
	fields := ev.fields()
	if e.trusting {
		fields.Noted = ev.noted
	}
	out, refusal := e.Encode(&fields)
	return out, ev.asError(refusal)
}

// rehearsal gives events what their import gives them, and sends nothing. It is not safe for concurrent
// use.
type rehearsal struct {
	encoder  encoder
	identity *wire.Identity
	numbers  wire.Numbering
}

func newRehearsal(importID string, gate GateOptions, p Protocol, seed maphash.Seed) *rehearsal {
	rules := wire.NewGate(gate.rules(rulesOf[p], time.Now))
	return &rehearsal{
		encoder:  encoder{Encoder: wire.NewEncoder(rules, newStamps(importID), seed)},
		identity: wire.NewIdentity(importID, gate.ContentIDs),
	}
}

// next is the event as it is sent, valid until the next one, or why the gate refuses it. An event that
// was skipped is neither. It must be given every event of a source, in order.
func (r *rehearsal) next(ev *Event) (out wire.Encoded, sent bool, refusal *EventError) {
	origin := wire.Origin(ev.origin())
	n := r.numbers.Next(wire.Origin(ev.Position), origin, ev.number)
	if _, skipped := ev.skipped(); skipped {
		return out, false, nil
	}
	out, refusal = r.encoder.encode(ev)
	if refusal == nil {
		refusal = ev.asError(r.identity.Check(ev.UUID, origin))
	}
	if refusal == nil {
		refusal = ev.asError(r.identity.Assign(&out, origin, n))
	}
	return out, refusal == nil, refusal
}

// offered is an event on its way in. It is sent, rejected or skipped.
type offered struct {
	out    wire.Encoded
	reject *Reject
	skip   string
	name   string
	place  Position // where to resume
	origin Position // where the uuid comes from
	number uint64   // of the event; 0: not known
	size   int
}

// offer makes o of an event: it is encoded, or the error says why it is not sent, if that is not known
// already. The bytes are valid until the encoder is used again.
func (p *pipeline) offer(enc *encoder, ev *Event, o *offered, early *EventError) (refusal *EventError) {
	o.name, o.place, o.origin, o.number, o.size = ev.Name, ev.Position, ev.origin(), ev.number, len(ev.Position.Key)
	if why, skipped := ev.skipped(); skipped {
		o.skip = why
		return nil
	}
	if refusal = early; refusal == nil {
		o.out, refusal = enc.encode(ev)
	}
	if refusal == nil {
		refusal = ev.asError(p.identity.Check(ev.UUID, wire.Origin(o.origin)))
	}
	if refusal != nil {
		o.turnDown(newReject(ev, refusal))
		return refusal
	}
	o.size += len(o.out.Wire)
	return nil
}

// turnDown makes the event a rejected one.
func (o *offered) turnDown(r *Reject) {
	o.reject = r
	o.size = len(r.Event) + len(r.Raw) + len(o.place.Key)
}

// enqueue admits a record as a whole.
func (p *pipeline) enqueue(ctx context.Context, events []Event, wait bool) error {
	place, err := placeOf(events)
	if err != nil || len(events) == 0 {
		return err
	}
	var enc *encoder // none for a record that is all rejects
	defer func() {
		if enc != nil {
			p.encoders.Put(enc)
		}
	}()
	var single [1]offered
	record := single[:]
	if len(events) > 1 {
		record = make([]offered, len(events))
	}
	more := delivery.Held{Events: len(events)}
	for i := range events {
		ev := events[i]
		early := p.early(&ev)
		if early == nil && enc == nil && ev.isReadable() {
			if enc, err = p.encoder(ctx, wait); err != nil {
				return err
			}
		}
		ev.Position = place
		o := &record[i]
		refusal := p.offer(enc, &ev, o, early)
		if refusal != nil && p.rejects == nil {
			return p.notTaken(refusal)
		}
		if len(events) > 1 {
			o.out.Wire = slices.Clone(o.out.Wire)
		}
		more.Bytes += o.size
	}
	if err := p.acquire(ctx, more, delivery.Held{}, wait); err != nil {
		return err
	}
	p.admission.Lock()
	defer p.admission.Unlock()
	if refusal := p.identify(record); refusal != nil {
		p.budget.Release(more)
		return p.notTaken(refusal)
	}
	if err := p.whyClosed(); err != nil {
		p.budget.Release(more)
		return err
	}
	for i := range record {
		p.admit(&record[i], i == 0, i == len(record)-1)
	}
	return nil
}

// takeOne admits one event of an import.
func (p *pipeline) takeOne(ctx context.Context, o *offered, r *openRecord, begins bool) error {
	more := delivery.Held{Events: 1, Bytes: o.size}
	if !p.budget.TryAcquire(more, r.held) {
		if begins { // the record before is complete, and may have to make the room
			p.ledger.End()
			p.committer.Signal()
		}
		if err := p.acquire(ctx, more, r.held, true); err != nil {
			return err
		}
	}
	p.admission.Lock()
	defer p.admission.Unlock()
	if err := p.whyClosed(); err != nil {
		p.budget.Release(more)
		return err
	}
	if refusal := p.assign(o); refusal != nil {
		p.budget.Release(more)
		return &StopError{Reason: StopRejected, Err: refusal}
	}
	r.held.Events++
	r.held.Bytes += p.admit(o, begins, false)
	return nil
}

// identify gives the events of a record their uuids. The caller holds the admission lock.
func (p *pipeline) identify(record []offered) *EventError {
	for i := range record {
		if refusal := p.assign(&record[i]); refusal != nil {
			return refusal
		}
	}
	return nil
}

// assign gives an event the uuid that it lacks. It returns a refusal where there is no handler that
// could take it. The caller holds the admission lock.
func (p *pipeline) assign(o *offered) *EventError {
	n := p.numbers.Next(wire.Origin(o.place), wire.Origin(o.origin), o.number)
	switch {
	case o.skip != "":
		return nil
	case o.reject != nil:
		o.reject.number = n
		if o.reject.UUID == uuid.Nil && !o.origin.IsZero() && p.identity.Named() {
			o.reject.UUID = p.identity.At(wire.Origin(o.origin), n)
		}
		return nil
	}
	fault := p.identity.Assign(&o.out, wire.Origin(o.origin), n)
	if fault == nil {
		return nil
	}
	refusal := newEventError(fault)
	if p.rejects == nil {
		return refusal
	}
	p.budget.Hold(-o.size)
	o.turnDown(&Reject{Event: p.line(o.out.Wire), Position: o.place, Err: refusal, time: o.out.Time})
	p.budget.Hold(o.size)
	return nil
}

// admit enters an event into the ledger and gives it to its lane. The caller holds the admission
// lock, and its size in the budget. It returns how much of that is held until the event is committed.
func (p *pipeline) admit(o *offered, begins, ends bool) (held int) {
	e := ledger.Event[Position]{Place: o.place, Name: o.name, Held: len(o.place.Key), Begins: begins, Ends: ends}
	switch {
	case o.skip != "":
		p.ledger.Skip(e, o.skip)
	case o.reject != nil:
		e.Held = o.size
		e.ID, e.Name, e.Time = o.reject.UUID, rowName(o.name), o.reject.time
		p.ledger.Reject(e, string(o.reject.Err.Reason), o.reject)
	default:
		out := &o.out
		e.ID, e.Time, e.Warnings = out.UUID, out.Time, uint32(out.Warnings)
		p.checking.Do(func() { go p.preflight() })
		seq := p.ledger.Take(e)
		item := delivery.Item{Seq: seq, Wire: out.Wire, Time: out.Time, Key: out.Person}
		if p.protocol.Name() == ingest.NameV1 {
			item.ID = out.UUID // capture v1 refuses a request with an id twice
		}
		if p.sender.Add(item) {
			p.ledger.Warn(seq, uint32(wire.Backwards))
		}
		return e.Held
	}
	p.committer.Signal()
	return e.Held
}

// rowName is the name of a rejected event in the receipt's table, which must be valid UTF-8.
func rowName(name string) string {
	if len(name) > wire.MaxName {
		name = name[:wire.MaxName]
	}
	return strings.ToValidUTF8(name, "\uFFFD")
}

// placeOf is the one position of a record.
func placeOf(events []Event) (place Position, err error) {
	for i := range events {
		at := events[i].Position
		if !at.IsZero() && !place.IsZero() && at != place {
			return place, &InputError{Op: ops.Import, Field: "events", Value: at.String(),
				Want: fmt.Sprintf("events of one record, which share the Position %s; other records take other calls", place)}
		}
		if place.IsZero() {
			place = at
		}
	}
	return place, nil
}

// notTaken counts a refused record.
func (p *pipeline) notTaken(refusal *EventError) error {
	if err := p.whyClosed(); err != nil {
		return err
	}
	p.meter.change(func(s *Stats) { s.Refused++ })
	return refusal
}

// acquire waits for room. own is what cannot be released before this event is admitted.
func (p *pipeline) acquire(ctx context.Context, more, own delivery.Held, wait bool) error {
	if err := p.whyClosed(); err != nil {
		return err
	}
	if p.budget.TryAcquire(more, own) {
		return nil
	}
	if !wait {
		return ErrFull
	}
	either, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(p.accepting, func() { cancel(nil) })() //nolint:contextcheck // of another life time
	if p.budget.Acquire(either, more, own) == nil {
		return nil
	}
	if err := p.whyClosed(); err != nil {
		return err
	}
	return notTaken(ctx)
}

func notTaken(ctx context.Context) error {
	return fmt.Errorf("hogapi: the event was not taken: %w", context.Cause(ctx))
}

// whyClosed is why no event is taken any more, or nil.
func (p *pipeline) whyClosed() error { return context.Cause(p.accepting) }
