//go:build unix

package download

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/durable"
)

// Anything but a regular file under one of our names is not written through, waited for, or taken
// for a whole file.
func TestAFolderUsesRegularFilesOnly(t *testing.T) {
	mine := filepath.Join(t.TempDir(), "mine")
	link := func(to string) func(string) error {
		return func(name string) error { return os.Symlink(to, name) }
	}
	pipe := func(name string) error { return syscall.Mkfifo(name, 0o600) }
	folder := func(name string) error { return os.Mkdir(name, 0o700) }
	for ending, things := range map[string]map[string]func(string) error{
		"": {
			"link": link(mine), "link to nothing": link("nowhere"), "link to a device": link(os.DevNull),
			"pipe": pipe, "folder": folder,
		},
		".part":      {"link": link(mine), "link to nothing": link("nowhere"), "pipe": pipe, "folder": folder},
		".part.size": {"link": link(mine), "link to a device": link("/dev/zero"), "pipe": pipe, "folder": folder},
	} {
		for thing, put := range things {
			t.Run(thing+" at "+ending, func(t *testing.T) {
				require.NoError(t, os.WriteFile(mine, []byte("precious"), 0o600))
				folder := t.TempDir()
				name := filepath.Join(folder, "a"+ending)
				require.NoError(t, put(name))
				paths, _, err := fill(t, folder, file)
				require.ErrorIs(t, err, durable.ErrNotRegular)
				require.ErrorContains(t, err, name)
				assert.Empty(t, paths)
				content, err := os.ReadFile(mine)
				require.NoError(t, err)
				assert.Equal(t, "precious", string(content))
				assert.Equal(t, []string{name}, filesIn(t, folder), "nothing was made, nowhere included")
			})
		}
	}
}

// A whole file may have further hard links: it is not written to.
func TestAFolderTakesAWholeFileWithTwoNames(t *testing.T) {
	folder := t.TempDir()
	paths, _, err := fill(t, folder, file)
	require.NoError(t, err)
	require.NoError(t, os.Link(paths[0], filepath.Join(t.TempDir(), "copy")))
	again, _, err := fill(t, folder, file)
	require.NoError(t, err)
	assert.Equal(t, paths, again)
}
