package formats_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats"
)

// BenchmarkSorted sorts records and reads them in their order.
func BenchmarkSorted(b *testing.B) {
	const n = 100_000
	random := rand.New(rand.NewPCG(1, 1))
	var text strings.Builder
	for i := range n {
		at := longAgo.Add(time.Duration(random.IntN(1e8)) * time.Millisecond)
		fmt.Fprintf(&text, `{"who":"u%d","at":%q,"path":"/some/page/%d"}`+"\n", random.IntN(1e5), at.Format(time.RFC3339Nano), i)
	}
	path := write(b, "orders.jsonl", text.String())
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		read := 0
		for _, err := range formats.Sorted(hogapi.FileSource(orders, path), b.TempDir()).Events(b.Context(), hogapi.Position{}) {
			require.NoError(b, err)
			read++
		}
		require.Equal(b, n, read)
	}
}
