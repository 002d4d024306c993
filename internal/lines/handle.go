package lines

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"strings"
	"sync"
)

// Disk is the file system of this machine; its names are paths as programs use them.
type Disk struct{}

// Open implements fs.FS.
func (Disk) Open(path string) (fs.File, error) {
	file, err := os.Open(path) //nolint:gosec // the caller names its own files
	if err != nil {
		return nil, err // not a nil *os.File in the interface
	}
	return file, nil
}

// Stat implements fs.StatFS.
func (Disk) Stat(path string) (fs.FileInfo, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) && strings.ContainsAny(path, `*?[`) {
		err = fmt.Errorf("%w: a pattern is not the name of a file: list the files, or use history.Files", err)
	}
	return info, err
}

// handle is an open file as stored, before unpacking.
type handle struct {
	file   fs.File
	at     io.ReaderAt // nil if the file can be read only once, from its start
	closed sync.Once
	forget func() bool // stops watching the context; a function, because context.AfterFunc gives no other
	begun  fs.FileInfo // at opening
	head   string      // digest of its beginning
}

// openHandle opens a file. The end of ctx closes it, also during the opening.
func openHandle(ctx context.Context, fsys fs.FS, path string) (*handle, error) {
	file, err := fsys.Open(path)
	if err != nil {
		return nil, err
	}
	h := &handle{file: file}
	h.forget = context.AfterFunc(ctx, h.shut)
	if err := h.begin(); err != nil {
		h.close()
		return nil, err
	}
	return h, nil
}

func (h *handle) begin() (err error) {
	if h.begun, err = h.file.Stat(); err != nil {
		return err
	}
	if h.begun.IsDir() {
		return errors.New("this is a folder: name its files")
	}
	if h.isRegular() { // peeking into a pipe would consume it
		h.at, _ = h.file.(io.ReaderAt)
	}
	if h.at != nil {
		h.head, err = h.headDigest()
	}
	return err
}

// shut closes the file once; every call returns when that is done.
func (h *handle) shut() { h.closed.Do(func() { _ = h.file.Close() }) } // only read

func (h *handle) close() {
	h.forget()
	h.shut()
}

func (h *handle) isRegular() bool { return h.begun.Mode().IsRegular() }

// from returns the file from an offset on. A file without random access continues at its current
// position.
func (h *handle) from(offset int64) io.Reader {
	if h.at == nil {
		return h.file
	}
	if offset > h.begun.Size() { // after a last line without its newline; a ReadAt may refuse such an offset
		if now, err := h.file.Stat(); err == nil && now.Size() < offset {
			return io.MultiReader() // empty
		}
	}
	return io.NewSectionReader(h.at, offset, math.MaxInt64-offset)
}

const buffer = 64 << 10

// checkWhole compares the file with its state at opening. read is the number of bytes if it was
// read to its end, or below 0.
func (h *handle) checkWhole(read int64) error {
	if h.at == nil {
		return nil
	}
	now, err := h.file.Stat()
	if err != nil {
		return err
	}
	if now.Size() < h.begun.Size() {
		return fmt.Errorf("the file was cut while it was read: it had %d bytes at the start and has %d now; restore it before the next run, "+
			"which cannot detect the missing part", h.begun.Size(), now.Size())
	}
	head := h.head
	if !now.ModTime().Equal(h.begun.ModTime()) {
		if head, err = h.headDigest(); err != nil {
			return err
		}
	}
	if head != h.head || read >= 0 && read < h.begun.Size() {
		return errors.New("the file was rewritten while it was read: the events sent may mix both versions")
	}
	return nil
}

func (h *handle) headDigest() (string, error) {
	return digestUpTo(h.from(0), min(buffer, h.begun.Size()))
}
