package pages

import (
	"errors"
	"net/url"
	"strconv"
	"strings"

	"github.com/hogapi/hogapi/internal/mask"
)

// ErrRepeatedLink ends a walk that would go in a circle.
var ErrRepeatedLink = errors.New("the service's link to the next page does not lead onwards")

// longestCursor is far over what the service makes, which is about 60 bytes.
const longestCursor = 4 << 10

// Place is where a page begins. Its zero value is the start of a list.
type Place struct {
	Offset, Limit int
	Cursor        string
}

// Set puts the place into a list's own query.
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

// ByOffset takes the offset and the limit out of a link.
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

// ByCursor takes the cursor out of a link.
func ByCursor(_ Place, link string) (Place, error) {
	cursor, err := CursorIn(link)
	return Place{Cursor: cursor}, err
}

// Start is the cursor to start with: a cursor as it is, or that of a link.
func Start(cursor string) (string, error) {
	if mask.HasKey(cursor) {
		return "", errors.New("this holds an API key")
	}
	if strings.Contains(cursor, "?") {
		return CursorIn(cursor)
	}
	return cursor, nil
}

// CursorIn is the cursor in a link.
func CursorIn(link string) (string, error) {
	q, err := linkQuery(link)
	if err != nil {
		return "", err
	}
	switch cursor := q.Get("cursor"); {
	case cursor == "":
		return "", errors.New("the service's link to the next page has no cursor")
	case len(cursor) > longestCursor:
		return "", errors.New("the service's link to the next page has a cursor of over 4 KiB")
	default:
		return cursor, nil
	}
}

// linkQuery is the query of a link. The rest of the link, its host above all, is not used.
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
