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
	"runtime"
	"strings"
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

// Log is a file of JSON lines that only grows: lines that others append meanwhile stay. After an error it
// accepts no more lines.
type Log struct {
	file   File
	buf    []byte
	failed error
}

// OpenLog opens a log to append to it, or makes one, for this user only. A last line without a newline
// gets one: a line that a crash has torn looks like one that somebody has edited. Zeros at the end are
// cut. They are blocks that a loss of power has left unwritten: no JSON text has a zero.
func OpenLog(fsys FS, path string) (*Log, error) {
	f, err := fsys.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, private)
	if err != nil {
		return nil, err
	}
	l := &Log{file: f}
	err = f.Chmod(private)
	if err == nil {
		// It is in its folder durably then, also where the process that made it was killed before it could
		// see to that.
		err = fsys.SyncFolder(filepath.Dir(path))
	}
	if err == nil {
		err = l.begin()
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return l, nil
}

// begin makes the file end with a whole line.
func (l *Log) begin() error {
	size, err := l.file.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	const step = 64 << 10
	end, last := size, byte('\n')
	for end > 0 {
		block := make([]byte, min(step, end))
		if _, err := l.file.Seek(end-int64(len(block)), io.SeekStart); err != nil {
			return err
		}
		if _, err := io.ReadFull(l.file, block); err != nil {
			return err
		}
		text := bytes.TrimRight(block, "\x00")
		end -= int64(len(block) - len(text))
		if len(text) > 0 {
			last = text[len(text)-1]
			break
		}
	}
	if end < size {
		if err := l.file.Truncate(end); err != nil {
			return err
		}
	}
	if last == '\n' {
		return nil
	}
	return l.append([]byte{'\n'})
}

// Append adds a line, which has no newline of its own. It is durable after the next Sync.
func (l *Log) Append(line []byte) error {
	if bytes.IndexByte(line, '\n') >= 0 {
		return errors.New("a newline inside a line")
	}
	l.buf = append(append(l.buf[:0], line...), '\n')
	return l.append(l.buf)
}

func (l *Log) append(text []byte) error {
	if l.failed != nil {
		return l.failed
	}
	length, err := l.file.Seek(0, io.SeekEnd)
	if err != nil {
		l.failed = err
		return err
	}
	_, err = l.file.Write(text)
	if err != nil {
		l.failed = err
		_ = l.file.Truncate(length) // no half a line if it can be helped; OpenLog deals with one
	}
	return err
}

// Sync makes the appended lines durable.
func (l *Log) Sync() error {
	if l.failed == nil {
		l.failed = l.file.Sync()
	}
	return l.failed
}

// Close syncs and closes.
func (l *Log) Close() error { return errors.Join(l.Sync(), l.file.Close()) }
