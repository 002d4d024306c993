// Package mask keeps keys and credentials out of printed text: keys that a server echoes in its
// answer, values of JSON keys that look like credentials, and texts that may be a misplaced key. It
// also shortens foreign texts and fits them into one line.
package mask

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Redacted replaces secrets in all output.
const Redacted = "[redacted]"

// Clean makes foreign text safe for one line of a log: short, without control characters and the service's keys.
func Clean(s string) string {
	const most = 500
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	s = Keys(s)
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// Shown shortens a foreign text for a line of a report.
func Shown[T ~string](text T) string {
	const most = 200
	if text == "" {
		return "(none)"
	}
	s := OneLine(string(text))
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// OneLine keeps a foreign text from starting another line or controlling a terminal.
func OneLine(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }) {
		return strconv.QuoteToGraphic(s)
	}
	return s
}

// Brief returns the beginning of an error's text. It may end within a character.
func Brief(err error) string {
	text := err.Error()
	return text[:min(len(text), maxText)]
}

// HoldsURL reports whether JSON may contain a URL or a URL's query.
func HoldsURL(body []byte) bool {
	var value any
	if json.Unmarshal(body, &value) != nil {
		return true
	}
	plain, err := json.Marshal(value) // decode escapes that may hide something
	text := slices.Concat(body, plain)
	return err != nil || bytes.Contains(text, []byte("://")) || bytes.ContainsRune(text, '=')
}

// No key begins with php_, and many names do.
var aKey = regexp.MustCompile(`ph[a-oq-z]_[A-Za-z0-9_-]{4,}`)

// Keys masks the service's keys in a text.
func Keys(text string) string { return aKey.ReplaceAllString(text, Redacted) }
