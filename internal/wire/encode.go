package wire

import (
	"bytes"
	"errors"
	"hash/maphash"
	"strconv"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/jsonb"
	"github.com/hogapi/hogapi/internal/uuidsum"
)

// The encoded event begins with the uuid, so that it can be filled in later.
const (
	uuidOffset = len(`{"uuid":"`)
	uuidLength = 36
	wireBegin  = `{"uuid":"00000000-0000-0000-0000-000000000000","event":`
)

// Encoder turns events into bytes. Not safe for concurrent use.
type Encoder struct {
	gate   *Gate
	json   jsonb.Encoder
	seed   maphash.Seed
	stamps Stamps
	added  stretch   // position of the library's properties in the current event
	seen   *Reserved // of the current event
	own    Reserved
	warn   Warnings
	root   root // of the current event; used by capture v1 only

	buf, props, rewritten []byte // scratch
	out                   Encoded
}

// Stamps are properties that the library adds to every event that lacks them.
type Stamps struct {
	all       []byte // ,"$lib":…,"$lib_version":… and so on
	lib       []byte
	version   []byte
	geoip     []byte
	importJob []byte // empty if the import has no id
}

// NewStamps takes texts of visible ASCII.
func NewStamps(library, version, importID string) (s Stamps) {
	member := func(key, value string) []byte {
		b, _ := jsonb.AppendString([]byte(`,"`+key+`":`), value) // valid
		return b
	}
	s.lib = member("$lib", library)
	s.version = member("$lib_version", version)
	s.geoip = []byte(`,"$geoip_disable":true`)
	if importID != "" {
		s.importJob = member("$import_job_id", importID)
	}
	s.all = bytes.Join([][]byte{s.lib, s.version, s.geoip, s.importJob}, nil)
	return s
}

// NewEncoder returns an encoder with the rules of a gate. The seed is for the hash of distinct ids.
func NewEncoder(g *Gate, s Stamps, seed maphash.Seed) *Encoder {
	return &Encoder{gate: g, stamps: s, seed: seed}
}

// Encode checks an event and encodes it, or returns the reason for refusing it.
func (e *Encoder) Encode(f *Fields) (*Encoded, *event.Error) {
	e.warn = 0
	refusal := joinRefusals(e.gate.name(f.Name), checkDropped(f.Name), e.gate.timestamp(f.Timestamp), checkUUID(f.UUID))
	members, other := e.properties(f)
	if other != nil {
		return nil, joinRefusals(refusal, other)
	}
	person, other := e.person(f.DistinctID)
	if other == nil {
		other = e.checkReserved(f, person)
	}
	if refusal = joinRefusals(refusal, other); refusal != nil {
		return nil, refusal
	}
	wire, refusal := e.assemble(f, person, members)
	if refusal == nil {
		refusal = e.gate.size(wire)
	}
	if refusal != nil {
		return nil, refusal
	}
	e.out.Wire, e.out.stamps, e.out.Warnings = wire, e.added, e.warn|e.warnings(f, person)
	e.out.UUID, e.out.Time, e.out.Person = f.UUID, f.Timestamp.UTC(), maphash.String(e.seed, person)
	return &e.out, nil
}

// properties encodes the event's own properties, without the braces, and notes the reserved ones.
func (e *Encoder) properties(f *Fields) (members []byte, refusal *event.Error) {
	var err error
	switch {
	case f.RawProperties == nil:
		e.begin()
		e.props, err = e.json.AppendVisited(e.props[:0], f.Properties, e.own.note)
		members = e.props
	case f.Properties != nil:
		return nil, refuse(event.ReasonBadProperties, "properties", "", "either Properties or RawProperties, not both")
	case f.Noted != nil:
		e.seen, err = f.Noted, f.Noted.fault
	default:
		if e.begin(); !f.View.Object(e.own.noteRaw) {
			err = jsonb.Object(f.RawProperties, e.own.noteRaw)
		}
	}
	if err == nil && f.RawProperties != nil {
		members = inner(f.RawProperties)
	}
	if err == nil && (e.seen.noted || e.seen.hasHeatmap()) {
		members, err = e.rewrite(f, members)
	}
	if err == nil && e.gate.rules.Protocol == event.ProtocolV1 {
		members = e.lift(members)
	}
	if err != nil {
		return nil, jsonRefusal("properties", err)
	}
	return members, nil
}

// begin directs the notes on reserved properties to the encoder's own Reserved.
func (e *Encoder) begin() {
	e.seen = &e.own
	e.seen.reset()
}

// inner returns the text between the braces of an object.
func inner(object []byte) []byte {
	object = bytes.TrimSpace(object)
	return bytes.TrimSpace(object[1 : len(object)-1])
}

