package ledger

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// Compared with a plain slice: each pushed element comes out once, in order, and is reachable
// before.
func TestWindowAgainstSlice(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var w window
	var model []int
	pushed := 0
	for range 20_000 {
		if len(model) == 0 || random.IntN(100) < 55 {
			require.Equal(t, uint64(pushed), w.push(entry{held: pushed * 7}))
			model = append(model, pushed*7)
			pushed++
		} else {
			require.Equal(t, model[0], w.pop().held)
			model = model[1:]
		}
		require.Equal(t, len(model), w.len())
		require.Equal(t, uint64(pushed), w.next)
		require.Equal(t, uint64(pushed-len(model)), w.first)
		if len(model) > 0 {
			i := random.IntN(len(model))
			require.Equal(t, model[i], w.at(w.first+uint64(i)).held)
		}
	}
}

func TestPopLetsGo(t *testing.T) {
	var w window
	w.push(entry{row: new(row)})
	w.pop()
	require.Zero(t, w.ring[0])
}
