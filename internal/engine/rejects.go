package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/durable"
	"github.com/hogapi/hogapi/internal/jsonb"
	"github.com/hogapi/hogapi/internal/statefile"
	"github.com/hogapi/hogapi/internal/wire"
	"github.com/hogapi/hogapi/ops"
)

// Rejects is a reject file. Its lines are durable after the next Sync.
type Rejects struct {
	fs   durable.FS
	path string

	mu   sync.Mutex
	lock durable.Lock
	log  *durable.Log // nil: not open
	json jsonb.Encoder
}

// NewRejects does not open the file.
func NewRejects(fsys durable.FS, path string) *Rejects { return &Rejects{fs: fsys, path: path} }

// Files are the names of all files that the reject file uses.
func (f *Rejects) Files() []string { return statefile.Files(f.fs, f.path) }

// Open makes the caller the owner. Add, Sync and Close are for an open file.
func (f *Rejects) Open() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.open()
}

func (f *Rejects) open() error {
	if f.log != nil {
		return statefile.Held(f.path)
	}
	file, lock, err := statefile.Own(f.fs, f.path, isRejects)
	if err != nil {
		return err
	}
	log, err := durable.OpenLog(f.fs, file)
	if err != nil {
		return errors.Join(err, lock.Close())
	}
	f.lock, f.log = lock, log
	return nil
}

// isRejects refuses the file of somebody else. A reject file begins with an object or with the zeros that a
// loss of power leaves. It has a lock file, or a reject at its beginning, or no more than a torn line.
func isRejects(fsys durable.FS, file string) error {
	f, err := fsys.OpenFile(file, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	const enough = 2 << 20 // for a line with the longest event
	head, err := io.ReadAll(io.LimitReader(f, enough))
	if err != nil {
		return err
	}
	text := bytes.Trim(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), "\x00 \t\r\n")
	if len(text) == 0 {
		return nil
	}
	if text[0] == '{' || head[0] == 0 {
		isTorn := bytes.IndexByte(text, '\n') < 0 && !json.Valid(text)
		lock, err := fsys.OpenFile(file+".lock", os.O_RDONLY, 0)
		if err == nil {
			_ = lock.Close()
		}
		if err == nil || isTorn || bytes.Contains(text, []byte(`"`+wire.RejectKey+`":`)) {
			return nil
		}
	}
	return &ops.InputError{Field: "rejects: file", Value: filepath.Base(file),
		Want: "a reject file or a new one: this file is neither, and stays as it is. Name another file"}
}

// Add appends the line of a reject.
func (f *Rejects) Add(r *event.Reject) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.add(r)
}

func (f *Rejects) add(r *event.Reject) error {
	line, err := encodeReject(&f.json, r)
	if err != nil {
		return err
	}
	return f.log.Append(line)
}

// AppendOnce opens the file, appends the line of a reject and closes the file, for whoever does not own it.
func (f *Rejects) AppendOnce(r *event.Reject) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.open(); err != nil {
		return err
	}
	return errors.Join(f.add(r), f.close())
}

// Sync makes the added lines durable.
func (f *Rejects) Sync() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return errors.Join(f.lock.Check(), f.log.Sync())
}

// Close syncs the file and gives the ownership up.
func (f *Rejects) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.close()
}

func (f *Rejects) close() error {
	err := errors.Join(f.lock.Check(), f.log.Close(), f.lock.Close())
	f.log, f.lock = nil, nil
	return err
}
