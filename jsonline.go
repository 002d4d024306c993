package hogapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/jsonb"
)

// lineParser makes events of lines. It is not safe for concurrent use.
type lineParser struct {
	line    lineFields
	visit   jsonb.Visitor // of line, bound once
	noted   special       // among the properties
	note    jsonb.Visitor // of noted, bound once
	names   interner
	ids     interner
	made    [1]Event // see events
	scratch []byte   // unquoted text
	merged  []byte   // properties with $set and $set_once
}

func newLineParser() *lineParser {
	p := &lineParser{names: newInterner(1 << 8), ids: newInterner(1 << 14)}
	p.visit, p.note = p.line.visit, p.noted.noteRaw
	return p
}

// lineFields are the members of a line, as raw JSON; nil where absent or null.
type lineFields struct {
	event, uuid, timestamp, distinctID, properties, set, setOnce, reject []byte

	unknown string // the first key that no event has
}

func (l *lineFields) visit(key, value []byte) {
	if string(value) == "null" {
		value = nil
	}
	switch string(key) {
	case "event":
		l.event = value
	case "uuid":
		l.uuid = value
	case "timestamp":
		l.timestamp = value
	case "distinct_id":
		l.distinctID = value
	case "properties":
		l.properties = value
	case "$set":
		l.set = value
	case "$set_once":
		l.setOnce = value
	case rejectKey:
		l.reject = value
	case "sent_at": // of the request that the event once came in: the service would shift the event's time by it
	default:
		if l.unknown == "" && value != nil {
			l.unknown = strconv.Quote(shown(string(key)))
		}
	}
}

// parse makes the event of a line, which is valid until the next call. Its error says what a
// corrected line needs.
func (p *lineParser) parse(text []byte) (ev Event, err error) {
	p.line = lineFields{}
	p.noted.reset()
	if p.noted.fault, err = jsonb.ObjectWithin(text, p.visit, "properties", p.note); err != nil {
		if first := bytes.TrimLeft(text, " \t"); len(first) > 0 && first[0] != '{' {
			return ev, errors.New("want one JSON object a line" + hint(text))
		}
		return ev, fmt.Errorf("%w%s", err, hint(text))
	}
	l := &p.line
	if l.unknown != "" {
		return ev, fmt.Errorf("unknown key %s: want event, distinct_id, timestamp, uuid, properties, $set and $set_once only", l.unknown)
	}
	if l.reject != nil {
		if err := l.checkCorrected(); err != nil {
			return ev, err
		}
	}
	if ev.Name, err = p.text("event", l.event, &p.names); err != nil {
		return ev, err
	}
	if ev.DistinctID, err = p.distinctID(); err != nil {
		return ev, err
	}
	if ev.UUID, err = p.uuid(); err != nil {
		return ev, err
	}
	if l.timestamp != nil {
		if ev.Timestamp, err = p.timestamp(); err != nil {
			return ev, err
		}
	}
	if ev.RawProperties, err = p.properties(); err == nil && l.properties != nil && l.set == nil && l.setOnce == nil {
		ev.noted = &p.noted
	}
	return ev, err
}

// timestamp reads the time, which the zero time is not: an event without one is another fault.
func (p *lineParser) timestamp() (time.Time, error) {
	text := p.unquoted(p.line.timestamp)
	at, err := jsonb.ParseTime(text)
	switch {
	case err != nil:
		return at, fmt.Errorf("timestamp %q: %w", shown(string(text)), err)
	case at.IsZero():
		return at, &EventError{Reason: ReasonBadTimestamp, Field: "timestamp", Value: shown(string(text)), Want: wantStored}
	}
	return at, nil
}

// text reads a member that must be a text.
func (p *lineParser) text(key string, raw []byte, known *interner) (string, error) {
	if raw == nil {
		return "", nil
	}
	if raw[0] != '"' {
		return "", fmt.Errorf("%s: want a text, not %s", key, shown(string(raw)))
	}
	return known.intern(p.unquoted(raw)), nil
}

// unquoted is the text of a raw string, valid until the next call; of another value it is its JSON.
func (p *lineParser) unquoted(raw []byte) []byte {
	if raw[0] != '"' {
		return raw
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1]
	}
	p.scratch, _ = jsonb.AppendUnquoted(p.scratch[:0], raw) // valid: the line is
	return p.scratch
}

func (p *lineParser) distinctID() (string, error) {
	raw := p.line.distinctID
	if raw != nil && raw[0] != '"' {
		if _, ok := distinctIDText(raw); !ok {
			return "", fmt.Errorf("distinct_id: want a text or a whole number, not %s", shown(string(raw)))
		}
		return p.ids.intern(raw), nil
	}
	return p.text("distinct_id", raw, &p.ids)
}

