package formats

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/hogapi/hogapi/internal/durable"
	"github.com/hogapi/hogapi/internal/extsort"
)

// tempFolder is a folder for temporary files. It is locked while it is in use, so that folders of
// dead processes can be found.
type tempFolder struct {
	path string
	lock durable.Lock
}

const tempLock = "lock"

// newTempFolder makes a folder with a name that begins with a prefix, and removes folders that
// crashes have left.
func newTempFolder(prefix string) (*tempFolder, error) {
	removeStale(prefix)
	const tries = 10
	var failed error
	for range tries {
		path, err := os.MkdirTemp("", prefix)
		if err != nil {
			return nil, err
		}
		lock, err := durable.OS{}.Lock(filepath.Join(path, tempLock))
		if err == nil {
			return &tempFolder{path, lock}, nil
		}
		_ = os.RemoveAll(path)
		failed = err // another process may have taken it for a stale one
	}
	return nil, failed
}

// remove removes the folder. At the same moment, another process may take the folder for a stale one and put its lock
// into it; that process then removes it. A later newTempFolder removes anything that is left.
func (f *tempFolder) remove() error {
	err := f.lock.Close()
	_ = os.RemoveAll(f.path)
	return err
}

// sorter makes a sorter of that name in the folder.
func (f *tempFolder) sorter(name string, key, memory int) (*extsort.Sorter, error) {
	options := extsort.Options{FS: scratch{}, Name: name, Key: key, Memory: memory, Packs: true}
	s, err := extsort.Open(filepath.Join(f.path, name), options)
	if err != nil {
		return nil, err
	}
	return s, s.Close() // the folder is locked as a whole
}

// removeStale removes the folders that nobody has locked. A folder that cannot be removed stays.
func removeStale(prefix string) {
	found, _ := filepath.Glob(filepath.Join(os.TempDir(), prefix+"*"))
	for _, path := range found {
		info, err := os.Lstat(path)
		if err != nil || !info.IsDir() || !isPrivate(info) {
			continue
		}
		lock, err := durable.OS{}.Lock(filepath.Join(path, tempLock))
		if err != nil {
			continue
		}
		_ = os.RemoveAll(path)
		_ = lock.Close()
		_ = os.Remove(path) // on Windows, where a file that is open stays in its folder
	}
}

// isPrivate reports whether only one user can write into a folder: a lock is opened in no other.
func isPrivate(info fs.FileInfo) bool {
	const others = 0o077
	return runtime.GOOS == "windows" || info.Mode().Perm()&others == 0
}

// scratch is the machine's file system for files that no later process reads: it makes nothing durable.
type scratch struct{ durable.OS }

func (scratch) SyncFolder(string) error { return nil }

func (scratch) MakeFolder(name string) error {
	const private = 0o700
	return os.MkdirAll(name, private)
}

func (s scratch) OpenFile(name string, flag int, perm fs.FileMode) (durable.File, error) {
	file, err := s.OS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return scratchFile{file}, nil
}

type scratchFile struct{ durable.File }

func (scratchFile) Sync() error { return nil }
