package formats

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Many imports at once make and remove their folders: no one fails or takes the folder of another, and nothing stays.
func TestTempFoldersAtOnce(t *testing.T) {
	t.Parallel()
	prefix := "hogapi-test-" + uuid.NewString()
	stale, err := os.MkdirTemp("", prefix) //nolint:usetesting // where the search looks
	require.NoError(t, err)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				folder, err := newTempFolder(prefix)
				if !assert.NoError(t, err) {
					return
				}
				assert.NoError(t, os.WriteFile(filepath.Join(folder.path, "pairs"), nil, 0o600))
				assert.NoError(t, folder.lock.Check())
				assert.NoError(t, folder.remove())
			}
		})
	}
	all.Wait()
	removeStale(prefix)
	assert.NoDirExists(t, stale)
	left, err := filepath.Glob(filepath.Join(os.TempDir(), prefix+"*"))
	require.NoError(t, err)
	assert.Empty(t, left)
}
