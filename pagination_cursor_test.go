package hogapi

import (
	"fmt"
	"net/http"
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
