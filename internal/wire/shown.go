package wire

import (
	"unicode/utf8"

	"github.com/hogapi/hogapi/internal/mask"
)

// shown returns a refused value for an error: short, on one line, and without keys.
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
