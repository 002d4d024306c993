package hogapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/pages"
	"github.com/hogapi/hogapi/ops"
)

func TestWalkToTheEnd(t *testing.T) {
	walks(t, func(t *testing.T, walk walker) {
		for n := range 12 {
			l := &list{items: n, latency: time.Second}
			items, err := collect(walk(t.Context(), newFakeClient(t, l), walkOptions{}))
			require.NoError(t, err)
			require.Len(t, items, n)
			require.True(t, slices.IsSorted(items))
			require.Len(t, l.asked, max((n+1)/pageSize, 1), "each page once")
		}
	})
}

// The first pages are whole, the error comes once and last, and the walk goes on from it.
func TestWalkFailsOnALaterPage(t *testing.T) {
	walks(t, func(t *testing.T, walk walker) {
		for failing := 0; failing < 8; failing += pageSize {
			l := &list{items: 8, latency: time.Second, status: map[int]int{failing: 400}}
			client := newFakeClient(t, l)
			before, err := collect(walk(t.Context(), client, walkOptions{}))
			require.Equal(t, upTo(failing), before)
			var page *PageError
			require.ErrorAs(t, err, &page)
			require.ErrorIs(t, err, ErrInvalid)
			require.Equal(t, failing/pageSize+1, page.Page)
			require.Contains(t, err.Error(), fmt.Sprintf("at %d", failing))

			l.status = nil
			after, err := collect(walk(t.Context(), client, walkOptions{resume: page}))
			require.NoError(t, err)
			require.Equal(t, upTo(8), append(before, after...))
		}
	})
}

func TestWalkBrokenOff(t *testing.T) {
	walks(t, func(t *testing.T, walk walker) {
		l := &list{items: 100, latency: time.Second}
		start := time.Now()
		for item, err := range walk(t.Context(), newFakeClient(t, l), walkOptions{}) {
			require.NoError(t, err)
			if item == 3 {
				break
			}
		}
		require.LessOrEqual(t, time.Since(start), 2*time.Second, "what was under way is not waited for")
		asked := len(l.asked)
		synctest.Wait()
		time.Sleep(time.Minute)
		require.Len(t, l.asked, asked, "nothing more is fetched")
		require.Zero(t, l.now)
	})
}

// Probes 1 and 2: two other packages begin the second walk where the first one ended, or fetch before they are ranged over.
func TestWalkTwice(t *testing.T) {
	walks(t, func(t *testing.T, walk walker) {
		l := &list{items: 5, latency: time.Second}
		seq := walk(t.Context(), newFakeClient(t, l), walkOptions{})
		synctest.Wait()
		require.Empty(t, l.asked, "nothing is fetched before the range")
		for range 3 {
			items, err := collect(seq)
			require.NoError(t, err)
			require.Equal(t, upTo(5), items)
		}
	})
}

// Probe 3: another package fetches on after its context was cancelled.
func TestWalkCancelledBetweenPages(t *testing.T) {
	reason := errors.New("stopping")
	walks(t, func(t *testing.T, walk walker) {
		l := &list{items: 100, latency: time.Second}
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		var page *PageError
		asked := 0
		for item, err := range walk(ctx, newFakeClient(t, l), walkOptions{}) {
			if err != nil {
				require.Nil(t, page, "once")
				require.ErrorAs(t, err, &page)
				require.ErrorIs(t, err, context.Canceled)
				require.ErrorIs(t, err, reason)
				continue
			}
			if item == 3 {
				synctest.Wait()
				cancel(reason)
				asked = len(l.asked)
			}
		}
		require.NotNil(t, page)
		require.Equal(t, 3, page.Page)
		require.Len(t, l.asked, asked, "nothing more is asked for")
		l.latency = 0
		rest, err := collect(walk(t.Context(), newFakeClient(t, l), walkOptions{resume: page}))
		require.NoError(t, err)
		require.Equal(t, upTo(100)[4:], rest)
	})
}

