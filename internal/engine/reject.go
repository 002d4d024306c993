package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/internal/inside"
	"github.com/hogapi/hogapi/internal/jsonb"
	"github.com/hogapi/hogapi/internal/lines"
	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/internal/wire"
)

// NoteOf returns the hidden note of a reject.
func NoteOf(r *event.Reject) *Note {
	hidden := r.Inside(inside.Key{})
	note, _ := (*hidden).(*Note)
	if note == nil {
		note = new(Note)
		*hidden = note
	}
	return note
}

// Note has the reason and the origin of a rejected event. The one of a reject that is not written yet lacks what
// event.Reject has.
type Note struct {
	Reason    event.Reason   `json:"reason,omitempty"`
	Field     string         `json:"field,omitempty"`
	Value     string         `json:"value,omitempty"`
	Want      string         `json:"want,omitempty"`
	Detail    string         `json:"detail,omitempty"`
	Also      []string       `json:"also,omitempty"` // further faults
	Status    int            `json:"status,omitempty"`
	Position  event.Position `json:"position,omitzero"`
	Origin    event.Position `json:"origin,omitzero"`  // where the uuid comes from, unless it is position
	Number    uint64         `json:"number,omitempty"` // of the event in its record
	Format    string         `json:"format,omitempty"` // that reads the record; empty: it is a line
	Where     string         `json:"where,omitempty"`
	Raw       string         `json:"raw,omitempty"`
	RawBase64 []byte         `json:"raw_base64,omitempty"`
	Table     *lines.Table   `json:"table,omitempty"`    // of a record that is a row with a fault
	LeftOut   []string       `json:"left_out,omitempty"` // values that are not in the line, since JSON cannot hold them
	Original  *lines.Cut     `json:"original,omitempty"` // where the record is, of which raw is the beginning
	Import    string         `json:"import,omitempty"`
	IsMapped  bool           `json:"mapped,omitempty"` // the import had a mapping
}

// encodeReject makes the line of a reject without its newline: the event, and the note under the key "$reject". Texts that
// others wrote are cleaned.
func encodeReject(enc *jsonb.Encoder, r *event.Reject) ([]byte, error) {
	note := *NoteOf(r)
	note.Status, note.Position, note.Where = r.Status, r.Position, mask.Clean(r.Where)
	if why := r.Err; why != nil {
		note.Reason, note.Field, note.Value, note.Want = why.Reason, mask.Clean(why.Field), mask.Clean(why.Value), mask.Clean(why.Want)
		if why.Err != nil {
			note.Detail = mask.Clean(errtext.WithoutPrefix(why.Err).Error())
		}
		for _, other := range why.Also {
			note.Also = append(note.Also, mask.Clean(other.Fault()))
		}
	}
	if utf8.Valid(r.Raw) {
		note.Raw = string(r.Raw)
	} else {
		note.RawBase64 = r.Raw
	}
	line, err := openEvent(enc, r)
	if err != nil {
		return nil, err
	}
	line, err = wire.AppendMember(enc, line, wire.RejectKey, note)
	return append(line, '}'), err
}

// openEvent is the event as an object that is still open, on one line. It gets its uuid, to keep it
// when it is imported again; a record that made no event gets the uuid that its event would have.
func openEvent(enc *jsonb.Encoder, r *event.Reject) ([]byte, error) {
	object := []byte{'{'}
	if r.Event != nil {
		var compact bytes.Buffer
		if err := json.Compact(&compact, r.Event); err != nil {
			return nil, err
		}
		object = compact.Bytes()[:compact.Len()-1]
	}
	if r.UUID == uuid.Nil || bytes.HasPrefix(object, []byte(`{"uuid":`)) {
		return object, nil
	}
	return wire.AppendMember(enc, object, "uuid", r.UUID.String())
}

// ReadLine reads the uuid and the note of a line. Each may be set even if another part of the line has an
// error. The note is nil if the line has no note.
func ReadLine(text []byte) (id uuid.UUID, note *Note, err error) {
	var of struct {
		UUID   uuid.UUID `json:"uuid"`
		Reject *Note     `json:"$reject"`
	}
	err = json.Unmarshal(text, &of)
	return of.UUID, of.Reject, err
}

// Record returns the source's record, or nil if the note has no record.
func (n *Note) Record() []byte {
	if n.Raw != "" {
		return []byte(n.Raw)
	}
	return n.RawBase64
}

// Whole is the source's record where that is to be parsed again; nil: the line's event is.
func (n *Note) Whole() []byte {
	if !n.IsMapped && slices.Contains(n.LeftOut, "properties") { // which stand in place of a record
		return nil
	}
	return n.Record()
}

// From is where the uuid comes from.
func (n *Note) From() event.Position {
	if n.Origin != (event.Position{}) {
		return n.Origin
	}
	return n.Position
}

// Parsed is the source's record in the form that the format reads, where the record was corrected as a row of its table.
func (n *Note) Parsed(record []byte) ([]byte, error) {
	if n.Table == nil {
		return record, nil
	}
	return n.Table.Record(record)
}

// UUIDOf is the uuid of the event of the record that has a number: the one that the reject has, or else
// the event's own, or else the one that the import of the note would have derived.
func (n *Note) UUIDOf(reject, own uuid.UUID, number uint64) uuid.UUID {
	from := n.From()
	switch {
	case n.Table != nil && own != uuid.Nil: // a row with a fault hid the id of the vendor
		return own
	case reject != uuid.Nil && (number == n.Number || number == 0 && n.Record() == nil):
		return reject
	case own != uuid.Nil && own != reject:
		return own
	case n.Import != "" && from != (event.Position{}) && n.Reason != event.ReasonNoIdentity:
		return wire.NewIdentity(n.Import).At(from, number)
	}
	return uuid.Nil
}

// CheckCorrected refuses a note of a line that still lacks something; isEmpty says that it has nothing
// of an event. Other values of "$reject" are not of this package.
func CheckCorrected(raw []byte, isEmpty bool) error {
	var note Note
	ours := json.Unmarshal(raw, &note) == nil
	if ours && len(note.LeftOut) > 0 {
		return errors.New("a reject that lacks what $reject names as left_out: add that and remove $reject")
	}
	if ours && isEmpty {
		return errors.New("a rejected record that made no event: write the event in the line and remove $reject, or read the file with history.Rejected")
	}
	return nil
}
