// Package statefile keeps the two files of an import: the checkpoint, which is replaced as a whole, and the
// reject file, which only grows. Each has one owner at a time, by a lock on path.lock. The package knows
// the form of both files, but not the content of a state.
package statefile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/hogapi/hogapi/internal/durable"
	"github.com/hogapi/hogapi/ops"
)

// Own makes the folder of a file and takes the lock on the file. path may be a symbolic link: Own locks the
// file behind it, so that the link is not replaced and the file does not get a second owner. A file that
// does not fit gets no lock file. The error wraps durable.ErrLocked if somebody else is the owner.
func Own(fsys durable.FS, path string, fits func(fsys durable.FS, file string) error) (file string, lock durable.Lock, err error) {
	if path == "" {
		return "", nil, &ops.InputError{Field: "path", Want: "the name of a file"}
	}
	if file, err = fsys.Follow(path); err != nil {
		return "", nil, err
	}
	if err := fsys.MakeFolder(filepath.Dir(file)); err != nil {
		return "", nil, err
	}
	if err := fsys.Inspect(file); errors.Is(err, durable.ErrNotRegular) || errors.Is(err, durable.ErrManyNames) {
		return "", nil, &ops.InputError{Field: "path", Value: filepath.Base(file), Want: "a regular file with one name: this is " + err.Error()}
	} else if err != nil {
		return "", nil, err
	}
	if fits != nil {
		if err := fits(fsys, file); err != nil {
			return "", nil, err
		}
	}
	lock, err = fsys.Lock(file + ".lock")
	if errors.Is(err, durable.ErrLocked) {
		err = Held(path)
	}
	return file, lock, err
}

// Held returns the error of a file that somebody else owns.
func Held(path string) error { return fmt.Errorf("%s (%w)", path, durable.ErrLocked) }

// Files returns the names of a file and of the files that its owner uses with it. It returns nil if the
// path leads nowhere; opening the file then returns the error.
func Files(fsys durable.FS, path string) []string {
	if path != "" && !filepath.IsAbs(path) {
		if here, err := os.Getwd(); err == nil {
			path = here + string(filepath.Separator) + path // not joined: there may be links before a ".."
		}
	}
	file, err := fsys.Follow(path)
	if err != nil || path == "" {
		return nil
	}
	return []string{file, file + durable.TempEnding, file + ".lock"}
}

// Overlap reports whether two lists of names have a file in common.
func Overlap(some, others []string) bool {
	for _, one := range some {
		for _, other := range others {
			a, errA := os.Stat(one)
			b, errB := os.Stat(other)
			if one == other || errA == nil && errB == nil && os.SameFile(a, b) {
				return true
			}
		}
	}
	return false
}

// Checkpoint keeps a state in a file. After a crash of the machine it holds the newest state that was
// saved.
type Checkpoint struct {
	fs   durable.FS
	path string

	mu     sync.Mutex
	file   string       // that path leads to
	lock   durable.Lock // nil: not open
	failed error        // of the first Save that failed
}

// NewCheckpoint does not open the file.
func NewCheckpoint(fsys durable.FS, path string) *Checkpoint {
	return &Checkpoint{fs: fsys, path: path}
}

// Files are the names of all files that the checkpoint uses.
func (c *Checkpoint) Files() []string { return Files(c.fs, c.path) }

// Open makes the caller the owner and returns the state, or nil if nothing was saved yet.
func (c *Checkpoint) Open(context.Context) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	file, lock, err := Own(c.fs, c.path, nil)
	if err != nil {
		return nil, err
	}
	content, err := durable.Read(c.fs, file)
	isNew := errors.Is(err, fs.ErrNotExist)
	state, isWhole := durable.Unseal(sealOf, content)
	switch {
	case err != nil && !isNew:
	case !isNew && !isWhole:
		err = &ops.InputError{Field: "checkpoint: file", Value: filepath.Base(file),
			Want: "the file as this package saved it; this one is torn, empty or changed. " +
				"Put a copy back, or move it and the reject file away to import again from the start: events keep their uuids. " +
				"If it is not a checkpoint at all, name another file"}
	default:
		c.file, c.lock, c.failed = file, lock, nil
		return state, nil
	}
	return nil, errors.Join(err, lock.Close())
}

// sealOf names a checkpoint in the first line of its file, which also has the checksum.
const sealOf = "checkpoint"

// Save replaces the state. After an error it saves nothing any more: a file after a failed sync can look
// sound, and Save does not build on it.
func (c *Checkpoint) Save(_ context.Context, state []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lock == nil {
		return errors.New("hogapi: the checkpoint is not open")
	}
	if c.failed == nil {
		c.failed = c.lock.Check()
	}
	if c.failed == nil {
		c.failed = durable.Replace(c.fs, c.file, durable.Seal(sealOf, state))
	}
	return c.failed
}

// Close gives the ownership up.
func (c *Checkpoint) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lock == nil {
		return nil
	}
	lock := c.lock
	c.lock = nil
	return lock.Close()
}
