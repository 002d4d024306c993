package worktree

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFiles(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.CopyFS(root, fstest.MapFS{
		".gitignore": {Data: []byte("ignored\n")}, "ignored": {}, "sub/new": {}, "kept": {}, "deleted": {}, "with blank": {},
	}))
	for _, args := range [][]string{{"init", "-q"}, {"add", "kept", "deleted"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = root
		require.NoError(t, cmd.Run())
	}
	require.NoError(t, os.Remove(filepath.Join(root, "deleted")))

	got, err := Files(root)
	require.NoError(t, err)
	assert.Equal(t, []string{".gitignore", "kept", "sub/new", "with blank"}, got)

	repository, dir := filepath.Join(t.TempDir(), "store"), filepath.Join(t.TempDir(), "copy")
	require.NoError(t, Store(root, repository))
	require.NoError(t, Restore(repository, dir))
	for _, name := range got {
		assert.FileExists(t, filepath.Join(dir, name))
	}
	assert.NoFileExists(t, filepath.Join(dir, "ignored"))

	gone, file := filepath.Join(root, "gone"), filepath.Join(root, "kept")
	_, err = Files(gone)
	require.Error(t, err)
	require.ErrorContains(t, Store(gone, filepath.Join(t.TempDir(), "store")), "git -C "+gone)
	require.ErrorContains(t, Store(root, file), "git init")
	require.Error(t, Restore(repository, filepath.Join(file, "below")))
}
