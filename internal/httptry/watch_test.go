package httptry

import (
	"errors"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

// A request counts as unsent only with proof.
func TestUnsentNeedsAProof(t *testing.T) {
	dial := &net.OpError{Op: "dial", Err: errors.New("refused")}
	for name, tt := range map[string]struct {
		watch  func(*writeWatch)
		err    error
		unsent bool
	}{
		"no trace, some error":         {func(*writeWatch) {}, errCut, false},
		"no trace, could not dial":     {func(*writeWatch) {}, dial, true},
		"no trace, a read failed":      {func(*writeWatch) {}, &net.OpError{Op: "read", Err: errCut}, false},
		"asked for a connection":       {func(w *writeWatch) { w.asked.Store(true) }, errCut, true},
		"got one":                      {func(w *writeWatch) { w.asked.Store(true); w.got.Store(true) }, errCut, false},
		"got one, then could not dial": {func(w *writeWatch) { w.asked.Store(true); w.got.Store(true) }, dial, false},
	} {
		t.Run(name, func(t *testing.T) {
			var w writeWatch
			tt.watch(&w)
			require.Equal(t, tt.unsent, w.unsent(tt.err))
		})
	}
}
