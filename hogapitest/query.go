package hogapitest

import (
	"encoding/json"
	"errors"
	"net/http"
)

// query serves POST /query/ for queries over events, from what capture has stored for the project.
func (s *Server) query(r *request) (a answer) {
	defer func() {
		switch refused := recover().(type) {
		case nil:
		case *hogError:
			a = s.queryRefused(refused)
		default:
			panic(refused)
		}
	}()
	f, refusal := readFields(r.body)
	if refusal != nil {
		return *refusal
	}
	var query struct {
		Kind   string         `json:"kind"`
		Query  string         `json:"query"`
		Values map[string]any `json:"values"`
	}
	if err := json.Unmarshal(f["query"], &query); err != nil || query.Kind != "HogQLQuery" {
		return invalid("query", "invalid_input", "The fake answers queries of the kind HogQLQuery.")
	}
	parsed := parseHogQL(query.Query, query.Values, s.era)
	events, err := s.eventsOf(r.project)
	if err != nil {
		return invalid("query", "invalid_input", err.Error())
	}
	rows, hasMore := parsed.run(events)
	if rows == nil {
		rows = [][]any{}
	}
	body := object{
		"results": rows, "columns": parsed.names, "types": parsed.types(), "hogql": query.Query, "clickhouse": "", "is_cached": false,
		"last_refresh": r.now.UTC(), "timings": []any{}, "error": nil,
	}
	if parsed.limit == 0 {
		body["hasMore"], body["limit"], body["offset"] = hasMore, hogDefaultRows, 0
	}
	return reply(http.StatusOK, body)
}

// eventsOf are the commits of a project. Duplicates are not merged.
func (s *Server) eventsOf(p *Project) (list []StoredEvent, err error) {
	b := &s.ledger
	if b.compact {
		return nil, errors.New("the fake has a compact ledger, which keeps no properties")
	}
	l := &Ledger{rows: b.rows, full: b.full, names: b.names}
	for i := range b.rows {
		if b.requests[b.rows[i].request-1].Project == p.id {
			list = append(list, l.Event(i))
		}
	}
	return list, nil
}

// queryRefused is a 400. The codes are newer than most servers.
func (s *Server) queryRefused(e *hogError) answer {
	code := e.code
	if s.era < E4 {
		code = "invalid_input"
	}
	return invalid("", code, e.detail)
}

// types are name and type of each column.
func (q *hogQuery) types() [][2]string {
	list := make([][2]string, len(q.columns))
	for i, column := range q.columns {
		kind := "String"
		switch column.text {
		case "count", "uniqExact", "countDistinct":
			kind = "UInt64"
		case "toDate":
			kind = "Date"
		case "min", "max", "timestamp", "toTimeZone", "toDateTime":
			kind = "DateTime64(6, 'UTC')"
		case "uuid", "toUUID":
			kind = "UUID"
		}
		list[i] = [2]string{q.names[i], kind}
	}
	return list
}
