package pages_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/pages"
)

type key int

func (k key) IsZero() bool   { return k == 0 }
func (k key) String() string { return "row " + strconv.Itoa(int(k)) }

type row struct {
	key  key
	name string
}

// keyed reads pages with read. Rows with a name may lack a key.
func keyed(read func(after key) ([]row, key, error)) pages.Keyed[row, key] {
	return pages.Keyed[row, key]{
		Read:  func(_ context.Context, after key) ([]row, key, error) { return read(after) },
		KeyOf: func(r *row) (*key, bool) { return &r.key, r.name != "" },

		GoesBack: func(from, to key) bool { return to < from },
	}
}

func all(t *testing.T, k pages.Keyed[row, key], after key) (rows []row, err error) {
	t.Helper()
	for r, err := range k.All(t.Context(), after) {
		if err != nil {
			return rows, err
		}
		rows = append(rows, r)
	}
	return rows, nil
}

func TestKeyedPages(t *testing.T) {
	t.Parallel()
	table := []row{{key: 1}, {key: 2}, {key: 5}}
	read := func(after key) ([]row, key, error) {
		for i, r := range table {
			if r.key > after {
				return table[i : i+1], r.key, nil
			}
		}
		return nil, after, nil
	}
	for after, want := range map[key][]row{0: table, 1: table[1:], 4: table[2:], 5: nil} {
		rows, err := all(t, keyed(read), after)
		require.NoError(t, err)
		assert.Equal(t, want, rows)
	}
}

// Rows without a key get the end of their page; the caller's rows are not modified.
func TestKeyedPagesWithoutKeys(t *testing.T) {
	t.Parallel()
	table := []row{{name: "a"}, {name: "b"}}
	given := slices.Clone(table)
	rows, err := all(t, keyed(func(after key) ([]row, key, error) {
		if after == 7 {
			return nil, 7, nil
		}
		return given, 7, nil
	}), 0)
	require.NoError(t, err)
	assert.Equal(t, []row{{7, "a"}, {7, "b"}}, rows)
	assert.Equal(t, table, given)
}

func TestKeyedPagesThatCannotBeReliedOn(t *testing.T) {
	t.Parallel()
	page := func(upTo key, rows ...row) func(key) ([]row, key, error) {
		return func(key) ([]row, key, error) { return rows, upTo, nil }
	}
	for want, read := range map[string]func(key) ([]row, key, error){
		"the page after row 3 has events, but its end (upTo) is not after it": page(3, row{key: 4}),
		"its end (upTo) is not after it":                                      page(0, row{key: 4}),
		"others without":                                                      page(5, row{key: 4}, row{name: "a"}),
		"neither Position nor UUID":                                           page(5, row{}),
		"the page after row 3 has an event at that very position":             page(5, row{key: 4}, row{key: 3}),
		"the tape broke":                                                      func(key) ([]row, key, error) { return nil, 0, errors.New("the tape broke") },
		"the pages repeat: an earlier one also ended at row 5": func(after key) ([]row, key, error) {
			return nil, map[key]key{3: 4, 4: 5, 5: 4}[after], nil
		},
	} {
		rows, err := all(t, keyed(read), 3)
		require.ErrorContains(t, err, want)
		assert.Empty(t, rows, want)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("no more time"))
	for _, err := range keyed(page(5)).All(ctx, 0) {
		require.ErrorContains(t, err, "no more time")
	}
}
