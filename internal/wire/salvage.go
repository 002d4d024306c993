package wire

import (
	"bytes"
	"encoding/json"

	"github.com/google/uuid"
)

// parseUUID reads a UUID other than zero.
func parseUUID(text []byte) (id uuid.UUID, ok bool) {
	const braced = len("{}") + uuidLength // the parser takes anything for the braces, such as two more digits
	if len(text) == braced && (text[0] != '{' || text[braced-1] != '}') {
		return id, false
	}
	id, err := uuid.ParseBytes(text)
	return id, err == nil && id != uuid.Nil
}

// SalvageUUID is the uuid of a record that made no event, as far as its text can be read. Wherever the
// record is corrected, it must become one and the same event. SalvageUUID is nil where the text has no
// uuid that the gate would take. It is also nil where the text has two, as in a line that was
// written into another: which one the corrected event will have is unknown.
func SalvageUUID(text []byte) (own uuid.UUID) {
	d := json.NewDecoder(bytes.NewReader(text)) // reads on after most of what makes a line bad
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
	// The rest may be another record, written into this one. Unless the object is closed, its last
	// value may be that record as well.
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
