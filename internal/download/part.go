package download

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hogapi/hogapi/internal/durable"
	"github.com/hogapi/hogapi/internal/errtext"
)

// part is an incomplete file. A second file records how much of it is surely on disk: after a crash
// the rest may be garbage.
type part struct {
	durable.File

	fs        durable.FS
	path      string
	syncEvery int64
	room      *durable.Room
	at        int64
	kept      partState // content of the second file
	transfer  *transfer // writes to the part
}

// partState says how much of a part is surely on disk, and to which file it belongs.
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

// foreignError is the error of a file that no download has left in this state. It is the file's name.
type foreignError string

func (f foreignError) Error() string { return string(f) }

// openPart opens the part that an earlier call has left, or a new one. The second file comes first and shows that the
// part is one. A file without it can be of somebody else and stays as it is.
func openPart(fsys durable.FS, whole string, syncEvery int64, room *durable.Room) (*part, error) {
	p := &part{fs: fsys, path: whole + partEnding, syncEvery: syncEvery, room: room}
	saved, err := durable.Read(fsys, p.sizePath())
	isNew := errors.Is(err, fs.ErrNotExist)
	if err != nil && !isNew {
		return nil, err
	}
	if !isNew && !p.kept.read(saved) {
		return nil, foreignError(p.sizePath())
	}
	length := int64(0)
	if p.File, err = fsys.OpenFile(p.path, os.O_RDWR, 0); err == nil {
		length, err = p.Seek(0, io.SeekEnd)
	}
	switch isMissing := p.File == nil && errors.Is(err, fs.ErrNotExist); {
	case err != nil && !isMissing:
	case length > 0 && (isNew || length < p.kept.Synced):
		err = foreignError(p.path)
	case isNew, length < p.kept.Synced:
		err = p.claim()
	default: // the call that wrote the second file may have been killed before it synced the folder
		err = fsys.SyncFolder(filepath.Dir(p.path))
	}
	if err == nil && p.File == nil {
		p.File, err = fsys.OpenFile(p.path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	}
	if err == nil {
		err = p.cut(p.kept.Synced)
	}
	if err != nil && p.File != nil {
		err = errors.Join(err, p.Close())
	}
	return p, err
}

// read takes a state from the content of a second file, and reports whether a download has written it.
func (s *partState) read(saved []byte) bool {
	var form struct {
		Synced, Size *int64
		ETag         *string
	}
	strict := json.NewDecoder(bytes.NewReader(saved))
	strict.DisallowUnknownFields()
	if strict.Decode(&form) != nil || form.Synced == nil || form.Size == nil || form.ETag == nil || *form.Synced < 0 {
		return false
	}
	const unknown = -1
	if *form.Size == unknown { // so it cannot be continued
		return true
	}
	*s = partState{Synced: *form.Synced, Size: *form.Size, ETag: *form.ETag}
	return s.Synced <= s.Size
}

// claim says durably that there is a part of which nothing is surely on disk.
func (p *part) claim() error {
	p.kept = partState{}
	return p.save(p.kept)
}

func (p *part) save(state partState) error {
	content, err := json.Marshal(state)
	if err != nil {
		return err
	}
	return durable.Replace(p.fs, p.sizePath(), content)
}

// fill downloads the missing bytes. If the file has changed, it drops the part first.
func (p *part) fill(ctx context.Context, c Config) error {
	p.transfer = newTransfer(c, p, Progress{At: p.at, Size: p.kept.Size, ETag: p.kept.ETag})
	extension := filepath.Ext(strings.TrimSuffix(p.path, partEnding))
	p.transfer.noGzip = extension != "" && extension != ".gz"
	err := p.transfer.run(ctx)
	switch {
	case errors.Is(err, c.Changed):
		if problem := p.forget(); problem != nil {
			return errtext.Errorf("the file cannot be written: %v", problem)
		}
	case err != nil:
		_ = p.keep() // for the next call, which otherwise repeats more
	}
	return err
}

func (p *part) cut(n int64) error {
	p.at = n
	if err := p.Truncate(n); err != nil {
		return err
	}
	_, err := p.Seek(n, io.SeekStart)
	return err
}

// forget empties a part. The second file says so first, durably.
func (p *part) forget() error {
	if err := p.claim(); err != nil {
		return err
	}
	return p.cut(0)
}

// Write writes to the file and syncs it regularly.
func (p *part) Write(b []byte) (int, error) {
	if err := p.room.Take(int64(len(b))); err != nil {
		return 0, err
	}
	n, err := p.File.Write(b)
	p.at += int64(n)
	if err == nil && p.at-p.kept.Synced >= p.syncEvery {
		err = p.keep()
	}
	return n, err
}

func (p *part) keep() error {
	if p.at == p.kept.Synced {
		return nil
	}
	if err := p.Sync(); err != nil {
		return err
	}
	state := partState{Synced: p.at, Size: p.transfer.Size, ETag: p.transfer.ETag}
	err := p.save(state)
	if err == nil {
		p.kept = state
	}
	return err
}
