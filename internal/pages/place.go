package pages

import (
	"errors"
	"net/url"
	"strconv"
	"strings"

	"github.com/hogapi/hogapi/internal/mask"
)

// ErrRepeatedLink ends a walk that would loop.
var ErrRepeatedLink = errors.New("the service's link to the next page does not lead onwards")

var errHasKey = errors.New("the cursor holds an API key")

// longestCursor is far above the service's cursors of about 60 bytes.
const longestCursor = 4 << 10

// Place is the start of a page. Its zero value is the start of a list.
type Place struct {
	Offset, Limit int
	Cursor        string
}

// Set adds the place to a list's query.
func (p Place) Set(q url.Values) {
	if p.Limit > 0 {
		q.Set("limit", strconv.Itoa(p.Limit))
	}
	if p.Offset > 0 {
		q.Set("offset", strconv.Itoa(p.Offset))
	}
	if p.Cursor != "" {
		q.Set("cursor", p.Cursor)
	}
}

// ByOffset reads the offset and limit from a link.
func ByOffset(from Place, link string) (Place, error) {
	q, err := linkQuery(link)
	if err != nil {
		return Place{}, err
	}
	offset, err := strconv.Atoi(q.Get("offset"))
	if err != nil || offset < 0 {
		return Place{}, errors.New("the service's link to the next page has no offset")
	}
	if offset <= from.Offset {
		return Place{}, ErrRepeatedLink
	}
	to := Place{Offset: offset, Limit: from.Limit}
	if limit, err := strconv.Atoi(q.Get("limit")); err == nil && limit > 0 {
		to.Limit = limit
	}
	return to, nil
}

// ByCursor reads the cursor from a link.
func ByCursor(_ Place, link string) (Place, error) {
	cursor, err := CursorIn(link)
	return Place{Cursor: cursor}, err
}

// Start returns the first cursor, given a cursor or a link with one.
func Start(cursor string) (string, error) {
	if strings.Contains(cursor, "?") {
		return CursorIn(cursor)
	}
	if mask.HasKey(cursor) {
		return "", errHasKey
	}
	return cursor, nil
}

// CursorIn returns the cursor in a link.
func CursorIn(link string) (string, error) {
	q, err := linkQuery(link)
	if err != nil {
		return "", err
	}
	switch cursor := q.Get("cursor"); {
	case cursor == "":
		return "", errors.New("the service's link to the next page has no cursor")
	case mask.HasKey(cursor):
		return "", errHasKey // a server may repeat any part of a request, and errors have the cursor
	case len(cursor) > longestCursor:
		return "", errors.New("the service's link to the next page has a cursor of over 4 KiB")
	default:
		return cursor, nil
	}
}

// linkQuery returns the query of a link. It ignores the rest, above all the host.
func linkQuery(link string) (url.Values, error) {
	u, err := url.Parse(link)
	if err == nil {
		var q url.Values
		if q, err = url.ParseQuery(u.RawQuery); err == nil {
			return q, nil
		}
	}
	return nil, errors.New("the service's link to the next page cannot be read")
}
