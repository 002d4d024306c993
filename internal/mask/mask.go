// Package mask keeps keys and credentials out of what is printed: the keys that a server
// repeats in its answer, the values of JSON keys that look like credentials, and texts that may
// be a key given in the wrong place. It also makes foreign texts short and fit for one line.
package mask

import (
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

// Brief is the beginning of an error's text. It may end within a character.
func Brief(err error) string {
	text := err.Error()
	return text[:min(len(text), mostText)]
}
