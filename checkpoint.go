package hogapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/hogapi/hogapi/internal/durable"
	"github.com/hogapi/hogapi/internal/ledger"
	"github.com/hogapi/hogapi/internal/lines"
	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/ops"
)

// Checkpointer keeps the state of an import between its runs. Import opens it, is its only owner until
// it closes it, and calls its methods one at a time. The state is a JSON text of up to about 300 KB that
// only this package reads.
type Checkpointer interface {
	// Open takes ownership and returns the saved state, or nil if nothing was saved yet. It fails at once
	// if somebody else is the owner.
	Open(ctx context.Context) (state []byte, err error)
	// Save replaces the state. When it returns nil, the new state must survive a crash of the machine; when
	// it fails, the old one must.
	Save(ctx context.Context, state []byte) error
	// Close gives the ownership up.
	Close() error
}

// savedState is what a checkpoint holds.
type savedState struct {
	Version int                    `json:"version"`
	Import  string                 `json:"import"`
	Target  string                 `json:"target,omitempty"` // see importTarget; as Source, and in older states
	Source  string                 `json:"source,omitempty"` // empty before the first save that settles something
	File    lines.Fingerprint      `json:"file,omitzero"`    // of the file that the place is in
	State   ledger.State[Position] `json:"state"`
}

const stateVersion = 2

const fieldSource = "begun with the source"

func unfitState(field, value, want string) error {
	return &InputError{Op: ops.Import, Field: "checkpoint: " + field, Value: value, Want: want}
}

// importTarget is a digest of the project's key and the name of the host that an import sends to. The
// port may change, as that of a proxy on this machine does.
func (c *core) importTarget() string {
	if c.capture == nil || c.projectKey == nil {
		return "" // which is refused later
	}
	sum := sha256.Sum256([]byte("hogapi import\x00" + c.capture.Hostname() + "\x00" + c.projectKey()))
	return hex.EncodeToString(sum[:16])
}

// readState reads a checkpoint and refuses one of another import, project, source or version.
func readState(raw []byte, importID, target, source string) (*savedState, error) {
	if raw == nil {
		return nil, nil //nolint:nilnil // there is none yet
	}
	var head struct {
		Version int `json:"version"`
	}
	err := json.Unmarshal(raw, &head)
	if err == nil && head.Version != stateVersion {
		return nil, unfitState("version", strconv.Itoa(head.Version), fmt.Sprintf("version %d: finish the import with the release that began it", stateVersion))
	}
	var s savedState
	if err == nil {
		err = json.Unmarshal(raw, &s)
	}
	switch {
	case err != nil:
		return nil, unfitState("state", "", "a state that this package has saved; this one cannot be read: "+mask.Clean(err.Error()))
	case s.Import != importID:
		return nil, unfitState("begun by the import", s.Import, fmt.Sprintf("one of the import %q: each import has a checkpoint of its own", importID))
	case s.Target != "" && s.Target != target:
		return nil, unfitState("begun with the project", "", "the project API key and the host that the import began with; "+
			"for another project, use a new checkpoint: it sends all events, with the same uuids")
	case s.Source != "" && s.Source != source:
		return nil, unfitState(fieldSource, s.Source, fmt.Sprintf("one of the source %q: a checkpoint resumes only with the source that it began with", source))
	}
	return &s, nil
}

// FileCheckpoint keeps the state of an import in a file. Its folder is made if it is missing, the file is
// replaced as a whole each time, and after a crash of the process or the machine it holds the newest
// state that was saved. A file that is torn, empty or changed is refused with an *InputError, and so is
// one that is not a regular file or has hard links, which would keep an old state.
//
// One import at a time owns it, by a lock on the file path.lock; another gets [ErrHeld] at once, also by a
// symbolic link to the file. The lock ends with the process, also by a kill, and the lock file remains. Do
// not remove it: an import whose lock file is gone stops at its next save, since somebody else may own the
// checkpoint by then. On systems without such locks (neither Unix nor Windows), the lock file of a killed
// process has to be removed by hand. The folder must be on a disk of this machine or on a file system that
// keeps locks and syncs as a local one does.
func FileCheckpoint(path string) Checkpointer { return &fileCheckpoint{fs: durable.OS{}, path: path} }

type fileCheckpoint struct {
	fs   durable.FS
	path string

	mu     sync.Mutex
	file   string       // that path leads to
	lock   durable.Lock // nil: not open
	failed error        // of the first Save that failed
}

// Open implements Checkpointer.
func (c *fileCheckpoint) Open(context.Context) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	file, lock, err := ownFile(c.fs, c.path)
	if err != nil {
		return nil, err
	}
	state, err := c.load(file)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	c.file, c.lock, c.failed = file, lock, nil
	return state, nil
}

