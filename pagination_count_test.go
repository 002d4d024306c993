package hogapi

import (
	"testing"

	"github.com/stretchr/testify/require"
)

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