// person returns the distinct id: the field or, if that is empty, the property. It refuses two
// different ids.
func (e *Encoder) person(given string) (string, *event.Error) {
	raw := e.seen.distinctID
	if len(raw) == 0 {
		return given, e.gate.distinctID(given)
	}
	text, ok := distinctIDText(raw)
	if !ok {
		return "", refuse(event.ReasonNoDistinctID, "properties.distinct_id", string(raw), "a text, or a whole number")
	}
	if given == "" {
		given = text
	}
	if given != text {
		return "", refuse(event.ReasonTwoDistinctIDs, "properties.distinct_id", text, "the same id as in the event itself")
	}
	return given, e.gate.distinctID(given)
}

// distinctIDText returns the text of a distinct id. Like the service, it takes strings and whole
// numbers.
func distinctIDText(raw []byte) (string, bool) {
	if raw[0] == '"' {
		text, err := jsonb.Unquote(raw)
		return text, err == nil
	}
	digits := bytes.TrimPrefix(raw, []byte("-"))
	return string(raw), len(bytes.Trim(digits, "0123456789")) == 0
}

// assemble writes the event. A missing uuid is written as zeros.
func (e *Encoder) assemble(f *Fields, person string, members []byte) ([]byte, *event.Error) {
	b := append(e.buf[:0], wireBegin...)
	defer func() { e.buf = b }()
	if f.UUID != uuid.Nil {
		putUUID(b, f.UUID)
	}
	var err error
	if b, err = jsonb.AppendString(b, f.Name); err != nil {
		return nil, jsonRefusal("event", err)
	}
	b = append(b, `,"timestamp":"`...)
	b = e.json.AppendTime(b, f.Timestamp)
	b = append(b, `","distinct_id":`...)
	from := len(b)
	if b, err = jsonb.AppendString(b, person); err != nil {
		return nil, jsonRefusal("distinct_id", err)
	}
	quoted := b[from:]
	isV1 := e.gate.rules.Protocol == event.ProtocolV1
	if isV1 {
		b = e.root.append(b)
	}
	b = append(b, `,"properties":`...)
	begin := len(b) // each property follows a comma; a brace replaces the first one
	if len(e.seen.distinctID) == 0 && !isV1 {
		b = append(append(b, `,"distinct_id":`...), quoted...)
	}
	if len(members) > 0 {
		b = append(append(b, ','), members...)
	}
	e.added.from = len(b)
	b = e.appendStamps(b)
	e.added.to = len(b)
	if f.Set != nil || f.SetOnce != nil {
		var refusal *event.Error
		if b, refusal = e.appendPersonProperties(b, f); refusal != nil {
			return nil, refusal
		}
	}
	if len(b) == begin {
		b = append(b, ',')
	}
	b[begin] = '{'
	return append(b, "}}"...), nil
}

// appendStamps adds the library's own properties that the event lacks. For capture v1 it omits $lib
// and $lib_version, which the service takes from a header.
func (e *Encoder) appendStamps(b []byte) []byte {
	s, isV1 := e.seen, e.gate.rules.Protocol == event.ProtocolV1
	if len(s.lib)+len(s.version)+len(s.geoip)+len(s.importJob) == 0 && !isV1 {
		return append(b, e.stamps.all...)
	}
	for _, stamp := range []struct {
		own, ours []byte
		isHeader  bool
	}{
		{s.lib, e.stamps.lib, isV1}, {s.version, e.stamps.version, isV1},
		{s.geoip, e.stamps.geoip, false}, {s.importJob, e.stamps.importJob, false},
	} {
		if len(stamp.own) == 0 && !stamp.isHeader {
			b = append(b, stamp.ours...)
		}
	}
	return b
}

// ID returns the text of the uuid in an encoded event.
func ID(wire []byte) []byte { return wire[uuidOffset : uuidOffset+uuidLength] }

func putUUID(wire []byte, id uuid.UUID) {
	text := uuidsum.Text(id)
	copy(wire[uuidOffset:], text[:])
}

// jsonRefusal converts a JSON fault to a refusal.
func jsonRefusal(field string, err error) *event.Error {
	refusal := &event.Error{Reason: event.ReasonBadProperties, Field: field, Want: "a JSON object", Err: err}
	if e, ok := errors.AsType[*jsonb.Error](err); ok {
		if e.Path != "" {
			refusal.Field += "." + e.Path
		}
		switch e.Kind {
		case jsonb.KindUTF8, jsonb.KindSurrogate:
			refusal.Reason, refusal.Want = event.ReasonBadUTF8, "valid UTF-8"
		case jsonb.KindNumber:
			refusal.Reason, refusal.Want = event.ReasonBadNumber, "a finite number"
		case jsonb.KindType:
			refusal.Want = "a value that JSON can hold"
		case jsonb.KindDepth:
			refusal.Want = "at most " + strconv.Itoa(jsonb.MaxDepth) + " levels"
		default:
			if e.Path != "" {
				refusal.Want = "valid JSON"
			}
		}
		at := *e
		at.Path = "" // the field has it
		refusal.Err = &at
	}
	return refusal
}
