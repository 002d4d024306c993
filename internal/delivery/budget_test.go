package delivery

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestBudget(t *testing.T) {
	b := NewBudget(Held{3, 100})
	assert.True(t, b.TryAcquire(Held{1, 60}, Held{}))
	assert.False(t, b.TryAcquire(Held{1, 60}, Held{}), "bytes")
	assert.True(t, b.TryAcquire(Held{1, 40}, Held{}))
	assert.True(t, b.TryAcquire(Held{1, 0}, Held{}))
	assert.False(t, b.TryAcquire(Held{1, 0}, Held{}), "events")
	b.Release(Held{3, 100})
	assert.True(t, b.TryAcquire(Held{5, 1000}, Held{}), "what is larger than everything is let in alone")
	assert.False(t, b.TryAcquire(Held{1, 1}, Held{}))
	assert.True(t, b.TryAcquire(Held{1, 1}, Held{5, 1000}), "who holds everything does not wait for itself")
	assert.Equal(t, Held{6, 1001}, b.Held())
	b.Hold(9)
	assert.Equal(t, Held{6, 1010}, b.Held())
}

func TestBudgetWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(Held{1, 100})
		l := &lane{wake: make(chan struct{}, 1)}
		b.serve(&Sender{lanes: []*lane{l}})
		require.NoError(t, b.Acquire(t.Context(), Held{1, 1}, Held{}))
		got := make(chan error)
		go func() { got <- b.Acquire(t.Context(), Held{1, 1}, Held{}) }()
		synctest.Wait()
		assert.True(t, b.Waiting())
		assert.Len(t, l.wake, 1, "the lanes send what lingers")
		b.Release(Held{1, 1})
		require.NoError(t, <-got)
		assert.False(t, b.Waiting())

		ctx, cancel := context.WithCancelCause(t.Context())
		go func() { got <- b.Acquire(ctx, Held{1, 1}, Held{}) }()
		synctest.Wait()
		why := errors.New("enough")
		cancel(why)
		require.ErrorIs(t, <-got, why)
		assert.Equal(t, Held{1, 1}, b.Held())
	})
}
