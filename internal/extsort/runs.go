package extsort

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"os"
	"slices"

	"github.com/klauspost/compress/s2"

	"github.com/hogapi/hogapi/internal/durable"
)

// headerSize is the size of an item's header: the length of the item, and a checksum of its position and its
// bytes.
const headerSize = 4 + 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func appendHeader(b []byte, offset int64, item []byte) []byte {
	from := len(b)
	b = binary.BigEndian.AppendUint64(b, uint64(offset)) // in the place of the header, so that nothing is allocated
	sum := crc32.Update(crc32.Checksum(b[from:], castagnoli), castagnoli, item)
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(b[:from], uint32(len(item))), sum)
}

// runWriter writes a run. Its end returns the first error.
type runWriter struct {
	sorter *Sorter
	file   durable.File
	buf    *bufio.Writer // before the file
	packed *s2.Writer    // before buf; nil: the file is not compressed
	items  io.Writer     // the first of them
	run    Run
	digest hash.Hash // of all headers
	header [headerSize]byte
	err    error
}

func (w *runWriter) add(item []byte) {
	if len(item) > maxItem {
		w.err = errors.Join(w.err, fmt.Errorf("an item has %d bytes, and at most %d can be sorted", len(item), maxItem))
		return
	}
	header := appendHeader(w.header[:0], w.run.Bytes, item)
	_, _ = w.digest.Write(header)
	_, _ = w.items.Write(header) // end returns the error
	_, _ = w.items.Write(item)
	w.run.Items++
	w.run.Bytes += int64(headerSize + len(item))
}

func (w *runWriter) end() (Run, error) {
	err := w.err
	if w.packed != nil {
		err = errors.Join(err, w.packed.Close())
	}
	if err = errors.Join(err, w.buf.Flush()); err == nil && w.packed != nil {
		w.run.Packed, err = w.file.Seek(0, io.SeekCurrent)
	}
	if err == nil {
		err = w.file.Sync()
	}
	if err = errors.Join(err, w.file.Close()); err != nil {
		_ = w.remove()
	}
	w.run.Digest = hex.EncodeToString(w.digest.Sum(nil)[:8])
	return w.run, err
}

func (w *runWriter) abort() error { return errors.Join(w.file.Close(), w.remove()) }

func (w *runWriter) remove() error { return w.sorter.FS.Remove(w.sorter.path(w.run.File)) }

type runReader struct {
	sorter *Sorter
	run    Run
	number int // among the runs of a merge
	file   *runFile
	items  io.Reader // from offset on
	offset int64
	text   []byte // valid until the next one

	header, want [headerSize]byte // of the next one, so that nothing is allocated
}

func (r *runReader) key() []byte { return r.text[:r.sorter.Key] }

func openRun(s *Sorter, run Run, offset int64) (*runReader, error) {
	file, err := s.FS.OpenFile(s.path(run.File), os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	r := &runReader{sorter: s, run: run, file: &runFile{File: file, size: cmp.Or(run.Packed, run.Bytes)}, offset: offset}
	if r.items, err = r.file.from(offset, run.Packed > 0); err != nil {
		return nil, errors.Join(r.failed(), file.Close())
	}
	return r, nil
}

// runFile remembers why a file cannot be read. All other errors mean that its content is damaged.
type runFile struct {
	durable.File

	size   int64
	failed error
}

func (f *runFile) Read(p []byte) (n int, err error) {
	n, err = f.File.Read(p)
	if !errors.Is(err, io.EOF) {
		f.failed = cmp.Or(f.failed, err)
	}
	return n, err
}

func (f *runFile) Seek(offset int64, whence int) (at int64, err error) {
	at, err = f.File.Seek(offset, whence)
	if whence == io.SeekEnd {
		offset += f.size
	}
	if offset >= 0 { // else the index is damaged
		f.failed = cmp.Or(f.failed, err)
	}
	return at, err
}

// from reads the items of a file from an offset of them on. Each item has a checksum, so those of blocks are not compared.
func (f *runFile) from(offset int64, isPacked bool) (io.Reader, error) {
	if !isPacked {
		_, err := f.Seek(offset, io.SeekStart)
		return bufio.NewReaderSize(f, readBuffer), err
	}
	begin, before := int64(0), int64(0) // of a block, and of its items
	if offset > 0 {
		var index s2.Index
		err := index.LoadStream(f)
		if err == nil {
			begin, before, err = index.Find(offset)
		}
		if err == nil {
			_, err = f.Seek(begin, io.SeekStart)
		}
		if err != nil {
			return nil, err
		}
	}
	r := s2.NewReader(bufio.NewReaderSize(f, readBuffer), s2.ReaderMaxBlockSize(packedBlock), s2.ReaderIgnoreStreamIdentifier(), s2.ReaderIgnoreCRC())
	return r, r.Skip(offset - before)
}

func (r *runReader) next() error {
	if r.offset == r.run.Bytes {
		return io.EOF
	}
	if _, err := io.ReadFull(r.items, r.header[:]); err != nil {
		return r.failed()
	}
	size := int64(binary.BigEndian.Uint32(r.header[:]))
	if size > r.run.Bytes-r.offset-headerSize {
		return r.damaged()
	}
	r.text = slices.Grow(r.text[:0], int(size))[:size]
	if _, err := io.ReadFull(r.items, r.text); err != nil {
		return r.failed()
	}
	if !bytes.Equal(appendHeader(r.want[:0], r.offset, r.text), r.header[:]) || len(r.text) < r.sorter.Key {
		return r.damaged()
	}
	r.offset += headerSize + size
	return nil
}

// failed returns the error of reading.
func (r *runReader) failed() error { return cmp.Or(r.file.failed, r.damaged()) }

func (r *runReader) damaged() error {
	return r.sorter.damaged(fmt.Sprintf("%s is not as it was written, at byte %d", r.run.File, r.offset))
}

// sources are a heap of runs by their next items. Of items with equal keys, the items of the earlier run come first.
type sources []*runReader

func (s sources) Len() int      { return len(s) }
func (s sources) Swap(i, j int) { s[i], s[j] = s[j], s[i] }

func (s sources) Less(i, j int) bool {
	return cmp.Or(bytes.Compare(s[i].key(), s[j].key()), cmp.Compare(s[i].number, s[j].number)) < 0
}

func (s *sources) Push(x any) { *s = append(*s, x.(*runReader)) }

func (s *sources) Pop() any {
	last := (*s)[len(*s)-1]
	*s = (*s)[:len(*s)-1]
	return last
}
