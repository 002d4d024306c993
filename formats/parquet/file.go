package parquet

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"

	parquetgo "github.com/parquet-go/parquet-go"
)

type file struct {
	disk   *storage
	read   *parquetgo.File
	digest string // of its footer, which says where everything is
	tree   *node
	leaves []*leaf // of the columns that are read
}

// readBuffer is how many bytes of a column are read at once.
const readBuffer = 256 << 10

func open(fsys fs.FS, path string, o Options) (*file, error) {
	disk, err := openStorage(fsys, path)
	if err != nil {
		return nil, err
	}
	return disk.open(o)
}

// open reads the footer of the file, and closes it where that fails.
func (s *storage) open(o Options) (f *file, err error) {
	f = &file{disk: s}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	defer caught(&err)
	footer, err := s.footer()
	if err != nil {
		return nil, err
	}
	f.digest = footerDigest(s.size, footer)
	f.read, err = parquetgo.OpenFile(s, s.size, parquetgo.SkipBloomFilters(true), parquetgo.ReadBufferSize(readBuffer))
	if err != nil {
		return nil, fmt.Errorf("not readable as Parquet: %w", err)
	}
	f.tree, f.leaves = newTree(f.read.Root(), o)
	if len(f.leaves) == 0 {
		return nil, fmt.Errorf("none of the columns %q is in the file", o.Columns)
	}
	return f, nil
}

func (f *file) close() { f.disk.close() }

// caught makes an error of a panic of the reader, which damaged files cause.
func caught(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("the file is damaged: %v", r)
	}
}

// footerDigest is a digest of a file's size and footer.
func footerDigest(size int64, footer []byte) string {
	h := sha256.New()
	_ = binary.Write(h, binary.LittleEndian, size)
	_, _ = h.Write(footer)
	return hex.EncodeToString(h.Sum(nil)[:6])
}

// rows reads the rows after so many, until use returns false. The leaves have the values of a row while use is called.
func (f *file) rows(after int64, use func() bool) (err error) {
	defer caught(&err)
	for _, group := range f.read.RowGroups() {
		if after >= group.NumRows() {
			after -= group.NumRows()
			continue
		}
		more, err := f.group(group, after, use)
		if err != nil || !more {
			return err
		}
		after = 0
	}
	if after > 0 {
		return io.ErrUnexpectedEOF
	}
	return nil
}

func (f *file) group(group parquetgo.RowGroup, after int64, use func() bool) (more bool, err error) {
	defer func() {
		for _, l := range f.leaves {
			l.close()
		}
	}()
	chunks := group.ColumnChunks()
	for _, l := range f.leaves {
		if err := l.open(chunks[l.column], after); err != nil {
			return false, err
		}
	}
	for n := group.NumRows() - after; n > 0; n-- {
		for _, l := range f.leaves {
			if err := l.next(); err != nil {
				return false, err
			}
		}
		if !use() {
			return false, nil
		}
	}
	return true, nil
}
