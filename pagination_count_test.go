package hogapi

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/ops"
)

// offsetWalks collects a list that counts, without and with prefetch.
func offsetWalks(t *testing.T, o ListOptions, newList func() *list, check func(t *testing.T, items []int, err error)) {
	t.Helper()
	for _, prefetch := range []int{0, 3} {
		t.Run(fmt.Sprintf("prefetch %d", prefetch), func(t *testing.T) {
			o.Prefetch = prefetch
			items, err := collect(walkByOffset[int](newFakeClient(t, newList()), endpoint(ops.DashboardsList), o, nil).All(t.Context()))
			check(t, items, err)
		})
	}
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
	offsetWalks(t, ListOptions{}, cut, func(t *testing.T, items []int, err error) {
		require.Equal(t, upTo(6), items, "what came is delivered")
		var page *PageError
		require.ErrorAs(t, err, &page)
		require.ErrorContains(t, err, "6 of 9 items")
		require.ErrorContains(t, err, "created and deleted")
		require.Equal(t, 4, page.Page)
		require.Equal(t, 6, page.Offset)
		rest, err := collect(walkByOffset[int](newFakeClient(t, &list{items: 9}), endpoint(ops.DashboardsList), ListOptions{Offset: page.Offset}, nil).All(t.Context()))
		require.NoError(t, err)
		require.Equal(t, []int{6, 7, 8}, rest)
	})
}

// A page with fewer items than its place in the list has passes some over, although the links lead on.
func TestListWithAShortPage(t *testing.T) {
	short := func() *list {
		return &list{items: 8, serve: func(at int, p *listPage) {
			if at == 2 {
				p.Results = p.Results[:1]
			}
		}}
	}
	offsetWalks(t, ListOptions{}, short, func(t *testing.T, items []int, err error) {
		require.Equal(t, []int{0, 1, 2, 4, 5, 6, 7}, items)
		require.ErrorContains(t, err, "7 of 8 items")
	})
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

// Rows that are created meanwhile can repeat others. That is no reason to fail.
func TestRowsCreatedDuringAWalk(t *testing.T) {
	l := &list{items: 6}
	l.serve = func(at int, _ *listPage) {
		if at == 2 {
			l.items = 9
		}
	}
	items, err := collect(walkers["offset"](t.Context(), newFakeClient(t, l), walkOptions{}))
	require.NoError(t, err)
	require.Equal(t, upTo(9), items)
}

// No correct walk fails: of a part, of nothing, after the end, without a count, with a page limit that is just enough.
func TestCountsOfCorrectWalks(t *testing.T) {
	uncounted := func(_ int, p *listPage) { p.Count = 0 }
	for name, tt := range map[string]struct {
		o     ListOptions
		serve func(int, *listPage)
		want  []int
	}{
		"from an offset":    {ListOptions{Offset: 4}, nil, []int{4, 5, 6}},
		"after the end":     {ListOptions{Offset: 7}, nil, []int{}},
		"far after the end": {ListOptions{Offset: 1000}, nil, []int{}},
		"enough pages":      {ListOptions{MaxPages: 4}, nil, upTo(7)},
		"no count":          {ListOptions{}, uncounted, upTo(7)},
		"more than counted": {ListOptions{}, func(_ int, p *listPage) { p.Count = 3 }, upTo(7)},
	} {
		t.Run(name, func(t *testing.T) {
			offsetWalks(t, tt.o, func() *list { return &list{items: 7, serve: tt.serve} }, func(t *testing.T, items []int, err error) {
				require.NoError(t, err)
				require.Equal(t, tt.want, items)
			})
		})
	}
	for range walkByOffset[int](newFakeClient(t, &list{items: 7}), endpoint(ops.DashboardsList), ListOptions{}, nil).All(context.Background()) {
		break // and a walk that the reader ends is not checked
	}
}

// Of pages, the last one is delivered before the error.
func TestPagesBeforeTheirCount(t *testing.T) {
	l := &list{items: 5, serve: func(_ int, p *listPage) { p.Next = nil }}
	var got []string
	for p, err := range walkByOffset[int](newFakeClient(t, l), endpoint(ops.DashboardsList), ListOptions{}, nil).Pages(t.Context()) {
		got = append(got, fmt.Sprint(p != nil, err != nil))
	}
	require.Equal(t, []string{"true false", "false true"}, got)
}
