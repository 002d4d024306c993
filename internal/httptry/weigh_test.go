package httptry

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The same text weighs more the larger the type is that it is decoded into.
func TestWeigh(t *testing.T) {
	type large struct{ Text [1000]string }
	list := func(n int) []byte { return []byte("[{}" + strings.Repeat(",{}", n-1) + "]") }
	require.NoError(t, Weigh(t.Context(), list(1000), new([]large)))
	require.NoError(t, Weigh(t.Context(), list(10_000), new([]row)))
	require.ErrorIs(t, Weigh(t.Context(), list(10_000), new([]large)), ErrTooBig)
	require.ErrorIs(t, Weigh(t.Context(), list(1_000_000), new(any)), ErrTooBig)
}

// A text within quotes weighs only its bytes, even if it contains brackets or escapes.
func TestWeighText(t *testing.T) {
	for _, text := range []string{strings.Repeat("[{,", 1<<20), strings.Repeat(`\"`, 1<<20), strings.Repeat(`\\`, 1<<20)} {
		require.NoError(t, Weigh(t.Context(), []byte(`["`+text+`"]`), new(any)))
	}
	for _, broken := range []string{`"`, `["`, `"\`, `]]}}`, ""} {
		require.NoError(t, Weigh(t.Context(), []byte(broken), new(any)), "it is for the decoder to refuse")
	}
}

func TestWeighEnds(t *testing.T) {
	deep := strings.Repeat("[", maxDepth)
	require.NoError(t, Weigh(t.Context(), []byte(deep), new(any)))
	require.ErrorContains(t, Weigh(t.Context(), []byte(deep+"["), new(any)), "nested too deeply")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errCut)
	require.ErrorIs(t, Weigh(ctx, []byte("[]"), new(any)), errCut)
}
