package outgoing

import "strings"

// wantVisible keeps a key the same text in a header, in JSON and in a quoted error, so that it can
// be found and redacted there.
const wantVisible = "visible ASCII characters only, without quotes and backslashes"

// PersonalKeyProblem says what is wrong with a personal API key.
func PersonalKeyProblem(key string) string {
	switch {
	case key == "":
		return "a personal API key (phx_…), not an empty text"
	case strings.HasPrefix(key, "phc_"):
		return "a personal API key (phx_…); this is a project API key: give it to WithProjectAPIKey"
	case !isQuotable(key):
		return wantVisible
	case len(key) > 256:
		return "at most 256 characters"
	}
	return ""
}

// ProjectKeyProblem says what is wrong with a project API key.
func ProjectKeyProblem(key string) string {
	switch {
	case key == "":
		return "a project API key (phc_…), not an empty text"
	case strings.HasPrefix(key, "phx_"):
		return "a project API key (phc_…); this is a personal API key: give it to WithPersonalAPIKey"
	case !isQuotable(key):
		return wantVisible
	case len(key) > 64:
		return "at most 64 characters"
	}
	return ""
}

func isQuotable(key string) bool { return IsVisibleASCII(key) && !strings.ContainsAny(key, `"\`) }

// IsVisibleASCII reports whether a text has no blanks, and nothing outside of ASCII.
func IsVisibleASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

// WantProject is what the id of a project must be.
const WantProject = `the project's id, a number, or "@current"`

// IsProjectID reports whether s is the id of a project.
func IsProjectID(s string) bool {
	return s == "@current" || s != "" && len(s) <= 20 && strings.Trim(s, "0123456789") == ""
}
