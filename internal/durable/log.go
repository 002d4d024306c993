package durable

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Log is a file that grows by whole lines. Its length can be noted elsewhere, and a later OpenLog takes it back to there.
// After an error it takes nothing more.
type Log struct {
	file   File
	length int64
	buf    []byte
	failed error
}

// Lengths of logs about which nothing is noted.
const (
	Whole = -1 // keeps everything
	Empty = -2 // there is nothing yet: the log has to be new or empty
)

// ErrNotEmpty is the error of OpenLog where there is something and the length was Empty.
var ErrNotEmpty = errors.New("the file is not empty")

// OpenLog opens a log, or makes one for this user only, and cuts what stands behind length, unless there is a line there that is not ours,
// if ours is not nil: then it keeps everything. It fails where the file is shorter or has no end of a line there, and leaves it as it is.
// A last line that is kept without its end gets one.
func OpenLog(fsys FS, path string, length int64, ours func(line []byte) bool) (*Log, error) {
	f, err := open(fsys, path)
	if err != nil {
		return nil, err
	}
	l := &Log{file: f}
	if err := l.start(length, ours); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return l, nil
}

// open opens the file for reading and writing, or makes it. It is in its folder durably then, also where the process that made it was
// killed before it could see to that.
func open(fsys FS, path string) (File, error) {
	f, err := fsys.OpenFile(path, os.O_RDWR|os.O_CREATE, private)
	if err != nil {
		return nil, err
	}
	if err := fsys.SyncFolder(filepath.Dir(path)); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// start brings the file to its length and goes there.
func (l *Log) start(length int64, ours func([]byte) bool) error {
	size, err := l.file.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	whole := length == Whole
	switch {
	case whole:
		length = size
	case length == Empty && size > 0:
		return ErrNotEmpty
	case length == Empty:
		length = 0
	case size < length:
		return fmt.Errorf("the file has %d bytes and should have at least %d", size, length)
	}
	ended, err := l.lineEndsAt(length)
	if err != nil {
		return err
	}
	if !ended && !whole {
		return fmt.Errorf("the file has been changed: no line ends at byte %d", length)
	}
	if length < size {
		if ended, err = l.cut(length, size, ours); err != nil {
			return err
		}
	}
	if l.length, err = l.file.Seek(0, io.SeekEnd); err != nil {
		return err
	}
	if !ended {
		return l.append([]byte{'\n'})
	}
	return nil
}

// cut takes away what stands behind length, if it is ours, and reports whether a line ends where the file does then.
func (l *Log) cut(length, size int64, ours func([]byte) bool) (ended bool, err error) {
	all, err := l.areOurs(length, ours)
	if err != nil {
		return false, err
	}
	if all {
		return true, l.file.Truncate(length)
	}
	return l.lineEndsAt(size)
}

func (l *Log) areOurs(from int64, ours func([]byte) bool) (bool, error) {
	if ours == nil {
		return true, nil
	}
	if _, err := l.file.Seek(from, io.SeekStart); err != nil {
		return false, err
	}
	for text := bufio.NewReader(l.file); ; {
		line, err := text.ReadBytes('\n')
		if len(line) > 0 && !ours(line) {
			return false, nil
		}
		if errors.Is(err, io.EOF) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
	}
}

func (l *Log) lineEndsAt(offset int64) (bool, error) {
	if offset == 0 {
		return true, nil
	}
	if _, err := l.file.Seek(offset-1, io.SeekStart); err != nil {
		return false, err
	}
	var last [1]byte
	_, err := io.ReadFull(l.file, last[:])
	return last[0] == '\n', err
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
	n, err := l.file.Write(text)
	if err == nil && n < len(text) {
		err = io.ErrShortWrite
	}
	if err != nil {
		l.failed = err
		_ = l.file.Truncate(l.length) // no half a line if it can be helped; OpenLog deals with one
		return err
	}
	l.length += int64(n)
	return nil
}

// Sync makes durable what was appended, and returns the length to note.
func (l *Log) Sync() (length int64, err error) {
	if l.failed == nil {
		l.failed = l.file.Sync()
	}
	return l.length, l.failed
}

// Close syncs and closes.
func (l *Log) Close() error {
	_, err := l.Sync()
	return errors.Join(err, l.file.Close())
}
