package pages_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/pages"
)

var errCut = errors.New("the connection was cut")

// Nothing is fetched before the range, and a sequence can be walked again.
func TestEveryPageOnce(t *testing.T) {
	walks(t, func(t *testing.T, l *list) {
		for n := range 12 {
			l.items, l.asked = n, nil
			seq := l.walk().All(t.Context())
			require.Empty(t, l.asked)
			for range 2 {
				l.asked = nil
				items, err := collect(seq)
				require.NoError(t, err)
				require.Equal(t, upTo(n), items)
				require.Len(t, l.asked, max((n+1)/pageSize, 1))
			}
			whole := l.walk().Pages(t.Context())
			for range 2 {
				for _, err := range whole {
					require.NoError(t, err)
				}
			}
		}
	})
}

// An error comes once, with the place of its page, and a walk that starts there reads the rest.
func TestResumeAtAFailedPage(t *testing.T) {
	walks(t, func(t *testing.T, l *list) {
		l.items, l.failures = 9, map[int]error{4: errCut}
		w := l.walk()
		before, err := collect(w.All(t.Context()))
		require.Equal(t, upTo(4), before)
		var failed *failure
		require.ErrorAs(t, err, &failed)
		require.ErrorIs(t, err, errCut)
		require.Equal(t, 3, failed.page)

		l.failures = nil
		w.Start = failed.at
		after, err := collect(w.All(t.Context()))
		require.NoError(t, err)
		require.Equal(t, upTo(9), append(before, after...))
	})
}

// A prefetched page is delivered in its turn; a page that is not delivered has no effect.
func TestDelivery(t *testing.T) {
	walks(t, func(t *testing.T, l *list) {
		l.items = 20
		w := l.walk()
		var delivered []int
		w.Fetch = func(ctx context.Context, at pages.Place) pages.Fetched[*page] {
			got := l.fetch(ctx, at)
			got.Deliver = func() { delivered = append(delivered, got.Page.Items[0]) }
			return got
		}
		n := 0
		for p, err := range w.Pages(t.Context()) {
			require.NoError(t, err)
			require.Equal(t, p.Items[0], delivered[n])
			if n++; n == 3 {
				synctest.Wait() // the prefetch is under way
				break
			}
			time.Sleep(time.Minute)
		}
		require.Equal(t, []int{0, 2, 4}, delivered)
		require.Zero(t, l.now, "no fetch is left when the walk is over")
		if l.prefetch == 0 {
			require.Len(t, l.asked, 3, "a page is fetched when it is asked for and not before")
		}
	})
}

// An ended context ends the walk, even if pages are prefetched.
func TestEndedContext(t *testing.T) {
	walks(t, func(t *testing.T, l *list) {
		l.items = 20
		w := l.walk()
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		n := 0
		for _, err := range w.Pages(ctx) {
			if n++; n == 1 {
				time.Sleep(time.Minute)
				cancel(errCut)
				continue
			}
			require.ErrorIs(t, err, errCut)
		}
		require.Equal(t, 2, n)
	})
}

// A page without items that has a next one is not the end.
func TestEmptyPageGoesOn(t *testing.T) {
	walks(t, func(t *testing.T, l *list) {
		l.items, l.serve = 8, func(at int, p *page) {
			if p.Count = 4; at == 0 || at == 4 {
				p.Items = nil
			}
		}
		items, err := collect(l.walk().All(t.Context()))
		require.NoError(t, err)
		require.Equal(t, []int{2, 3, 6, 7}, items)
	})
}

func TestRefusedWalk(t *testing.T) {
	l := &list{items: 4}
	w := l.walk()
	w.Check = func(context.Context) error { return errCut }
	items, err := collect(w.All(t.Context()))
	require.Empty(t, items)
	require.EqualError(t, err, errCut.Error(), "as it is, and once")
	require.Empty(t, l.asked)
}