// Probe 4: another package sends its second page through another client. Headers, queries and the raw answer are those of
// every page.
func TestOptionsHoldForEveryPage(t *testing.T) {
	walks(t, func(t *testing.T, walk walker) {
		l := &list{items: 10, latency: time.Second}
		var headers []string
		var mu sync.Mutex
		transport := roundTrip(func(r *http.Request) (*http.Response, error) {
			mu.Lock()
			headers = append(headers, r.Header.Get("X-Mine")+r.URL.Query().Get("mine"))
			mu.Unlock()
			return l.RoundTrip(r)
		})
		var reply Reply
		seq := walk(t.Context(), newFakeClient(t, transport), walkOptions{},
			WithHeader("X-Mine", "a"), WithQuery(url.Values{"mine": {"b"}}), WithReply(&reply))
		for item, err := range seq {
			require.NoError(t, err)
			require.Equal(t, strconv.Itoa(item/pageSize*pageSize), reply.Header.Get("X-At"), "the raw answer is that of the page in hand")
		}
		require.Equal(t, slices.Repeat([]string{"ab"}, 5), headers)
	})
}

// A link's host, scheme, path and unknown keys never matter.
func TestLinksAreData(t *testing.T) {
	walks(t, func(t *testing.T, walk walker) {
		l := &list{items: 6}
		_, err := collect(walk(t.Context(), newFakeClient(t, l), walkOptions{}))
		require.NoError(t, err)
		for _, u := range l.urls {
			require.Equal(t, "https://us.posthog.com", u.Scheme+"://"+u.Host)
			require.True(t, strings.HasPrefix(u.Path, "/api/projects/12345/"))
			for key := range u.Query() {
				require.Contains(t, []string{"limit", "offset", "cursor", "ordering"}, key)
			}
		}
	})
}

// Links that cannot be followed are an error at their page; what was delivered before is whole and nothing comes twice.
func TestLinksThatLeadNowhere(t *testing.T) {
	for kind, links := range map[string][]string{
		"offset": {"?offset=2", "?offset=0", "?offset=-5", "?offset=x", "?offset=", "?limit=5", "http://[::1", "%zz", "?offset=%zz", "?a;b",
			"?offset=99999999999999999999", "?cursor=c4", "x"},
		"cursor": {"?cursor=c2", "?cursor=", "?offset=4", "http://[::1", "%zz", "?cursor=%zz", "?cursor=a;b", "x"},
	} {
		for _, link := range links {
			for _, prefetch := range []int{0, 2} {
				t.Run(fmt.Sprintf("%s %q, prefetch %d", kind, link, prefetch), func(t *testing.T) {
					l := &list{items: 6, next: map[int]string{2: link}}
					items, err := collect(walkers[kind](t.Context(), newFakeClient(t, l), walkOptions{prefetch: prefetch}))
					require.Equal(t, upTo(2), items)
					var page *PageError
					require.ErrorAs(t, err, &page)
					require.Equal(t, 2, page.Page)
					require.NotContains(t, strings.ReplaceAll(err.Error(), "next", ""), link)

					l.next = nil
					rest, err := collect(walkers[kind](t.Context(), newFakeClient(t, l), walkOptions{resume: page}))
					require.NoError(t, err)
					require.Equal(t, []int{2, 3, 4, 5}, rest)
				})
			}
		}
	}
}

// A server that ignores the offset or the cursor gives the same page for ever: it is delivered once.
func TestIgnoredPlace(t *testing.T) {
	walks(t, func(t *testing.T, walk walker) {
		l := &list{items: 6}
		transport := roundTrip(func(r *http.Request) (*http.Response, error) {
			r.URL.RawQuery = ""
			return l.RoundTrip(r)
		})
		items, err := collect(walk(t.Context(), newFakeClient(t, transport), walkOptions{}))
		require.Equal(t, upTo(2), items)
		require.ErrorIs(t, err, pages.ErrRepeatedLink)
	})
}

func TestPageLimit(t *testing.T) {
	walks(t, func(t *testing.T, walk walker) {
		l := &list{items: 7}
		client := newFakeClient(t, l)
		items, err := collect(walk(t.Context(), client, walkOptions{maxPages: 3}))
		require.Equal(t, upTo(6), items)
		require.ErrorIs(t, err, pages.ErrPageLimit)
		require.ErrorContains(t, err, "MaxPages")
		var page *PageError
		require.ErrorAs(t, err, &page)
		rest, err := collect(walk(t.Context(), client, walkOptions{resume: page}))
		require.NoError(t, err)
		require.Equal(t, []int{6}, rest)

		items, err = collect(walk(t.Context(), client, walkOptions{maxPages: 4}))
		require.NoError(t, err, "as many pages as allowed are no error")
		require.Equal(t, upTo(7), items)
	})
}

