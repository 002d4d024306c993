package hogapitest

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
)

// batch is a capture request in any of its shapes. Only the object with a batch array carries the historical flag.
type batch struct {
	token        string
	noToken      bool
	tokensDiffer bool
	historical   bool
	sentAt       time.Time // zero without one that parses
	events       []event
}

// event is one event of a batch: its raw bytes and the fields that the service reads.
type event struct {
	raw        json.RawMessage
	uuid       uuid.UUID
	minted     bool // no uuid was sent: the server makes a new one every time
	name       string
	distinctID string
	timestamp  string        // as sent
	offset     time.Duration // before now; beats the timestamp
	at         time.Time
	properties json.RawMessage
	notes      Note
	historical bool
	tooBig     bool
	content    uint64 // hash of the properties as JSON
	job        string // $import_job_id
}

// stored is the event as the ledger shows it.
func (e *event) stored() StoredEvent {
	return StoredEvent{
		UUID: e.uuid, Event: e.name, DistinctID: e.distinctID, Timestamp: e.timestamp, Time: e.at,
		Properties: e.properties, Raw: e.raw, Historical: e.historical, Notes: e.notes,
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

// known holds the fields of an object under their own names. A field that comes twice is an error, also under two of its
// names.
func known(raw json.RawMessage, names map[string]string) (fields, error) {
	if raw[0] != '{' {
		return nil, errors.New("expected an object")
	}
	f := fields{}
	for _, m := range members(raw) {
		name, ok := names[m.key]
		if !ok {
			continue
		}
		if _, twice := f[name]; twice {
			return nil, errors.New("duplicate field `" + m.key + "`")
		}
		f[name] = m.value
	}
	return f, nil
}

func named(names ...string) map[string]string {
	m := map[string]string{}
	for _, name := range names {
		m[name] = name
	}
	return m
}

var (
	v1BatchFields  = named("created_at", "historical_migration", "capture_internal", "batch")
	v1EventFields  = named("event", "distinct_id", "uuid", "timestamp", "session_id", "window_id", "properties", "options")
	envelopeFields = map[string]string{
		"api_key": "token", "token": "token", "historical_migration": "historical_migration", "sent_at": "sent_at", "batch": "batch",
	}
	eventFields = map[string]string{
		"event": "event", "distinct_id": "distinct_id", "$distinct_id": "distinct_id", "properties": "properties", "uuid": "uuid",
		"timestamp": "timestamp", "offset": "offset", "$set": "$set", "$set_once": "$set_once",
		"token": "token", "api_key": "token", "$token": "token",
	}
)

// readBatch reads the envelope: an object with a batch, a bare array of events, or one event.
func readBatch(plain []byte) *batch {
	plain = bytes.TrimSpace(plain)
	if len(plain) == 0 {
		badRequest("request missing data payload")
	}
	if !strictJSON(plain) {
		badRequest(unparsable)
	}
	if plain[0] == '[' {
		return newBatch(&batch{noToken: true}, elements(plain))
	}
	f, err := known(plain, envelopeFields)
	if err != nil {
		badRequest(unparsable)
	}
	b := &batch{}
	token, ok := asString(f["token"])
	b.token, b.noToken = strings.TrimSpace(token), !ok
	if f["batch"] == nil {
		return newBatch(b, []json.RawMessage{plain})
	}
	historical := string(f["historical_migration"])
	if f["batch"][0] != '[' || !slices.Contains([]string{"", "null", "true", "false"}, historical) {
		badRequest(unparsable)
	}
	b.historical = historical == "true"
	if sentAt, ok := asString(f["sent_at"]); ok {
		b.sentAt, _ = readISO(sentAt)
	}
	return newBatch(b, elements(f["batch"]))
}

func newBatch(b *batch, raws []json.RawMessage) *batch {
	if len(raws) == 0 {
		badRequest(emptyBatch)
	}
	b.events = make([]event, len(raws))
	for i, raw := range raws {
		f, err := known(raw, eventFields)
		if err != nil {
			badRequest(unparsable)
		}
		b.events[i].read(raw, f)
		if token, ok := asString(f["token"]); ok && b.noToken {
			b.tokensDiffer = b.tokensDiffer || b.token != "" && b.token != token
			b.token = token
		}
	}
	return b
}

// read takes an event apart. One that fails refuses the whole request.
func (e *event) read(raw json.RawMessage, f fields) {
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
	var err error
	if offset := f["offset"]; !absent(offset) {
		var ms int64
		ms, err = strconv.ParseInt(string(offset), 10, 64)
		e.offset = time.Duration(ms) * time.Millisecond
	}
	if e.minted = id == ""; e.minted {
		e.uuid = uuid.New()
	} else if err == nil {
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
	if strings.TrimSpace(e.distinctID) == "" {
		badRequest(noDistinctID)
	}
	if c := string(p["$cookieless_mode"]); c != "" && c != "true" && c != "false" {
		badRequest("event submitted with invalid cookieless mode")
	}
	if utf8.RuneCountInString(e.distinctID) > maxDistinctID {
		e.notes |= DistinctIDCut
	}
	e.setTime(b, string(p["$ignore_sent_at"]) == "true", now)
	e.keepFlag(b.historical, now)
}

// keepFlag clears the flag of a historical import for an event that is younger than 48 hours.
func (e *event) keepFlag(historical bool, now time.Time) {
	isYoung := e.at.After(now.Add(-48 * time.Hour))
	e.historical = historical && !isYoung
	if historical && isYoung {
		e.notes |= FlagCleared
	}
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
	t, ok := readEventTime(e.timestamp)
	switch {
	case e.offset != 0:
		t = now.Add(-e.offset)
		e.notes |= TimeShifted
	case !ok:
		t = now
		e.notes |= TimeReplaced
	case !b.sentAt.IsZero() && !ignoreSentAt:
		t = t.Add(now.Sub(b.sentAt))
		e.notes |= TimeShifted
	}
	if t.After(now.Add(23 * time.Hour)) {
		t = now
		e.notes |= TimeReplaced
	}
	if t.Year() < 0 || t.Year() > 9999 {
		t = time.Unix(0, 0)
		e.notes |= TimeReplaced
	}
	e.at = t.UTC()
}

func readEventTime(s string) (time.Time, bool) {
	if t, ok := readISO(s); ok {
		return t, true
	}
	for _, layout := range []string{"2006-01-02T15:04:05.999999999Z07", "2006-01-02T15:04:05Z0700", "2006/01/02", "2006/01/02 15:04:05", time.RFC1123, time.RFC1123Z} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	switch {
	case err != nil:
		return time.Time{}, false
	case n > 1e11:
		return time.UnixMilli(n), true
	}
	return time.Unix(n, 0), true
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
