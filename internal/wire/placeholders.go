package wire

import (
	"slices"
	"strings"
)

// suspectIDs are the ids, by length, that capture v1 takes for placeholders, in any case and with
// or without blanks around them.
var suspectIDs = func() (byLength [64][]string) {
	for _, id := range []string{
		"0", "anonymous", "anonymous-user", "backend", "distinct_id", "distinctid", "email", "false", "guest",
		"id", "nan", "none",
		"not_authenticated", "null", "system", "true", "undefined", "user", "[object object]",
		"00000000-0000-0000-0000-000000000000",
	} {
		byLength[len(id)] = append(byLength[len(id)], id)
	}
	return byLength
}()

// isSuspectID reports whether an id is a placeholder that broken tracking code sends.
func isSuspectID(id string) bool {
	if id[0] == '"' || id[0] == '\'' {
		return isPlaceholder(id)
	}
	id = strings.TrimSpace(id)
	isSame := func(suspect string) bool { return strings.EqualFold(id, suspect) }
	return len(id) < len(suspectIDs) && slices.ContainsFunc(suspectIDs[len(id)], isSame)
}

// isPlaceholder reports whether the service refuses to merge a person with this id. It ignores case
// for some ids only, also compares them in quotes, and never trims.
func isPlaceholder(id string) bool {
	if strings.TrimSpace(id) == "" {
		return true
	}
	if last := len(id) - 1; last > 0 && (id[0] == '"' || id[0] == '\'') && id[0] == id[last] {
		id = id[1:last]
	}
	switch strings.ToLower(id) {
	case "anonymous", "guest", "distinctid", "distinct_id", "id", "not_authenticated", "email",
		"undefined", "true", "false":
		return true
	}
	switch id {
	case "[object Object]", "NaN", "None", "none", "null", "0":
		return true
	}
	return false
}
