package hogapi

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/pages"
	"github.com/hogapi/hogapi/ops"
)

// Probe 4: another package sends its second page through another client. Headers, queries and the raw answer apply to every page.
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

// A server that ignores the offset or the cursor gives the same page forever: the walk delivers it once.
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

// A transport or hook that ends the goroutine of a page that is fetched ahead (runtime.Goexit) ends the walk there.
func TestCallerEndsTheGoroutineOfAPrefetch(t *testing.T) {
	for kind, begin := range walkers {
		for _, prefetch := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s, prefetch %d", kind, prefetch), bubble(func(t *testing.T) {
				l := &list{items: 20, latency: time.Second, serve: func(at int, _ *listPage) {
					if at >= 4 {
						runtime.Goexit()
					}
				}}
				items, err := collect(begin(t.Context(), newFakeClient(t, l), walkOptions{prefetch: prefetch}))
				require.Equal(t, upTo(4), items)
				broken := as[*PageError](t, err)
				require.ErrorContains(t, err, "Goexit")
				require.Equal(t, 3, broken.Page)
			}))
		}
	}
}

// A panic of the key source ends a walk with an error, also on the goroutine of a page that is fetched ahead.
func TestPanicOfTheKeySource(t *testing.T) {
	for kind, begin := range walkers {
		for _, prefetch := range []int{0, 3} {
			t.Run(fmt.Sprintf("%s, prefetch %d", kind, prefetch), bubble(func(t *testing.T) {
				var calls atomic.Int32
				client := newFakeClient(t, &list{items: 20, latency: time.Second}, WithPersonalKeySource(func(context.Context) (string, error) {
					if calls.Add(1) > 2 {
						panic("phx_secret")
					}
					return "phx_key", nil
				}))
				items, err := collect(begin(t.Context(), client, walkOptions{prefetch: prefetch}))
				require.Equal(t, upTo(len(items)), items)
				require.LessOrEqual(t, len(items), 4)
				require.ErrorContains(t, err, "the key source panicked at pagination_test.go:")
				require.NotContains(t, err.Error(), "phx_secret")
			}))
		}
	}
}

func TestWalkWithBadInput(t *testing.T) {
	for _, o := range []ListOptions{{Limit: -1}, {Offset: -1}, {MaxPages: -1}, {Prefetch: -1}} {
		require.ErrorIs(t, refused(ops.DashboardsList, o.check()), ErrInvalid)
	}
	for _, o := range []CursorOptions{{MaxPages: -1}, {Prefetch: -1}} {
		require.ErrorIs(t, refused(ops.RunsList, o.check()), ErrInvalid)
	}
	require.ErrorContains(t, refused(ops.DashboardsList, ListOptions{Limit: -7, Offset: -1}.check()), `Limit "-7": want 1 to 10000, or 0 for the default`)
}

// One page is one call, and its error is the call's error.
func TestOnePage(t *testing.T) {
	l := &list{items: 5}
	p, err := walkByOffset[int](newFakeClient(t, l), endpoint(ops.DashboardsList), ListOptions{Limit: 2, Offset: 2}, nil).One(t.Context())
	require.NoError(t, err)
	require.Equal(t, []int{2, 3}, p.Results)
	require.Equal(t, 5, p.Count)
	require.Equal(t, []int{2}, l.asked)

	l.status = map[int]int{2: 403}
	_, err = walkByOffset[int](newFakeClient(t, l), endpoint(ops.DashboardsList), ListOptions{Offset: 2}, nil).One(t.Context())
	require.ErrorAs(t, err, new(*APIError))
	require.Contains(t, err.Error(), "dashboard:read")
}

// FuzzNextLink: for any link, the next request goes to our own endpoint, with keys that we know, and the walk ends.
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
		page := as[*PageError](t, err)
		require.ErrorContains(t, err, "6 of 9 items")
		require.ErrorContains(t, err, "created and deleted")
		require.Equal(t, 4, page.Page)
		require.Equal(t, 6, page.Offset)
		rest, err := collect(walkers["offset"](t.Context(), newFakeClient(t, &list{items: 9}), walkOptions{resume: page}))
		require.NoError(t, err)
		require.Equal(t, []int{6, 7, 8}, rest)
	}
}

