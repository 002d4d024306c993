package durable_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/durable"
)

// Another program reads the file when it is replaced, and closes it a moment later.
func TestReplaceWhileTheFileIsRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state")
	require.NoError(t, durable.Replace(durable.OS{}, path, []byte("old")))
	reader, err := os.Open(path)
	require.NoError(t, err)
	require.Error(t, os.Rename(path, path+"2"), "an open file cannot be renamed")
	closed := make(chan error, 1)
	time.AfterFunc(50*time.Millisecond, func() { closed <- reader.Close() })
	require.NoError(t, durable.Replace(durable.OS{}, path, []byte("new")))
	require.NoError(t, <-closed)
	content, err := durable.Read(durable.OS{}, path)
	require.NoError(t, err)
	assert.Equal(t, "new", string(content))
}

// A file that stays open is an error, and the old content stays.
func TestReplaceOfAFileThatStaysOpen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state")
	require.NoError(t, durable.Replace(durable.OS{}, path, []byte("old")))
	reader, err := os.Open(path)
	require.NoError(t, err)
	require.Error(t, durable.Replace(durable.OS{}, path, []byte("new")))
	require.NoError(t, reader.Close())
	content, err := durable.Read(durable.OS{}, path)
	require.NoError(t, err)
	assert.Equal(t, "old", string(content))
}

// The lock's file goes with the lock, so that it is not in the way of a person or a pattern.
func TestTheFileOfALockGoes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	lock, err := durable.OS{}.Lock(path)
	require.NoError(t, err)
	require.FileExists(t, path)
	require.NoError(t, lock.Close())
	require.NoFileExists(t, path)
}
