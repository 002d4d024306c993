package hogapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
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

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/pages"
	"github.com/hogapi/hogapi/ops"
)

const pageSize = 2

// list serves the numbers from 0, pageSize a page, by offset or by cursor as the path says. Its links lead to another host,
// by http and below another prefix, as they do behind proxies.
type list struct {
	items   int
	latency time.Duration
	status  map[int]int               // of the pages that begin at these items, where it is not 200
	next    map[int]string            // their links, where they are not the right ones
	serve   func(at int, p *listPage) // changes a page
	mu      sync.Mutex
	asked   []int // where the pages began that were asked for
	urls    []*url.URL
	now     int
	most    int // requests at the same time
}

type listPage struct {
	Count   int     `json:"count"`
	Next    *string `json:"next"`
	Results []int   `json:"results"`
}

func (l *list) RoundTrip(r *http.Request) (*http.Response, error) {
	q, key, prefix := r.URL.Query(), "offset", ""
	if strings.Contains(r.URL.Path, "/runs/") {
		key, prefix = "cursor", "c"
	}
	at, _ := strconv.Atoi(strings.TrimPrefix(q.Get(key), prefix))
	l.mu.Lock()
	l.asked, l.urls = append(l.asked, at), append(l.urls, r.URL)
	l.now++
	l.most = max(l.most, l.now)
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		l.now--
		l.mu.Unlock()
	}()
	select {
	case <-r.Context().Done():
		return nil, context.Cause(r.Context())
	case <-time.After(l.latency):
	}
	if status := l.status[at]; status != 0 {
		return answer(r, status, fmt.Sprintf(`{"detail":"at %d"}`, at)), nil
	}
	p := listPage{Count: l.items, Results: []int{}}
	for n := at; n < l.items && n-at < pageSize; n++ {
		p.Results = append(p.Results, n)
	}
	if at < l.items-pageSize {
		link := fmt.Sprintf("http://internal:8000/api/projects/9/things/?%s=%s%d&limit=%d&api_key=x", key, prefix, at+pageSize, pageSize)
		p.Next = &link
	}
	if link, ok := l.next[at]; ok {
		p.Next = &link
	}
	if l.serve != nil {
		l.serve(at, &p)
	}
	body, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	return answer(r, 200, string(body), "X-At", strconv.Itoa(at)), nil
}

// walkOptions are those of both kinds of lists.
type walkOptions struct {
	from, maxPages, prefetch int
	resume                   *PageError
}

// walker begins a walk over a list.
type walker func(context.Context, *Client, walkOptions, ...CallOption) iter.Seq2[int, error]

var walkers = map[string]walker{
	"offset": func(ctx context.Context, c *Client, o walkOptions, options ...CallOption) iter.Seq2[int, error] {
		lo := ListOptions{Offset: o.from, MaxPages: o.maxPages, Prefetch: o.prefetch}
		if o.resume != nil {
			lo.Offset = o.resume.Offset
		}
		return walkByOffset[int](c, endpoint(ops.DashboardsList), lo, options).All(ctx)
	},
	"cursor": func(ctx context.Context, c *Client, o walkOptions, options ...CallOption) iter.Seq2[int, error] {
		co := CursorOptions{MaxPages: o.maxPages, Prefetch: o.prefetch}
		if o.from > 0 {
			co.Cursor = fmt.Sprintf("c%d", o.from)
		}
		if o.resume != nil {
			co.Cursor = o.resume.Cursor
		}
		return walkByCursor[int](c, endpoint(ops.RunsList, uuid.NewString()).with(url.Values{"ordering": {"-created_at"}}), co, options).All(ctx)
	},
}

// walks runs a test for both kinds of lists, without and with prefetch, in virtual time.
func walks(t *testing.T, test func(t *testing.T, walk walker)) {
	for kind, begin := range walkers {
		for _, prefetch := range []int{0, 1, 3} {
			t.Run(fmt.Sprintf("%s, prefetch %d", kind, prefetch), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					test(t, func(ctx context.Context, c *Client, o walkOptions, options ...CallOption) iter.Seq2[int, error] {
						o.prefetch = prefetch
						return begin(ctx, c, o, options...)
					})
				})
			})
		}
	}
}

// collect walks to the end.
func collect(seq iter.Seq2[int, error]) (items []int, last error) {
	items = []int{}
	for item, err := range seq {
		if err != nil {
			last = err
			continue // a second error or a further item would show
		}
		items = append(items, item)
	}
	return items, last
}

func upTo(n int) []int {
	items := make([]int, n)
	for i := range items {
		items[i] = i
	}
	return items
}

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

