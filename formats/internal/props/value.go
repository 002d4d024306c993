package props

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/jsonb"
)

// IsNone reports whether a raw value says nothing: it is absent, null or an empty text.
func IsNone(raw []byte) bool { return len(raw) == 0 || string(raw) == "null" || string(raw) == `""` }

// IsText reports whether a raw value is a text.
func IsText(raw []byte) bool { return len(raw) > 0 && raw[0] == '"' }

// IsObject reports whether a raw value is an object.
func IsObject(raw []byte) bool { return len(raw) > 0 && raw[0] == '{' }

// Text is the text of a raw value, or "" where it is not a text.
func Text(raw []byte) string {
	if !IsText(raw) {
		return ""
	}
	text, _ := jsonb.Unquote(raw) // valid: it was read
	return text
}

// ID is an id: a text, or a number as its digits. Null and blank texts are "".
func ID(field string, raw []byte) (string, error) {
	switch {
	case IsNone(raw):
		return "", nil
	case IsText(raw):
		text := Text(raw)
		if strings.TrimSpace(text) == "" {
			return "", nil
		}
		return text, nil
	case raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9':
		return string(raw), nil
	}
	return "", fmt.Errorf("%s: want a text or a number, not %s", field, KindOf(raw))
}

// KindOf names the kind of a raw value for an error.
func KindOf(raw []byte) string {
	if len(raw) == 0 {
		return "nothing"
	}
	switch raw[0] {
	case '"':
		return "a text"
	case '{':
		return "an object"
	case '[':
		return "an array"
	case 't', 'f':
		return "true or false"
	case 'n':
		return "null"
	}
	return "a number"
}

// UUID is the uuid of a vendor's id: the id itself where it has the form of a UUID of the RFC 9562
// variant, else one derived from it in the vendor's namespace. An empty id has none.
func UUID(space uuid.UUID, id string) uuid.UUID {
	if id == "" {
		return uuid.Nil
	}
	const length = 36 // uuid.Parse takes other forms too
	if own, err := uuid.Parse(id); err == nil && len(id) == length && own.Variant() == uuid.RFC4122 {
		return own
	}
	return uuid.NewSHA1(space, []byte(id))
}

// Host is the host of an absolute URL in a raw text, without a user, or "".
func Host(raw []byte) string {
	host, _ := split(raw)
	if i := bytes.LastIndexByte(host, '@'); i >= 0 {
		host = host[i+1:]
	}
	return string(host)
}

// Path is the path of an absolute URL in a raw text, or "".
func Path(raw []byte) string {
	_, path := split(raw)
	if i := bytes.IndexAny(path, "?#"); i >= 0 {
		path = path[:i]
	}
	return string(path)
}

// split divides an absolute URL. One with escapes of JSON is not divided.
func split(raw []byte) (host, path []byte) {
	if !IsText(raw) || bytes.IndexByte(raw, '\\') >= 0 {
		return nil, nil
	}
	_, rest, ok := bytes.Cut(raw[1:len(raw)-1], []byte("://"))
	if !ok {
		return nil, nil
	}
	if i := bytes.IndexAny(rest, "/?#"); i >= 0 {
		return rest[:i], rest[i:]
	}
	return rest, nil
}
