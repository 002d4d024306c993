package mask

import (
	"regexp"
	"slices"
	"strings"
)

// HasKey reports whether a text contains an API key with a known prefix.
func HasKey(s string) bool {
	s = strings.ToLower(s) // POSTHOG_REGION ignores case
	holds := func(prefix string) bool { return strings.Contains(s, prefix) }
	return slices.ContainsFunc([]string{"phx_", "phc_", "phs_", "pha_"}, holds)
}

// UnlessKey returns s for printing, or "" if it may be a misplaced key: old keys have no prefix,
// but a longer run of letters and digits than any id.
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

// No key begins with php_, and many names do.
var aKey = regexp.MustCompile(`ph[a-oq-z]_[A-Za-z0-9_-]{4,}`)

// Keys masks the service's keys in a text.
func Keys(text string) string { return aKey.ReplaceAllString(text, Redacted) }
