// Package mask keeps keys and credentials out of what is printed: the keys that a server
// repeats in its answer, the values of JSON keys that look like credentials, and texts that may
// be a key given in the wrong place. It also makes foreign texts short and fit for one line.
package mask

import (
	"strconv"
	"strings"
	"unicode"
)

// Redacted is what a secret prints as, everywhere.
const Redacted = "[redacted]"

// Clean makes foreign text safe for one line of a log: no control characters, bounded.
func Clean(s string) string {
	const most = 500
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// Shown is a foreign text for a line of a report, cut where it is long.
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

// OneLine is a foreign text that cannot begin another line, or command a terminal.
func OneLine(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }) {
		return strconv.QuoteToGraphic(s)
	}
	return s
}

// Brief is the beginning of an error's text. It may end within a character.
func Brief(err error) string {
	text := err.Error()
	return text[:min(len(text), mostText)]
}
