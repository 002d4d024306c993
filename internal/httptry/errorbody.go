package httptry

import (
	"bytes"
	"encoding/json"
	"net/http"

	"github.com/hogapi/hogapi/internal/mask"
)

// Texts of the service's 404s that are not about the requested object.
const (
	NoEndpoint = "Endpoint not found."
	NoProject  = "Project not found."
	BadCursor  = "Invalid cursor" // of Django REST framework, with the code not_found
)

// Texts of the service's 403s that no scope can change.
const (
	NoKeyCan   = "does not support personal api key access" // in lower case: servers differ
	NotEnabled = "not enabled for this team."

	NoKeysAllowed = "does not allow using personal API keys"
	AdminOnly     = "requires project admin access"
	NoAccess      = "access to this resource" // "You do not have … access to this resource": the access of the user
	NoPermission  = "You don't have sufficient permissions in the project"

	NotEnabledForProject = "not enabled for this project." // of data deletions
)

// Codes of the service's 429s. The last two say that too much runs at the same time, rather
// than that calls come too fast.
const (
	codeThrottled            = "throttled"
	CodeTooManyBackfills     = "too_many_concurrent_backfills"
	CodeTooManyFileDownloads = "too_many_concurrent_file_downloads"
)

// ErrorBody is the service's JSON error.
type ErrorBody struct {
	Type, Code, Detail, Attr string

	IsForeign bool // something else answered
}

// IsOwn reports whether the answer is from the management API itself, not from something in front of it.
func (b ErrorBody) IsOwn() bool { return b.Type != "" || b.Code != "" }

// ParseErrorBody reads the service's JSON error, or a short plain text. For HTML and everything else it
// returns an ErrorBody without text.
func ParseErrorBody(contentType string, body []byte) ErrorBody {
	trimmed := bytes.TrimSpace(body)
	var raw struct{ Type, Code, Detail, Attr json.RawMessage }
	switch {
	case len(trimmed) == 0:
		return ErrorBody{}
	case IsPage(contentType, trimmed):
		return ErrorBody{IsForeign: true}
	case trimmed[0] != '{':
		return ErrorBody{Detail: mask.Clean(string(trimmed)), IsForeign: !json.Valid(trimmed)}
	case json.Unmarshal(trimmed, &raw) != nil:
		return ErrorBody{IsForeign: true}
	}
	return ErrorBody{
		Type: mask.Clean(jsonText(raw.Type)), Code: mask.Clean(jsonText(raw.Code)),
		Attr: mask.Clean(jsonText(raw.Attr)), Detail: mask.Clean(jsonText(raw.Detail)),
	}
}

// jsonText returns a JSON string's text, and any other JSON as it is.
func jsonText(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// IsFull reports whether a 429 says that too much runs at the same time.
func IsFull(code string) bool {
	return code == CodeTooManyBackfills || code == CodeTooManyFileDownloads
}

// RequestID is the id that a proxy or the service gave to a request, or "".
func RequestID(h http.Header) string {
	for _, name := range []string{"X-Request-Id", "X-Correlation-Id", "Cf-Ray"} {
		if id := h.Get(name); id != "" {
			return mask.Clean(id)
		}
	}
	return ""
}