// Cursors in a circle are detected, even if the circle includes the start.
func TestCursorCircle(t *testing.T) {
	for _, back := range []string{"?cursor=c2", "?cursor=c4"} {
		l := &list{items: 100, byCursor: true, serve: func(at int, p *page) {
			if at == 8 {
				p.Link = back
			}
		}}
		w := l.walk()
		w.Start.Cursor = "c2"
		items, err := collect(w.All(t.Context()))
		require.ErrorIs(t, err, pages.ErrRepeatedLink)
		require.Equal(t, []int{2, 3, 4, 5, 6, 7}, items)
	}
}

func TestMostPages(t *testing.T) {
	l := &list{items: 7}
	w := l.walk()
	w.MaxPages = 3
	items, err := collect(w.All(t.Context()))
	require.Equal(t, upTo(6), items)
	require.ErrorIs(t, err, pages.ErrPageLimit)
	w.MaxPages = 4
	_, err = collect(w.All(t.Context()))
	require.NoError(t, err, "as many pages as allowed are no error")

	endless := &list{items: 1 << 30}
	_, err = collect(endless.walk().All(t.Context()))
	require.ErrorIs(t, err, pages.ErrPageLimit)
	require.Len(t, endless.asked, 10_000)
}

// A walk needs little memory for long cursors.
func TestMemoryOfCursors(t *testing.T) {
	n := 0
	l := &list{items: 4, byCursor: true, serve: func(_ int, p *page) {
		n++
		p.Link = fmt.Sprintf("?cursor=%s%d", strings.Repeat("c", 3<<10), n)
	}}
	w := l.walk()
	w.MaxPages = 3000
	w.Fetch = func(ctx context.Context, at pages.Place) pages.Fetched[*page] {
		l.asked = nil
		return l.fetch(ctx, at)
	}
	var before, after runtime.MemStats
	for range w.Pages(t.Context()) {
		if n == 100 || n == 3000 {
			runtime.GC()
			before = after
			runtime.ReadMemStats(&after)
		}
	}
	require.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(2<<20), "of 2,900 cursors")
}

// Pages are fetched at the same time, up to a limit, and delivered in order.
func TestPrefetch(t *testing.T) {
	read := func(t *testing.T, prefetch int) (took time.Duration, l *list) {
		synctest.Test(t, func(t *testing.T) {
			l = &list{items: 50 * pageSize, prefetch: prefetch, latency: 50 * time.Millisecond}
			start := time.Now()
			items, err := collect(l.walk().All(t.Context()))
			require.NoError(t, err)
			require.Equal(t, upTo(50*pageSize), items)
			require.Len(t, l.asked, 50)
			require.LessOrEqual(t, l.most, max(prefetch, 1))
			took = time.Since(start)
		})
		return took, l
	}
	alone, _ := read(t, 0)
	require.Equal(t, 50*50*time.Millisecond, alone)
	ahead, l := read(t, 4)
	require.Equal(t, 4, l.most)
	require.GreaterOrEqual(t, float64(alone)/float64(ahead), 3.2)
	one, _ := read(t, 1)
	require.Equal(t, alone, one, "nobody works on a page here")
}

// With a cursor only the next page can be prefetched, while the reader works.
func TestCursorPrefetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &list{items: 10 * pageSize, byCursor: true, prefetch: 5, latency: 50 * time.Millisecond}
		start := time.Now()
		for _, err := range l.walk().Pages(t.Context()) {
			require.NoError(t, err)
			time.Sleep(50 * time.Millisecond) // the reader's work
		}
		require.Equal(t, 11*50*time.Millisecond, time.Since(start))
		require.Equal(t, 1, l.most)
	})
}

// Hostile numbers in a page neither hang nor crash the walk.
func TestHostileCounts(t *testing.T) {
	const huge = int(^uint(0) >> 1)
	for _, count := range []int{huge, huge - 1, -huge - 1, -1, 0} {
		for _, offset := range []int{huge, huge/2 + 1, 3, huge - 3} {
			synctest.Test(t, func(t *testing.T) {
				l := &list{items: 4, prefetch: 3, serve: func(at int, p *page) {
					if p.Count = count; at == 0 {
						p.Link = fmt.Sprintf("?offset=%d", offset)
					}
				}}
				items, err := collect(l.walk().All(t.Context()))
				require.Equal(t, count > 4, err != nil, "%v", err)
				require.Equal(t, []int{0, 1}, items[:2])
				require.LessOrEqual(t, len(l.asked), 5)
			})
		}
	}
}

