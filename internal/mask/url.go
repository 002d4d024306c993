package mask

import (
	"bytes"
	"encoding/json"
	"slices"
)

// HoldsURL reports JSON that can hold a URL, or the query of one.
func HoldsURL(body []byte) bool {
	var value any
	if json.Unmarshal(body, &value) != nil {
		return true
	}
	plain, err := json.Marshal(value) // without escapes that hide something
	text := slices.Concat(body, plain)
	return err != nil || bytes.Contains(text, []byte("://")) || bytes.ContainsRune(text, '=')
}
