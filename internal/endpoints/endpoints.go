// Package endpoints knows the endpoints of the service: how each is called, whether a call of it may be
// repeated, and what a caller can do about an answer that is not a success.
package endpoints

import (
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/ops"
)

// Replay says whether a call may be sent again after a try whose outcome is not known.
type Replay uint8

// The classes of calls.
const (
	Default    Replay = iota // by the method, of a call that is not in the table
	Safe                     // changes nothing
	Idempotent               // leaves the same state no matter how often it is carried out
	Never                    // acts again each time
)

// Row is one endpoint.
type Row struct {
	Name   ops.Op
	Method string
	Path   string // below the project's prefix, with {parameters} and the trailing slash
	Scope  string // of the personal API key; empty where the service does not say
	Replay Replay
}

// Of is the row of an operation.
func Of(op ops.Op) Row { return rows[op] }

// All are the rows of all operations.
func All() map[ops.Op]Row { return maps.Clone(rows) }

// IDs are the ids for the parameters of a path. The nil id is refused.
func (r Row) IDs(ids []uuid.UUID) ([]string, *outgoing.Refusal) {
	var texts []string
	rest := r.Path
	for _, id := range ids {
		_, after, _ := strings.Cut(rest, "{")
		name, tail, _ := strings.Cut(after, "}")
		if id == uuid.Nil {
			return nil, outgoing.Refuse("{"+name+"}", id.String(), "an id, not the nil UUID")
		}
		texts, rest = append(texts, id.String()), tail
	}
	return texts, nil
}

// Expand puts ids into the {parameters} of the path, in order, escaped. It refuses an id that would
// leave its segment, and one that is a key.
func (r Row) Expand(ids []string) (string, *outgoing.Refusal) {
	var b strings.Builder
	rest := r.Path
	for i, id := range ids {
		before, after, _ := strings.Cut(rest, "{")
		name, tail, _ := strings.Cut(after, "}")
		fits, want := outgoing.IsPathSegment, "letters, digits, '_', '@' or '-'"
		if r.Name == ops.AppMetricsHistoricalExport && i > 0 { // a job's id has no form of its own
			fits, want = outgoing.IsOneSegment, "an id as HistoricalExports returns it"
		}
		if !fits(id) || mask.HasKey(id) {
			return "", outgoing.Refuse(name, id, want)
		}
		b.WriteString(before)
		b.WriteString(url.PathEscape(id))
		rest = tail
	}
	b.WriteString(rest)
	return b.String(), nil
}

// Custom is the row of a call that is not in the table, whose method and path are the caller's.
func Custom(method, path string, replay Replay) (Row, *outgoing.Refusal) {
	row := Row{Name: ops.Do, Method: method, Path: path, Replay: replay}
	ownClass := Never
	switch method {
	case http.MethodGet, http.MethodHead:
		ownClass = Safe
	case http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
	default:
		return row, outgoing.Refuse("Method", method, "GET, HEAD, POST, PUT, PATCH or DELETE")
	}
	if replay == Default {
		row.Replay = ownClass
	}
	if replay > Never {
		return row, outgoing.Refuse("Replay", strconv.Itoa(int(replay)), "one of the classes of this package")
	}
	below, slashed := strings.CutPrefix(path, "/")
	for segment := range strings.SplitSeq(strings.TrimSuffix(below, "/"), "/") {
		if !slashed || !outgoing.IsPathSegment(segment) || mask.HasKey(segment) {
			shown, _, _ := strings.Cut(path, "?") // a query may hold anything
			return row, outgoing.Refuse("Path", shown, `a path below the project such as "/insights/", `+
				`of letters, digits, '_', '@' and '-'; the query goes into Query`)
		}
	}
	return row, nil
}
