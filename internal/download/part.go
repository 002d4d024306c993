package download

import (
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

// openPart opens the part that an earlier call has left, or a new one.
func openPart(fsys durable.FS, whole string, syncEvery int64, room *durable.Room) (*part, error) {
	p := &part{fs: fsys, path: whole + partEnding, syncEvery: syncEvery, room: room}
	saved, err := durable.Read(fsys, p.sizePath())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if p.File, err = fsys.OpenFile(p.path, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
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

// cut truncates a part to n bytes.
func (p *part) cut(n int64) error {
	p.at = n
	if err := p.Truncate(n); err != nil {
		return err
	}
	_, err := p.Seek(n, io.SeekStart)
	return err
}

// forget empties a part. It first removes the second file, durably.
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

// keep syncs the part and records its size.
func (p *part) keep() error {
	if p.at == p.kept.Synced {
		return nil
	}
	if err := p.Sync(); err != nil {
		return err
	}
	state := partState{Synced: p.at, Size: p.transfer.Size, ETag: p.transfer.ETag}
	content, err := json.Marshal(state)
	if err == nil {
		err = durable.Replace(p.fs, p.sizePath(), content)
	}
	if err == nil {
		p.kept = state
	}
	return err
}
