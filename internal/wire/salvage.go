package wire

import (
	"bytes"
	"encoding/json"

	"github.com/google/uuid"
)

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
