//go:build linux && (amd64 || arm64)

package faults

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// D12. While an import runs, a second one with its files is refused at once and sends nothing. A kill of the first one releases the
// files.
func TestTwoOwners(t *testing.T) {
	t.Parallel()
	b := smallImport(t)
	begun, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	b.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		once.Do(func() { close(begun) })
		<-release
		b.server.ServeHTTP(w, r)
	})
	url, end := b.serve()
	defer end()
	goOn := sync.OnceFunc(func() { close(release) })
	defer goOn()
	task := b.Task
	task.URL = url
	owner := newImportChild(t, task)
	require.NoError(t, owner.Start())
	<-begun
	b.handler = b.server
	fastest := time.Hour
	for range 5 {
		r := b.run(t)
		require.True(t, r.Held, r.Error)
		require.Zero(t, r.Receipt.Read)
		fastest = min(fastest, r.Took)
	}
	assert.Less(t, fastest, 100*time.Millisecond)
	require.Zero(t, b.server.Ledger().Len())

	require.NoError(t, owner.Process.Kill())
	require.Error(t, owner.Wait())
	goOn()
	end()
	b.requireExact(t, b.run(t))
	t.Logf("refused after %v", fastest)
}
