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
	return "", Want(field, "a text or a number", raw)
}

// Want is the error of a value that is not what it has to be. It does not repeat the value.
func Want(field, want string, raw []byte) error {
	switch {
	case len(raw) == 0:
		return fmt.Errorf("%s: it is missing, want %s", field, want)
	case raw[0] == '"':
		return fmt.Errorf("%s: want %s", field, want)
	}
	return fmt.Errorf("%s: want %s, not %s", field, want, kindOf(raw))
}

func kindOf(raw []byte) string {
	switch raw[0] {
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

// Canonical is a raw value in the one way to write it, where it is a text.
func Canonical(raw []byte) []byte {
	if !IsText(raw) || bytes.IndexByte(raw, '\\') < 0 {
		return raw
	}
	return appendText(nil, Text(raw))
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
	return host[strings.LastIndexByte(host, '@')+1:]
}

// Path is the path of an absolute URL in a raw text, or "".
func Path(raw []byte) string {
	_, path := split(raw)
	if i := strings.IndexAny(path, "?#"); i >= 0 {
		path = path[:i]
	}
	return path
}

// split divides an absolute URL.
func split(raw []byte) (host, path string) {
	_, rest, _ := strings.Cut(Text(raw), "://")
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		return rest[:i], rest[i:]
	}
	return rest, ""
}
