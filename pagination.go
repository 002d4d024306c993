package hogapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"net/url"
	"slices"
	"strings"

	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/internal/httptry"
	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/internal/pages"
)

// OffsetPage is one page of a list that counts its items. Pages and All compare the number of items that they
// have seen with Count; a program that calls List for each page must do that itself.
type OffsetPage[T any] struct {
	Count    int     `json:"count"`    // items of the whole list, at the time of this page
	Next     *string `json:"next"`     // the service's link to the next page; nil on the last
	Previous *string `json:"previous"` // the service's link to the page before
	Results  []T     `json:"results"`
}

// CursorPage is one page of a list that is paged by cursor. It has no count, so if the service ends the list
// too early, nothing shows it.
type CursorPage[T any] struct {
	Next     *string `json:"next"` // the service's link to the next page; nil on the last
	Previous *string `json:"previous"`
	Results  []T     `json:"results"`
}

// CursorEnd is the result of NextCursor on the last page. It can be stored like any other cursor; a list refuses to
// start there.
const CursorEnd = "end"

// NextCursor returns the cursor of the next page, for CursorOptions.Cursor, or [CursorEnd] on the last page. The error
// says that the service's link cannot be read.
func (p *CursorPage[T]) NextCursor() (string, error) {
	if p.Next == nil || *p.Next == "" {
		return CursorEnd, nil
	}
	return pages.CursorIn(*p.Next)
}

// ListOptions selects a part of a list that is paged by offset. Rows that are created or deleted during a walk shift
// the others: a walk that saw fewer items than the list counts, or an item twice, or a falling count, ends with a
// [*PageError]; with Prefetch, any change of the count does. One row deleted and one created between two pages cannot
// be seen: where that matters, choose a Limit that takes the whole list as one page.
type ListOptions struct {
	Limit    int // items on a page, at most 10,000; 0 is the service's default of 100
	Offset   int // of the first item
	MaxPages int // a walk over more pages is an error; 0 means 10,000
	Prefetch int // pages that are fetched ahead at the same time, at most 32; 0 fetches a page when it is needed
}

// CursorOptions selects a part of a list that is paged by cursor.
type CursorOptions struct {
	Cursor   string // where to start: of [CursorPage.NextCursor], a PageError, or a page's Next; with the other options of then
	MaxPages int    // a walk over more pages is an error; 0 means 10,000
	Prefetch int    // 1 or more fetches the next page while the reader works on this one
}

// maxPrefetch bounds the calls that a walk has under way, and the pages that it holds.
const maxPrefetch = 32

func (o ListOptions) check() *InputError {
	return cmp.Or(
		outgoing.Within("Limit", o.Limit, 1, maxRows),
		outgoing.Within("Prefetch", o.Prefetch, 1, maxPrefetch),
		outgoing.Negative(map[string]int{"Offset": o.Offset, "MaxPages": o.MaxPages}),
	)
}

func (o CursorOptions) check() *InputError {
	if o.Cursor == CursorEnd {
		return outgoing.Refuse("Cursor", o.Cursor, "a cursor; the walk that stored CursorEnd is over")
	}
	if o.Cursor != "" {
		if _, err := pages.Start(o.Cursor); err != nil {
			return outgoing.Refuse("Cursor", "", "a cursor, or the Next of a page: "+err.Error())
		}
	}
	return cmp.Or(outgoing.Within("Prefetch", o.Prefetch, 1, maxPrefetch), outgoing.Within("MaxPages", o.MaxPages, 1, math.MaxInt))
}

func (p *OffsetPage[T]) decodeRows(ctx context.Context, body []byte) (err error) {
	others := map[string]any{"count": &p.Count, "next": &p.Next, "previous": &p.Previous}
	p.Results, err = rowsOf[T](ctx, body, "results", others)
	return err
}

func (p *CursorPage[T]) decodeRows(ctx context.Context, body []byte) (err error) {
	p.Results, err = rowsOf[T](ctx, body, "results", map[string]any{"next": &p.Next, "previous": &p.Previous})
	return err
}

// The walks over a list, of one page, of pages, or of all items.
type (
	offsetWalk[T any] = pages.Walk[T, *OffsetPage[T]]
	cursorWalk[T any] = pages.Walk[T, *CursorPage[T]]
)

// walkByOffset walks a list that is paged by offset. The rows' ids show whether rows have moved.
func walkByOffset[T any](c *Client, r request, o ListOptions, options []CallOption) offsetWalk[T] {
	r, fetch := pagesOf[OffsetPage[T]](c, r.refuse(o.check()), options)
	w := offsetWalk[T]{
		HasCount: true, Fetch: fetch, Next: pages.ByOffset, Check: r.check, Failed: r.failedAt,
		View: func(p *OffsetPage[T]) pages.View[T] {
			return pages.View[T]{Items: p.Results, Count: p.Count, Link: outgoing.OrDefault(p.Next)}
		},
		Start: pages.Place{Offset: o.Offset, Limit: o.Limit}, MaxPages: o.MaxPages, Prefetch: o.Prefetch,
	}
	if _, ok := any(new(T)).(identified); ok {
		w.ID = func(row *T) string { return any(row).(identified).identity() }
	}
	return w
}

func walkByCursor[T any](c *Client, r request, o CursorOptions, options []CallOption) cursorWalk[T] {
	r, fetch := pagesOf[CursorPage[T]](c, r.refuse(o.check()), options)
	cursor := o.Cursor
	if cursor != "" {
		cursor, _ = pages.Start(cursor) // checked
	}
	return cursorWalk[T]{
		Fetch: fetch, Next: pages.ByCursor, Check: r.check, Failed: r.failedAt,
		View: func(p *CursorPage[T]) pages.View[T] {
			return pages.View[T]{Items: p.Results, Link: outgoing.OrDefault(p.Next)}
		},
		Start: pages.Place{Cursor: cursor}, MaxPages: o.MaxPages, Prefetch: o.Prefetch,
	}
}