// ownFile takes the lock on a file that belongs to an import, whose folder it makes. A symbolic link to
// the file is owned as the file is: it must neither be replaced by another one nor give the file a second
// owner.
func ownFile(fsys durable.FS, path string) (file string, lock durable.Lock, err error) {
	if path == "" {
		return "", nil, &InputError{Op: ops.Import, Field: "path", Want: "the name of a file"}
	}
	if file, err = fsys.Follow(path); err != nil {
		return "", nil, err
	}
	if err := fsys.MakeFolder(filepath.Dir(file)); err != nil {
		return "", nil, err
	}
	if err := fsys.Inspect(file); errors.Is(err, durable.ErrNotRegular) || errors.Is(err, durable.ErrManyNames) {
		return "", nil, &InputError{Op: ops.Import, Field: "path", Value: filepath.Base(file), Want: "a regular file with one name: this is " + err.Error()}
	} else if err != nil {
		return "", nil, err
	}
	lock, err = fsys.Lock(file + ".lock")
	if errors.Is(err, durable.ErrLocked) {
		return "", nil, fmt.Errorf("%w: %s (%w)", ErrHeld, path, err)
	}
	return file, lock, err
}

// filesOf are the files that the owner of a file uses.
func filesOf(fsys durable.FS, path string) []string {
	if path != "" && !filepath.IsAbs(path) {
		if here, err := os.Getwd(); err == nil {
			path = here + string(filepath.Separator) + path // not joined: there may be links before a ".."
		}
	}
	file, err := fsys.Follow(path)
	if err != nil || path == "" {
		return nil // what is wrong with it shows when it is opened
	}
	return []string{file, file + ".tmp", file + ".lock"}
}

// checkFiles checks that checkpoint, reject file and source use different files.
func (o ImportOptions) checkFiles(source Source) error {
	var state, rejects []string
	if c, ok := o.Checkpoint.(*fileCheckpoint); ok {
		state = filesOf(c.fs, c.path)
	}
	if r, ok := o.Rejects.(*rejectFile); ok {
		rejects = filesOf(r.fs, r.path)
	}
	if haveOneFile(state, rejects) {
		return &InputError{Op: ops.Import, Field: "ImportOptions.Rejects", Want: "a file that the checkpoint does not use: its own, and those with .tmp and .lock"}
	}
	read, ok := unwrap[fileSource](source)
	if !ok {
		return nil
	}
	for _, path := range read.files() {
		read := filesOf(durable.OS{}, path)
		read = read[:min(1, len(read))]
		if haveOneFile(read, rejects) {
			return &InputError{Op: ops.Import, Field: "ImportOptions.Rejects", Want: "a file that is not read: the import would never end"}
		}
		if haveOneFile(read, state) {
			return &InputError{Op: ops.Import, Field: "ImportOptions.Checkpoint", Want: "a file that is not read: the checkpoint would replace it"}
		}
	}
	return nil
}

func haveOneFile(some, others []string) bool {
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

func (c *fileCheckpoint) load(file string) ([]byte, error) {
	content, err := durable.Read(c.fs, file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	state, ok := unsealState(content)
	if !ok {
		return nil, &InputError{Op: ops.Import, Field: "checkpoint: file", Value: filepath.Base(file),
			Want: "the file as this package saved it; this one is torn, empty or changed. " +
				"Put a copy back, or move it and the reject file away to import again from the start: events keep their uuids. " +
				"If it is not a checkpoint at all, name another file"}
	}
	return state, nil
}

// Save implements Checkpointer.
func (c *fileCheckpoint) Save(_ context.Context, state []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lock == nil {
		return errors.New("hogapi: the checkpoint is not open")
	}
	if c.failed == nil {
		c.failed = c.lock.Check()
	}
	if c.failed == nil { // what a failed sync has left can look sound: nothing is built upon it
		c.failed = durable.Replace(c.fs, c.file, sealState(state))
	}
	return c.failed
}

// Close implements Checkpointer.
func (c *fileCheckpoint) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lock == nil {
		return nil
	}
	lock := c.lock
	c.lock = nil
	return lock.Close()
}

// A checkpoint file is a line with the checksum of the state, and the state as the second line.
const sealBegin = "hogapi checkpoint, sha256 "

func sealState(state []byte) []byte {
	sum := sha256.Sum256(state)
	file := hex.AppendEncode([]byte(sealBegin), sum[:])
	file = append(file, '\n')
	return append(append(file, state...), '\n')
}

func unsealState(file []byte) (state []byte, ok bool) {
	_, rest, _ := bytes.Cut(file, []byte{'\n'})
	state, ok = bytes.CutSuffix(rest, []byte{'\n'})
	return state, ok && bytes.Equal(file, sealState(state))
}
