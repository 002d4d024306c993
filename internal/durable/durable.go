// Package durable keeps files that survive a crash of the machine: [Replace] replaces a file as a whole,
// and a [Log] grows by lines. An error means that the newest change may be lost. Nothing is tried again
// after a failed sync: the system may then have dropped the data that it could not write, and a second sync
// would succeed all the same.
package durable

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Errors of an FS.
var (
	ErrLocked     = errors.New("locked by another owner")
	ErrLockLost   = errors.New("the lock file was removed or replaced: somebody else may be an owner too")
	ErrNotRegular = errors.New("not a regular file")
	ErrManyNames  = errors.New("the file has further names (hard links), which would not follow it when it is replaced")
)

// FS is the part of a file system that this package uses. Only synced changes are sure to survive a crash.
type FS interface {
	OpenFile(name string, flag int, perm fs.FileMode) (File, error)
	Rename(from, to string) error
	Remove(name string) error
	// Follow returns the name of the file that a name leads to by links, whether or not it is there.
	Follow(name string) (string, error)
	// MakeFolder makes a folder and the missing folders above it, for this user only, and makes them
	// durable.
	MakeFolder(name string) error
	// SyncFolder makes durable which files a folder holds.
	SyncFolder(name string) error
	// Inspect refuses a name of something else than a regular file, such as a symbolic link, and a file that
	// has further names. A file that is not there is fine.
	Inspect(name string) error
	// Lock makes the caller the one owner of a name until it closes the lock or its process ends.
	Lock(name string) (Lock, error)
}

// Lock is held until it is closed.
type Lock interface {
	io.Closer
	// Check fails if the lock's file was removed or replaced, so that somebody else can hold the lock too.
	Check() error
}

// File is an open file. As every io.Writer does, its Write returns an error where it writes less.
type File interface {
	io.ReadWriteSeeker
	io.Closer
	Truncate(size int64) error
	Chmod(mode fs.FileMode) error
	Sync() error
}

const private = 0o600

// Read returns the content of a file.
func Read(fsys FS, path string) ([]byte, error) {
	f, err := fsys.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// TempEnding is the ending of the temporary file of Replace. No other file has it.
const TempEnding = ".hogapi-tmp"

// Replace gives a file a new content: after a crash it has the old or the new one, and once Replace has
// returned nil the new one. It uses a second file, path with TempEnding, so one caller at a time may work
// on a path.
func Replace(fsys FS, path string, content []byte) error {
	temp := path + TempEnding
	err := create(fsys, temp, content)
	if err == nil {
		err = fsys.Rename(temp, path)
	}
	if err != nil {
		_ = fsys.Remove(temp) // the next Replace does it otherwise
		return err
	}
	return fsys.SyncFolder(filepath.Dir(path))
}

// create writes a new file and syncs its content, but not the folder.
func create(fsys FS, path string, content []byte) error {
	// A file that a crash has left is removed rather than opened: it could be anything, even a link to
	// elsewhere.
	if err := fsys.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := fsys.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, private)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// Seal puts a line with a checksum before a text. The line also names the kind of text.
func Seal(what string, text []byte) []byte {
	file := fmt.Appendf(nil, "hogapi %s, sha256 %x\n", what, sha256.Sum256(text))
	return append(append(file, text...), '\n')
}

// Unseal is the text that Seal was given, unless a byte has changed.
func Unseal(what string, file []byte) (text []byte, ok bool) {
	_, rest, _ := bytes.Cut(file, []byte{'\n'})
	text, ok = bytes.CutSuffix(rest, []byte{'\n'})
	return text, ok && bytes.Equal(file, Seal(what, text))
}
