package mask

import (
	"regexp"
	"strings"
)

// HasKey reports whether a text holds an API key by its prefix.
func HasKey(s string) bool {
	s = strings.ToLower(s) // POSTHOG_REGION is read so
	for _, prefix := range []string{"phx_", "phc_", "phs_", "pha_"} {
		if strings.Contains(s, prefix) {
			return true
		}
	}
	return false
}

// UnlessKey returns a text that is about to be printed, or nothing where it may be a key that was
// given in the wrong place: older ones have no prefix, but more letters and digits in a row than an
// id has.
func UnlessKey(s string) string {
	const longest = 32
	run := 0
	for i := range len(s) {
		if c := s[i]; c == '_' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' {
			run++
		} else {
			run = 0
		}
		if run > longest {
			return ""
		}
	}
	if HasKey(s) {
		return ""
	}
	return s
}

// aKey is what a key of the service looks like.
var aKey = regexp.MustCompile(`ph[a-z]_[A-Za-z0-9_-]{4,}`)

// Keys returns a text without what looks like a key of the service.
func Keys(text string) string { return aKey.ReplaceAllString(text, Redacted) }
