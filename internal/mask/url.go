package mask

import (
	"bytes"
	"encoding/json"
	"slices"
)

// HoldsURL reports whether JSON may contain a URL or a URL's query.
func HoldsURL(body []byte) bool {
	var value any
	if json.Unmarshal(body, &value) != nil {
		return true
	}
	plain, err := json.Marshal(value) // decode escapes that may hide something
	text := slices.Concat(body, plain)
	return err != nil || bytes.Contains(text, []byte("://")) || bytes.ContainsRune(text, '=')
}
