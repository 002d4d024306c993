package hogapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/durable"
	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/ops"
)

// FolderOptions say how the files of a file download are named.
type FolderOptions struct {
	// Extension is what each name ends with, such as [FileOptions.Extension] gives; default none. It
	// cannot end in .part, .part.size, .tmp or .lock.
	Extension string
}

var (
	extensionForm = regexp.MustCompile(`^(\.[A-Za-z0-9]+)*$`)
	ownEnding     = regexp.MustCompile(`(?i)\.(part|part\.size|tmp|lock)$`)
)

// DownloadAll downloads all files of a completed file download into a folder, which it makes where
// it is missing, and returns their paths in the order of FileDownload.Files. A file is named by its
// id and FolderOptions.Extension, and stands in the folder only when it is whole and synced to disk.
// Until then its name ends in ".part".
//
// After an error or a crash, call DownloadAll again: files that are there are not downloaded again,
// and a ".part" file is continued where it was last synced. How far that is, and the size and ETag of
// the file, are in a ".part.size" file: if the storage has another file now, it is started again. The
// paths of the files that are whole are returned with every error. What stands under one of these
// names and is not a regular file, such as a symbolic link, is an error.
//
// Two calls for one file download and one folder do not run at the same time: the second one gets
// [ErrHeld]. Two file downloads can be in one folder as long as the service gives each file an id of
// its own: that a service with equal ids does no harm is not promised. A file download that is not
// over, or has not completed, is an error, as with [FileDownloadsService.Wait]; for one without data
// there are no paths and no error.
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
		return &InputError{Op: ops.FileDownloadsDownload, Field: field, Value: mask.UnlessKey(value), Want: want}
	}
	switch {
	case folder == "":
		return nil, bad("folder", "", "the name of a folder")
	case !extensionForm.MatchString(o.Extension):
		return nil, bad("Extension", o.Extension, `an extension such as ".parquet" or ".jsonl.gz"`)
	case ownEnding.MatchString(o.Extension):
		return nil, bad("Extension", o.Extension, "another ending: DownloadAll uses this one for its own files")
	}
	download, err := d.service.Get(ctx, id, options...)
	if err != nil {
		return nil, err
	}
	if download.Status.goesOn() {
		return nil, errtext.Errorf("file download %s is still %s: wait until it is over", id, download.Status)
	}
	if err := download.ended(); err != nil {
		return nil, err
	}
	if n := download.RecordsCompleted; n != nil && *n > 0 && len(download.Files) == 0 {
		return nil, errtext.Errorf("file download %s has %d records and lists no files: look at it with Get, or create another one", id, *n)
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
	for _, name := range []string{path, path + partEnding, path + partEnding + sizeEnding} {
		if err := d.fs.Inspect(name); err != nil && (name != path || !errors.Is(err, durable.ErrManyNames)) {
			return fmt.Errorf("hogapi: %s is in the way: %w; move it away", name, err)
		}
	}
	if there, err := d.fs.OpenFile(path, os.O_RDONLY, 0); err == nil {
		// The call that renamed it may have been killed before it synced the folder.
		return errors.Join(there.Close(), d.fs.SyncFolder(filepath.Dir(path)))
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("hogapi: the file cannot be opened: %w", err)
	}
	part, err := d.openPart(path + partEnding)
	if err != nil {
		return fmt.Errorf("hogapi: the file cannot be written: %w", err)
	}
	err = part.fill(ctx, id, file, options)
	if errors.Is(err, ErrFileChanged) { // what an earlier call has left is of another one
		err = part.fill(ctx, id, file, options)
	}
	if err != nil {
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

	path     string
	at       int64
	kept     partState // what the second file says
	transfer *transfer // that writes to it
}

// partState is how much of a part is certainly on disk, and which file it is a part of.
type partState struct {
	Synced int64  `json:"synced"`
	Size   int64  `json:"size"`
	ETag   string `json:"etag"`
}

const (
	partEnding = ".part"
	sizeEnding = ".size"
)

func (p *part) sizePath() string { return p.path + sizeEnding }

// openPart opens what an earlier call has left, or a new file.
func (d folderDownload) openPart(path string) (*part, error) {
	p := &part{folderDownload: d, path: path}
	saved, err := durable.Read(d.fs, p.sizePath())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if p.File, err = d.fs.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, err
	}
	length, err := p.Seek(0, io.SeekEnd)
	var state partState
	isState := json.Unmarshal(saved, &state) == nil && 0 < state.Synced && state.Synced <= min(length, state.Size)
	switch {
	case err != nil:
	case isState:
		p.kept = state
		err = p.cut(state.Synced)
	default:
		err = p.forget()
	}
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// fill downloads what is missing. If the file has changed, nothing of it remains.
func (p *part) fill(ctx context.Context, id, file uuid.UUID, options []CallOption) error {
	p.transfer = p.service.transfer(id, file, p, DownloadOptions{Offset: p.at, Size: p.kept.Size, ETag: p.kept.ETag}, options)
	extension := filepath.Ext(strings.TrimSuffix(p.path, partEnding))
	p.transfer.noGzip = extension != "" && extension != ".gz"
	err := p.transfer.run(ctx)
	switch {
	case errors.Is(err, ErrFileChanged):
		if problem := p.forget(); problem != nil {
			return fmt.Errorf("hogapi: the file cannot be written: %w", problem)
		}
	case err != nil:
		_ = p.keep() // for the next call; without it, that call has to repeat more
	}
	return err
}

// cut makes a part end after n bytes.
func (p *part) cut(n int64) error {
	p.at = n
	if err := p.Truncate(n); err != nil {
		return err
	}
	_, err := p.Seek(n, io.SeekStart)
	return err
}

// forget empties a part. Its second file is removed first, and durably.
func (p *part) forget() error {
	p.kept = partState{}
	err := p.fs.Remove(p.sizePath())
	if err == nil {
		err = p.fs.SyncFolder(filepath.Dir(p.path))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return p.cut(0)
}

// Write is that of the file, with a sync now and then.
func (p *part) Write(b []byte) (int, error) {
	n, err := p.File.Write(b)
	p.at += int64(n)
	if err == nil && p.at-p.kept.Synced >= p.syncEvery {
		err = p.keep()
	}
	return n, err
}

// keep makes what has been written so far certain.
func (p *part) keep() error {
	if p.at == p.kept.Synced {
		return nil
	}
	if err := p.Sync(); err != nil {
		return err
	}
	state := partState{Synced: p.at, Size: p.transfer.size, ETag: p.transfer.etag}
	content, err := json.Marshal(state)
	if err == nil {
		err = durable.Replace(p.fs, p.sizePath(), content)
	}
	if err == nil {
		p.kept = state
	}
	return err
}
