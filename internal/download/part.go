package download

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/hogapi/hogapi/internal/durable"
)

const (
	partEnding = ".part"
	sizeEnding = ".size" // of the journal of a part, which earlier versions kept
)

// part is a file under another name until it is complete. A part of an earlier call is downloaded again: nothing says
// which of its bytes are on disk.
type part struct {
	durable.File

	room   *durable.Room
	noGzip bool // the file is not stored as gzip
}

func openPart(fsys durable.FS, whole string, room *durable.Room) (*part, error) {
	_ = fsys.Remove(whole + partEnding + sizeEnding)
	f, err := fsys.OpenFile(whole+partEnding, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	extension := filepath.Ext(whole)
	p := &part{File: f, room: room, noGzip: extension != "" && extension != ".gz"}
	if err := p.empty(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return p, nil
}

// fill downloads the file. If it changes meanwhile, that is begun again once.
func (p *part) fill(ctx context.Context, c Config) error {
	for again := true; ; again = false {
		t := newTransfer(c, p, Progress{})
		t.noGzip = p.noGzip
		err := t.run(ctx)
		if !again || !errors.Is(err, c.Changed) {
			return err
		}
		if err := p.empty(); err != nil {
			return err
		}
	}
}

func (p *part) empty() error {
	if err := p.Truncate(0); err != nil {
		return err
	}
	_, err := p.Seek(0, io.SeekStart)
	return err
}

func (p *part) Write(b []byte) (int, error) {
	if err := p.room.Take(int64(len(b))); err != nil {
		return 0, err
	}
	return p.File.Write(b)
}
