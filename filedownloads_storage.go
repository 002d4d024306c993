package hogapi

import (
	"bytes"
	"encoding/json"
	"slices"
)

// hideLocation takes out of an answer, whatever its status, what can be the place that it leads to:
// a signed URL, which is a secret. Of the body only the service's own words remain.
func (x *exchange) hideLocation() {
	a := x.answer
	if _, leads := a.Header["Location"]; leads {
		a.Header = a.Header.Clone()
		a.Header.Set("Location", redacted)
	}
	hasFailed := !isSuccess(a.StatusCode) && !x.isRedirected(a.StatusCode)
	if !hasFailed || !x.problem.isOwn() || holdsURL(a.Body) {
		a.Body, x.problem = nil, errorBody{isForeign: x.problem.isForeign}
	}
}

// holdsURL reports JSON that can hold a URL, or the query of one.
func holdsURL(body []byte) bool {
	var value any
	if json.Unmarshal(body, &value) != nil {
		return true
	}
	plain, err := json.Marshal(value) // without escapes that hide something
	text := slices.Concat(body, plain)
	return err != nil || bytes.Contains(text, []byte("://")) || bytes.ContainsRune(text, '=')
}