// Links that leap and then creep do not keep the walk busy with the pages between.
func TestHostileSteps(t *testing.T) {
	const far = int(^uint(0)>>1) / 4
	l := &list{items: 4, prefetch: 3, serve: func(at int, p *page) {
		switch p.Count = 4 * far; at {
		case 0:
			p.Link = fmt.Sprintf("?offset=%d", far)
		case far:
			p.Link = fmt.Sprintf("?offset=%d", far+1)
		}
	}}
	items, err := collect(l.walk().All(t.Context()))
	require.ErrorContains(t, err, "2 of")
	require.Equal(t, []int{0, 1}, items)
}

// The server may lower the limit: its link has the real one.
func TestPlaceOfALink(t *testing.T) {
	from := pages.Place{Offset: 2, Limit: 1000}
	to, err := pages.ByOffset(from, "http://x/?offset=4&limit=2&cursor=c")
	require.NoError(t, err)
	require.Equal(t, pages.Place{Offset: 4, Limit: 2}, to)
	q := url.Values{}
	to.Set(q)
	require.Equal(t, "limit=2&offset=4", q.Encode())
	for _, limit := range []string{"", "&limit=-1", "&limit=99999999999999999999"} {
		to, err = pages.ByOffset(from, "?offset=4"+limit)
		require.NoError(t, err)
		require.Equal(t, pages.Place{Offset: 4, Limit: 1000}, to)
	}
	for _, link := range []string{"?offset=2", "?offset=0"} {
		_, err = pages.ByOffset(from, link)
		require.ErrorIs(t, err, pages.ErrRepeatedLink)
	}
	for _, link := range []string{"?offset=-5", "?offset=x", "?offset=", "?offset=99999999999999999999", "?cursor=c4", "no query", "?limit=5", "http://[::1", "%zz", "?offset=%zz", "?a;b"} {
		_, err = pages.ByOffset(from, link)
		require.ErrorContains(t, err, "the service's link to the next page")
		require.NotContains(t, err.Error(), link)
	}
	to, err = pages.ByCursor(from, "http://x/?offset=4&cursor=a%2B%3D")
	require.NoError(t, err)
	require.Equal(t, pages.Place{Cursor: "a+="}, to)
	for _, link := range []string{"?offset=2", "?cursor=", "?cursor=%zz", "?cursor=a;b", "http://[::1", "%zz", "no query", "?cursor=" + strings.Repeat("c", 4<<10+1)} {
		_, err = pages.ByCursor(from, link)
		require.ErrorContains(t, err, "the service's link to the next page")
	}
}

func TestStart(t *testing.T) {
	t.Parallel()
	for from, want := range map[string]string{"": "", "abc": "abc", "https://example.com/?a=1&cursor=abc": "abc"} {
		cursor, err := pages.Start(from)
		require.NoError(t, err, from)
		require.Equal(t, want, cursor)
	}
	for _, from := range []string{"phx_0123456789abcdef", "?a=1"} {
		_, err := pages.Start(from)
		require.Error(t, err, from)
		require.NotContains(t, err.Error(), "0123456789abcdef")
	}
}

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
	w := cut().walk()
	w.Start.Offset = 2
	_, err := collect(w.All(t.Context()))
	var failed *failure
	require.ErrorAs(t, err, &failed)
	require.Equal(t, pages.Place{Offset: 6}, failed.at, "a walk that does not begin at the start")
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
			w.ID = func(n *int) string { return strconv.Itoa(*n) }
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

func TestAWalkThatCannotBegin(t *testing.T) {
	rows, err := collect(pages.Failed[int](errCut))
	require.Empty(t, rows)
	require.ErrorIs(t, err, errCut)
}
