package history

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/event"
)

func at(n int64) event.Position {
	if n == 0 {
		return event.Position{}
	}
	return event.Position{Key: "t", Offset: n}
}

func row(n int64) event.Event { return event.Event{Name: "e", Position: at(n)} }

// named has a UUID, and so may lack a position.
func named(name string, n int64) event.Event {
	return event.Event{Name: name, UUID: uuid.NewSHA1(uuid.Nil, []byte(name)), Position: at(n)}
}

func allOf(t *testing.T, read pageReader, after event.Position) (rows []event.Event, err error) {
	t.Helper()
	for r, err := range read.all(t.Context(), after) {
		if err != nil {
			return rows, err
		}
		rows = append(rows, r)
	}
	return rows, nil
}

func TestPaged(t *testing.T) {
	t.Parallel()
	table := []event.Event{row(1), row(2), row(5)}
	read := func(_ context.Context, after event.Position) ([]event.Event, event.Position, error) {
		for i, r := range table {
			if r.Position.Offset > after.Offset {
				return table[i : i+1], r.Position, nil
			}
		}
		return nil, after, nil
	}
	for after, want := range map[int64][]event.Event{0: table, 1: table[1:], 4: table[2:], 5: nil} {
		rows, err := allOf(t, read, at(after))
		require.NoError(t, err)
		assert.Equal(t, want, rows)
	}
}

// Rows without a key get the end of their page; the caller's rows are not modified.
func TestPagedWithoutKeys(t *testing.T) {
	t.Parallel()
	table := []event.Event{named("a", 0), named("b", 0)}
	given := slices.Clone(table)
	rows, err := allOf(t, pageReader(func(_ context.Context, after event.Position) ([]event.Event, event.Position, error) {
		if after == at(7) {
			return nil, at(7), nil
		}
		return given, at(7), nil
	}), at(0))
	require.NoError(t, err)
	assert.Equal(t, []event.Event{named("a", 7), named("b", 7)}, rows)
	assert.Equal(t, table, given)
}

func TestPagedThatCannotBeReliedOn(t *testing.T) {
	t.Parallel()
	page := func(upTo int64, rows ...event.Event) func(context.Context, event.Position) ([]event.Event, event.Position, error) {
		return func(context.Context, event.Position) ([]event.Event, event.Position, error) {
			return rows, at(upTo), nil
		}
	}
	for want, read := range map[string]func(context.Context, event.Position) ([]event.Event, event.Position, error){
		"the page after t@3 has events, but its end (upTo) is not after it": page(3, row(4)),
		"its end (upTo) is not after it":                                    page(0, row(4)),
		"others without":                                                    page(5, row(4), named("a", 0)),
		"neither Position nor UUID":                                         page(5, event.Event{Name: "e"}),
		"the page after t@3 has an event at the same position":              page(5, row(4), row(3)),
		"the tape broke": func(context.Context, event.Position) ([]event.Event, event.Position, error) {
			return nil, at(0), errors.New("the tape broke")
		},
		"the pages repeat: an earlier one also ended at t@5": func(_ context.Context, after event.Position) ([]event.Event, event.Position, error) {
			return nil, at(map[int64]int64{3: 4, 4: 5, 5: 4}[after.Offset]), nil
		},
	} {
		rows, err := allOf(t, read, at(3))
		require.ErrorContains(t, err, want)
		assert.Empty(t, rows, want)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("no more time"))
	for _, err := range pageReader(page(5)).all(ctx, at(0)) {
		require.ErrorContains(t, err, "no more time")
	}
}

// A circle is detected soon, for any length of the circle and the way to it. Other walks do not
// circle.
func TestCircle(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ before, around int }{{0, 1}, {0, 3}, {10, 3}, {7, 400}, {1000, 1}} {
		var c circle
		steps, n := 0, int64(0)
		for !c.isClosedBy(at(n)) {
			if n++; n == int64(tt.before+tt.around) {
				n = int64(tt.before)
			}
			steps++
		}
		assert.LessOrEqual(t, steps, 3*(tt.before+tt.around)+3)
		assert.GreaterOrEqual(t, steps, tt.around)
	}
	var c circle
	for i := range 10_000 {
		assert.False(t, c.isClosedBy(at(int64(i))))
	}
}
