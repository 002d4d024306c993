package hogapi

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/hogapi/hogapi/internal/mask"
)

// What the service says in a 404 that is not about the thing asked for.
const (
	noEndpoint = "Endpoint not found."
	noProject  = "Project not found."
)

// What the service says in a 403 that no scope can change.
const (
	noKeyCan   = "does not support personal api key access" // in lower case: servers differ
	notEnabled = "not enabled for this team."
)

const (
	codeThrottled            = "throttled"
	codeTooManyBackfills     = "too_many_concurrent_backfills"
	codeTooManyFileDownloads = "too_many_concurrent_file_downloads"
)

// errorBody is the service's JSON error.
type errorBody struct {
	Type, Code, Detail, Attr string

	isForeign bool // something else answered
}

// isOwn reports whether the management API has answered, and nothing in front of it.
func (b errorBody) isOwn() bool { return b.Type != "" || b.Code != "" }

// parseErrorBody reads the service's JSON error, or a short plain text. HTML and everything else
// give an empty one.
func parseErrorBody(contentType string, body []byte) errorBody {
	trimmed := bytes.TrimSpace(body)
	var raw struct{ Type, Code, Detail, Attr json.RawMessage }
	switch {
	case len(trimmed) == 0:
		return errorBody{}
	case isPage(contentType, trimmed):
		return errorBody{isForeign: true}
	case trimmed[0] != '{':
		return errorBody{Detail: mask.Clean(string(trimmed)), isForeign: !json.Valid(trimmed)}
	case json.Unmarshal(trimmed, &raw) != nil:
		return errorBody{isForeign: true}
	}
	return errorBody{
		Type: mask.Clean(jsonText(raw.Type)), Code: mask.Clean(jsonText(raw.Code)),
		Attr: mask.Clean(jsonText(raw.Attr)), Detail: mask.Clean(jsonText(raw.Detail)),
	}
}

// isPage reports whether a body is a page for people, which comes from a proxy or a portal and
// never from the service's API. The content type counts only where the body is not JSON: servers
// send an empty answer, and JSON too, under a type of HTML.
func isPage(contentType string, trimmed []byte) bool {
	if len(trimmed) == 0 || trimmed[0] == '{' || trimmed[0] == '[' {
		return false
	}
	return trimmed[0] == '<' || strings.Contains(contentType, "html") && !json.Valid(trimmed)
}

func deref(p *string) string {
	if p == nil {
		return ""
	}
	return *p
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
