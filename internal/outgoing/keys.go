package outgoing

import (
	"fmt"
	"strings"
)

// wantVisible keeps a key unchanged in headers, JSON and quoted errors, so that it can be found and
// masked there.
const wantVisible = "visible ASCII characters only, without quotes and backslashes"

// PersonalKeyProblem describes a fault of a personal API key, or returns "".
func PersonalKeyProblem(key string) string {
	return keyProblem(key, "a personal API key (phx_…)", "phc_", "a project API key: give it to WithProjectAPIKey", 256)
}

// ProjectKeyProblem describes a fault of a project API key, or returns "".
func ProjectKeyProblem(key string) string {
	return keyProblem(key, "a project API key (phc_…)", "phx_", "a personal API key: give it to WithPersonalAPIKey", 64)
}

func keyProblem(key, want, prefixOfOther, other string, most int) string {
	switch {
	case key == "":
		return want + ", not an empty text"
	case strings.HasPrefix(key, prefixOfOther):
		return want + "; this is " + other
	case !IsVisibleASCII(key) || strings.ContainsAny(key, `"\`):
		return wantVisible
	case len(key) > most:
		return fmt.Sprintf("at most %d characters", most)
	}
	return ""
}

// IsVisibleASCII reports whether a text is ASCII without blanks and control characters.
func IsVisibleASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

// WantProject describes a valid project id.
const WantProject = `the project's id, a number, or "@current"`

// IsProjectID reports whether s is the id of a project.
func IsProjectID(s string) bool {
	return s == "@current" || s != "" && len(s) <= 20 && strings.Trim(s, "0123456789") == ""
}

// Misspelt refuses a value that differs from a known one only in case, blanks or dashes. Other
// unknown values pass: the service may know them.
func Misspelt[T ~string](field string, value T, known []T) *Refusal {
	if value == "" {
		return Refuse(field, "", "a value, not an empty text")
	}
	for _, k := range known {
		if value != k && lettersOnly(value) == lettersOnly(k) {
			return Refuse(field, string(value), `"`+string(k)+`"`)
		}
	}
	return nil
}

// MisspeltIfSet is Misspelt for an optional value.
func MisspeltIfSet[T ~string](field string, value T, known []T) *Refusal {
	if value == "" {
		return nil
	}
	return Misspelt(field, value, known)
}

func lettersOnly[T ~string](s T) string {
	return strings.NewReplacer(" ", "", "_", "", "-", "").Replace(strings.ToLower(string(s)))
}
