package hogapitest

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"time"

	"github.com/hogapi/hogapi"
)

// Call is one request that reached the server, or tried to. Its path, header and body may hold keys: a Call prints and logs
// without them.
type Call struct {
	Op     hogapi.Op // ops.Do if the package has no method for it; empty if the fake does not know it
	Method string
	Path   string
	Query  url.Values
	Header http.Header
	Body   []byte // as it came, compressed or not; nil where nothing was read
	At     time.Time

	Status    int    // of the answer; 0 without an answer
	Fault     string // the scripted fault that the call met, if any
	Delivered bool   // the whole answer was handed to the client
}

// aKey is a key in a path; older ones have no prefix.
var aKey = regexp.MustCompile(`(?i)ph[a-z]_\w*|\w{33,}`)

// String names the call without its header and body.
func (c Call) String() string {
	s := fmt.Sprintf("%s %s %s: %d", c.Op, c.Method, aKey.ReplaceAllString(c.Path, "[key]"), c.Status)
	if c.Fault != "" {
		s += " (" + c.Fault + ")"
	}
	return s
}

// Format writes String under every verb.
func (c Call) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.String()) }

// LogValue is String for slog.
func (c Call) LogValue() slog.Value { return slog.StringValue(c.String()) }

// MarshalJSON is String for JSON.
func (c Call) MarshalJSON() ([]byte, error) { return json.Marshal(c.String()) }

// Calls returns the calls of the given operations, by default of all, in the order of their arrival.
func (s *Server) Calls(op ...hogapi.Op) []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []Call
	for _, c := range s.calls {
		if len(op) == 0 || slices.Contains(op, c.Op) {
			found = append(found, *c)
		}
	}
	return found
}

// Unknown returns the requests ("GET /path") that no route of the fake knows.
func (s *Server) Unknown() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.strange)
}