// pagesOf returns the request for a list, with an error in its options, and the function that fetches a page with an
// ordinary call. The walk checks the request once, before its first page. The caller's Reply is filled when a page is
// delivered.
func pagesOf[P any](c *Client, r request, options []CallOption) (request, func(context.Context, pages.Place) pages.Fetched[*P]) {
	cfg, err := configOf(r.op.Name, options)
	if bad, ok := errors.AsType[*InputError](err); ok {
		r = r.refuse(bad)
	}
	return r, func(ctx context.Context, at pages.Place) (got pages.Fetched[*P]) {
		query := url.Values{}
		maps.Copy(query, r.query)
		at.Set(query)
		own := cfg // pages may be fetched at the same time: each has a Reply of its own until it is delivered
		if cfg.reply != nil {
			own.reply = new(Reply)
			got.Deliver = func() { *cfg.reply = *own.reply }
		}
		page := new(P)
		got.Err = c.do(ctx, r.with(query), own, page)
		if got.Err == nil || errors.As(got.Err, new(rowErrors)) { // with rowErrors, the page is there
			got.Page = page
		}
		return got
	}
}

func (r request) failedAt(page int, at pages.Place, err error) error {
	return walkError(PageError{Op: r.op.Name, Page: page, Offset: at.Offset, Cursor: at.Cursor, Err: err})
}

// walkError returns the error that ends a walk. Bad input is refused before anything is sent, so there is no
// page to resume at.
func walkError(e PageError) error {
	if _, refused := errors.AsType[*InputError](e.Err); refused {
		return e.Err
	}
	return &e
}

func byName[T any](op Op, name string, list iter.Seq2[T, error], of func(*T) (id any, names []string)) (*T, error) {
	if name == "" {
		return nil, refused(op, outgoing.Refuse("name", "", "a name"))
	}
	var found *T
	var ids []string
	for item, err := range list {
		id, names := of(&item)
		isOther := errors.As(err, new(*RowError)) && !slices.Contains(names, name) && !slices.Contains(names, "")
		if err != nil && !isOther {
			return nil, err
		}
		if slices.Contains(names, name) {
			found = &item
			ids = append(ids, fmt.Sprint(id))
		}
	}
	switch shown := mask.Clean(name); len(ids) {
	case 0:
		return nil, errtext.Errorf("%s: %v: no item has the name %q", op, ErrNotFound, shown)
	case 1:
		return found, nil
	default:
		want := fmt.Sprintf("the id of one item: %d have this name, %s", len(ids), strings.Join(ids, " and "))
		return nil, refused(op, outgoing.Refuse("name", shown, want))
	}
}

// RowError is the error of one row of a page that can be read otherwise: its fields that cannot be decoded stay empty. All
// and AllLogs yield the row with the error at its place, and continue if the loop does.
type RowError struct {
	Index int             // of the row in the Results of its page
	Field string          // the first that stays empty; "" if the row lacks a value or is not an object
	Raw   json.RawMessage // the row as it came, with keys redacted
	Err   error           // *DecodeError
}

func (e *RowError) Error() string { return fmt.Sprint(e.Err) }

func (e *RowError) Unwrap() error { return e.Err }

// rowErrors are the errors of the rows of one page, in their order.
type rowErrors []*RowError

const maxRowTexts = 3 // of rows that an error names

func (e rowErrors) Error() string {
	var b errtext.Text
	b.Add("%v", e[0])
	for _, row := range e[1:min(len(e), maxRowTexts)] {
		b.Add("; %v", errors.Unwrap(row.Err))
	}
	b.AddIf(len(e) > maxRowTexts, "; and %d more rows", len(e)-maxRowTexts)
	return b.String()
}

func (e rowErrors) Unwrap() (all []error) {
	for _, row := range e {
		all = append(all, row)
	}
	return all
}

// At returns the row of this index and its error, or nil for a row without an error.
func (e rowErrors) At(i int) (raw []byte, err error) {
	at, found := slices.BinarySearchFunc(e, i, func(row *RowError, i int) int { return cmp.Compare(row.Index, i) })
	if !found {
		return nil, nil
	}
	return e[at].Raw, e[at]
}

func (x *exchange) rowErrorsOf(faults httptry.RowFaults, body []byte) (all rowErrors) {
	shown := x.shown(body)
	for _, f := range faults {
		all = append(all, &RowError{Index: f.Index, Field: f.Field, Raw: mask.Bytes(f.Raw, x.Keys), Err: &DecodeError{
			CallInfo: x.info(x.Number), StatusCode: x.Status,
			Err: x.masked(fmt.Errorf("row %d: %w", f.Index, f.Err)), body: shown,
		}})
	}
	return all
}

// keepRows keeps the wanted rows of a page, and rows with an error, which may be wanted.
func keepRows[T any](rows []T, err error, isWanted func(*T) bool) ([]T, error) {
	bad, isOfRows := errors.AsType[rowErrors](err)
	kept, moved := rows[:0], rowErrors{}
	for i := range rows {
		at, found := slices.BinarySearchFunc(bad, i, func(row *RowError, i int) int { return cmp.Compare(row.Index, i) })
		if found {
			here := *bad[at]
			here.Index = len(kept)
			moved = append(moved, &here)
		}
		if found || isWanted(&rows[i]) {
			kept = append(kept, rows[i])
		}
	}
	clear(rows[len(kept):])
	if isOfRows {
		err = moved
	}
	return kept, err
}
