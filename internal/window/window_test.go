package window

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// A plain slice is the model: whatever is pushed comes out once, in order, and is reachable until then.
func TestWindowAgainstSlice(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var w Window[int]
	var model []int
	pushed := 0
	for range 20_000 {
		if len(model) == 0 || random.IntN(100) < 55 {
			require.Equal(t, uint64(pushed), w.Push(pushed*7))
			model = append(model, pushed*7)
			pushed++
		} else {
			require.Equal(t, model[0], w.Pop())
			model = model[1:]
		}
		require.Equal(t, len(model), w.Len())
		require.Equal(t, uint64(pushed), w.Next())
		require.Equal(t, uint64(pushed-len(model)), w.First())
		if len(model) > 0 {
			i := random.IntN(len(model))
			require.Equal(t, model[i], *w.At(w.First() + uint64(i)))
		}
	}
}

func TestPopLetsGo(t *testing.T) {
	var w Window[*int]
	w.Push(new(int))
	w.Pop()
	require.Nil(t, w.ring[0])
}
