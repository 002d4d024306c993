package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// OS is the file system of the machine.
type OS struct{}

// OpenFile is os.OpenFile.
func (OS) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	f, err := os.OpenFile(name, flag, perm) //nolint:gosec // the caller names its own files
	if err != nil {
		return nil, err // not f: a nil *os.File would be a File that is not nil
	}
	return f, nil
}

// Rename is os.Rename, with some patience on Windows.
func (OS) Rename(from, to string) error { return rename(from, to) }

// Remove is os.Remove.
func (OS) Remove(name string) error { return os.Remove(name) }

const maxLinks = 40 // as many as Linux follows; opening a name with more links fails

// Follow implements FS. The folder of the returned name has no link in it either, so its filepath.Dir is
// the real folder.
func (OS) Follow(name string) (string, error) {
	for range maxLinks {
		folder, base := filepath.Split(name)
		folder, err := realFolder(folder)
		if err != nil || !isName(base) {
			return name, nil //nolint:nilerr // what it is that cannot be followed, opening it says
		}
		name = filepath.Join(folder, base)
		if info, err := os.Lstat(name); err != nil || info.Mode()&fs.ModeSymlink == 0 {
			if errors.Is(err, fs.ErrNotExist) {
				err = nil
			}
			return name, err
		}
		to, err := os.Readlink(name)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(to) {
			// Joined without filepath.Join, which would leave out a link to a folder together with the ".." after it.
			to = filepath.Dir(name) + string(filepath.Separator) + to
		}
		name = to
	}
	return name, nil
}

func isName(base string) bool { return base != "" && base != "." && base != ".." }

// realFolder follows the links in the name of a folder, of which the last parts need not be there.
func realFolder(folder string) (string, error) {
	if folder == "" {
		return "", nil
	}
	followed, err := filepath.EvalSymlinks(folder)
	above, base := filepath.Split(strings.TrimRight(folder, string(filepath.Separator)))
	if !errors.Is(err, fs.ErrNotExist) || !isName(base) {
		return followed, err
	}
	above, err = realFolder(above)
	return filepath.Join(above, base), err
}

// MakeFolder implements FS.
func (o OS) MakeFolder(name string) error {
	info, err := os.Stat(name)
	switch {
	case err == nil && info.IsDir():
		return nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err // and not that it exists, as Mkdir would say
	}
	err = os.Mkdir(name, 0o700)
	if above := filepath.Dir(name); errors.Is(err, fs.ErrNotExist) && above != name {
		if err := o.MakeFolder(above); err != nil {
			return err
		}
		err = os.Mkdir(name, 0o700)
	}
	if err != nil && !isFolder(name) { // nor has somebody else made it in the meantime
		return err
	}
	return o.SyncFolder(filepath.Dir(name))
}

func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// SyncFolder implements FS. Windows cannot sync a folder: there the journal of the file system must do.
func (OS) SyncFolder(name string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(name) //nolint:gosec // the caller names its own folders
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Inspect implements FS.
func (OS) Inspect(name string) error {
	info, err := os.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return ErrNotRegular
	case names(info) > 1:
		return ErrManyNames
	}
	return nil
}

// Lock implements FS. The file stays, as two owners could lock two files of one name if it were removed; Windows removes it
// with the lock, since nobody can open it before.
func (OS) Lock(name string) (Lock, error) { return lock(name) }

// checkStill returns ErrLockLost if a name does not lead to an open file, or leads to it only by a link. It
// returns other errors as they are.
func checkStill(name string, f *os.File) error {
	at, err := os.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return ErrLockLost
	}
	if err != nil {
		return err
	}
	held, err := f.Stat()
	if err != nil {
		return err
	}
	if !os.SameFile(at, held) {
		return ErrLockLost
	}
	return nil
}