// A page without items that has a next one is not the end.
func TestEmptyPageGoesOn(t *testing.T) {
	walks(t, func(t *testing.T, walk walker) {
		l := &list{items: 8, serve: func(at int, p *listPage) {
			if p.Count = 4; at == 0 || at == 4 {
				p.Results = []int{}
			}
		}}
		items, err := collect(walk(t.Context(), newFakeClient(t, l), walkOptions{}))
		require.NoError(t, err)
		require.Equal(t, []int{2, 3, 6, 7}, items)
	})
}

// An empty link is the end too.
func TestEmptyLinkIsTheEnd(t *testing.T) {
	walks(t, func(t *testing.T, walk walker) {
		l := &list{items: 8, next: map[int]string{2: ""}, serve: func(_ int, p *listPage) { p.Count = 4 }}
		items, err := collect(walk(t.Context(), newFakeClient(t, l), walkOptions{}))
		require.NoError(t, err)
		require.Equal(t, upTo(4), items)
	})
}

// The server may shrink the limit: its link says the real one.
func TestServerShrinksTheLimit(t *testing.T) {
	for _, prefetch := range []int{0, 3} {
		l := &list{items: 9}
		o := ListOptions{Limit: 1000, Prefetch: prefetch}
		items, err := collect(walkByOffset[int](newFakeClient(t, l), endpoint(ops.DashboardsList), o, nil, nil).All(t.Context()))
		require.NoError(t, err)
		require.Equal(t, upTo(9), items)
		require.Len(t, l.asked, 5)
		require.Equal(t, "1000", l.urls[0].Query().Get("limit"))
		require.Equal(t, "2", l.urls[1].Query().Get("limit"))
	}
}

// An error of a page that was fetched ahead comes in its place, and one after the end of the walk not at all.
func TestPrefetchedErrorComesInItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &list{items: 20, latency: time.Second, status: map[int]int{6: 404}}
		items, err := collect(walkers["offset"](t.Context(), newFakeClient(t, l), walkOptions{prefetch: 8}))
		require.Equal(t, upTo(6), items)
		require.ErrorIs(t, err, ErrNotFound)
	})
	synctest.Test(t, func(t *testing.T) {
		l := &list{items: 6, latency: time.Second, status: map[int]int{6: 404, 8: 404}, serve: func(_ int, p *listPage) { p.Count = 100 }}
		items, err := collect(walkers["offset"](t.Context(), newFakeClient(t, l), walkOptions{prefetch: 8}))
		require.ErrorContains(t, err, "6 of 100 items")
		require.NotErrorIs(t, err, ErrNotFound)
		require.Equal(t, upTo(6), items)
	})
}

// A transport or hook that ends the goroutine of a page that is fetched ahead (runtime.Goexit) ends the walk there.
func TestCallerEndsTheGoroutineOfAPrefetch(t *testing.T) {
	for kind, begin := range walkers {
		for _, prefetch := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s, prefetch %d", kind, prefetch), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					l := &list{items: 20, latency: time.Second, serve: func(at int, _ *listPage) {
						if at >= 4 {
							runtime.Goexit()
						}
					}}
					items, err := collect(begin(t.Context(), newFakeClient(t, l), walkOptions{prefetch: prefetch}))
					require.Equal(t, upTo(4), items)
					var broken *PageError
					require.ErrorAs(t, err, &broken)
					require.ErrorContains(t, err, "Goexit")
					require.Equal(t, 3, broken.Page)
				})
			})
		}
	}
}

