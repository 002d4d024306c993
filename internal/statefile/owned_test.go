//go:build unix

package statefile_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/durable"
	"github.com/hogapi/hogapi/internal/engine"
	"github.com/hogapi/hogapi/internal/statefile"
	"github.com/hogapi/hogapi/ops"
)

// A file that cannot be owned is refused at once and stays as it is: a pipe would hang, and a hard link would have two owners.
func TestFilesThatCannotBeOwned(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		make func(path string) error
		want string
	}{
		"FIFO": {func(path string) error { return syscall.Mkfifo(path, 0o600) }, "not a regular file"},
		"link to a FIFO": {func(path string) error {
			return errors.Join(syscall.Mkfifo(path+".pipe", 0o600), os.Symlink(path+".pipe", path))
		}, "not a regular file"},
		"folder":    {func(path string) error { return os.Mkdir(path, 0o700) }, "not a regular file"},
		"device":    {func(path string) error { return os.Symlink("/dev/null", path) }, "not a regular file"},
		"hard link": {func(path string) error { return errors.Join(os.WriteFile(path, nil, 0o600), os.Link(path, path+"2")) }, "hard links"},
		"link to one": {func(path string) error {
			return errors.Join(os.WriteFile(path+"1", nil, 0o600), os.Link(path+"1", path+"2"), os.Symlink(path+"2", path))
		}, "hard links"},
		"lock is a link": {func(path string) error { return os.Symlink(path+".elsewhere", path+".lock") }, "symbolic link"},
		"lock is a loop": {func(path string) error { return os.Symlink(path+".lock", path+".lock") }, "symbolic link"},
		"lock is the log": {func(path string) error {
			return errors.Join(os.WriteFile(path+".log", []byte("mine"), 0o600), os.Symlink(path+".log", path+".lock"))
		}, "symbolic link"},
	} {
		path := filepath.Join(t.TempDir(), "file")
		require.NoError(t, tt.make(path))
		_, err := statefile.NewCheckpoint(durable.OS{}, path).Open(t.Context())
		require.ErrorContains(t, err, tt.want, name)
		require.ErrorContains(t, engine.NewRejects(durable.OS{}, path).Open(), tt.want, name)
		assert.NoFileExists(t, path+".elsewhere", "nothing is made through a link")
	}
}

// A hard link that is made to a checkpoint does not give it a second owner.
func TestHardLinkToACheckpoint(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ckpt")
	link := path + ".link"
	owner, _ := opened(t, durable.OS{}, path)
	require.NoError(t, owner.Save(t.Context(), []byte("{}")))
	require.NoError(t, owner.Close())
	require.NoError(t, os.Link(path, link))
	for _, name := range []string{path, link} {
		_, err := statefile.NewCheckpoint(durable.OS{}, name).Open(t.Context())
		require.ErrorAs(t, err, new(*ops.InputError))
	}
	require.NoError(t, os.Remove(link))
	_, err := owner.Open(t.Context())
	require.NoError(t, err)
	require.NoError(t, owner.Close())
}

// If its lock file is gone, a checkpoint may have a second owner: it saves nothing any more. Windows does not let the file go.
func TestCheckpointWithoutItsLock(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(lock string) error{
		"removed":  os.Remove,
		"replaced": func(lock string) error { return errors.Join(os.Remove(lock), os.WriteFile(lock, nil, 0o600)) },
	} {
		path := filepath.Join(t.TempDir(), "ckpt")
		owner, _ := opened(t, durable.OS{}, path)
		require.NoError(t, owner.Save(t.Context(), []byte("old")))
		require.NoError(t, lose(path+".lock"))
		require.ErrorIs(t, owner.Save(t.Context(), []byte("new")), durable.ErrLockLost, name)
		second, state := opened(t, durable.OS{}, path)
		assert.Equal(t, "old", state, "as it was before the lock was lost")
		require.NoError(t, second.Close())
	}
}
