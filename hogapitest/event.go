package hogapitest

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// batch is a capture request: an object with a batch array. The service takes two more shapes, which carry no historical flag.
type batch struct {
	hasToken   bool
	token      string
	historical bool
	sentAt     time.Time // zero without one that parses
	events     []event
}

// event is one event of a batch: its raw bytes and the fields that the service reads.
type event struct {
	raw        json.RawMessage
	uuid       uuid.UUID
	hasID      bool // it came with its uuid
	name       string
	distinctID string
	timestamp  string // as sent
	at         time.Time
	properties json.RawMessage
	shifted    bool // its time depends on when it was sent
	historical bool
	tooBig     bool
	content    uint64 // hash of the properties as JSON
	job        string // $import_job_id
}

// stored is the event as the ledger shows it.
func (e *event) stored() StoredEvent {
	return StoredEvent{
		UUID: e.uuid, Event: e.name, DistinctID: e.distinctID, Timestamp: e.timestamp, Time: e.at,
		Properties: e.properties, Raw: e.raw, Historical: e.historical,
	}
}

// The service's error texts. It answers unparsable for most causes, since the last shape that it tries is a single event.
const (
	unparsable   = "failed to parse request: missing field `event`"
	emptyBatch   = "request holds no event"
	noEventName  = "event submitted with an empty event name"
	noDistinctID = "event submitted without a distinct_id"
)

func badRequest(reason string) { refuse(text(http.StatusBadRequest, reason)) }

// known holds the fields of an object that have some names. A field that comes twice is an error.
func known(raw json.RawMessage, names ...string) (fields, error) {
	if raw[0] != '{' {
		return nil, errors.New("expected an object")
	}
	f := fields{}
	for _, m := range members(raw) {
		if !slices.Contains(names, m.key) {
			continue
		}
		if _, twice := f[m.key]; twice {
			return nil, errors.New("duplicate field `" + m.key + "`")
		}
		f[m.key] = m.value
	}
	return f, nil
}

// readBatch reads the envelope and its events.
func readBatch(plain []byte) *batch {
	plain = bytes.TrimSpace(plain)
	if len(plain) == 0 {
		badRequest("request missing data payload")
	}
	if !strictJSON(plain) {
		badRequest(unparsable)
	}
	f, err := known(plain, "api_key", "historical_migration", "sent_at", "batch")
	historical := string(f["historical_migration"])
	if err != nil || len(f["batch"]) == 0 || f["batch"][0] != '[' || !slices.Contains([]string{"", "null", "true", "false"}, historical) {
		badRequest(unparsable)
	}
	token, _ := asString(f["api_key"])
	b := &batch{hasToken: !absent(f["api_key"]), token: strings.TrimSpace(token), historical: historical == "true"}
	if sentAt, ok := asString(f["sent_at"]); ok {
		b.sentAt, _ = readISO(sentAt)
	}
	raws := elements(f["batch"])
	if len(raws) == 0 {
		badRequest(emptyBatch)
	}
	b.events = make([]event, len(raws))
	for i, raw := range raws {
		b.events[i].read(raw)
	}
	return b
}

// read takes an event apart. One that fails refuses the whole request.
func (e *event) read(raw json.RawMessage) {
	f, err := known(raw, "event", "distinct_id", "properties", "uuid", "timestamp", "$set", "$set_once")
	var named, hasTime bool
	e.raw, e.properties = raw, f["properties"]
	e.name, named = asString(f["event"])
	for _, name := range []string{"properties", "$set", "$set_once"} {
		object, there := f[name]
		if there && object[0] != '{' && (name == "properties" || !isNull(object)) {
			badRequest(unparsable)
		}
	}
	id, hasID := asString(f["uuid"])
	e.timestamp, hasTime = asString(f["timestamp"])
	if !named || !hasID && !absent(f["uuid"]) || !hasTime && !absent(f["timestamp"]) {
		badRequest(unparsable)
	}
	if e.hasID = id != ""; e.hasID && err == nil {
		e.uuid, err = uuid.Parse(id)
	}
	if err != nil {
		badRequest(unparsable)
	}
	e.distinctID = asText(f["distinct_id"])
}

// importID is the property that says which import an event belongs to.
const importID = "$import_job_id"

// check refuses a parsed event as the service does, and makes the service's silent changes.
func (e *event) check(b *batch, now time.Time) {
	if e.name == "" {
		badRequest(noEventName)
	}
	p := e.special()
	e.job = asText(p[importID])
	if e.distinctID == "" {
		e.distinctID = asText(p["distinct_id"])
	}
	e.distinctID = strings.ReplaceAll(e.distinctID, "\x00", "\uFFFD")
	if strings.TrimSpace(e.distinctID) == "" {
		badRequest(noDistinctID)
	}
	if characters := []rune(e.distinctID); len(characters) > maxIDCharacters {
		e.distinctID = string(characters[:maxIDCharacters])
	}
	if c := string(p["$cookieless_mode"]); c != "" && c != "true" && c != "false" {
		badRequest("event submitted with invalid cookieless mode")
	}
	e.setTime(b, string(p["$ignore_sent_at"]) == "true", now)
	if !e.hasID {
		e.uuid = uuidAt(e.at)
	}
	e.keepFlag(b.historical, now)
}

// uuidAt is a random uuid of version 7 with a time.
func uuidAt(at time.Time) uuid.UUID {
	id, ms := uuid.New(), at.UnixMilli()
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i))
	}
	id[6] = id[6]&0x0f | 0x70
	return id
}

// keepFlag clears the flag of a historical import for an event that is younger than 48 hours.
func (e *event) keepFlag(historical bool, now time.Time) {
	e.historical = historical && !e.at.After(now.Add(-48*time.Hour))
}

// special holds the properties that the service itself looks at; of equal keys the last one counts.
func (e *event) special() fields {
	f := fields{}
	for _, m := range members(e.properties) {
		switch m.key {
		case "distinct_id", "$cookieless_mode", "$ignore_sent_at", importID:
			f[m.key] = m.value
		}
	}
	return f
}

// setTime reads the timestamp as the service does: an unreadable one, or one too far ahead, becomes now.
func (e *event) setTime(b *batch, ignoreSentAt bool, now time.Time) {
	t, ok := readISO(e.timestamp)
	if ok && !b.sentAt.IsZero() && !ignoreSentAt {
		t, e.shifted = t.Add(now.Sub(b.sentAt)), true
	}
	if !ok || t.After(now.Add(23*time.Hour)) {
		t = now
	}
	e.at = t.UTC()
}

// asText is a distinct id of any JSON type as text; null is empty.
func asText(raw json.RawMessage) string {
	if s, ok := asString(raw); ok || absent(raw) {
		return s
	}
	return string(raw)
}

// over reports whether the event is too big as the service counts: as JSON that is written once more inside a JSON string.
func (e *event) over() bool {
	if 2*len(e.raw)+1024 < maxEventBytes {
		return false // at worst every byte is escaped
	}
	var compact bytes.Buffer
	_ = json.Compact(&compact, e.raw)
	n := compact.Len() + 512 // the message around it
	n += bytes.Count(compact.Bytes(), []byte(`"`)) + bytes.Count(compact.Bytes(), []byte(`\`))
	return n > maxEventBytes
}
