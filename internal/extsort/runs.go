package extsort

import (
	"bufio"
	"container/heap"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// runWriter writes a run. Its first error is that of end.
type runWriter struct {
	file   *os.File
	buf    *bufio.Writer
	run    Run
	header [headerSize]byte
	err    error
}

func newRunWriter(file *os.File, name string) *runWriter {
	return &runWriter{file: file, buf: bufio.NewWriterSize(file, 256<<10), run: Run{File: name}}
}

func (w *runWriter) add(key Key, text []byte) {
	if len(text) > mostItem {
		w.err = errors.Join(w.err, fmt.Errorf("an item has %d bytes, and at most %d can be sorted", len(text), mostItem))
		return
	}
	_, _ = w.buf.Write(appendHeader(w.header[:0], key, len(text))) // Flush returns the error
	_, _ = w.buf.Write(text)
	w.run.Items++
	w.run.Bytes += int64(headerSize + len(text))
}

// end makes the file durable.
func (w *runWriter) end() (Run, error) {
	err := errors.Join(w.err, w.buf.Flush())
	if err == nil {
		err = w.file.Sync()
	}
	if err = errors.Join(err, w.file.Close()); err != nil {
		_ = os.Remove(w.file.Name())
	}
	return w.run, err
}

func (w *runWriter) abort() error {
	return errors.Join(w.file.Close(), os.Remove(w.file.Name()))
}

// runReader reads a run.
type runReader struct {
	buf  *bufio.Reader
	key  Key
	text []byte // valid until the next one
}

func newRunReader(file io.Reader) *runReader {
	return &runReader{buf: bufio.NewReaderSize(file, readBuffer)}
}

func (r *runReader) next() error {
	var header [headerSize]byte
	if _, err := io.ReadFull(r.buf, header[:]); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return errDamaged
		}
		return err
	}
	r.key.Major = int64(binary.BigEndian.Uint64(header[:]))
	r.key.Minor = int32(binary.BigEndian.Uint32(header[8:]))
	size := int(binary.BigEndian.Uint32(header[keySize:]))
	if size > mostItem {
		return errDamaged
	}
	r.text = slices.Grow(r.text[:0], size)[:size]
	if _, err := io.ReadFull(r.buf, r.text); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return errDamaged
		}
		return err
	}
	return nil
}

// merger gives the items of several runs in their order; of equal keys, those of the earlier run first.
type merger struct {
	files []*os.File
	heap  sources
}

type source struct {
	*runReader

	number int
}

func (m *merger) add(path string) error {
	file, err := os.Open(path) //nolint:gosec // in the caller's folder
	if err != nil {
		return err
	}
	m.files = append(m.files, file)
	src := &source{newRunReader(file), len(m.files)}
	err = src.next()
	if errors.Is(err, io.EOF) {
		return nil
	}
	m.heap = append(m.heap, src)
	return err
}

func (m *merger) begin() { heap.Init(&m.heap) }

// next passes over the first item.
func (m *merger) next() error {
	err := m.heap[0].next()
	if errors.Is(err, io.EOF) {
		heap.Pop(&m.heap)
		return nil
	}
	heap.Fix(&m.heap, 0)
	return err
}

func (m *merger) close() {
	for _, f := range m.files {
		_ = f.Close() // nothing was written
	}
}

// sources are a heap by their next items.
type sources []*source

func (s sources) Len() int      { return len(s) }
func (s sources) Swap(i, j int) { s[i], s[j] = s[j], s[i] }

func (s sources) Less(i, j int) bool {
	if order := s[i].key.Compare(s[j].key); order != 0 {
		return order < 0
	}
	return s[i].number < s[j].number
}

func (s *sources) Push(x any) { *s = append(*s, x.(*source)) }

func (s *sources) Pop() any {
	last := (*s)[len(*s)-1]
	*s = (*s)[:len(*s)-1]
	return last
}
