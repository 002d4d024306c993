package durable_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/durable"
)

// A path may be longer than 260 characters, have slashes, and differ from another only in its case: then both are one file.
func TestNamesOfFiles(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	require.NotEmpty(t, filepath.VolumeName(folder), "a drive letter")
	long := filepath.Join(folder, strings.Repeat("long name ", 10)+"x", strings.Repeat("longer name ", 12)+"x", strings.Repeat("z", 100))
	require.NoError(t, os.MkdirAll(long, 0o700))
	for name, at := range map[string]string{"long": long, "slashes": filepath.ToSlash(folder)} {
		path := at + "/State"
		require.NoError(t, durable.Replace(durable.OS{}, path, []byte("old")), name)
		require.NoError(t, durable.Replace(durable.OS{}, at+"/STATE", []byte("new")), name)
		content, err := durable.Read(durable.OS{}, path)
		require.NoError(t, err, name)
		assert.Equal(t, "new", string(content), name)
		lock, err := durable.OS{}.Lock(path + ".lock")
		require.NoError(t, err, name)
		_, err = durable.OS{}.Lock(at + "/STATE.LOCK")
		require.ErrorIs(t, err, durable.ErrLocked, name)
		require.NoError(t, lock.Close())
	}
}
