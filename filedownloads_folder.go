package hogapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/durable"
	"github.com/hogapi/hogapi/internal/mask"
)

// FolderOptions say how the files of a file download are named.
type FolderOptions struct {
	Extension string // that each name ends with, such as [FileOptions.Extension] gives; default none
}

var extensionForm = regexp.MustCompile(`^(\.[A-Za-z0-9]+)*$`)

// DownloadAll downloads all files of a completed file download into a folder, which it makes where
// it is missing, and returns their paths in the order of FileDownload.Files. A file is named by its
// id and FolderOptions.Extension, and stands in the folder only when it is whole and synced to disk.
// Until then its name ends in ".part".
//
// After an error or a crash, call DownloadAll again: files that are there are not downloaded again,
// and a ".part" file is continued where it was last synced (its size is in a ".part.size" file). The paths of the files that are whole are returned with every error.
// Two calls for one file download and one folder do not run at the same time: the second one gets
// [ErrHeld]. A file download that is not over, or has not completed, is an error, as with
// [FileDownloadsService.Wait]; for one without data there are no paths and no error.
//
// It calls [FileDownloadsService.Get] once and [FileDownloadsService.Download] for each file.
func (s *FileDownloadsService) DownloadAll(
	ctx context.Context, id uuid.UUID, folder string, o *FolderOptions, options ...CallOption,
) ([]string, error) {
	return folderDownload{s, durable.OS{}, 64 << 20}.run(ctx, id, folder, orDefault(o), options)
}

// folderDownload writes files so that a crash of the machine leaves none that looks whole and is
// not.
type folderDownload struct {
	service   *FileDownloadsService
	fs        durable.FS
	syncEvery int64 // bytes after which a part is synced, so that a later call may continue it
}

func (d folderDownload) run(
	ctx context.Context, id uuid.UUID, folder string, o FolderOptions, options []CallOption,
) (paths []string, err error) {
	bad := func(field, value, want string) error {
		return &InputError{Op: OpFileDownloadsDownload, Field: field, Value: mask.UnlessKey(value), Want: want}
	}
	switch {
	case folder == "":
		return nil, bad("folder", "", "the name of a folder")
	case !extensionForm.MatchString(o.Extension):
		return nil, bad("Extension", o.Extension, `an extension such as ".parquet" or ".jsonl.gz"`)
	}
	download, err := d.service.Get(ctx, id, options...)
	if err != nil {
		return nil, err
	}
	if download.Status.goesOn() {
		return nil, errorf("file download %s is still %s: wait until it is over", id, download.Status)
	}
	if err := download.ended(); err != nil {
		return nil, err
	}
	unlock, err := d.lock(folder, id)
	if err != nil {
		return nil, err
	}
	defer unlock()
	for _, file := range download.Files {
		path := filepath.Join(folder, file.String()+o.Extension)
		if err := d.file(ctx, id, file, path, options); err != nil {
			return paths, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// lock keeps another call from writing the same files. The lock's file is removed while it is held,
// where the system lets it be.
func (d folderDownload) lock(folder string, id uuid.UUID) (unlock func(), err error) {
	if err := d.fs.MakeFolder(folder); err != nil {
		return nil, fmt.Errorf("hogapi: the folder cannot be made: %w", err)
	}
	name := filepath.Join(folder, id.String()+".lock")
	lock, err := d.fs.Lock(name)
	if errors.Is(err, durable.ErrLocked) {
		return nil, fmt.Errorf("%w: %s (%w)", ErrHeld, name, err)
	}
	if err != nil {
		return nil, fmt.Errorf("hogapi: the folder cannot be locked: %w", err)
	}
	return func() {
		_ = d.fs.Remove(name)
		_ = lock.Close()
	}, nil
}

// file downloads one file, unless it is there.
func (d folderDownload) file(ctx context.Context, id, file uuid.UUID, path string, options []CallOption) error {
	if there, err := d.fs.OpenFile(path, os.O_RDONLY, 0); err == nil {
		// The call that renamed it may have been killed before it synced the folder.
		return errors.Join(there.Close(), d.fs.SyncFolder(filepath.Dir(path)))
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("hogapi: the file cannot be opened: %w", err)
	}
	part, err := d.openPart(path + ".part")
	if err != nil {
		return fmt.Errorf("hogapi: the file cannot be written: %w", err)
	}
	_, err = d.service.Download(ctx, id, file, part, &DownloadOptions{Offset: part.at}, options...)
	if err != nil {
		_ = part.keep() // for the next call; without it, that call has to repeat more
		_ = part.Close()
		return err
	}
	if err := errors.Join(part.Sync(), part.Close()); err != nil {
		return fmt.Errorf("hogapi: the file cannot be written: %w", err)
	}
	if err = d.fs.Rename(part.path, path); err == nil {
		err = d.fs.SyncFolder(filepath.Dir(path))
	}
	if err != nil {
		return fmt.Errorf("hogapi: the file cannot be renamed: %w", err)
	}
	_ = d.fs.Remove(part.sizePath())
	return nil
}

// part is a file that is not whole. How much of it is certainly on disk is in a second file: after a
// crash of the machine the rest may hold anything.
type part struct {
	durable.File
	folderDownload

	path       string
	at, synced int64
}

func (p *part) sizePath() string { return p.path + ".size" }

// openPart opens what an earlier call has left, or a new file.
func (d folderDownload) openPart(path string) (*part, error) {
	p := &part{folderDownload: d, path: path}
	if err := d.fs.Inspect(path); err != nil {
		return nil, err
	}
	saved, err := durable.Read(d.fs, p.sizePath())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if p.File, err = d.fs.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, err
	}
	length, err := p.Seek(0, io.SeekEnd)
	if n, ok := parseCount(string(saved)); ok && n <= length {
		p.at, p.synced = n, n
	} else if err == nil {
		err = p.forget()
	}
	if err == nil {
		err = p.Truncate(p.at)
	}
	if err == nil {
		_, err = p.Seek(p.at, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// forget removes the size of an earlier file, before a new one has other content.
func (p *part) forget() error {
	err := p.fs.Remove(p.sizePath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return cmp.Or(err, p.fs.SyncFolder(filepath.Dir(p.path)))
}

// Write is that of the file, with a sync now and then.
func (p *part) Write(b []byte) (int, error) {
	n, err := p.File.Write(b)
	p.at += int64(n)
	if err == nil && p.at-p.synced >= p.syncEvery {
		err = p.keep()
	}
	return n, err
}

// keep makes what has been written so far certain.
func (p *part) keep() error {
	if p.at == p.synced {
		return nil
	}
	if err := p.Sync(); err != nil {
		return err
	}
	if err := durable.Replace(p.fs, p.sizePath(), strconv.AppendInt(nil, p.at, 10)); err != nil {
		return err
	}
	p.synced = p.at
	return nil
}