// Bad input reaches the caller as it is: there is no page to go on from.
func TestWalkWithBadInput(t *testing.T) {
	client := newFakeClient(t, &list{}).ForProject("no number")
	items, err := collect(walkers["offset"](t.Context(), client, walkOptions{}))
	require.Empty(t, items)
	var page *PageError
	require.False(t, errors.As(err, &page))
	require.ErrorIs(t, err, ErrInvalid)

	for _, o := range []ListOptions{{Limit: -1}, {Offset: -1}, {MaxPages: -1}, {Prefetch: -1}} {
		require.ErrorIs(t, refused(ops.DashboardsList, o.check()), ErrInvalid)
	}
	for _, o := range []CursorOptions{{MaxPages: -1}, {Prefetch: -1}} {
		require.ErrorIs(t, refused(ops.RunsList, o.check()), ErrInvalid)
	}
	require.ErrorContains(t, refused(ops.DashboardsList, ListOptions{Limit: -7, Offset: -1}.check()), `Limit "-7": want 0 or more`)
}

// One page is one call, and its error is that of the call.
func TestOnePage(t *testing.T) {
	l := &list{items: 5}
	p, err := walkByOffset[int](newFakeClient(t, l), endpoint(ops.DashboardsList), ListOptions{Limit: 2, Offset: 2}, nil, nil).One(t.Context())
	require.NoError(t, err)
	require.Equal(t, []int{2, 3}, p.Results)
	require.Equal(t, 5, p.Count)
	require.Equal(t, []int{2}, l.asked)

	l.status = map[int]int{2: 403}
	_, err = walkByOffset[int](newFakeClient(t, l), endpoint(ops.DashboardsList), ListOptions{Offset: 2}, nil, nil).One(t.Context())
	var api *APIError
	require.ErrorAs(t, err, &api)
	require.Contains(t, err.Error(), "dashboard:read")
}

// FuzzNextLink: whatever a link says, the next request goes to our own endpoint, with keys that we know, and the walk ends.
func FuzzNextLink(f *testing.F) {
	for _, link := range []string{
		"", "?offset=2", "?offset=4&limit=1", "?cursor=c2", "http://internal/?offset=2&cursor=x", "//evil/?offset=3", "https://us.posthog.com@evil/?offset=3",
		"?offset=2&offset=9", "?offset=9223372036854775807", "?offset=-1", "?offset=1e3", "?limit=-1&offset=2", "?limit=99999999999999999999&offset=2",
		"?cursor=a%00b", "?cursor=%0d%0aHost:evil", "?cursor=&offset=", "?a;b", "#?offset=2", "/../?offset=2", "http://[::1", "\x00", "?cursor=../../x",
	} {
		f.Add(link)
	}
	f.Fuzz(func(t *testing.T, link string) {
		for kind, walk := range walkers {
			l := &list{items: 3, serve: func(_ int, p *listPage) { p.Next = &link }}
			items, err := collect(walk(t.Context(), newFakeClient(t, l), walkOptions{maxPages: 3}))
			require.LessOrEqual(t, len(items), 6)
			if err != nil {
				require.NotContains(t, err.Error(), testPersonalKey)
			}
			for _, u := range l.urls {
				require.Equal(t, "https://us.posthog.com", u.Scheme+"://"+u.Host)
				require.Nil(t, u.User)
				require.True(t, strings.HasPrefix(u.Path, "/api/projects/12345/"), u.Path)
				for key := range u.Query() {
					require.Contains(t, map[string][]string{"offset": {"limit", "offset"}, "cursor": {"cursor", "ordering"}}[kind], key)
				}
			}
		}
	})
}

// A list that ends before its count is reached is not complete, and says where it broke off.
func TestListThatEndsBeforeItsCount(t *testing.T) {
	cut := func() *list {
		return &list{items: 9, serve: func(at int, p *listPage) {
			if at == 4 {
				p.Next = nil
			}
		}}
	}
	for _, prefetch := range []int{0, 3} {
		items, err := collect(walkers["offset"](t.Context(), newFakeClient(t, cut()), walkOptions{prefetch: prefetch}))
		require.Equal(t, upTo(6), items, "what came is delivered")
		var page *PageError
		require.ErrorAs(t, err, &page)
		require.ErrorContains(t, err, "6 of 9 items")
		require.ErrorContains(t, err, "created and deleted")
		require.Equal(t, 4, page.Page)
		require.Equal(t, 6, page.Offset)
		rest, err := collect(walkers["offset"](t.Context(), newFakeClient(t, &list{items: 9}), walkOptions{resume: page}))
		require.NoError(t, err)
		require.Equal(t, []int{6, 7, 8}, rest)
	}
}

