package download

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"os"

	"github.com/hogapi/hogapi/internal/durable"
)

// countRows returns the number of rows of files. It knows the files that the service writes, except JSON lines that are
// packed with brotli: then isKnown is false.
func countRows(fsys durable.FS, paths []string) (rows int64, isKnown bool, err error) {
	for _, path := range paths {
		n, err := rowsOf(fsys, path)
		if errors.Is(err, errForm) {
			return 0, false, nil
		}
		if err != nil {
			return 0, false, err
		}
		rows += n
	}
	return rows, true, nil
}

var errForm = errors.New("the format of the file is unknown")

func rowsOf(fsys durable.FS, path string) (rows int64, err error) {
	f, err := fsys.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
	content := bufio.NewReaderSize(f, 256<<10)
	switch head, _ := content.Peek(4); {
	case string(head) == parquetMark:
		return parquetRows(f)
	case bytes.HasPrefix(head, []byte("{")):
		return lineCount(content)
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		unpacked, err := gzip.NewReader(content) // of all its members: the service packs each row by itself
		if err != nil {
			return 0, errForm
		}
		return lineCount(unpacked)
	}
	return 0, errForm
}

func lineCount(r io.Reader) (lines int64, err error) {
	buffer, last := make([]byte, 256<<10), byte('\n')
	for {
		n, err := r.Read(buffer)
		lines += int64(bytes.Count(buffer[:n], []byte("\n")))
		if n > 0 {
			last = buffer[n-1] //nolint:gosec // n is above 0
		}
		if errors.Is(err, io.EOF) {
			if last != '\n' {
				lines++
			}
			return lines, nil
		}
		if err != nil {
			return 0, err
		}
	}
}

const (
	parquetMark   = "PAR1"
	maxFooter     = 256 << 20
	rowsField     = 3  // of the structure FileMetaData
	maxDepth      = 32 // of structures in a footer, which has 5
	thriftFalse   = 2
	thriftByte    = 3
	thriftI16     = 4
	thriftI64     = 6
	thriftDouble  = 7
	thriftBinary  = 8
	thriftSet     = 10
	thriftStruct  = 12
	trailerLength = 8
)

// parquetRows returns the number of rows that the footer of a Parquet file says.
func parquetRows(f io.ReadSeeker) (rows int64, err error) {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, err
	}
	end := make([]byte, trailerLength)
	if _, err = f.Seek(max(size-trailerLength, 0), io.SeekStart); err == nil {
		_, err = io.ReadFull(f, end)
	}
	length := int64(binary.LittleEndian.Uint32(end))
	if err != nil || string(end[4:]) != parquetMark || length > min(size-trailerLength, maxFooter) {
		return 0, cmp.Or(err, errForm)
	}
	footer := make([]byte, length)
	if _, err = f.Seek(size-trailerLength-length, io.SeekStart); err == nil {
		_, err = io.ReadFull(f, footer)
	}
	if err != nil {
		return 0, err
	}
	r := thrift{bytes.NewReader(footer)}
	err = r.fields(func(id int64, kind byte) error {
		if id != rowsField || kind != thriftI64 {
			return r.skip(kind, 1)
		}
		rows, err = binary.ReadVarint(r) // in the zigzag of Thrift
		return cmp.Or(err, errFound)
	})
	if !errors.Is(err, errFound) || rows < 0 {
		return 0, errForm
	}
	return rows, nil
}

var errFound = errors.New("the number of rows was found")

// thrift reads Thrift's compact protocol, as far as a footer needs it.
type thrift struct{ *bytes.Reader }

// fields reads a structure.
func (t thrift) fields(read func(id int64, kind byte) error) error {
	for id := int64(0); ; {
		head, err := t.ReadByte()
		if err != nil || head == 0 {
			return err
		}
		if delta := int64(head >> 4); delta > 0 {
			id += delta
		} else if id, err = binary.ReadVarint(t); err != nil {
			return err
		}
		if err := read(id, head&15); err != nil {
			return err
		}
	}
}

func (t thrift) skip(kind byte, depth int) (err error) {
	switch {
	case depth > maxDepth:
		return errForm
	case kind <= thriftFalse: // the kind of a field is its value
		return nil
	case kind == thriftByte:
		return t.pass(1)
	case kind >= thriftI16 && kind <= thriftI64:
		_, err = binary.ReadUvarint(t)
		return err
	case kind == thriftDouble:
		return t.pass(8)
	case kind == thriftBinary:
		n, err := binary.ReadUvarint(t)
		if err != nil {
			return err
		}
		return t.pass(n)
	case kind <= thriftSet:
		return t.skipList(depth)
	case kind == thriftStruct:
		return t.fields(func(_ int64, kind byte) error { return t.skip(kind, depth+1) })
	}
	return errForm // footers have no maps
}

func (t thrift) skipList(depth int) error {
	head, err := t.ReadByte()
	n := uint64(head >> 4)
	if err == nil && n == 15 {
		n, err = binary.ReadUvarint(t)
	}
	kind := head & 15
	if kind <= thriftFalse {
		kind = thriftByte // in lists, a truth value is a byte
	}
	for ; err == nil && n > 0; n-- {
		err = t.skip(kind, depth+1)
	}
	return err
}

func (t thrift) pass(n uint64) error {
	if n > uint64(t.Len()) {
		return io.ErrUnexpectedEOF
	}
	_, err := t.Seek(int64(n), io.SeekCurrent)
	return err
}