func (p *lineParser) uuid() (uuid.UUID, error) {
	raw := p.line.uuid
	if raw == nil || string(raw) == `""` {
		return uuid.Nil, nil
	}
	if raw[0] == '"' {
		if id, ok := parseUUID(p.unquoted(raw)); ok {
			return id, nil
		}
	}
	return uuid.Nil, fmt.Errorf("uuid: want a UUID other than zero, or none, not %s", shown(string(raw)))
}

// parseUUID reads a UUID other than zero.
func parseUUID(text []byte) (id uuid.UUID, ok bool) {
	const braced = len("{}") + uuidLength // the parser takes anything for the braces, such as two more digits
	if len(text) == braced && (text[0] != '{' || text[braced-1] != '}') {
		return id, false
	}
	id, err := uuid.ParseBytes(text)
	return id, err == nil && id != uuid.Nil
}

// ownUUID is the uuid of a record that made no event, as far as its text can be read: mended here or in the source, it shall be one and
// the same event. It is nil where there is none that the gate would take. It is also nil where there are two, as in a line that was
// written into another: nobody can tell which of them the mended event will have.
func ownUUID(text []byte) (own uuid.UUID) {
	d := json.NewDecoder(bytes.NewReader(text)) // reads on behind most of what makes a line bad
	if begin, _ := d.Token(); begin != json.Delim('{') {
		return uuid.Nil
	}
	var begun int64 // the quote before the last value: a torn key can end with the one that begins a key of another record
	for d.More() {
		key, err := d.Token()
		if err == nil {
			begun = d.InputOffset() - 1
		}
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			break
		}
		if key != "uuid" || string(value) == "null" || string(value) == `""` {
			continue
		}
		id, ok := uuidOf(value)
		if !ok || own != uuid.Nil && own != id {
			return uuid.Nil
		}
		own = id
	}
	// The rest may be another record, written into this one. Unless the object has its end, its last value may be that record as well.
	unread := text[begun:]
	if end, _ := d.Token(); end == json.Delim('}') {
		unread = text[d.InputOffset():]
	}
	if bytes.Contains(unread, []byte(`"uuid"`)) {
		return uuid.Nil
	}
	return own
}

// uuidOf reads the uuid of a JSON text, if the gate would take it.
func uuidOf(value []byte) (uuid.UUID, bool) {
	var text string
	if json.Unmarshal(value, &text) != nil {
		return uuid.Nil, false
	}
	id, ok := parseUUID([]byte(text))
	return id, ok && checkUUID(id) == nil
}

// properties are the line's own, with $set and $set_once moved into them: the service takes them there as well.
func (p *lineParser) properties() (json.RawMessage, error) {
	l := &p.line
	for _, member := range []struct {
		key string
		raw []byte
	}{{"properties", l.properties}, {"$set", l.set}, {"$set_once", l.setOnce}} {
		if member.raw != nil && member.raw[0] != '{' {
			return nil, fmt.Errorf("%s: want an object, not %s", member.key, shown(string(member.raw)))
		}
	}
	if l.set == nil && l.setOnce == nil {
		return l.properties, nil
	}
	b := append(p.merged[:0], '{')
	if own := bytes.TrimSpace(trimBraces(l.properties)); len(own) > 0 {
		b = append(append(b, own...), ',')
	}
	if l.set != nil {
		b = append(append(append(b, `"$set":`...), l.set...), ',')
	}
	if l.setOnce != nil {
		b = append(append(append(b, `"$set_once":`...), l.setOnce...), ',')
	}
	b[len(b)-1] = '}'
	p.merged = b
	return b, nil
}

func trimBraces(object []byte) []byte {
	if object == nil {
		return nil
	}
	return object[1 : len(object)-1]
}

// checkCorrected refuses a line of a reject file that still lacks something.
func (l *lineFields) checkCorrected() error {
	var note rejectNote
	ours := json.Unmarshal(l.reject, &note) == nil
	if ours && len(note.LeftOut) > 0 {
		return errors.New("a reject that lacks what $reject names as left_out: add that and remove $reject")
	}
	if ours && l.event == nil && l.distinctID == nil && l.timestamp == nil && l.properties == nil {
		return errors.New("a rejected record that made no event: write the event in the line and remove $reject, or read the file with RejectedRecords")
	}
	return nil
}

// interner keeps texts that come again and again, so that they are made once. It is a table of fixed size: a new text takes the
// place of another.
type interner struct {
	seed  maphash.Seed
	table []string // its length is a power of two
}

func newInterner(size int) interner {
	return interner{seed: maphash.MakeSeed(), table: make([]string, size)}
}

func (n *interner) intern(text []byte) string {
	const longest = 256 // bounds the memory
	if len(text) > longest {
		return string(text)
	}
	place := &n.table[maphash.Bytes(n.seed, text)&uint64(len(n.table)-1)]
	if *place != string(text) {
		*place = string(text)
	}
	return *place
}
