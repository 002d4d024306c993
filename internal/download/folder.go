package download

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hogapi/hogapi/internal/durable"
	"github.com/hogapi/hogapi/internal/errtext"
)

// Folder takes files so that a crash of the machine leaves none that looks whole and is not. Its
// errors are complete, except that of a second owner, which is a [durable.ErrLocked].
type Folder struct {
	FS        durable.FS
	Path      string
	Owner     string // two folders of one path and owner are not filled at the same time
	SyncEvery int64  // bytes after which a part is synced, so that a later call may continue it; default 64 MiB
}

// Item is a file and its name in a folder.
type Item struct {
	Name string
	Config
}

// Fill downloads the files that are not there yet. It returns the paths of those that are whole,
// with an error too.
func (f Folder) Fill(ctx context.Context, items []Item) (paths []string, err error) {
	f.SyncEvery = cmp.Or(f.SyncEvery, 64<<20)
	unlock, err := f.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	for _, item := range items {
		path := filepath.Join(f.Path, item.Name)
		if err := f.file(ctx, path, item.Config); err != nil {
			return paths, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// lock keeps another call from writing the same files. The lock's file is removed while it is held,
// where the system lets it be.
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

// file downloads one file, unless it is there.
func (f Folder) file(ctx context.Context, path string, c Config) error {
	for _, name := range []string{path, path + partEnding, path + partEnding + sizeEnding} {
		if err := f.FS.Inspect(name); err != nil && (name != path || !errors.Is(err, durable.ErrManyNames)) {
			return errtext.Errorf("%s is in the way: %v; move it away", name, err)
		}
	}
	if there, err := f.FS.OpenFile(path, os.O_RDONLY, 0); err == nil {
		// The call that renamed it may have been killed before it synced the folder.
		return errors.Join(there.Close(), f.FS.SyncFolder(filepath.Dir(path)))
	} else if !errors.Is(err, fs.ErrNotExist) {
		return errtext.Errorf("the file cannot be opened: %v", err)
	}
	part, err := openPart(f.FS, path, f.SyncEvery)
	if err != nil {
		return errtext.Errorf("the file cannot be written: %v", err)
	}
	err = part.fill(ctx, c)
	if errors.Is(err, c.Changed) { // what an earlier call has left is of another one
		err = part.fill(ctx, c)
	}
	if err != nil {
		_ = part.Close()
		return err
	}
	if err := errors.Join(part.Sync(), part.Close()); err != nil {
		return errtext.Errorf("the file cannot be written: %v", err)
	}
	if err = f.FS.Rename(part.path, path); err == nil {
		err = f.FS.SyncFolder(filepath.Dir(path))
	}
	if err != nil {
		return errtext.Errorf("the file cannot be renamed: %v", err)
	}
	_ = f.FS.Remove(part.sizePath())
	return nil
}
