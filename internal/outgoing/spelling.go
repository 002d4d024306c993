package outgoing

import "strings"

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
