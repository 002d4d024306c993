package durable

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
)

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
