package outgoing

import (
	"fmt"
	"github.com/hogapi/hogapi/ops"
	"slices"
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
	case strings.HasPrefix(strings.ToLower(key), "bearer "):
		return want + ` without "Bearer", which each call adds itself`
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

// Misspelt refuses a value that is close to a known one: in another case, with other blanks or dashes, or in another
// form, as "hourly" is of "hour". Other unknown values pass: the service may know them.
func Misspelt[T ~string](field string, value T, known []T) *ops.InputError {
	if value == "" {
		return Refuse(field, "", "a value, not an empty text")
	}
	if slices.Contains(known, value) {
		return nil
	}
	for _, k := range known {
		if stem(value) != stem(k) {
			continue
		}
		var all []string
		for _, other := range known {
			all = append(all, string(other))
		}
		return Refuse(field, string(value), `"`+string(k)+`", or another of: `+strings.Join(all, ", "))
	}
	return nil
}

// MisspeltIfSet is Misspelt for an optional value.
func MisspeltIfSet[T ~string](field string, value T, known []T) *ops.InputError {
	if value == "" {
		return nil
	}
	return Misspelt(field, value, known)
}

// stem returns the letters of a value without endings.
func stem[T ~string](s T) string {
	letters := strings.NewReplacer(" ", "", "_", "", "-", "").Replace(strings.ToLower(string(s)))
	return strings.TrimSuffix(strings.TrimSuffix(strings.Replace(letters, "daily", "day", 1), "ly"), "s")
}
