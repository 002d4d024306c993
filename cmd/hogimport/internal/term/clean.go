// Package term writes texts for people: on terminals of any width, and into files. It shows names
// that others chose, such as files and events, without letting them act on the terminal, and it
// knows nothing of imports.
package term

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf16"
)

var keys = regexp.MustCompile(`\bph([a-z])_[A-Za-z0-9_-]{8,}`)

// Joiners belong to words of some languages, and to emoji.
const nonJoiner, joiner = '\u200c', '\u200d'

// Clean returns a text without keys of PostHog, and with codes in place of characters that control a terminal,
// cannot be seen, or change the order of others. Ends of lines and tabs stay.
func Clean(s string) string { return clean(s, "\n\t") }

// Line is Clean for a text of one line.
func Line[T ~string](s T) string { return clean(string(s), "") }

func clean(s, keep string) string {
	s = keys.ReplaceAllString(strings.ToValidUTF8(s, "\uFFFD"), "ph${1}_…")
	isSeen := func(r rune) bool {
		isText := unicode.IsGraphic(r) && !unicode.Is(unicode.Zl, r) && !unicode.Is(unicode.Zp, r)
		return isText || r == joiner || r == nonJoiner || strings.ContainsRune(keep, r)
	}
	if !strings.ContainsFunc(s, func(r rune) bool { return !isSeen(r) }) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch high, low := utf16.EncodeRune(r); {
		case isSeen(r):
			b.WriteRune(r)
		case high != unicode.ReplacementChar: // as JSON writes it
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
