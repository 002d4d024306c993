package statefile_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/durable"
	"github.com/hogapi/hogapi/internal/durable/simdisk"
	"github.com/hogapi/hogapi/internal/statefile"
	"github.com/hogapi/hogapi/ops"
)

// opened opens a checkpoint, which holds a state or nothing yet.
func opened(t *testing.T, disk durable.FS, path string) (c *statefile.Checkpoint, state string) {
	t.Helper()
	c = statefile.NewCheckpoint(disk, path)
	raw, err := c.Open(t.Context())
	require.NoError(t, err)
	return c, string(raw)
}

// A link to the file is the file: it has the same owner, and the newest state is found under both
// names.
func TestCheckpointByALink(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path, link := filepath.Join(folder, "there", "import.ckpt"), filepath.Join(folder, "link.ckpt")
	require.NoError(t, os.Symlink(filepath.Join("there", "import.ckpt"), link))
	names := []string{link, path, link} // the file is not there yet when it is first opened
	for i, name := range names {
		c, state := opened(t, durable.OS{}, name)
		assert.Equal(t, strings.Repeat("x", i), state)
		for _, other := range names {
			_, err := statefile.NewCheckpoint(durable.OS{}, other).Open(t.Context())
			require.ErrorIs(t, err, durable.ErrLocked)
		}
		require.NoError(t, c.Save(t.Context(), []byte(strings.Repeat("x", i+1))))
		require.NoError(t, c.Close())
	}
	loop := filepath.Join(folder, "loop")
	require.NoError(t, os.Symlink(loop, loop))
	_, err := statefile.NewCheckpoint(durable.OS{}, loop).Open(t.Context())
	require.ErrorAs(t, err, new(*ops.InputError))
}

func TestCheckpointRefusesWhatItDidNotWrite(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "import.ckpt")
	c, _ := opened(t, durable.OS{}, path)
	require.NoError(t, c.Save(t.Context(), []byte(`{"place":"somewhere"}`)))
	require.NoError(t, c.Close())
	good, err := os.ReadFile(path)
	require.NoError(t, err)

	refused := func(content []byte) {
		require.NoError(t, os.WriteFile(path, content, 0o600))
		_, err := c.Open(t.Context())
		require.ErrorAs(t, err, new(*ops.InputError))
		require.ErrorContains(t, err, "torn, empty or changed")
	}
	for n := range good { // cut anywhere, a bit turned anywhere
		refused(good[:n])
		changed := append([]byte{}, good...)
		changed[n] ^= 4
		refused(changed)
	}
	refused(append(append([]byte{}, good...), '\n'))
	refused(make([]byte, len(good)))
	require.NoError(t, os.WriteFile(path, good, 0o600))
	state, err := c.Open(t.Context())
	require.NoError(t, err, "a refusal gives the lock back")
	assert.JSONEq(t, `{"place":"somewhere"}`, string(state))
	require.NoError(t, c.Close())

	_, err = statefile.NewCheckpoint(durable.OS{}, filepath.Dir(path)).Open(t.Context())
	require.ErrorContains(t, err, "not a regular file")
	_, err = statefile.NewCheckpoint(durable.OS{}, "").Open(t.Context())
	require.ErrorAs(t, err, new(*ops.InputError))
}

// A sync that has failed is not tried again: on Linux the second one would succeed, and the data would
// be lost.
func TestCheckpointSavesNothingAfterAFailure(t *testing.T) {
	t.Parallel()
	broken := errors.New("input/output error")
	saves := 0
	for n := 1; n < 20; n++ {
		d := new(simdisk.Disk)
		c, _ := opened(t, d, "folder/ckpt")
		require.NoError(t, c.Save(t.Context(), []byte("old")))
		d.FailAt(n, broken)
		if err := c.Save(t.Context(), []byte("new")); err == nil {
			break
		}
		saves++
		require.ErrorIs(t, c.Save(t.Context(), []byte("newer")), broken)
		_, state := opened(t, d.Crashed(uint64(n)), "folder/ckpt")
		assert.Contains(t, []string{"old", "new"}, state)
	}
	assert.Equal(t, 5, saves, "create, write, sync, rename, sync of the folder")
}

// FuzzCheckpoint: no file makes an import resume from a state that was not saved.
func FuzzCheckpoint(f *testing.F) {
	f.Add([]byte("hogapi checkpoint, sha256 44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a\n{}\n"))
	f.Add([]byte("hogapi checkpoint, sha256 44136FA355B3678A1146AD16F7E8649E94FB4FC21FE77E8310C060F61CAAFF8A\n{}\n"))
	f.Add([]byte("{}"))
	path := filepath.Join(f.TempDir(), "ckpt")
	f.Fuzz(func(t *testing.T, content []byte) {
		require.NoError(t, os.WriteFile(path, content, 0o600))
		c := statefile.NewCheckpoint(durable.OS{}, path)
		state, err := c.Open(t.Context())
		if err != nil {
			return
		}
		require.NoError(t, c.Save(t.Context(), state))
		require.NoError(t, c.Close())
		saved, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, content, saved, "only what Save writes is read")
	})
}

func TestOverlap(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	in := func(name string) string { return filepath.Join(folder, name) }
	require.NoError(t, os.WriteFile(in("a"), nil, 0o600))
	require.NoError(t, os.Link(in("a"), in("hard")))
	require.NoError(t, os.Symlink(in("a"), in("link")))
	names := func(name string) []string { return statefile.Files(durable.OS{}, name) }
	assert.Nil(t, names(""))
	for _, one := range []string{"a", "hard", "link", "a" + durable.TempEnding, "a.lock"} {
		assert.True(t, statefile.Overlap(names(in("a")), names(in(one))), one)
	}
	assert.False(t, statefile.Overlap(names(in("a")), names(in("b"))))
	assert.False(t, statefile.Overlap(nil, names(in("a"))))
}
