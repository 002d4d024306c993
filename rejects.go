package hogapi

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/durable"
	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/internal/statefile"
	"github.com/hogapi/hogapi/internal/wire"
)

// Reject is an event that was refused by the gate or the service, or a record that made no event. It is
// not in the service, and the import does not send it again.
type Reject struct {
	Event    json.RawMessage // as it was, or would have been, sent; nil without one
	Raw      []byte          // the source's record, where it made no event or a mapping changed it; or properties that are not JSON
	UUID     uuid.UUID
	Position Position // of the record in its source
	Where    string   // the record in its file, such as "events.jsonl:17"; empty where that is not known
	Status   int      // of the service's answer; 0 where the gate refused
	Err      *EventError

	leftOut []string  // what Event lacks, since JSON cannot hold it
	origin  Position  // that the uuid comes from, where it is not Position
	time    time.Time // of the event; zero: it has none
}

// RejectHandler takes rejects, one at a time and in the order of the source. An error stops the import;
// the event is then not settled and comes again with the next run. After a crash, rejects since the last
// checkpoint come again too, with the same uuids. A handler must not call back into the Capture, which
// waits for it.
type RejectHandler interface {
	Reject(ctx context.Context, r Reject) error
}

// RejectFunc makes a handler of a function.
type RejectFunc func(ctx context.Context, r Reject) error

// Reject calls f.
func (f RejectFunc) Reject(ctx context.Context, r Reject) error { return f(ctx, r) }

// newReject describes an event that the gate refused, as far as it can be written down.
func newReject(ev *Event, refusal *EventError) *Reject {
	r := &Reject{UUID: ev.UUID, Position: ev.Position, origin: ev.Origin, Err: refusal}
	if refusal.Where == "" {
		refusal.Where = ev.where()
	}
	r.Where = refusal.Where
	if ev.bad != nil {
		r.Raw = slices.Clone(ev.bad.raw)
		return r
	}
	fields := ev.fields()
	d := wire.Describe(&fields)
	r.Event, r.Raw, r.time = d.Line, d.Raw, ev.Timestamp
	for _, name := range d.LeftOut {
		r.leftOut = append(r.leftOut, mask.Clean(name))
	}
	if ev.isMapped && ev.record != nil {
		r.Raw = slices.Clone(ev.record)
	}
	return r
}

// RejectFile writes rejects to a file for this user only, one JSON object a line: the event as it was
// or would have been sent, and the key "$reject" with
//
//   - reason, field, value, want, detail and status: why it was refused
//   - position and where: the record in its source
//   - raw, or raw_base64 where it is not UTF-8: the source's record, where it made no event or a mapping
//     changed it; of a line over 1 MiB its first 4 KiB
//   - left_out: what the line lacks, because JSON cannot hold it
//   - import: the ID of the import
//
// [RejectedRecords] reads the file as a source, with a corrected parser or mapping or after its lines
// were corrected by hand.
//
// Lines are only ever appended. They are on disk before the checkpoint passes them; after a crash the
// last ones may be there twice, with the same uuid, and RejectedRecords skips the second. The next run
// removes a last line that a crash has torn. One import at a time owns the file, by a lock on path.lock;
// another gets [ErrHeld]. A handler that wraps this one, or a Capture, has each line synced for itself.
func RejectFile(path string) RejectHandler {
	return rejectFile{statefile.NewRejects(durable.OS{}, path)}
}

type rejectFile struct{ file *statefile.Rejects }

// Reject implements RejectHandler, for callers that are not the import that has opened the file.
func (f rejectFile) Reject(_ context.Context, r Reject) error {
	return stateFileError(f.file.AddAlone(r.line("", false)))
}

// line is the reject in a reject file.
func (r Reject) line(importID string, isMapped bool) statefile.Line {
	note := statefile.Note{
		Status: r.Status, Position: wire.Origin(r.Position), Origin: wire.Origin(r.origin), Where: r.Where,
		LeftOut: r.leftOut, Import: importID, IsMapped: isMapped,
	}
	if e := r.Err; e != nil {
		note.Reason, note.Field, note.Value, note.Want = string(e.Reason), e.Field, e.Value, e.Want
		if e.Err != nil {
			note.Detail = bare(e.Err).Error()
		}
		for _, other := range e.Also {
			note.Also = append(note.Also, other.fault())
		}
	}
	return statefile.Line{Event: r.Event, UUID: r.UUID, Record: r.Raw, Note: note}
}
