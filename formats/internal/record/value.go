package record

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // version 5 of RFC 9562 is defined over SHA-1
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/jsonb"
)

// IsNone reports whether a raw value says nothing: it is absent, null or an empty text.
func IsNone(raw []byte) bool { return len(raw) == 0 || string(raw) == "null" || string(raw) == `""` }

// IsTrue reports whether a raw value says yes: true, a text of it in any case, or a number other
// than 0.
func IsTrue(raw []byte) bool {
	switch text := bytes.Trim(raw, `"`); {
	case len(text) == 0 || text[0] == '{' || text[0] == '[':
		return false
	case len(text) == len("true") && strings.EqualFold(string(text), "true"):
		return true
	default:
		return text[0] >= '0' && text[0] <= '9' && len(bytes.Trim(text, "0.")) > 0
	}
}

// IsEmpty reports whether a raw value holds nothing: absent, null, "", {} or [].
func IsEmpty(raw []byte) bool {
	if IsNone(raw) {
		return true
	}
	return (raw[0] == '{' || raw[0] == '[') && len(bytes.TrimLeft(raw[1:], " \t\r\n")) == 1
}

// IsText reports whether a raw value is a text.
func IsText(raw []byte) bool { return len(raw) > 0 && raw[0] == '"' }

// IsObject reports whether a raw value is an object.
func IsObject(raw []byte) bool { return len(raw) > 0 && raw[0] == '{' }

// Text is the text of a raw value, or "" where it is not a text.
func Text(raw []byte) string {
	if !IsText(raw) {
		return ""
	}
	return jsonb.Text(raw) // valid: it was read
}

// IsWord reports whether a raw value is a certain text.
func IsWord(raw []byte, word string) bool {
	if IsText(raw) && bytes.IndexByte(raw, '\\') >= 0 {
		return Text(raw) == word
	}
	return IsText(raw) && string(raw[1:len(raw)-1]) == word
}

// ID is an id: a text, or a number as its digits. It is empty where the value is absent, null or
// blank.
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
	case raw[0] == '-' || isDigit(raw[0]):
		return string(raw), nil
	}
	return "", Want(field, "a text or a number", raw)
}

// ShortID is ID with an error that does not say of which kind the value is.
func ShortID(field string, raw []byte) (string, error) {
	id, err := ID(field, raw)
	if err != nil {
		return "", errors.New(field + ": want a text or a number")
	}
	return id, nil
}

// Want is the error of a wrong value. It names the kind of the value and does not repeat it.
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
// variant, else one derived from it in the vendor's namespace. It is zero for an empty id.
func UUID(space uuid.UUID, id string) uuid.UUID {
	if id == "" {
		return uuid.Nil
	}
	if own, ok := OwnUUID(id); ok {
		return own
	}
	return Derived(space, id)
}

// Derived is uuid.NewSHA1.
func Derived[T string | []byte](space uuid.UUID, from T) (id uuid.UUID) {
	var room [128]byte
	sum := sha1.Sum(append(append(room[:0], space[:]...), from...)) //nolint:gosec // as RFC 9562 says
	copy(id[:], sum[:])
	id[6], id[8] = id[6]&0x0f|0x50, id[8]&0x3f|0x80
	return id
}

// OwnUUID is an id that has the form of a UUID of the RFC 9562 variant.
func OwnUUID(id string) (own uuid.UUID, ok bool) {
	const length = 36 // uuid.Parse takes other forms too
	own, err := uuid.Parse(id)
	return own, err == nil && len(id) == length && own.Variant() == uuid.RFC4122
}

// Host is the host of an absolute URL in a raw text, without a user, or "".
func Host(raw []byte) string {
	host, _ := split(raw)
	return withoutUser(host)
}

func withoutUser(host string) string { return host[strings.LastIndexByte(host, '@')+1:] }

// Path is the path of an absolute URL in a raw text, or "".
func Path(raw []byte) string {
	_, path := split(raw)
	if i := strings.IndexAny(path, "?#"); i >= 0 {
		path = path[:i]
	}
	return path
}

func split(raw []byte) (host, path string) {
	_, rest, _ := strings.Cut(Text(raw), "://")
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		return rest[:i], rest[i:]
	}
	return rest, ""
}

var errTime = errors.New(`want a time such as "2024-02-29 23:59:58.012000"`)

// Time reads a raw text that is a time of a table: a date and a time of day with at most nine
// digits of a fraction, with a blank or a T between. Without an offset it is UTC.
func Time(raw []byte) (time.Time, error) {
	const date, shortest, longest = len("2006-01-02"), len("2006-01-02 15:04:05"), len("2006-01-02 15:04:05.123456789+00:00")
	if len(raw) < 2 || raw[0] != '"' {
		return time.Time{}, errTime
	}
	raw = raw[1 : len(raw)-1]
	if len(raw) < shortest || len(raw) > longest || raw[date]|0x20 != 't' && raw[date] != ' ' {
		return time.Time{}, errTime
	}
	var room [longest + 1]byte
	text := append(room[:0], raw...)
	text[date] = 'T'
	if last := text[len(text)-1]; last >= '0' && last <= '9' && !bytes.ContainsAny(text[shortest:], "+-") {
		text = append(text, 'Z')
	}
	at, err := jsonb.ParseTime(text)
	if err != nil {
		return time.Time{}, errTime
	}
	return at, nil
}