// Without prefetch, a page is fetched when it is asked for and not before.
func TestBreakFetchesNothingMore(t *testing.T) {
	for kind, walk := range walkers {
		l := &list{items: 100}
		for item, err := range walk(t.Context(), newFakeClient(t, l), walkOptions{}) {
			require.NoError(t, err)
			if item == 1 {
				break
			}
		}
		require.Equal(t, []int{0}, l.asked, kind)
	}
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

// Cursors that lead round in a circle are noticed, even to where the walk began.
func TestCursorCircle(t *testing.T) {
	for _, back := range []string{"?cursor=c2", "?cursor=c4"} {
		l := &list{items: 100, next: map[int]string{8: back}}
		items, err := collect(walkers["cursor"](t.Context(), newFakeClient(t, l), walkOptions{from: 2}))
		require.ErrorIs(t, err, pages.ErrRepeatedLink)
		require.Equal(t, []int{2, 3, 4, 5, 6, 7}, items)
	}
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
		items, err := collect(walkByOffset[int](newFakeClient(t, l), endpoint(ops.DashboardsList), o, nil).All(t.Context()))
		require.NoError(t, err)
		require.Equal(t, upTo(9), items)
		require.Len(t, l.asked, 5)
		require.Equal(t, "1000", l.urls[0].Query().Get("limit"))
		require.Equal(t, "2", l.urls[1].Query().Get("limit"))
	}
}

// Pages are fetched at the same time, at most so many, and delivered in order.
func TestPrefetch(t *testing.T) {
	walk := func(t *testing.T, prefetch int) (took time.Duration, l *list) {
		synctest.Test(t, func(t *testing.T) {
			l = &list{items: 50 * pageSize, latency: 50 * time.Millisecond}
			start := time.Now()
			items, err := collect(walkers["offset"](t.Context(), newFakeClient(t, l), walkOptions{prefetch: prefetch}))
			require.NoError(t, err)
			require.Equal(t, upTo(50*pageSize), items)
			require.Len(t, l.asked, 50)
			require.LessOrEqual(t, l.most, max(prefetch, 1))
			took = time.Since(start)
		})
		return took, l
	}
	alone, _ := walk(t, 0)
	require.Equal(t, 50*50*time.Millisecond, alone)
	ahead, l := walk(t, 4)
	require.Equal(t, 4, l.most)
	t.Logf("%.2f times faster", float64(alone)/float64(ahead))
	require.GreaterOrEqual(t, float64(alone)/float64(ahead), 3.2)
	one, _ := walk(t, 1)
	require.Equal(t, alone, one, "nobody works on a page here")
}

// With a cursor only the next page can be fetched ahead: while the reader works on this one.
func TestCursorPrefetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &list{items: 10 * pageSize, latency: 50 * time.Millisecond}
		start := time.Now()
		for item, err := range walkers["cursor"](t.Context(), newFakeClient(t, l), walkOptions{prefetch: 5}) {
			require.NoError(t, err)
			if item%pageSize == 0 {
				time.Sleep(50 * time.Millisecond) // the reader's work
			}
		}
		require.Equal(t, 11*50*time.Millisecond, time.Since(start))
		require.Equal(t, 1, l.most)
	})
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

// Hostile numbers in a page neither hang nor crash the walk.
func TestHostileCounts(t *testing.T) {
	const huge = int(^uint(0) >> 1)
	for _, count := range []int{huge, huge - 1, -huge - 1, -1, 0} {
		for _, offset := range []int{huge, huge/2 + 1, 3, huge - 3} {
			synctest.Test(t, func(t *testing.T) {
				l := &list{items: 4, next: map[int]string{0: fmt.Sprintf("?offset=%d", offset)}, serve: func(_ int, p *listPage) { p.Count = count }}
				items, err := collect(walkers["offset"](t.Context(), newFakeClient(t, l), walkOptions{prefetch: 3}))
				require.Equal(t, count > 4, err != nil, "%v", err)
				require.Equal(t, []int{0, 1}, items[:2])
				require.LessOrEqual(t, len(l.asked), 5)
			})
		}
	}
}

// Links that leap and then creep keep nobody busy: what lies between is not gone through one by one.
func TestHostileSteps(t *testing.T) {
	const far = int(^uint(0)>>1) / 4
	l := &list{items: 4, next: map[int]string{0: fmt.Sprintf("?offset=%d", far), far: fmt.Sprintf("?offset=%d", far+1)},
		serve: func(_ int, p *listPage) { p.Count = 4 * far }}
	items, err := collect(walkers["offset"](t.Context(), newFakeClient(t, l), walkOptions{prefetch: 3}))
	require.ErrorContains(t, err, "2 of")
	require.Equal(t, []int{0, 1}, items)
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
		require.ErrorIs(t, o.check(ops.DashboardsList), ErrInvalid)
	}
	for _, o := range []CursorOptions{{MaxPages: -1}, {Prefetch: -1}} {
		require.ErrorIs(t, o.check(ops.RunsList), ErrInvalid)
	}
	require.ErrorContains(t, ListOptions{Limit: -7, Offset: -1}.check(ops.DashboardsList), `Limit "-7": want 0 or more`)
}

// One page is one call, and its error is that of the call.
func TestOnePage(t *testing.T) {
	l := &list{items: 5}
	p, err := walkByOffset[int](newFakeClient(t, l), endpoint(ops.DashboardsList), ListOptions{Limit: 2, Offset: 2}, nil).One(t.Context())
	require.NoError(t, err)
	require.Equal(t, []int{2, 3}, p.Results)
	require.Equal(t, 5, p.Count)
	require.Equal(t, []int{2}, l.asked)

	l.status = map[int]int{2: 403}
	_, err = walkByOffset[int](newFakeClient(t, l), endpoint(ops.DashboardsList), ListOptions{Offset: 2}, nil).One(t.Context())
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
