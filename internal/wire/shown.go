package wire

import (
	"unicode/utf8"

	"github.com/hogapi/hogapi/internal/mask"
)

// shown is a refused value for an error: cut, on one line, and without keys.
func shown(value string) string {
	const most = 64
	if len(value) > 4*most {
		value = value[:4*most]
	}
	value = mask.Clean(mask.Keys(value))
	if utf8.RuneCountInString(value) > most {
		value = string([]rune(value)[:most]) + "…"
	}
	return value
}
