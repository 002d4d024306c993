package hogapi

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/ops"
)

const pageSize = 2

// list serves the numbers from 0, pageSize a page, by offset or by cursor as the path says. Its links lead to another host,
// by http and below another prefix, as they do behind proxies.
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

// walkOptions are those of both kinds of lists.
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
		return walkByOffset[int](c, endpoint(ops.DashboardsList), lo, nil, options).All(ctx)
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
