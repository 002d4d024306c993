package hogapitest

import (
	"encoding/base64"
	"maps"
	"net/url"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

const defaultLimit = 100

// offsetPage is limit and offset paging: a limit that is bad or 0 becomes 100, a bad offset becomes 0, and there is no maximum.
// Show is called for the items of the page only, as by cursorPage.
func offsetPage[T any](s *Server, r *request, all []T, show func(T) object) answer {
	limit, err := strconv.Atoi(r.query.Get("limit"))
	if err != nil || limit <= 0 {
		limit = defaultLimit
	}
	offset, err := strconv.Atoi(r.query.Get("offset"))
	if err != nil || offset < 0 {
		offset = 0
	}
	end := min(offset+limit, len(all))
	page := object{"count": len(all), "next": nil, "previous": nil, "results": shown(all[min(offset, end):end], show)}
	if end == offset+limit && end < len(all) {
		page["next"] = s.link(r, url.Values{"limit": {strconv.Itoa(limit)}, "offset": {strconv.Itoa(end)}})
	}
	return success(page)
}

// shown is a list as an answer has it, never null. Showing may move the items on.
func shown[T any](list []T, show func(T) object) []object {
	out := make([]object, len(list))
	for i, x := range list {
		out[i] = show(x)
	}
	return out
}

// cursorPage is cursor paging of a fixed size. A cursor names the row before the page by its key, so rows that come in meanwhile move
// nothing. Backwards reverses the rows without a copy. No page links to the one before, which the service does.
func cursorPage[T any](s *Server, r *request, rows []T, backwards bool, size int, key func(T) uuid.UUID, show func(T) object) answer {
	n := len(rows)
	row := func(i int) T {
		if backwards {
			i = n - 1 - i
		}
		return rows[i]
	}
	from := 0
	if r.query.Has("cursor") {
		before, ok := readCursor(r.query.Get("cursor"))
		if !ok {
			return notFound("Invalid cursor")
		}
		for from = 1; from < n && key(row(from-1)) != before; { // a row that is gone ends the list
			from++
		}
	}
	to := min(from+size, n)
	page := object{"next": nil, "previous": nil}
	if to < n {
		page["next"] = s.link(r, url.Values{"cursor": {cursor(key(row(to - 1)))}})
	}
	var mine []T // showing may add rows
	for i := from; i < to; i++ {
		mine = append(mine, row(i))
	}
	page["results"] = shown(mine, show)
	return success(page)
}

func cursor(key uuid.UUID) string {
	return base64.StdEncoding.EncodeToString([]byte("p=" + key.String()))
}

func readCursor(s string) (key uuid.UUID, ok bool) {
	raw, _ := base64.StdEncoding.DecodeString(s)
	text, found := strings.CutPrefix(string(raw), "p=")
	key, err := uuid.Parse(text)
	return key, found && err == nil
}

// link is the request's own URL with some query parameters replaced, as the service makes it: absolute, from the host and
// scheme that it sees, and in E4 under /api/projects.
func (s *Server) link(r *request, change url.Values) string {
	u := *r.url
	query := u.Query()
	maps.Copy(query, change)
	u.RawQuery = query.Encode()
	if s.era == E4 {
		u.Path = strings.Replace(u.Path, "/api/environments/", "/api/projects/", 1)
	}
	return u.String()
}
