package hogapi

import (
	"bytes"
	"encoding/hex"
	"errors"
	"hash/maphash"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/jsonb"
)

// encoded is an event as it goes over the wire, except for a uuid that is derived once the event is accepted.
// It is valid until its encoder is used again.
type encoded struct {
	wire   []byte
	stamps stretch // of wire: what this package adds
	name   string
	id     uuid.UUID // nil: to be derived
	pos    Position
	origin Position
	time   time.Time // in UTC: receipts are JSON, which cannot write every zone
	person uint64    // hash of the distinct id
	warn   warningSet
}

// stretch is where something stands in an event's bytes.
type stretch struct{ from, to int }

// The wire form begins with the uuid, so that it can be written in later.
const (
	uuidOffset  = len(`{"uuid":"`)
	uuidLength  = 36
	wireBegin   = `{"uuid":"00000000-0000-0000-0000-000000000000","event":`
	libraryName = "hogapi-go"
)

// encoder turns events into bytes. Not safe for concurrent use.
type encoder struct {
	gate   *gate
	json   jsonb.Encoder
	seed   maphash.Seed
	stamps stamps
	added  stretch  // where the event at hand has them
	seen   *special // of the event at hand
	own    special
	visit  jsonb.Visitor // of own, bound once

	visitMember func(key string, value []byte) // the same, for maps
	trusting    bool                           // events come straight from a source that notes the special properties while it reads
	warn        warningSet
	visitGroup  jsonb.Visitor // of $groups, bound once
	groupWarn   warningSet    // what it has found

	buf, props, rewritten []byte // scratch
}

// stamps are the properties that every event gets unless it has them.
type stamps struct {
	all       []byte // ,"$lib":…,"$lib_version":… and so on
	lib       []byte
	version   []byte
	geoip     []byte
	importJob []byte // empty without an import id
}

func newStamps(importID string) (s stamps) {
	member := func(key, value string) []byte {
		b, _ := jsonb.AppendString([]byte(`,"`+key+`":`), value) // visible ASCII
		return b
	}
	s.lib = member("$lib", libraryName)
	s.version = member("$lib_version", libraryVersion())
	s.geoip = []byte(`,"$geoip_disable":true`)
	if importID != "" {
		s.importJob = member("$import_job_id", importID)
	}
	s.all = bytes.Join([][]byte{s.lib, s.version, s.geoip, s.importJob}, nil)
	return s
}

func newEncoder(g *gate, s stamps, seed maphash.Seed) *encoder {
	e := &encoder{gate: g, stamps: s, seed: seed}
	e.visit, e.visitMember, e.visitGroup = e.own.noteRaw, e.own.note, e.noteGroup
	return e
}

// trust spares the second reading of raw properties where no code of the user stands between the source and the encoder.
func (e *encoder) trust(s Source) { _, e.trusting = s.(*jsonLines) }

// encode checks an event and makes its bytes, or says why it is refused.
func (e *encoder) encode(ev *Event) (encoded, *EventError) {
	e.warn = 0
	out, refusal := e.build(ev)
	if refusal == nil {
		refusal = e.gate.size(out.wire)
	}
	if refusal != nil {
		refusal.Position, refusal.Where = ev.Position, ev.where()
	}
	return out, refusal
}

func (e *encoder) build(ev *Event) (encoded, *EventError) {
	if ev.bad != nil {
		return encoded{}, ev.bad.refusal()
	}
	if ev.needsMapping {
		return encoded{}, &EventError{Reason: ReasonBadRecord, Err: errNeedsMapping}
	}
	refusal := joinRefusals(e.gate.name(ev.Name), checkKept(ev.Name), e.gate.timestamp(ev.Timestamp), checkUUID(ev.UUID))
	members, other := e.properties(ev)
	if other != nil {
		return encoded{}, joinRefusals(refusal, other)
	}
	person, other := e.person(ev.DistinctID)
	if other == nil {
		other = e.checkSpecial(ev.Name, person)
	}
	if refusal = joinRefusals(refusal, other); refusal != nil {
		return encoded{}, refusal
	}
	wire, refusal := e.assemble(ev, person, members)
	if refusal != nil {
		return encoded{}, refusal
	}
	e.warn |= e.warnings(ev, person)
	return encoded{
		wire: wire, stamps: e.added, name: ev.Name, id: ev.UUID, pos: ev.Position, origin: ev.origin(), time: ev.Timestamp.UTC(),
		person: maphash.String(e.seed, person), warn: e.warn,
	}, nil
}

