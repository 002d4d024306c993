package wire

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// aKey is what a key of the service looks like.
var aKey = regexp.MustCompile(`ph[a-z]_[A-Za-z0-9_-]{4,}`)

// HideKeys is a text in which nothing looks like a key of the service.
func HideKeys(text string) string { return aKey.ReplaceAllString(text, "[redacted]") }

// Shown is a refused value for an error: cut, on one line, and without keys.
func Shown(value string) string {
	const most = 64
	if len(value) > 4*most {
		value = value[:4*most]
	}
	value = onOneLine(HideKeys(value))
	if utf8.RuneCountInString(value) > most {
		value = string([]rune(value)[:most]) + "…"
	}
	return value
}

// onOneLine is a text as valid UTF-8 and without control characters.
func onOneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}
