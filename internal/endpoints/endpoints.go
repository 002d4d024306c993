// Package endpoints knows the endpoints of the service: their methods and paths, whether their
// calls may be repeated, and advice for unsuccessful answers.
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

// Replay says whether to repeat a call with an unknown outcome.
type Replay uint8

// Classes of calls.
const (
	Default    Replay = iota // by method, for custom calls
	Safe                     // changes nothing
	Idempotent               // repeating it leaves the same state
	Never                    // acts again each time
)

// Row is one endpoint.
type Row struct {
	Name   ops.Op
	Method string
	Path   string // below the project's prefix, with {parameters} and trailing slash
	Scope  string // of the personal API key; empty if the service declares no scope
	Replay Replay
}

// Of returns the row of an operation.
func Of(op ops.Op) Row { return rows[op] }

// All returns the rows of all operations.
func All() map[ops.Op]Row { return maps.Clone(rows) }

// IDs formats the ids for the parameters of a path. It refuses the nil id.
func (r Row) IDs(ids []uuid.UUID) ([]string, *ops.InputError) {
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

// Expand replaces the {parameters} of the path with escaped ids, in order. It refuses ids that
// would leave their segment, and keys.
func (r Row) Expand(ids []string) (string, *ops.InputError) {
	var b strings.Builder
	rest := r.Path
	for i, id := range ids {
		before, after, _ := strings.Cut(rest, "{")
		name, tail, _ := strings.Cut(after, "}")
		fits, want := outgoing.IsPathSegment, "letters, digits, '_', '@' or '-'"
		if r.Name == ops.AppMetricsHistoricalExport && i > 0 { // job ids have no fixed form
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

// Custom returns the row of a call that is not in the table, with the caller's method and path.
func Custom(method, path string, replay Replay) (Row, *ops.InputError) {
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
	if below := strings.TrimPrefix(path, "/"); below == "api" || strings.HasPrefix(below, "api/") {
		return row, outgoing.Refuse("Path", "", `a path below the project, such as "/insights/": `+
			"paths begin below the project, after /api/projects/{project_id}")
	}
	if path, _, hasQuery := strings.Cut(path, "?"); hasQuery {
		return row, outgoing.Refuse("Path", path+"?…", "a path without a query, which goes into Query") // the query may be secret
	}
	below, slashed := strings.CutPrefix(path, "/")
	for segment := range strings.SplitSeq(strings.TrimSuffix(below, "/"), "/") {
		if !slashed || !outgoing.IsPathSegment(segment) || mask.HasKey(segment) {
			return row, outgoing.Refuse("Path", path, `a path below the project that begins with a slash, such as "/insights/", `+
				`of letters, digits, '_', '@' and '-'`)
		}
	}
	return row, nil
}
