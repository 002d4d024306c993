package engine

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/delivery"
	"github.com/hogapi/hogapi/internal/ledger"
	"github.com/hogapi/hogapi/internal/survey"
	"github.com/hogapi/hogapi/internal/wire"
	"github.com/hogapi/hogapi/ops"
)

// admission gives events their identity and their number. Its lock keeps the
// order of the ledger and the order of the lanes the same.
type admission struct {
	sync.Mutex

	identity *wire.Identity        // Check and At need no lock
	numbers  wire.Numbering        // of the events of an import: consecutive ones may be one record
	contents ledger.Recent[uint64] // of events of a Capture with derived uuids
	waiting  []waiting             // for the protocol
}

// Enqueue takes all events of a record, which share a position, or returns an error and takes no event. Without wait,
// it takes them at once or not at all. A record of the same events as an earlier one has the same uuids.
func (e *Engine) Enqueue(ctx context.Context, given []event.Event, position event.Position, wait bool) error {
	var single [1]Event
	record := single[:min(len(given), 1)]
	if len(given) > 1 {
		record = make([]Event, len(given))
	}
	var encoder *wire.Encoder // nil for a record that is all rejects
	defer func() {
		if encoder != nil {
			e.encoders.Put(encoder)
		}
	}()
	var held delivery.Held
	for i := range record {
		ev := &record[i]
		ev.Fill(&given[i])
		ev.Position = position
		if !e.prepareForAll(ev) { //nolint:contextcheck // the question to the server is of another life time
			ev.other = form{}
			if err := e.prepare(ctx, &encoder, ev, wait); err != nil {
				return err
			}
			if ev.rejected != nil && e.Handler == nil {
				return e.refused(ev.rejected)
			}
			if ev.encoded != nil {
				ev.own(e.Seed, len(record) > 1)
			}
		}
		held.Events++
		held.Bytes += ev.size
	}
	if len(record) == 0 {
		return nil
	}
	if err := e.acquire(ctx, held, delivery.Held{}, wait); err != nil {
		return err
	}
	return e.admitRecord(record, held)
}

// admitRecord admits all events of a record, or releases the room that is held for them.
func (e *Engine) admitRecord(record []Event, held delivery.Held) error {
	e.admission.Lock()
	defer e.admission.Unlock()
	var numbers wire.Numbering
	isDecided := e.isDecided()
	for i := range record {
		if ev := &record[i]; isDecided && ev.other.encoded != nil { // meanwhile
			unused := 0
			ev.form, unused = e.choose([2]form{ev.form, ev.other})
			ev.other, ev.size = form{}, ev.size-unused
			e.budget.Release(delivery.Held{Bytes: unused})
			held.Bytes -= unused
		}
		e.identify(&record[i], &numbers)
	}
	if err := e.whyClosed(); err != nil {
		e.budget.Release(held)
		return err
	}
	if i := e.admission.firstSplit(record); i >= 0 {
		e.budget.Release(held)
		e.meter.refused.Add(1)
		return &ops.InputError{Field: "events", Value: record[i].from().String(), Want: fmt.Sprintf("all events of a record in one call, "+
			"or a UUID for each of them: event %d of this Position was taken with other content before, and two events of one uuid would replace each other", i)}
	}
	for i := range record {
		e.admit(&record[i], i == 0, i == len(record)-1)
	}
	return nil
}

// firstSplit returns the index of the first event with the derived uuid of an event with other content, or -1,
// and then remembers the contents: such a record is split over calls. The caller holds the lock.
func (a *admission) firstSplit(record []Event) int {
	for i := range record {
		if ev := &record[i]; ev.isDerived() {
			if was, known := a.contents.Find(ev.encoded.UUID); known && was != ev.content {
				return i
			}
		}
	}
	for i := range record {
		if ev := &record[i]; ev.isDerived() && a.contents.First(ev.encoded.UUID, ev.content) != ev.content {
			return i
		}
	}
	return -1
}

// takeOne admits one event of an import.
func (e *Engine) takeOne(ctx context.Context, ev *Event, r *openRecord, begins bool) error {
	more := delivery.Held{Events: 1, Bytes: ev.size}
	if !e.budget.TryAcquire(more, r.held) {
		if begins { // the record before is complete, and may have to make the room
			e.ledger.End()
			e.committer.Signal()
		}
		if err := e.acquire(ctx, more, r.held, true); err != nil {
			return err
		}
	}
	e.admission.Lock()
	defer e.admission.Unlock()
	if err := e.whyClosed(); err != nil {
		e.budget.Release(more)
		return err
	}
	e.identify(ev, &e.admission.numbers)
	r.held.Events++
	r.held.Bytes += e.admit(ev, begins, false)
	return nil
}

// prepare encodes an event, or rejects it. The first event that can be encoded fetches the encoder. Without
// wait, prepare fails if it would have to wait for the encoder.
func (e *Engine) prepare(ctx context.Context, enc **wire.Encoder, ev *Event, wait bool) (err error) {
	if ev.isReadable() && !e.isDecided() { // an event that no protocol takes does not wait: capture v1 has all rules of /batch/
		encoder, _ := e.batch.Get().(*wire.Encoder)
		_, refusal := encoder.Encode(&ev.Fields)
		e.batch.Put(encoder)
		if refusal != nil {
			ev.reject(refusal)
			return nil
		}
	}
	if *enc == nil && ev.isReadable() {
		if *enc, err = e.encoder(ctx, wait); err != nil {
			return err
		}
	}
	e.prepareBy(*enc, ev)
	return nil
}

