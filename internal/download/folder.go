package download

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hogapi/hogapi/internal/durable"
	"github.com/hogapi/hogapi/internal/errtext"
)

// Folder stores files so that even a crash of the machine leaves no incomplete file that looks
// whole. Its errors are complete, except for [durable.ErrLocked] when another owner holds the
// folder.
type Folder struct {
	FS       durable.FS
	Path     string
	Owner    string        // excludes a second call for the same path and owner
	MaxBytes int64         // of one call; 0 or below: no limit
	Room     *durable.Room // instead of MaxBytes, of several calls
}

// Item is a file and its name in a folder.
type Item struct {
	Name string
	Config
}

// Fill downloads the missing files. It returns the paths of the whole files, even with an error.
func (f Folder) Fill(ctx context.Context, items []Item) (paths []string, err error) {
	unlock, err := f.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	room := f.Room
	if room == nil {
		room = &durable.Room{Folder: f.Path, Most: f.MaxBytes}
	}
	for _, item := range items {
		path := filepath.Join(f.Path, item.Name)
		if err := f.file(ctx, path, item.Config, room); err != nil {
			return paths, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// lock keeps another call from writing the same files. It removes the lock's file while holding the
// lock, if the system allows that.
func (f Folder) lock() (unlock func(), err error) {
	if err := f.FS.MakeFolder(f.Path); err != nil {
		return nil, errtext.Errorf("the folder cannot be made: %v", err)
	}
	name := filepath.Join(f.Path, f.Owner+".lock")
	lock, err := f.FS.Lock(name)
	if errors.Is(err, durable.ErrLocked) {
		return nil, fmt.Errorf("%s (%w)", name, err)
	}
	if err != nil {
		return nil, errtext.Errorf("the folder cannot be locked: %v", err)
	}
	return func() {
		_ = f.FS.Remove(name)
		_ = lock.Close()
	}, nil
}

func (f Folder) file(ctx context.Context, path string, c Config, room *durable.Room) error {
	for _, name := range []string{path, path + partEnding, path + partEnding + sizeEnding} {
		if err := f.FS.Inspect(name); err != nil && (name != path || !errors.Is(err, durable.ErrManyNames)) {
			return errtext.Errorf("%s is in the way: %v; move it away", name, err)
		}
	}
	if there, err := f.FS.OpenFile(path, os.O_RDONLY, 0); err == nil {
		// The call that renamed it may have been killed before syncing the folder.
		return errors.Join(there.Close(), f.FS.SyncFolder(filepath.Dir(path)))
	} else if !errors.Is(err, fs.ErrNotExist) {
		return errtext.Errorf("the file cannot be opened: %v", err)
	}
	part, err := openPart(f.FS, path, room)
	if err != nil {
		return errtext.Errorf("the file cannot be written: %v", err)
	}
	if err := part.fill(ctx, c); err != nil {
		_ = part.Close()
		_ = f.FS.Remove(path + partEnding)
		return err
	}
	if err := errors.Join(part.Sync(), part.Close()); err != nil {
		return errtext.Errorf("the file cannot be written: %v", err)
	}
	if err = f.FS.Rename(path+partEnding, path); err == nil {
		err = f.FS.SyncFolder(filepath.Dir(path))
	}
	if err != nil {
		return errtext.Errorf("the file cannot be renamed: %v", err)
	}
	return nil
}