// Rows that are deleted while a list is walked move the others up, past the walk. That is said, and the walk has to begin again.
func TestRowsDeletedDuringAWalk(t *testing.T) {
	l := &list{items: 8}
	l.serve = func(at int, _ *listPage) {
		if at == 2 { // two rows of the first page are deleted after this one was read: what was at 4 and 5 is never seen
			l.items = 6
		}
	}
	items, err := collect(walkers["offset"](t.Context(), newFakeClient(t, l), walkOptions{}))
	require.Equal(t, upTo(6), items)
	var page *PageError
	require.ErrorAs(t, err, &page)
	require.ErrorContains(t, err, "created or deleted during the walk (the list counted from 6 to 8)")
	require.Zero(t, page.Offset, "what was passed over can be anywhere")
}

// A list of runs can be walked page by page with what the page before says: its link as it is, or the cursor in it.
func TestCursorOfAPage(t *testing.T) {
	id := func(n int) string { return fmt.Sprintf("0190f3c0-0000-7000-8000-%012d", n+1) }
	var asked []string
	client := newFakeClient(t, roundTrip(func(r *http.Request) (*http.Response, error) {
		cursor := r.URL.Query().Get("cursor")
		asked = append(asked, cursor)
		at := map[string]int{"": 0, "cD0yMDI0+/==": 1, "cD0yMDI1": 2}
		n, known := at[cursor]
		if !known {
			return answer(r, 404, `{"type":"invalid_request","code":"not_found","detail":"Invalid cursor"}`), nil
		}
		next := []string{`"http://internal:8000/api/projects/9/x/?ordering=x&cursor=cD0yMDI0%2B%2F%3D%3D"`, `"https://us.posthog.com/?cursor=cD0yMDI1"`, "null"}[n]
		return answer(r, 200, fmt.Sprintf(`{"next":%s,"results":[{"id":%q,"status":"Running"}]}`, next, id(n))), nil
	}))
	for name, next := range map[string]func(*CursorPage[Run]) string{
		"link": func(p *CursorPage[Run]) string { return *p.Next },
		"cursor": func(p *CursorPage[Run]) string {
			cursor, err := p.NextCursor()
			require.NoError(t, err)
			return cursor
		},
	} {
		var got []string
		for cursor, more := "", true; more; {
			page, err := client.Runs.List(t.Context(), exportA, &RunListOptions{CursorOptions: CursorOptions{Cursor: cursor}})
			require.NoError(t, err, name)
			got = append(got, page.Results[0].ID.String())
			if more = page.Next != nil; more {
				cursor = next(page)
			}
		}
		require.Equal(t, []string{id(0), id(1), id(2)}, got, name)
		require.Equal(t, []string{"", "cD0yMDI0+/==", "cD0yMDI1"}, asked, name)
		asked = nil
	}

	end := &CursorPage[Run]{}
	cursor, err := end.NextCursor()
	require.NoError(t, err)
	require.Empty(t, cursor)
	for _, link := range []string{"https://x/", "https://x/?offset=3", "%zz", "?cursor=%zz", "?cursor="} {
		end.Next = &link
		_, err := end.NextCursor()
		require.Error(t, err, link)
		if strings.Contains(link, "?") {
			_, err = client.Runs.List(t.Context(), exportA, &RunListOptions{CursorOptions: CursorOptions{Cursor: link}})
			requireInputError(t, err, "Cursor")
		}
	}
	require.Empty(t, asked)
}

// A cursor of any length is refused before it fills the memory.
func TestLongCursors(t *testing.T) {
	n := 0
	client := newFakeClient(t, roundTrip(func(r *http.Request) (*http.Response, error) {
		n++
		return answer(r, 200, fmt.Sprintf(`{"next":"?cursor=%s%d","results":[]}`, strings.Repeat("c", 1<<20), n)), nil
	}))
	err := last(walkByCursor[int](client, endpoint(ops.RunsList, "x"), CursorOptions{}, nil).All(t.Context()))
	require.ErrorContains(t, err, "cursor of over 4 KiB")
	require.Equal(t, 1, n)
}
