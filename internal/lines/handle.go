package lines

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
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
	if h.begun.Mode().IsRegular() { // peeking into a pipe would consume it
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

// Fingerprint identifies a checkpoint's file up to an offset of its plain text, so that a run does
// not resume in another file of the same name. It has a digest of the first bytes and, for a plain
// file, a digest of the bytes before the offset. If the file system knows versions of its files, it
// has only the version.
type Fingerprint struct {
	Head    string `json:"head"`
	Tail    string `json:"tail,omitempty"`
	Version string `json:"version,omitempty"`
}

// versionOf returns the file system's version of a file's content, or "".
func versionOf(info fs.FileInfo) string {
	if v, ok := info.(interface{ Version() string }); ok {
		return v.Version()
	}
	return ""
}

const (
	maxOfHead = 64 << 10
	maxOfTail = 4 << 10
)

// Replaced stands for a file that lost its name before its fingerprint was taken.
var Replaced = Fingerprint{Head: "replaced"}

// fingerprintAt takes the fingerprint of a file up to the end of a record. It is zero for a file
// that cannot be read twice, or not at all.
func fingerprintAt(fsys fs.FS, path string, offset int64) Fingerprint {
	info, err := fs.Stat(fsys, path)
	if err != nil || !info.Mode().IsRegular() || offset <= 0 {
		return Fingerprint{}
	}
	if version := versionOf(info); version != "" {
		return Fingerprint{Version: version}
	}
	file, err := fsys.Open(path)
	if err != nil {
		return Fingerprint{}
	}
	defer func() { _ = file.Close() }() // only read
	at, ok := file.(io.ReaderAt)
	if !ok {
		return Fingerprint{}
	}
	if p, err := fingerprintOf(at, offset); err == nil {
		return p
	}
	return Fingerprint{}
}

// fingerprintOf takes the fingerprint up to an offset of the plain text. For a zip file it covers
// the packed file, since the offset is in a member.
func fingerprintOf(file io.ReaderAt, offset int64) (p Fingerprint, err error) {
	const everything = 1<<63 - 1
	settled := offset - 1 // without the newline, which the last line may lack
	text := bufio.NewReaderSize(io.NewSectionReader(file, 0, everything), 4<<10)
	head, _ := text.Peek(4)
	switch kind := packing(head); kind {
	case isZip:
		p.Head, err = digestUpTo(text, maxOfHead)
		return p, err
	case isGzip, isZstd:
		u, err := unpack(kind, text)
		if err != nil {
			return p, err
		}
		defer u.close()
		p.Head, err = digestOf(u, min(maxOfHead, settled))
		return p, err
	}
	if p.Head, err = digestOf(text, min(maxOfHead, settled)); err != nil {
		return p, err
	}
	tail := min(maxOfTail, settled)
	p.Tail, err = digestOf(io.NewSectionReader(file, settled-tail, tail), tail)
	return p, err
}

// digestOf hashes the first n bytes of a text; a shorter text is an error.
func digestOf(text io.Reader, n int64) (string, error) {
	counted := &counter{Reader: text}
	digest, err := digestUpTo(counted, n)
	if err == nil && counted.offset < n {
		err = ErrShort
	}
	return digest, err
}

// digestUpTo hashes the first n bytes of a text, or all of a shorter one.
func digestUpTo(text io.Reader, n int64) (string, error) {
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(text, n)); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

// Errors of Open for a file with another fingerprint.
var (
	ErrOtherFile = errors.New("another file, or changed since")
	ErrReplaced  = errors.New("the file was renamed while it was read, so a later run cannot recognize it; move the checkpoint away to import from the start: events keep their uuids")
)

// check compares a file with the fingerprint up to an offset. It leaves read errors to the reader.
func (p Fingerprint) check(file io.ReaderAt, info fs.FileInfo, offset int64) error {
	switch {
	case p == Fingerprint{}:
		return nil
	case p == Replaced:
		return ErrReplaced
	case p.Version != "" && p.Version == versionOf(info):
		return nil
	case p.Version != "":
		return ErrOtherFile
	}
	now, err := fingerprintOf(file, offset)
	switch {
	case errors.Is(err, ErrShort):
		return ErrOtherFile
	case err != nil:
		return nil //nolint:nilerr // see above
	case now.Head != p.Head || p.Tail != "" && now.Tail != "" && now.Tail != p.Tail:
		return ErrOtherFile
	}
	return nil
}

// Content identifies a file without reading all of it.
type Content struct {
	Name string `json:"name"`
	Size int64  `json:"size"`           // 0 if the file cannot be read twice
	Ends string `json:"ends,omitempty"` // digest of its stored beginning and end
}

// Contents returns the contents of all files, in order.
func (s *Files) Contents() ([]Content, error) {
	contents := make([]Content, len(s.paths))
	for i, path := range s.paths {
		content, err := contentOf(s.fsys, path)
		if err != nil {
			return nil, err
		}
		content.Name = s.names[i]
		contents[i] = content
	}
	return contents, nil
}

func contentOf(fsys fs.FS, path string) (c Content, err error) {
	info, err := fs.Stat(fsys, path)
	if err != nil || !info.Mode().IsRegular() {
		return c, err
	}
	file, err := fsys.Open(path)
	if err != nil {
		return c, err
	}
	defer func() { _ = file.Close() }() // only read
	c.Size = info.Size()
	ends := io.LimitReader(file, maxOfHead)
	if at, ok := file.(io.ReaderAt); ok {
		ends = io.MultiReader(ends, io.NewSectionReader(at, max(c.Size-maxOfTail, 0), maxOfTail))
	}
	c.Ends, err = digestUpTo(ends, maxOfHead+maxOfTail)
	return c, err
}
