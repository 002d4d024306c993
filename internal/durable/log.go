package durable

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
)

// Log is a file of JSON lines that only grows: what others append meanwhile stays. After an error it
// takes nothing more.
type Log struct {
	file   File
	buf    []byte
	failed error
}

// OpenLog opens a log to append to it, or makes one, for this user only. A last line without a newline
// gets one if it is JSON; otherwise it is what a crash has torn and is cut, since whoever wrote it
// writes it again.
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
	last, from, err := l.lastLine(size)
	if err != nil {
		return err
	}
	switch {
	case len(last) == 0:
		return nil
	case json.Valid(last):
		return l.append([]byte{'\n'})
	}
	return l.file.Truncate(from)
}

// lastLine returns the text after the last newline, and where it begins.
func (l *Log) lastLine(size int64) (text []byte, from int64, err error) {
	const step = 64 << 10
	for from = size; from > 0; {
		begin := max(from-step, 0)
		block := make([]byte, from-begin)
		if _, err := l.file.Seek(begin, io.SeekStart); err != nil {
			return nil, 0, err
		}
		if _, err := io.ReadFull(l.file, block); err != nil {
			return nil, 0, err
		}
		if i := bytes.LastIndexByte(block, '\n'); i >= 0 {
			from = begin + int64(i) + 1
			break
		}
		from = begin
	}
	if _, err := l.file.Seek(from, io.SeekStart); err != nil {
		return nil, 0, err
	}
	text, err = io.ReadAll(bufio.NewReader(l.file))
	return text, from, err
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
	n, err := l.file.Write(text)
	if err == nil && n < len(text) {
		err = io.ErrShortWrite
	}
	if err != nil {
		l.failed = err
		_ = l.file.Truncate(length) // no half a line if it can be helped; OpenLog deals with one
	}
	return err
}

// Sync makes durable what was appended.
func (l *Log) Sync() error {
	if l.failed == nil {
		l.failed = l.file.Sync()
	}
	return l.failed
}

// Close syncs and closes.
func (l *Log) Close() error { return errors.Join(l.Sync(), l.file.Close()) }