// prepareBy encodes an event by an encoder, or rejects it. The encoder may be nil for an event that is not to be
// encoded.
func (e *Engine) prepareBy(enc *wire.Encoder, ev *Event) {
	ev.form, ev.rejected, ev.size = form{}, nil, len(ev.Position.Key)
	if ev.Skip != "" {
		return
	}
	var refusal *event.Error
	if ev.encoded, refusal = ev.encode(enc); refusal == nil {
		refusal = e.admission.identity.Check(ev.UUID, ev.from())
	}
	if refusal != nil {
		ev.reject(refusal)
		return
	}
	out := ev.encoded
	ev.size += len(out.Wire)
	if ev.UUID != uuid.Nil { // a derived one belongs to this event alone
		same := survey.Event{Name: ev.Name, Person: out.Person, Time: out.Time, Content: out.Content(e.Seed)}
		ev.word = same.Word(e.Seed)
	}
}

// identify gives an event the uuid that it lacks. The caller holds the admission lock.
func (e *Engine) identify(ev *Event, numbers *wire.Numbering) {
	out, origin := ev.encoded, ev.from()
	n := numbers.Next(ev.Position, origin, ev.Number)
	switch {
	case ev.Skip != "":
	case ev.rejected != nil:
		NoteOf(ev.rejected).Number = n
		hasOrigin := !origin.IsZero() && ev.rejected.Err.Reason != event.ReasonNoIdentity
		if ev.rejected.UUID == uuid.Nil && hasOrigin && e.admission.identity.Named() {
			ev.rejected.UUID = e.admission.identity.At(origin, n)
		}
	default:
		e.admission.identity.Assign(out, origin, n)
		if ev.other.encoded != nil {
			ev.other.encoded.SetUUID(out.UUID)
		}
	}
}

// admit enters an event into the ledger and gives it to its lane. The caller holds the admission lock, and
// has acquired the event's size from the budget. admit returns how much of the size is held until the event
// is committed.
func (e *Engine) admit(ev *Event, begins, ends bool) (held int) {
	entry := ledger.Event{Position: ev.Position, Name: ev.Name, Held: len(ev.Position.Key), Begins: begins, Ends: ends}
	switch {
	case ev.Skip != "":
		e.ledger.Skip(entry, ev.Skip)
	case ev.rejected != nil:
		entry.Held = ev.size
		entry.ID, entry.Name = ev.rejected.UUID, rowName(ev.Name)
		if !ev.IsBad {
			entry.Time = ev.Timestamp
		}
		e.committer.rejected.put(e.ledger.Next(), ev.rejected) // before the committer can see it
		e.ledger.Reject(entry, ev.rejected.Err.Reason)
	default:
		out := ev.encoded
		entry.ID, entry.Time, entry.Warnings = out.UUID, out.Time, uint32(out.Warnings)
		entry.Word = ev.word
		if seq := e.ledger.Take(entry); ev.other.encoded != nil {
			e.admission.waiting = append(e.admission.waiting, waiting{seq, [2]form{ev.form, ev.other}})
		} else {
			e.toLane(seq, out)
		}
		return entry.Held
	}
	e.committer.Signal()
	return entry.Held
}

// toLane gives an event to its lane. The first one starts the preflight. The caller holds the admission lock.
func (e *Engine) toLane(seq uint64, out *wire.Encoded) {
	e.checking.Do(func() { go e.preflight() })
	item := delivery.Item{Seq: seq, Wire: out.Wire, Time: out.Time, Key: out.Person}
	if e.terms.name == event.ProtocolV1 {
		item.ID = out.UUID // capture v1 refuses a request with an id twice
	}
	if e.sender.Add(item) {
		e.ledger.Warn(seq, uint32(wire.Backwards))
	}
}

// rowName returns the name of a rejected event for the receipt's table: cut to a length, and as valid
// UTF-8.
func rowName(name string) string {
	if len(name) > wire.MaxName {
		name = name[:wire.MaxName]
	}
	return strings.ToValidUTF8(name, "\uFFFD")
}

// refused counts a record that is refused, and returns the reason.
func (e *Engine) refused(r *event.Reject) error {
	if err := e.whyClosed(); err != nil {
		return err
	}
	e.meter.refused.Add(1)
	return r.Err
}

// acquire waits for room. own is the room of this event's own record, which is not released before the
// event is admitted.
func (e *Engine) acquire(ctx context.Context, more, own delivery.Held, wait bool) error {
	if e.budget.TryAcquire(more, own) {
		return nil
	}
	if err := e.whyClosed(); err != nil {
		return err
	}
	if !wait {
		return event.ErrFull
	}
	either, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(e.accepting.Context, func() { cancel(nil) })() //nolint:contextcheck // of another life time
	if e.budget.Acquire(either, more, own) == nil {
		return nil
	}
	if err := e.whyClosed(); err != nil {
		return err
	}
	return Refused(ctx)
}

// Refused returns the error of an event that was not admitted before its context ended.
func Refused(ctx context.Context) error {
	return fmt.Errorf("hogapi: the event was not taken: %w", context.Cause(ctx))
}
