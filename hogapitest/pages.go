package hogapitest

import (
	"encoding/base64"
	"net/url"
	"strconv"
	"strings"
)

const defaultLimit = 100

// offsetPage is limit and offset paging: a limit that is bad or 0 becomes 100, a bad offset becomes 0, and there is no maximum.
func (s *Server) offsetPage(r *request, count int, item func(i int) any) answer {
	limit, err := strconv.Atoi(r.query.Get("limit"))
	if err != nil || limit <= 0 {
		limit = defaultLimit
	}
	offset, err := strconv.Atoi(r.query.Get("offset"))
	if err != nil || offset < 0 {
		offset = 0
	}
	results := []any{}
	for i := offset; i < min(offset+limit, count); i++ {
		results = append(results, item(i))
	}
	page := object{"count": count, "next": nil, "previous": nil, "results": results}
	if offset+limit < count {
		page["next"] = s.link(r, url.Values{"limit": {strconv.Itoa(limit)}, "offset": {strconv.Itoa(offset + limit)}})
	}
	if offset > 0 {
		back := url.Values{"limit": {strconv.Itoa(limit)}, "offset": nil}
		if offset > limit {
			back.Set("offset", strconv.Itoa(offset-limit))
		}
		page["previous"] = s.link(r, back)
	}
	return reply(200, page)
}

// cursorPage is cursor paging of a fixed size. A cursor names the neighbour of the page by its key, so rows that come in
// meanwhile move nothing. Backwards reverses the rows without a copy. Show is called for the rows of
// the page only.
func cursorPage[T any](s *Server, r *request, rows []T, backwards bool, size int, key func(T) string, show func(T) any) answer {
	n := len(rows)
	row := func(i int) T {
		if backwards {
			i = n - 1 - i
		}
		return rows[i]
	}
	from, to := 0, min(size, n)
	if r.query.Has("cursor") {
		back, neighbour, ok := readCursor(r.query.Get("cursor"))
		if !ok {
			return notFound("Invalid cursor")
		}
		at := 0
		for at < n-1 && key(row(at)) != neighbour { // a row that is gone ends the list
			at++
		}
		if back {
			from, to = max(at-size, 0), max(at, 0)
		} else {
			from = at + 1
			to = min(from+size, n)
		}
	}
	page := object{"next": nil, "previous": nil}
	if to < n {
		page["next"] = s.link(r, url.Values{"cursor": {cursor(false, key(row(to-1)))}})
	}
	if from > 0 && from < n {
		page["previous"] = s.link(r, url.Values{"cursor": {cursor(true, key(row(from)))}})
	}
	var mine []T
	for i := from; i < to; i++ {
		mine = append(mine, row(i))
	}
	results := []any{}
	for _, x := range mine { // showing moves runs on, which may add rows
		results = append(results, show(x))
	}
	page["results"] = results
	return reply(200, page)
}

func cursor(backwards bool, key string) string {
	if backwards {
		key = "r=1&p=" + key
	} else {
		key = "p=" + key
	}
	return base64.StdEncoding.EncodeToString([]byte(key))
}

func readCursor(s string) (backwards bool, key string, ok bool) {
	raw, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return false, "", false
	}
	key, backwards = strings.CutPrefix(string(raw), "r=1&")
	key, ok = strings.CutPrefix(key, "p=")
	return backwards, key, ok && key != ""
}

// link is the request's own URL with some query parameters replaced, as the service makes it: absolute, from the host and
// scheme that it sees, and in the newest era under /api/projects.
func (s *Server) link(r *request, change url.Values) string {
	u := *r.url
	query := u.Query()
	for name, values := range change {
		delete(query, name)
		if len(values) > 0 {
			query[name] = values
		}
	}
	u.RawQuery = query.Encode()
	if s.era >= E3 {
		u.Path = strings.Replace(u.Path, "/api/environments/", "/api/projects/", 1)
	}
	return u.String()
}
