//go:build unix

package statefile_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/durable"
	"github.com/hogapi/hogapi/internal/statefile"
)

// If its lock file is gone, a checkpoint may have a second owner: it saves nothing any more. Windows does not let the file go.
func TestCheckpointWithoutItsLock(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(lock string) error{
		"removed":  os.Remove,
		"replaced": func(lock string) error { return errors.Join(os.Remove(lock), os.WriteFile(lock, nil, 0o600)) },
	} {
		path := filepath.Join(t.TempDir(), "ckpt")
		owner := statefile.NewCheckpoint(durable.OS{}, path)
		_, err := owner.Open()
		require.NoError(t, err)
		require.NoError(t, owner.Save([]byte("old")))
		require.NoError(t, lose(path+".lock"))
		require.ErrorIs(t, owner.Save([]byte("new")), durable.ErrLockLost, name)
		second := statefile.NewCheckpoint(durable.OS{}, path)
		state, err := second.Open()
		require.NoError(t, err, "the second owner")
		assert.Equal(t, "old", string(state), "as it was before the lock was lost")
		require.NoError(t, second.Close())
	}
}
