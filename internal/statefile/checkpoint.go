package statefile

import (
	"errors"
	"io/fs"
	"path/filepath"
	"sync"

	"github.com/hogapi/hogapi/internal/durable"
	"github.com/hogapi/hogapi/ops"
)

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
func (c *Checkpoint) Open() ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	file, lock, err := Own(c.fs, c.path, nil)
	if err != nil {
		return nil, err
	}
	state, err := load(c.fs, file)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	c.file, c.lock, c.failed = file, lock, nil
	return state, nil
}

func load(fsys durable.FS, file string) ([]byte, error) {
	content, err := durable.Read(fsys, file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	state, ok := durable.Unseal(sealOf, content)
	if !ok {
		return nil, &ops.InputError{Field: "checkpoint: file", Value: filepath.Base(file),
			Want: "the file as this package saved it; this one is torn, empty or changed. " +
				"Put a copy back, or move it and the reject file away to import again from the start: events keep their uuids. " +
				"If it is not a checkpoint at all, name another file"}
	}
	return state, nil
}

// sealOf names a checkpoint in the first line of its file, which also has the checksum.
const sealOf = "checkpoint"

// Save replaces the state. After an error it saves nothing any more: a file after a failed sync can look
// sound, and Save does not build on it.
func (c *Checkpoint) Save(state []byte) error {
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
