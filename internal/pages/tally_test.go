package pages_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/pages"
)

func counted(t *testing.T, start, maxPages int, newList func() *list, check func(t *testing.T, items []int, err error)) {
	t.Helper()
	for _, prefetch := range []int{0, 3} {
		t.Run(fmt.Sprintf("prefetch %d", prefetch), func(t *testing.T) {
			w := newList().walk()
			w.Start.Offset, w.MaxPages, w.Prefetch = start, maxPages, prefetch
			items, err := collect(w.All(t.Context()))
			check(t, items, err)
		})
	}
}

// A list that ends before its count is an error, which says where the list broke off.
func TestEndBeforeTheCount(t *testing.T) {
	cut := func() *list {
		return &list{items: 9, serve: func(at int, p *page) {
			if at == 4 {
				p.Link = ""
			}
		}}
	}
	counted(t, 0, 0, cut, func(t *testing.T, items []int, err error) {
		require.Equal(t, upTo(6), items, "what came is delivered")
		var failed *failure
		require.ErrorAs(t, err, &failed)
		require.ErrorContains(t, err, "6 of 9 items")
		require.Equal(t, 4, failed.page)
		require.Equal(t, pages.Place{Offset: 6}, failed.at)
	})
}

// An error of a page that is fetched ahead, after the end of the walk, does not show.
func TestErrorBehindTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &list{items: 6, prefetch: 8, latency: time.Second, failures: map[int]error{6: errCut, 8: errCut}, serve: func(_ int, p *page) { p.Count = 100 }}
		items, err := collect(l.walk().All(t.Context()))
		require.Equal(t, upTo(6), items)
		require.ErrorContains(t, err, "6 of 100 items")
		require.NotErrorIs(t, err, errCut)
	})
}

// A page shorter than its step passes over items, even if the links continue.
func TestListWithAShortPage(t *testing.T) {
	short := func() *list {
		return &list{items: 8, serve: func(at int, p *page) {
			if at == 2 {
				p.Items = p.Items[:1]
			}
		}}
	}
	counted(t, 0, 0, short, func(t *testing.T, items []int, err error) {
		require.Equal(t, []int{0, 1, 2, 4, 5, 6, 7}, items)
		require.ErrorContains(t, err, "7 of 8 items")
	})
}

// Deleted rows move others up, past the walk, which must start again.
func TestDeletedRows(t *testing.T) {
	l := &list{items: 9}
	l.serve = func(at int, _ *page) {
		if at == 3 {
			l.items = 7
		}
	}
	w := l.walk()
	w.Start.Offset = 1
	items, err := collect(w.All(t.Context()))
	require.Equal(t, upTo(7)[1:], items)
	var failed *failure
	require.ErrorAs(t, err, &failed)
	require.ErrorContains(t, err, "(the list counted from 7 to 9)")
	require.Equal(t, pages.Place{Offset: 1}, failed.at, "what was passed over can be anywhere")
}

// A row deleted before the walk's place moves another past it, even if a created row makes up for
// it in the counts; a row created there shows a row again. With prefetch, pages arrive in any order
// of time.
func TestRowsThatMove(t *testing.T) {
	for name, tt := range map[string]struct {
		prefetch int
		pages    [][]int // the count, then the ids
		text     string
	}{
		"a row is deleted and another created": {0, [][]int{{6, 0, 1}, {5, 3, 4}, {6, 5, 6}}, "counted from 5 to 6"},
		"a row is created first":               {0, [][]int{{5, 0, 1}, {6, 1, 2}, {6, 3, 4}}, "counted from 5 to 6"},
		"equal counts, one row twice":          {0, [][]int{{6, 0, 1}, {6, 1, 2}, {6, 4, 5}}, "counted from 6 to 6"},
		"pages fetched ahead":                  {3, [][]int{{5, 0, 1}, {6, 2, 3}, {6, 4, 5}}, "counted from 5 to 6"},
	} {
		t.Run(name, func(t *testing.T) {
			l := &list{items: 6, prefetch: tt.prefetch, serve: func(at int, p *page) { p.Count, p.Items = tt.pages[at/pageSize][0], tt.pages[at/pageSize][1:] }}
			w := l.walk()
			w.ID = func(n *int) any { return *n }
			items, err := collect(w.All(t.Context()))
			require.Len(t, items, 6)
			require.ErrorContains(t, err, tt.text)
			var failed *failure
			require.ErrorAs(t, err, &failed)
			require.Equal(t, pages.Place{}, failed.at)
		})
	}
}

// Rows created after the others do not move any.
func TestRowsCreatedDuringAWalk(t *testing.T) {
	l := &list{items: 6}
	l.serve = func(at int, _ *page) {
		if at == 2 {
			l.items = 9
		}
	}
	items, err := collect(l.walk().All(t.Context()))
	require.NoError(t, err)
	require.Equal(t, upTo(9), items)
}

// Correct walks never fail: a partial walk, an empty list, a start after the end, no count, and a
// page limit that just suffices.
func TestCountsOfCorrectWalks(t *testing.T) {
	for name, tt := range map[string]struct {
		start, maxPages int
		serve           func(int, *page)
		want            []int
	}{
		"from an offset":    {4, 0, nil, []int{4, 5, 6}},
		"after the end":     {7, 0, nil, []int{}},
		"far after the end": {1000, 0, nil, []int{}},
		"enough pages":      {0, 4, nil, upTo(7)},
		"no count":          {0, 0, func(_ int, p *page) { p.Count = 0 }, upTo(7)},
		"more than counted": {0, 0, func(_ int, p *page) { p.Count = 3 }, upTo(7)},
	} {
		t.Run(name, func(t *testing.T) {
			counted(t, tt.start, tt.maxPages, func() *list { return &list{items: 7, serve: tt.serve} }, func(t *testing.T, items []int, err error) {
				require.NoError(t, err)
				require.Equal(t, tt.want, items)
			})
		})
	}
	for range (&list{items: 7}).walk().All(t.Context()) {
		break // a walk that the reader ends is not checked
	}
}

// With pages, the last page is delivered before the error.
func TestPagesBeforeTheirCount(t *testing.T) {
	l := &list{items: 5, serve: func(_ int, p *page) { p.Link = "" }}
	var got []string
	for p, err := range l.walk().Pages(t.Context()) {
		got = append(got, fmt.Sprint(p != nil, err != nil))
	}
	require.Equal(t, []string{"true false", "false true"}, got)
}