// joinRefusals is the first refusal with the others.
func joinRefusals(all ...*EventError) (first *EventError) {
	for _, refusal := range all {
		switch {
		case refusal == nil:
		case first == nil:
			first = refusal
		default:
			first.Also = append(first.Also, refusal)
		}
	}
	return first
}

// checkKept refuses the events that the service takes and does not keep as events.
func checkKept(name string) *EventError {
	switch name {
	case "$performance_event", "$$heatmap", "$$client_ingestion_warning":
		return &EventError{Reason: ReasonDropped, Field: "event", Value: name, Want: "another name: the service accepts these silently and keeps no event of them"}
	}
	return nil
}

func checkUUID(id uuid.UUID) *EventError {
	if id != uuid.Nil && id.Variant() != uuid.RFC4122 {
		return &EventError{Reason: ReasonBadUUID, Field: "uuid", Value: id.String(), Want: "a UUID of the RFC 9562 variant"}
	}
	return nil
}

// properties makes the event's own properties, without the braces, and notes the special ones.
func (e *encoder) properties(ev *Event) (members []byte, refusal *EventError) {
	var err error
	switch {
	case ev.RawProperties == nil:
		e.begin()
		e.props, err = e.json.AppendVisited(e.props[:0], ev.Properties, e.visitMember)
		members = e.props
	case ev.Properties != nil:
		return nil, &EventError{Reason: ReasonBadProperties, Field: "properties", Want: "either Properties or RawProperties, not both"}
	case e.trusting && ev.noted != nil:
		e.seen, err = ev.noted, ev.noted.fault
	default:
		e.begin()
		err = jsonb.Object(ev.RawProperties, e.visit)
	}
	if err == nil && ev.RawProperties != nil {
		members = inner(ev.RawProperties)
	}
	if err == nil && (e.seen.noted || e.seen.hasHeatmap()) {
		members, err = e.rewrite(ev, members)
	}
	if err != nil {
		return nil, jsonRefusal("properties", err)
	}
	return members, nil
}

// begin makes the encoder note the special properties itself.
func (e *encoder) begin() {
	e.seen = &e.own
	e.seen.reset()
}

// inner is what stands between the braces of an object.
func inner(object []byte) []byte {
	object = bytes.TrimSpace(object)
	return bytes.TrimSpace(object[1 : len(object)-1])
}

func isIdentityEvent(name string) bool {
	switch name {
	case eventIdentify, eventAlias, eventMerge, eventGroupIdentify, "$set":
		return true
	}
	return false
}

// person settles the distinct id: the field, or the property where the field is empty. Two that differ are refused.
func (e *encoder) person(given string) (string, *EventError) {
	raw := e.seen.distinctID
	if len(raw) == 0 {
		return given, e.gate.distinctID(given)
	}
	text, ok := distinctIDText(raw)
	if !ok {
		return "", &EventError{Reason: ReasonNoDistinctID, Field: "properties.distinct_id", Value: shown(string(raw)), Want: "a text, or a whole number"}
	}
	if given == "" {
		given = text
	}
	if given != text {
		return "", &EventError{Reason: ReasonTwoDistinctIDs, Field: "properties.distinct_id", Value: shown(text), Want: "the same id as in the event itself"}
	}
	return given, e.gate.distinctID(given)
}

