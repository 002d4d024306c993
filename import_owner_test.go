//go:build unix

package hogapi_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

// importWithin runs an import of a few events, and fails where it hangs.
func importWithin(t *testing.T, server *hogapitest.Server, o hogapi.ImportOptions) error {
	t.Helper()
	o.ID = "own"
	ended := make(chan error, 1)
	client := server.Client(t)
	go func() {
		_, err := client.Import(t.Context(), numbered(3), &o)
		ended <- err
	}()
	select {
	case err := <-ended:
		return err
	case <-time.After(5 * time.Second):
		require.FailNow(t, "the import hangs")
		return nil
	}
}

// ownFiles are the two files that an import owns.
var ownFiles = map[string]func(path string) hogapi.ImportOptions{
	"checkpoint": func(path string) hogapi.ImportOptions {
		return hogapi.ImportOptions{Checkpoint: hogapi.FileCheckpoint(path)}
	},
	"reject file": func(path string) hogapi.ImportOptions {
		return hogapi.ImportOptions{Rejects: hogapi.RejectFile(path)}
	},
}

// What cannot be owned is refused at once, and stays as it is: a pipe would hang, a hard link would have two owners.
func TestFilesThatCannotBeOwned(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
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
		for kind, options := range ownFiles {
			t.Run(kind+" "+name, func(t *testing.T) {
				t.Parallel()
				path := filepath.Join(t.TempDir(), "file")
				require.NoError(t, c.make(path))
				server := hogapitest.New()
				err := importWithin(t, server, options(path))
				require.ErrorContains(t, err, c.want)
				assert.Equal(t, 1, strings.Count(err.Error(), "hogapi: "), "%v", err)
				assert.Zero(t, server.Ledger().Len())
				assert.NoFileExists(t, path+".elsewhere", "nothing is made through a link")
			})
		}
	}
}

// A hard link that is made while the import owns the checkpoint does not give it a second owner.
func TestHardLinkToACheckpointInUse(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path, link := filepath.Join(folder, "ckpt"), filepath.Join(folder, "link")
	require.NoError(t, importWithin(t, hogapitest.New(), hogapi.ImportOptions{Checkpoint: hogapi.FileCheckpoint(path)}))
	require.NoError(t, os.Link(path, link))
	owner := hogapi.FileCheckpoint(path)
	_, err := owner.Open(t.Context())
	require.ErrorIs(t, err, hogapi.ErrInvalid)
	_, err = hogapi.FileCheckpoint(link).Open(t.Context())
	require.ErrorIs(t, err, hogapi.ErrInvalid)
	require.NoError(t, os.Remove(link))
	_, err = owner.Open(t.Context())
	require.NoError(t, err)
	require.NoError(t, owner.Close())
}

// An import whose lock file is gone may have a second owner: it saves nothing any more, and says so.
func TestLockFileThatIsRemoved(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(lock string) error{
		"removed":  os.Remove,
		"replaced": func(lock string) error { return errors.Join(os.Remove(lock), os.WriteFile(lock, nil, 0o600)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "ckpt")
			server := hogapitest.New()
			var lost bool
			server.RejectEvents(func(json.RawMessage) int {
				if !lost { // after the first save, before the second
					lost = true
					assert.NoError(t, lose(path+".lock"))
				}
				return 0
			})
			err := importWithin(t, server, hogapi.ImportOptions{Checkpoint: hogapi.FileCheckpoint(path)})
			stop, isStop := errors.AsType[*hogapi.StopError](err)
			require.True(t, isStop, "%v", err)
			assert.Equal(t, hogapi.StopCheckpoint, stop.Reason)
			require.ErrorContains(t, err, "somebody else may be an owner too")
			second := hogapi.FileCheckpoint(path)
			state, err := second.Open(t.Context())
			require.NoError(t, err, "the second owner")
			saved := savedReceipt(t, state)
			assert.Zero(t, saved.Acknowledged, "as it was before the lock was lost")
			require.NoError(t, second.Close())
		})
	}
}

// Rejects hold events: a file that others could read becomes private, and so do the folders that are made.
func TestRejectFileIsPrivate(t *testing.T) {
	t.Parallel()
	above := t.TempDir()
	folder := filepath.Join(above, "a", "b", "c")
	fresh, old := filepath.Join(folder, "rejects"), writeFile(t, "rejects", `{"$reject":{}}`)
	require.NoError(t, os.Chmod(old, 0o644))
	for _, path := range []string{fresh, old} {
		require.NoError(t, importWithin(t, hogapitest.New(), hogapi.ImportOptions{Rejects: hogapi.RejectFile(path), Checkpoint: hogapi.FileCheckpoint(path + ".ckpt")}))
		for _, name := range []string{path, path + ".lock", path + ".ckpt", path + ".ckpt.lock"} {
			requireMode(t, name, 0o600)
		}
	}
	for made := folder; made != above; made = filepath.Dir(made) {
		requireMode(t, made, 0o700)
	}
	require.NoError(t, os.Chmod(old, 0o644))
	require.NoError(t, hogapi.RejectFile(old).Reject(t.Context(), hogapi.Reject{Raw: []byte("bad")}))
	requireMode(t, old, 0o600)
}

func requireMode(t *testing.T, name string, want os.FileMode) {
	t.Helper()
	info, err := os.Stat(name)
	require.NoError(t, err)
	require.Equal(t, want, info.Mode().Perm(), name)
}
