package lines

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/internal/mask"
)

// Cut is the position of a record that is kept only in part. It is saved as JSON.
type Cut struct {
	File   string `json:"file,omitempty"` // its path; empty if it is in no file of this machine
	Begin  int64  `json:"begin"`          // offset in the plain text
	Bytes  int64  `json:"bytes"`
	SHA256 []byte `json:"sha256"`
}

// mostOriginal limits the bytes of a record that Read reads.
const mostOriginal = 256 << 20

// Read reads the whole record from its file.
func (c *Cut) Read(ctx context.Context) (record []byte, err error) {
	switch {
	case c.File == "":
		return nil, fmt.Errorf("the record has %d bytes, and its source keeps it: correct it there", c.Bytes)
	case c.Bytes > mostOriginal:
		return nil, fmt.Errorf("the record has %d bytes, and at most %d are read: correct it in its file", c.Bytes, mostOriginal)
	}
	name := mask.Shown(filepath.Base(c.File))
	defer func() {
		if err != nil {
			err = fmt.Errorf("the record is in %s at byte %d, and cannot be read there: %w; put the file of the import back", name, c.Begin, errtext.Pathless(err))
		}
	}()
	f, err := open(ctx, Disk{}, c.File, name, Options{})
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text := io.Reader(f.text)
	switch {
	case f.archive != nil:
		return nil, errors.New("it is a member of a zip file, which has to be unpacked")
	case f.canSeek():
		text = f.disk.from(c.Begin)
	default:
		if _, err := io.CopyN(io.Discard, text, c.Begin); err != nil {
			return nil, err
		}
	}
	record = make([]byte, c.Bytes)
	if _, err := io.ReadFull(text, record); err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(record); !bytes.Equal(sum[:], c.SHA256) {
		return nil, errors.New("the file has changed")
	}
	return record, nil
}
