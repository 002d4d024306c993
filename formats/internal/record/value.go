package record

import (
	"bytes"
	"errors"
	"strings"
	"time"

	"github.com/hogapi/hogapi/internal/jsonb"
)

// IsNull reports whether a raw value is absent or null.
func IsNull(raw []byte) bool { return len(raw) == 0 || raw[0] == 'n' }

// IsTrue reports whether a raw value says yes: true, a text of it in any case, or a number other than 0.
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
	if IsNull(raw) {
		return true
	}
	switch raw[0] {
	case '"':
		return len(raw) == len(`""`)
	case '{', '[':
		return len(bytes.TrimLeft(raw[1:], " \t\r\n")) == 1
	}
	return false
}

var errID = errors.New("want a text or a number")

// ID is the text of a raw id: a text as it is, a number by its digits. It is empty where the value is absent,
// null or blank.
func ID(raw []byte) (string, error) {
	switch {
	case IsNull(raw):
		return "", nil
	case raw[0] == '"':
		text, err := Text(raw)
		if err != nil || strings.TrimSpace(text) == "" {
			return "", err
		}
		return text, nil
	case raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9':
		return string(raw), nil
	}
	return "", errID
}

// Text is the text of a raw text.
func Text(raw []byte) (string, error) {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1]), nil // it was read, so it is valid
	}
	return jsonb.Unquote(raw)
}

var errTime = errors.New(`want a time such as "2024-02-29 23:59:58.012000"`)

// Time reads a raw text that is a time of a table: a date and a time of day with at most nine digits of a
// fraction, with a blank or a T between. Without an offset it is UTC.
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
