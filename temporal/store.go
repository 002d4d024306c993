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
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/internal/durable"
)

// Store keeps the state and the rejects of imports in a place that all workers can reach. Without a store, Temporal
// keeps the state of a shard, and the first reject stops the import.
type Store interface {
	// Checkpoint returns the checkpoint of a shard for one attempt to send it. Its Open returns the newest state of all
	// attempts. A Save by an attempt must not replace a state of a later attempt: an attempt can be frozen, and thaw
	// while another one is at work.
	Checkpoint(a Attempt) history.Checkpointer
	// Rejects returns the handler of the rejects of one attempt.
	Rejects(a Attempt) hogapi.RejectHandler
	// Folder returns the folder for [history.VerifyOptions.Dir], which people may read; empty if the store has no folder.
	Folder(importID string) string
}

// Attempt is one try to send a shard. Attempts are ordered by Begun, then by Run.
type Attempt struct {
	Import string
	Shard  int
	Name   string    // of the shard
	Begun  time.Time // when the workflow began
	Run    int       // how many attempts the workflow had begun until then, this one included
}

// order returns a text that sorts as the attempts do.
func (a Attempt) order() string { return fmt.Sprintf("%020d-%08d", a.Begun.UnixNano(), a.Run) }

// FolderStore returns a Store that keeps states and rejects in a folder that all workers share at the same
// path, with a subfolder for each import and shard. The file system must make a rename atomic and visible to
// the other machines. Each attempt writes files of its own, so no worker needs a lock, which it could hold
// while it is frozen. After a crash the last rejects can be in two files, with the same uuids.
func FolderStore(path string) Store { return folderStore{path} }

type folderStore struct{ path string }

func (s folderStore) Checkpoint(a Attempt) history.Checkpointer {
	dir := s.shard(a)
	return &folderCheckpoint{dir: dir, file: filepath.Join(dir, "state-"+a.order()+".json")}
}

func (s folderStore) Rejects(a Attempt) hogapi.RejectHandler {
	return history.RejectFile(filepath.Join(s.shard(a), "rejects-"+a.order()+".jsonl"))
}

func (s folderStore) Folder(importID string) string { return filepath.Join(s.path, fileName(importID)) }

func (s folderStore) shard(a Attempt) string {
	return filepath.Join(s.Folder(a.Import), fmt.Sprintf("%05d-%s", a.Shard, fileName(a.Name)))
}

// fileName returns a text as one element of a path.
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

// folderCheckpoint is one file. Only its attempt writes it.
type folderCheckpoint struct {
	dir, file string
	older     []string // files of earlier attempts; the first save removes them
}

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

func (c *folderCheckpoint) Close() error { return nil }

// beatCheckpoint keeps the state in the heartbeats of its activity. Temporal refuses the heartbeats of an attempt
// that has been replaced.
type beatCheckpoint struct{ beats *beats }

func (c beatCheckpoint) Open(context.Context) ([]byte, error) { return c.beats.state(), nil }

func (c beatCheckpoint) Save(ctx context.Context, state []byte) error {
	if !json.Valid(state) {
		return errors.New("the state is not JSON")
	}
	return c.beats.save(ctx, state)
}

func (c beatCheckpoint) Close() error { return nil }
