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

// part is a file that is not whole. How much of it is certainly on disk is in a second file: after
// a crash of the machine the rest may hold anything.
type part struct {
	durable.File

	fs        durable.FS
	path      string
	syncEvery int64
	at        int64
	kept      partState // what the second file says
	transfer  *transfer // that writes to it
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

// openPart opens what an earlier call has left of a file, or a new part.
func openPart(fsys durable.FS, whole string, syncEvery int64) (*part, error) {
	p := &part{fs: fsys, path: whole + partEnding, syncEvery: syncEvery}
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

// fill downloads what is missing. If the file has changed, nothing of it remains.
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
