package hogapi

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hogapi/hogapi/internal/httptry"
	"github.com/hogapi/hogapi/internal/mask"
)

// OffsetPage is one page of a list that counts its items. Pages and All compare what they have seen
// with Count; a program that lists page by page must do that itself.
type OffsetPage[T any] struct {
	Count    int     `json:"count"`    // items of the whole list, at the time of this page
	Next     *string `json:"next"`     // the service's link to the next page; nil on the last
	Previous *string `json:"previous"` // the service's link to the page before
	Results  []T     `json:"results"`
}

// CursorPage is one page of a list that is walked by cursor. It has no count: if the service ends
// such a list too early and says that it is the end, nothing shows it.
type CursorPage[T any] struct {
	Next     *string `json:"next"` // the service's link to the next page; nil on the last
	Previous *string `json:"previous"`
	Results  []T     `json:"results"`
}

// NextCursor returns where the next page begins, for CursorOptions.Cursor. It is empty on the last
// page, and an error where the service's link cannot be read.
func (p *CursorPage[T]) NextCursor() (string, error) {
	if p.Next == nil || *p.Next == "" {
		return "", nil
	}
	return cursorIn(*p.Next)
}

// ListOptions select a part of a list that is paged by offset.
//
// Offsets count rows, so rows that are created or deleted during a walk shift the others: items can
// repeat, or be passed over. A walk that saw fewer items than the list counted ends with a
// [*PageError].
type ListOptions struct {
	Limit    int // items on a page, at most 10,000; 0 is the service's default of 100
	Offset   int // of the first item
	MaxPages int // a walk over more pages is an error; 0 means 10,000
	Prefetch int // pages fetched at the same time ahead of the reader; 0 fetches each when it is asked for
}

// CursorOptions select a part of a list that is paged by cursor.
type CursorOptions struct {
	Cursor   string // where to start: from [CursorPage.NextCursor] or a PageError, or a page's Next as it is
	MaxPages int    // a walk over more pages is an error; 0 means 10,000
	Prefetch int    // 1 or more fetches the next page while the reader works on this one
}

const defaultMaxPages = 10_000

func (o ListOptions) check(op Op) error {
	if o.Limit > httptry.MaxRows {
		return &InputError{
			Op: op, Field: "Limit", Value: strconv.Itoa(o.Limit), Want: "at most 10,000, or 0 for the service's default",
		}
	}
	return firstNegative(op, map[string]int{
		"Limit": o.Limit, "Offset": o.Offset, "MaxPages": o.MaxPages, "Prefetch": o.Prefetch,
	})
}

func (o CursorOptions) check(op Op) error {
	if _, err := o.start(); err != nil {
		return &InputError{Op: op, Field: "Cursor", Want: "a cursor, or the Next of a page: " + err.Error()}
	}
	return firstNegative(op, map[string]int{"MaxPages": o.MaxPages, "Prefetch": o.Prefetch})
}

// start is the cursor to start with, taken out of a link where one was given.
func (o CursorOptions) start() (string, error) {
	if mask.HasKey(o.Cursor) {
		return "", errors.New("this holds an API key")
	}
	if strings.Contains(o.Cursor, "?") {
		return cursorIn(o.Cursor)
	}
	return o.Cursor, nil
}

func firstNegative[T int | time.Duration](op Op, fields map[string]T) error {
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		if n := fields[field]; n < 0 {
			return &InputError{Op: op, Field: field, Value: fmt.Sprint(n), Want: "0 or more"}
		}
	}
	return nil
}

// place is where a page begins. Its zero value is the start of a list.
type place struct {
	offset, limit int
	cursor        string
}

// set puts the place into a list's own query.
func (p place) set(q url.Values) {
	if p.limit > 0 {
		q.Set("limit", strconv.Itoa(p.limit))
	}
	if p.offset > 0 {
		q.Set("offset", strconv.Itoa(p.offset))
	}
	if p.cursor != "" {
		q.Set("cursor", p.cursor)
	}
}

// page is what the pager needs of either page type.
type page[T any] interface {
	items() []T
	total() int // 0 where the page does not count
	link() *string
	after(place, string) (place, error) // the place that a link leads to
}

func (p *OffsetPage[T]) items() []T    { return p.Results }
func (p *OffsetPage[T]) total() int    { return p.Count }
func (p *OffsetPage[T]) link() *string { return p.Next }
func (p *CursorPage[T]) items() []T    { return p.Results }
func (p *CursorPage[T]) total() int    { return 0 }
func (p *CursorPage[T]) link() *string { return p.Next }

func (p *OffsetPage[T]) decodeRows(ctx context.Context, body []byte) (err error) {
	others := map[string]any{"count": &p.Count, "next": &p.Next, "previous": &p.Previous}
	p.Results, err = rowsOf[T](ctx, body, "results", others)
	return err
}

func (p *CursorPage[T]) decodeRows(ctx context.Context, body []byte) (err error) {
	p.Results, err = rowsOf[T](ctx, body, "results", map[string]any{"next": &p.Next, "previous": &p.Previous})
	return err
}

// after takes the offset and the limit out of a link.
func (*OffsetPage[T]) after(from place, link string) (place, error) {
	q, err := linkQuery(link)
	if err != nil {
		return place{}, err
	}
	offset, err := strconv.Atoi(q.Get("offset"))
	if err != nil || offset < 0 {
		return place{}, errors.New("the service's link to the next page has no offset")
	}
	if offset <= from.offset {
		return place{}, errRepeatedLink
	}
	to := place{offset: offset, limit: from.limit}
	if limit, err := strconv.Atoi(q.Get("limit")); err == nil && limit > 0 {
		to.limit = limit
	}
	return to, nil
}

func (*CursorPage[T]) after(_ place, link string) (place, error) {
	cursor, err := cursorIn(link)
	return place{cursor: cursor}, err
}

// longestCursor is far over what the service makes, which is about 60 bytes.
const longestCursor = 4 << 10

// cursorIn is the cursor in a link.
func cursorIn(link string) (string, error) {
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
