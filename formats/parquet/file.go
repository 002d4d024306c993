package parquet

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	parquetgo "github.com/parquet-go/parquet-go"
)

type file struct {
	disk   *os.File
	read   *parquetgo.File
	digest string // of its footer, which says where everything is
	tree   *node
	leaves []*leaf // of the columns that are read
}

// readBuffer is how many bytes of a column are read at once.
const readBuffer = 256 << 10

func open(path string, columns []string) (f *file, err error) {
	disk, err := os.Open(path) //nolint:gosec // the caller names its own files
	if err != nil {
		return nil, bare(err)
	}
	f = &file{disk: disk}
	defer func() {
		if err != nil {
			_ = disk.Close()
		}
	}()
	defer caught(&err)
	info, err := disk.Stat()
	if err != nil {
		return nil, bare(err)
	}
	if f.digest, err = footerDigest(disk, info.Size()); err != nil {
		return nil, err
	}
	f.read, err = parquetgo.OpenFile(disk, info.Size(), parquetgo.SkipBloomFilters(true), parquetgo.ReadBufferSize(readBuffer))
	if err != nil {
		return nil, fmt.Errorf("it cannot be read as Parquet: %w", err)
	}
	f.tree, f.leaves = newTree(f.read.Root(), columns)
	if len(f.leaves) == 0 {
		return nil, fmt.Errorf("it has none of the columns %q", columns)
	}
	return f, nil
}

func (f *file) close() { _ = f.disk.Close() }

// bare is an error of the file system without its path, which is named by the caller.
func bare(err error) error {
	if of, ok := errors.AsType[*os.PathError](err); ok {
		return of.Err
	}
	return err
}

// caught makes an error of a panic of the reader, which damaged files cause.
func caught(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("it is damaged: %v", r)
	}
}

// footerDigest is a digest of a file's size and footer.
func footerDigest(disk io.ReaderAt, size int64) (string, error) {
	const tail, most = 8, 256 << 20
	var end [tail]byte
	if size < 2*tail {
		return "", fmt.Errorf("it has %d bytes, and is no Parquet file", size)
	}
	if _, err := disk.ReadAt(end[:], size-tail); err != nil {
		return "", bare(err)
	}
	length := int64(binary.LittleEndian.Uint32(end[:]))
	if string(end[4:]) != "PAR1" || length > size-tail || length > most {
		return "", errors.New("it does not end as a Parquet file: it is another kind of file, or was cut off")
	}
	h := sha256.New()
	_ = binary.Write(h, binary.LittleEndian, size)
	if _, err := io.Copy(h, io.NewSectionReader(disk, size-tail-length, length)); err != nil {
		return "", bare(err)
	}
	return hex.EncodeToString(h.Sum(nil)[:6]), nil
}

// rows gives the records after so many rows, each with its fault or nil, until use returns false.
func (f *file) rows(after int64, use func(record []byte, bad error) bool) (err error) {
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

func (f *file) group(group parquetgo.RowGroup, after int64, use func([]byte, error) bool) (more bool, err error) {
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
	var record []byte
	for n := group.NumRows() - after; n > 0; n-- {
		for _, l := range f.leaves {
			if err := l.next(); err != nil {
				return false, err
			}
		}
		var bad error
		if record, bad = f.tree.object(record[:0]); bad != nil {
			record = record[:0]
		}
		if !use(slices.Clip(record), bad) {
			return false, nil
		}
	}
	return true, nil
}
