package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/jsonb"
)

// LineParser parses events from JSON lines. It is not safe for concurrent use.
type LineParser struct {
	fields  Fields // see Parse
	reject  []byte // see Reject
	line    lineFields
	noted   Reserved // of the current properties
	names   interner
	ids     interner
	scratch []byte // unquoted text
	merged  []byte // properties with $set and $set_once
}

// NewLineParser returns a parser.
func NewLineParser() *LineParser {
	return &LineParser{names: newInterner(1 << 8), ids: newInterner(1 << 14)}
}

// RejectKey is the key for the reason in a line of a reject file.
const RejectKey = "$reject"

// lineFields are the members of a line as raw JSON; absent and null members are nil.
type lineFields struct {
	event, uuid, timestamp, distinctID, properties, set, setOnce, reject []byte

	unknown string // the first unknown key
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
	case RejectKey:
		l.reject = value
	case "sent_at": // from the request that once sent the event: the service would shift the event's time by it
	default:
		if l.unknown == "" && value != nil {
			l.unknown = strconv.Quote(shown(string(key)))
		}
	}
}

// Parse reads the event of a line; it is valid until the next call. The error says how to correct
// the line. It is a *event.Error if it has its own reason.
func (p *LineParser) Parse(text []byte) (*Fields, error) {
	p.fields, p.reject = Fields{}, nil
	return &p.fields, p.parse(text, &p.fields)
}

// Reject returns the value of "$reject" in the line that was parsed last, and whether the rest of the line is empty. It
// comes before any fault of a value, but not before a fault of the line.
func (p *LineParser) Reject() (note []byte, isEmpty bool) { return p.reject, p.line.isEmpty() }

func (p *LineParser) parse(text []byte, f *Fields) (err error) {
	p.line = lineFields{}
	p.noted.reset()
	if p.noted.fault, err = jsonb.ObjectWithin(text, p.line.visit, "properties", p.noted.noteRaw); err != nil {
		if first := bytes.TrimLeft(text, " \t"); len(first) > 0 && first[0] != '{' {
			return errors.New("want one JSON object a line" + Hint(text))
		}
		return fmt.Errorf("%w%s", err, Hint(text))
	}
	l := &p.line
	if l.unknown != "" {
		return fmt.Errorf("unknown key %s: want event, distinct_id, timestamp, uuid, properties, "+
			"$set and $set_once only", l.unknown)
	}
	p.reject = l.reject
	if f.Name, err = p.text("event", l.event, &p.names); err != nil {
		return err
	}
	if f.DistinctID, err = p.distinctID(); err != nil {
		return err
	}
	if f.UUID, err = p.uuid(); err != nil {
		return err
	}
	if f.Timestamp, err = p.timestamp(); err != nil {
		return err
	}
	if f.RawProperties, err = p.properties(); err == nil && l.properties != nil && l.set == nil && l.setOnce == nil {
		f.Noted = &p.noted
	}
	return err
}

// timestamp reads the time. It refuses the zero time, which stands for a missing one.
func (p *LineParser) timestamp() (at time.Time, err error) {
	if p.line.timestamp == nil {
		return at, nil
	}
	text := p.unquoted(p.line.timestamp)
	at, err = jsonb.ParseTime(text)
	switch {
	case err != nil:
		return at, fmt.Errorf("timestamp %q: %w", shown(string(text)), err)
	case at.IsZero():
		return at, &event.Error{Reason: event.ReasonBadTimestamp, Field: "timestamp", Value: shown(string(text)), Want: wantStored}
	}
	return at, nil
}

func (p *LineParser) text(key string, raw []byte, known *interner) (string, error) {
	if raw == nil {
		return "", nil
	}
	if raw[0] != '"' {
		return "", fmt.Errorf("%s: want a text, not %s", key, shown(string(raw)))
	}
	return known.intern(p.unquoted(raw)), nil
}

// unquoted returns the text of a raw string, valid until the next call, or other values unchanged.
func (p *LineParser) unquoted(raw []byte) []byte {
	if raw[0] != '"' {
		return raw
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1]
	}
	p.scratch, _ = jsonb.AppendUnquoted(p.scratch[:0], raw) // cannot fail: the line is valid
	return p.scratch
}

