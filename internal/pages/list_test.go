package pages_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hogapi/hogapi/internal/pages"
)

const pageSize = 2

type page = pages.View[int]

// list yields the numbers from 0, pageSize a page, by offset or by cursor.
type list struct {
	items    int
	byCursor bool
	prefetch int
	latency  time.Duration
	failures map[int]error
	serve    func(at int, p *page) // changes a page
	mu       sync.Mutex
	asked    []pages.Place
	now      int
	most     int // most pages fetched at the same time
}

func (l *list) fetch(ctx context.Context, at pages.Place) (got pages.Fetched[*page]) {
	l.mu.Lock()
	l.asked = append(l.asked, at)
	l.now++
	l.most = max(l.most, l.now)
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		l.now--
		l.mu.Unlock()
	}()
	select {
	case <-ctx.Done():
		return pages.Fetched[*page]{Err: context.Cause(ctx)}
	case <-time.After(l.latency):
	}
	from := at.Offset
	if l.byCursor {
		from, _ = strconv.Atoi(strings.TrimPrefix(at.Cursor, "c"))
	}
	if err := l.failures[from]; err != nil {
		return pages.Fetched[*page]{Err: err}
	}
	p := &page{Items: []int{}}
	for n := from; n < l.items && n-from < pageSize; n++ {
		p.Items = append(p.Items, n)
	}
	if !l.byCursor {
		p.Count = l.items
	}
	if from < l.items-pageSize {
		p.Link = fmt.Sprintf("http://internal/?offset=%d&cursor=c%d&limit=%d", from+pageSize, from+pageSize, pageSize)
	}
	if l.serve != nil {
		l.serve(from, p)
	}
	return pages.Fetched[*page]{Page: p}
}

type failure struct {
	page int
	at   pages.Place
	err  error
}

func (f *failure) Error() string { return fmt.Sprintf("page %d: %v", f.page, f.err) }
func (f *failure) Unwrap() error { return f.err }

type walk = pages.Walk[int, *page]

func (l *list) walk() walk {
	w := walk{
		HasCount: !l.byCursor, Prefetch: l.prefetch, Fetch: l.fetch, View: func(p *page) page { return *p }, Next: pages.ByOffset,
		Check:  func(context.Context) error { return nil },
		Failed: func(n int, at pages.Place, err error) error { return &failure{n, at, err} },
	}
	if l.byCursor {
		w.Next = pages.ByCursor
	}
	return w
}

// walks runs a test with both kinds of lists, with and without prefetch, in virtual time. Each page takes a second.
func walks(t *testing.T, test func(t *testing.T, l *list)) {
	for _, byCursor := range []bool{false, true} {
		for _, prefetch := range []int{0, 1, 3} {
			t.Run(fmt.Sprintf("by cursor %t, prefetch %d", byCursor, prefetch), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					test(t, &list{byCursor: byCursor, prefetch: prefetch, latency: time.Second})
				})
			})
		}
	}
}

func collect[T any](seq iter.Seq2[T, error]) (items []T, last error) {
	items = []T{}
	for item, err := range seq {
		if err != nil {
			last = errors.Join(last, err) // keep a second error visible
			continue
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