// A list of runs can be walked page by page with the link of the page before, unchanged, or with the cursor in it.
func TestCursorOfAPage(t *testing.T) {
	var asked []string
	client := newFakeClient(t, roundTrip(func(r *http.Request) (*http.Response, error) {
		asked = append(asked, r.URL.Query().Get("cursor"))
		next := map[int]string{1: `"http://internal:8000/api/projects/9/x/?ordering=x&cursor=cD0yMDI0%2B%2F%3D%3D"`, 2: `"https://us.posthog.com/?cursor=cD0yMDI1"`}[len(asked)]
		return answer(r, 200, `{"next":`+cmp.Or(next, "null")+`,"results":[]}`), nil
	}))
	page, err := client.Runs.List(t.Context(), exportA, nil)
	require.NoError(t, err)
	page, err = client.Runs.List(t.Context(), exportA, &RunListOptions{CursorOptions: CursorOptions{Cursor: *page.Next}})
	require.NoError(t, err)
	cursor, err := page.NextCursor()
	require.NoError(t, err)
	page, err = client.Runs.List(t.Context(), exportA, &RunListOptions{CursorOptions: CursorOptions{Cursor: cursor}})
	require.NoError(t, err)
	require.Equal(t, []string{"", "cD0yMDI0+/==", "cD0yMDI1"}, asked)
	cursor, err = page.NextCursor()
	require.NoError(t, err)
	require.Equal(t, CursorEnd, cursor, "a stored end differs from a beginning")
	_, err = client.Runs.List(t.Context(), exportA, &RunListOptions{CursorOptions: CursorOptions{Cursor: cursor}})
	requireInputError(t, err, "Cursor")
	for _, link := range []string{"https://x/", "https://x/?offset=3", "%zz", "?cursor=%zz", "?cursor="} {
		_, err := (&CursorPage[Run]{Next: &link}).NextCursor()
		require.Error(t, err, link)
		if strings.Contains(link, "?") {
			_, err = client.Runs.List(t.Context(), exportA, &RunListOptions{CursorOptions: CursorOptions{Cursor: link}})
			requireInputError(t, err, "Cursor")
		}
	}
	require.Len(t, asked, 3)
}

const pageSize = 2

// list serves numbers from 0, pageSize a page, by offset or by cursor. Its links lead elsewhere, as they do behind proxies.
type list struct {
	items   int
	latency time.Duration
	status  map[int]int               // of the pages that begin at these items, where it is not 200
	serve   func(at int, p *listPage) // changes a page
	mu      sync.Mutex
	asked   []int // where the pages began that were asked for
	urls    []*url.URL
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
	l.mu.Unlock()
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
	if l.serve != nil {
		l.serve(at, &p)
	}
	body, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	return answer(r, 200, string(body), "X-At", strconv.Itoa(at)), nil
}

// walkOptions are the options of both kinds of lists.
type walkOptions struct {
	maxPages, prefetch int
	resume             *PageError
}

// walker begins a walk over a list.
type walker func(context.Context, *Client, walkOptions, ...CallOption) iter.Seq2[int, error]

var walkers = map[string]walker{
	"offset": func(ctx context.Context, c *Client, o walkOptions, options ...CallOption) iter.Seq2[int, error] {
		lo := ListOptions{MaxPages: o.maxPages, Prefetch: o.prefetch}
		if o.resume != nil {
			lo.Offset = o.resume.Offset
		}
		return walkByOffset[int](c, endpoint(ops.DashboardsList), lo, options).All(ctx)
	},
	"cursor": func(ctx context.Context, c *Client, o walkOptions, options ...CallOption) iter.Seq2[int, error] {
		co := CursorOptions{MaxPages: o.maxPages, Prefetch: o.prefetch}
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
			t.Run(fmt.Sprintf("%s, prefetch %d", kind, prefetch), bubble(func(t *testing.T) {
				test(t, func(ctx context.Context, c *Client, o walkOptions, options ...CallOption) iter.Seq2[int, error] {
					o.prefetch = prefetch
					return begin(ctx, c, o, options...)
				})
			}))
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