func (p *LineParser) distinctID() (string, error) {
	raw := p.line.distinctID
	if raw != nil && raw[0] != '"' {
		if _, ok := distinctIDText(raw); !ok {
			return "", fmt.Errorf("distinct_id: want a text or a whole number, not %s", shown(string(raw)))
		}
		return p.ids.intern(raw), nil
	}
	return p.text("distinct_id", raw, &p.ids)
}

func (p *LineParser) uuid() (uuid.UUID, error) {
	raw := p.line.uuid
	if raw == nil || string(raw) == `""` {
		return uuid.Nil, nil
	}
	if raw[0] == '"' {
		if id, ok := parseUUID(p.unquoted(raw)); ok {
			return id, nil
		}
	}
	return uuid.Nil, fmt.Errorf("uuid: want a UUID other than zero or no uuid, not %s", shown(string(raw)))
}

// properties returns the line's properties, including a $set and $set_once outside of them; the
// service takes both places.
func (p *LineParser) properties() (json.RawMessage, error) {
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
	if l.properties != nil {
		if b = append(b, inner(l.properties)...); len(b) > 1 {
			b = append(b, ',')
		}
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

// isEmpty reports whether the line has no member of an event.
func (l *lineFields) isEmpty() bool {
	return l.event == nil && l.distinctID == nil && l.timestamp == nil && l.properties == nil
}

// Hint guesses the format of a text that is not one JSON object a line.
func Hint(text []byte) string {
	first := bytes.TrimLeft(text, " \t")
	switch {
	case bytes.Contains(text, []byte("}\r{")),
		len(text) > 0 && bytes.Count(text, []byte{'\r'}) > bytes.Count(text, []byte{'\n'})+1:
		return "; its lines end with CR alone: convert them to LF"
	case len(first) == 0:
		return ""
	case first[0] == '[':
		return "; this looks like one JSON array: write each element on a line of its own (jq -c '.[]')"
	case len(bytes.TrimSpace(first)) == 1 && first[0] == '{':
		return "; this looks like indented JSON: write each object on one line (jq -c .)"
	case first[0] != '{' && bytes.ContainsAny(first, ",;\t") && !json.Valid(first):
		return "; this looks like CSV: convert it to JSON lines"
	}
	return ""
}

// interner returns the same string for repeated texts, which saves allocations. Its table has a
// fixed size: a new text replaces another.
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

// parseUUID reads a UUID other than zero.
func parseUUID(text []byte) (id uuid.UUID, ok bool) {
	const braced = len("{}") + uuidLength // the parser accepts any characters as braces, even digits
	if len(text) == braced && (text[0] != '{' || text[braced-1] != '}') {
		return id, false
	}
	id, err := uuid.ParseBytes(text)
	return id, err == nil && id != uuid.Nil
}

// SalvageUUID finds the uuid in the text of a record that made no event, so that the record becomes
// the same event wherever it is corrected. It returns uuid.Nil if the text has no uuid that the
// gate would accept, or more than one, as when another line was written into it: the corrected
// event may have either.
func SalvageUUID(text []byte) (own uuid.UUID) {
	d := json.NewDecoder(bytes.NewReader(text)) // can read past most faults of a line
	if begin, _ := d.Token(); begin != json.Delim('{') {
		return uuid.Nil
	}
	var begun int64 // the quote before the last value: a torn key may end where a key of another record begins
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
	// The rest may be another record, written into this one. Unless the object is closed, its last
	// value may belong to that record too.
	unread := text[begun:]
	if end, _ := d.Token(); end == json.Delim('}') {
		unread = text[d.InputOffset():]
	}
	if bytes.Contains(unread, []byte(`"uuid"`)) {
		return uuid.Nil
	}
	return own
}

// uuidOf reads the uuid of a JSON string, if the gate would accept it.
func uuidOf(value []byte) (uuid.UUID, bool) {
	var text string
	if json.Unmarshal(value, &text) != nil {
		return uuid.Nil, false
	}
	id, ok := parseUUID([]byte(text))
	return id, ok && checkUUID(id) == nil
}
