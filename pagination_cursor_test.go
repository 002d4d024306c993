package hogapi

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/ops"
)

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
		return answer(r, 200, fmt.Sprintf(`{"next":%s,"results":[{"id":%q}]}`, next, id(n))), nil
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

// Cursors of any length are refused before they fill the memory, and so are those that come without end.
func TestLongCursors(t *testing.T) {
	const length, pages = 1 << 20, 300
	n := 0
	serve := func(size int) *Client {
		return newFakeClient(t, roundTrip(func(r *http.Request) (*http.Response, error) {
			n++
			return answer(r, 200, fmt.Sprintf(`{"next":"?cursor=%s%d","results":[]}`, strings.Repeat("c", size), n)), nil
		}))
	}
	err := last(walkByCursor[int](serve(length), endpoint(ops.RunsList, "x"), CursorOptions{MaxPages: pages}, nil).All(t.Context()))
	require.ErrorContains(t, err, "cursor of over 4 KiB")
	require.Equal(t, 1, n)

	var before, after runtime.MemStats
	for range walkByCursor[int](serve(3<<10), endpoint(ops.RunsList, "x"), CursorOptions{MaxPages: 3000}, nil).Pages(t.Context()) {
		if n == 100 || n == 3000 {
			runtime.GC()
			before = after
			runtime.ReadMemStats(&after)
		}
	}
	require.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(2<<20), "what a walk remembers of 2,900 cursors")
}