// distinctIDText reads a distinct id: a text, or a whole number as its digits, as the service does.
func distinctIDText(raw []byte) (string, bool) {
	if raw[0] == '"' {
		text, err := jsonb.Unquote(raw)
		return text, err == nil
	}
	digits := bytes.TrimPrefix(raw, []byte("-"))
	return string(raw), len(bytes.Trim(digits, "0123456789")) == 0
}

// assemble writes the event. A uuid that is not known yet is all zeros.
func (e *encoder) assemble(ev *Event, person string, members []byte) ([]byte, *EventError) {
	b := append(e.buf[:0], wireBegin...)
	defer func() { e.buf = b }()
	if ev.UUID != uuid.Nil {
		putUUID(b, ev.UUID)
	}
	var err error
	if b, err = jsonb.AppendString(b, ev.Name); err != nil {
		return nil, jsonRefusal("event", err)
	}
	b = append(b, `,"timestamp":"`...)
	b = e.json.AppendTime(b, ev.Timestamp)
	b = append(b, `","distinct_id":`...)
	from := len(b)
	if b, err = jsonb.AppendString(b, person); err != nil {
		return nil, jsonRefusal("distinct_id", err)
	}
	quoted := b[from:]
	b = append(b, `,"properties":{`...)
	if len(e.seen.distinctID) == 0 {
		b = append(b, `"distinct_id":`...)
		b = append(b, quoted...)
		if len(members) > 0 {
			b = append(b, ',')
		}
	}
	b = append(b, members...)
	e.added.from = len(b)
	b = e.appendStamps(b)
	e.added.to = len(b)
	if ev.Set != nil || ev.SetOnce != nil {
		var refusal *EventError
		if b, refusal = e.appendPersonProperties(b, ev); refusal != nil {
			return nil, refusal
		}
	}
	return append(b, "}}"...), nil
}

// appendStamps adds the library's own properties where the event lacks them.
func (e *encoder) appendStamps(b []byte) []byte {
	s := e.seen
	if len(s.lib)+len(s.version)+len(s.geoip)+len(s.importJob) == 0 {
		return append(b, e.stamps.all...)
	}
	if e.gate.protocol == protocolV1 && len(s.lib) > 0 && s.facts&hasImportLib == 0 { // capture v1 overwrites $lib
		b = append(append(b, `,"$import_lib":`...), s.lib...)
	}
	for _, stamp := range []struct{ own, ours []byte }{{s.lib, e.stamps.lib}, {s.version, e.stamps.version}, {s.geoip, e.stamps.geoip}, {s.importJob, e.stamps.importJob}} {
		if len(stamp.own) == 0 {
			b = append(b, stamp.ours...)
		}
	}
	return b
}

// putUUID writes the uuid into an event's bytes.
func putUUID(wire []byte, id uuid.UUID) {
	text := wire[uuidOffset : uuidOffset+uuidLength]
	var digits [2 * len(id)]byte
	hex.Encode(digits[:], id[:])
	copy(text[0:8], digits[0:8])
	copy(text[9:13], digits[8:12])
	copy(text[14:18], digits[12:16])
	copy(text[19:23], digits[16:20])
	copy(text[24:36], digits[20:32])
}

// jsonRefusal says why a value cannot be sent.
func jsonRefusal(field string, err error) *EventError {
	refusal := &EventError{Reason: ReasonBadProperties, Field: field, Want: "a JSON object", Err: err}
	if e, ok := errors.AsType[*jsonb.Error](err); ok {
		if e.Path != "" {
			refusal.Field += "." + e.Path
		}
		switch e.Kind {
		case jsonb.KindUTF8, jsonb.KindSurrogate:
			refusal.Reason, refusal.Want = ReasonBadUTF8, "valid UTF-8"
		case jsonb.KindNumber:
			refusal.Reason, refusal.Want = ReasonBadNumber, "a finite number"
		default:
		}
	}
	return refusal
}
