package hogtemporal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/internal/durable"
)

// Store keeps what an import must not lose where all workers find it. Without one, the state of a shard
// is kept in Temporal, and the first reject stops the import.
type Store interface {
	// Checkpoint returns the checkpoint of a shard for one attempt to send it. Its Open returns the newest
	// state of all attempts. A Save by an attempt must not replace what a later one has saved: an attempt
	// can be frozen, and thaw when another one is at work.
	Checkpoint(a Attempt) hogapi.Checkpointer
	// Rejects takes the rejects of one attempt.
	Rejects(a Attempt) hogapi.RejectHandler
	// Folder is for [hogapi.VerifyOptions.Dir] and for people to read; empty for a store without one.
	Folder(importID string) string
}

// Attempt is one try to send a shard. Later ones come later in the order of Begun and Run.
type Attempt struct {
	Import string
	Shard  int
	Name   string    // of the shard
	Begun  time.Time // when the workflow began
	Run    int       // how often work was given out since then
}

// order is a text whose order is that of the attempts.
func (a Attempt) order() string { return fmt.Sprintf("%020d-%08d", a.Begun.UnixNano(), a.Run) }

// FolderStore keeps states and rejects in a folder that all workers share at the same path: below it a
// folder for each import and shard. The file system must make a rename atomic and visible to the other
// machines. Each attempt writes files of its own, so that no lock is needed that a frozen worker could
// hold. After a crash the last rejects can be in two files, with the same uuids.
func FolderStore(path string) Store { return folderStore{path} }

type folderStore struct{ path string }

// Checkpoint implements Store.
func (s folderStore) Checkpoint(a Attempt) hogapi.Checkpointer {
	dir := s.shard(a)
	return &folderCheckpoint{dir: dir, file: filepath.Join(dir, "state-"+a.order()+".json")}
}

// Rejects implements Store.
func (s folderStore) Rejects(a Attempt) hogapi.RejectHandler {
	return hogapi.RejectFile(filepath.Join(s.shard(a), "rejects-"+a.order()+".jsonl"))
}

// Folder implements Store.
func (s folderStore) Folder(importID string) string { return filepath.Join(s.path, fileName(importID)) }

func (s folderStore) shard(a Attempt) string {
	return filepath.Join(s.Folder(a.Import), fmt.Sprintf("%05d-%s", a.Shard, fileName(a.Name)))
}

// fileName is a text as one element of a path.
func fileName(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_', c == '.' && b.Len() > 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02x", c)
		}
	}
	return b.String()
}

// folderCheckpoint is one file, which only its attempt writes.
type folderCheckpoint struct {
	dir, file string
	older     []string // files of attempts before, which the first save makes superfluous
}

// Open implements hogapi.Checkpointer.
func (c *folderCheckpoint) Open(context.Context) ([]byte, error) {
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return nil, err
	}
	var files []string // in the order of the attempts
	for _, entry := range entries {
		if name := entry.Name(); strings.HasPrefix(name, "state-") && strings.HasSuffix(name, ".json") {
			files = append(files, filepath.Join(c.dir, name))
		}
	}
	if len(files) == 0 {
		return nil, nil
	}
	newest := files[len(files)-1]
	if newest >= c.file {
		return nil, fmt.Errorf("%w: a later attempt is at work, this one must end", hogapi.ErrHeld)
	}
	c.older = files
	return os.ReadFile(newest) //nolint:gosec // in the store's own folder
}

// Save implements hogapi.Checkpointer.
func (c *folderCheckpoint) Save(_ context.Context, state []byte) error {
	if err := durable.Replace(durable.OS{}, c.file, state); err != nil {
		return err
	}
	for _, file := range c.older {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	c.older = nil
	return nil
}

// Close implements hogapi.Checkpointer.
func (c *folderCheckpoint) Close() error { return nil }

// beatCheckpoint keeps the state in the heartbeats of its activity. Temporal refuses those of an attempt
// that has been replaced.
type beatCheckpoint struct{ beats *beats }

// Open implements hogapi.Checkpointer.
func (c beatCheckpoint) Open(context.Context) ([]byte, error) { return c.beats.state(), nil }

// Save implements hogapi.Checkpointer.
func (c beatCheckpoint) Save(ctx context.Context, state []byte) error {
	if !json.Valid(state) {
		return errors.New("the state is not JSON")
	}
	return c.beats.save(ctx, state)
}

// Close implements hogapi.Checkpointer.
func (c beatCheckpoint) Close() error { return nil }
