package lines

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/hogapi/hogapi/internal/mask"
)

// Options say how a file is read.
type Options struct {
	Longest int         // bytes of a line
	Verify  int64       // bytes of the largest gzip file that is read to its end before its first line; below 0: none is
	Known   Fingerprint // that the file must have up to the offset; zero: any
}

// File is an open file of lines, plain or gzip.
type File struct {
	path    string
	name    string // its base
	options Options
	file    *os.File
	forget  func() bool // ends the watch over the context
	begun   os.FileInfo // when it was opened
	head    [sha256.Size]byte
	isGzip  bool
	zipped  *members      // nil: plain
	text    *bufio.Reader // plain, from the start
	reader  *Reader
	content *megabyte

	from    int64 // where the reader has begun: the lines before it are not counted
	counted bool
	before  int64 // lines before it

	first, last int64 // offsets of the lines read since the last right checksum; see passed
}

// Open opens a file to read the lines after an offset of its plain text. Where it is gzip and not too
// large, all its checksums are right. The end of ctx closes the file, also while it is opened.
func Open(ctx context.Context, path string, offset int64, o Options) (*File, error) {
	f, err := open(ctx, path, o)
	if err != nil {
		return nil, err
	}
	if f.isRegular() {
		err = o.Known.check(f.file, offset)
	}
	if err == nil {
		err = f.skipTo(offset)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func open(ctx context.Context, path string, o Options) (*File, error) {
	file, err := os.Open(path) //nolint:gosec // the caller names its own files
	if err != nil {
		return nil, err
	}
	f := &File{path: path, name: filepath.Base(path), options: o, file: file}
	f.forget = context.AfterFunc(ctx, func() { _ = file.Close() })
	if f.begun, err = file.Stat(); err == nil {
		err = f.begin()
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Close closes the file.
func (f *File) Close() {
	f.forget()
	_ = f.file.Close() // nothing was written
}

// Name is the base name of the file.
func (f *File) Name() string { return f.name }

// Info is what the file was when it was opened.
func (f *File) Info() os.FileInfo { return f.begun }

// isRegular reports whether the file can be read twice. To look into a pipe takes from it.
func (f *File) isRegular() bool { return f.begun.Mode().IsRegular() }

const buffer = 64 << 10

// begin finds out what the file is.
func (f *File) begin() error {
	if f.begun.IsDir() {
		return errors.New("this is a folder: name its files")
	}
	if f.isRegular() {
		var err error
		if f.head, err = headDigest(f.file, min(buffer, f.begun.Size())); err != nil {
			return err
		}
	}
	f.text = bufio.NewReaderSize(f.file, buffer)
	head, err := f.peek()
	if err != nil {
		return err
	}
	if f.isGzip = bytes.HasPrefix(head, gzipMagic); f.isGzip {
		if err := f.verify(); err != nil {
			return err
		}
		if f.zipped, err = newMembers(f.text); err != nil {
			return f.fault(err)
		}
		f.text = bufio.NewReaderSize(f.zipped, buffer)
		if head, err = f.peek(); err != nil {
			return err
		}
	}
	if len(head) == 0 && !f.isGzip && strings.HasSuffix(f.path, ".gz") {
		return errors.New("the file has 0 bytes, and a gzip file of nothing has a header: it was probably never written")
	}
	for _, foreign := range foreignMagic {
		if bytes.HasPrefix(head, []byte(foreign.magic)) {
			return errors.New(foreign.advice)
		}
	}
	return nil
}

// peek returns the first bytes of the text.
func (f *File) peek() ([]byte, error) {
	const longestMagic = 6
	head, err := f.text.Peek(longestMagic)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, f.fault(err)
	}
	return head, nil
}

var (
	gzipMagic     = []byte{0x1f, 0x8b}
	byteOrderMark = []byte("\xef\xbb\xbf")
)

// foreignMagic are the beginnings of files that are not text, and what to do about them.
var foreignMagic = []struct{ magic, advice string }{
	{"\x1f\x8b", "the file is compressed twice: unpack it once"},
	{"PK\x03\x04", "this is a zip file: unpack it"},
	{"\x28\xb5\x2f\xfd", "this is a zstd file: unpack it"},
	{"BZh", "this is a bzip2 file: unpack it"},
	{"\xfd7zXZ\x00", "this is an xz file: unpack it"},
	{"\xff\xfe", "this is UTF-16: convert it to UTF-8"},
	{"\xfe\xff", "this is UTF-16: convert it to UTF-8"},
}

// verify reads a gzip file to its end, unless it is too large: no line of a damaged one is given.
func (f *File) verify() error {
	if !f.isRegular() || f.begun.Size() > f.options.Verify {
		return nil
	}
	m, err := newMembers(bufio.NewReaderSize(io.NewSectionReader(f.file, 0, f.begun.Size()), buffer))
	if err == nil {
		_, err = io.Copy(io.Discard, m)
	}
	if err != nil {
		return fmt.Errorf("the gzip file is cut off or damaged, so nothing of it was sent: %w", err)
	}
	return nil
}

// skipTo makes the reader begin at an offset. What cannot seek is read up to there.
func (f *File) skipTo(offset int64) error {
	if offset == 0 || f.zipped != nil || !f.isRegular() {
		f.content = newMegabyte()
		f.reader = NewReader(io.TeeReader(f.text, f.content), 0, f.options.Longest)
		f.counted = true
		return f.changed(f.reader.Skip(offset, f.passed))
	}
	if err := f.changed(f.checkLineEnd(offset)); err != nil {
		return err
	}
	if _, err := f.file.Seek(offset, io.SeekStart); err != nil {
		return err
	}
	f.from = offset
	f.reader = NewReader(f.file, offset, f.options.Longest)
	return nil
}

// checkLineEnd reports whether a line ends right before an offset. A last line without a newline ends
// one byte after the file.
func (f *File) checkLineEnd(offset int64) error {
	size := f.begun.Size()
	if offset > size+1 {
		return ErrShort
	}
	var last [1]byte
	if _, err := f.file.ReadAt(last[:], min(offset, size)-1); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if (last[0] == '\n') != (offset <= size) {
		return ErrInside
	}
	return nil
}

// changed says what it means when the offset of an earlier run does not fit.
func (f *File) changed(err error) error {
	if errors.Is(err, ErrShort) || errors.Is(err, ErrInside) {
		return fmt.Errorf("the file has changed since the import began: %w", err)
	}
	if err != nil {
		return f.fault(err)
	}
	return nil
}

// Next returns the next line, without a byte order mark and CR. At the end of the file the error is
// io.EOF; any other says where and why reading failed, or that the file changed while it was read.
func (f *File) Next() (Line, error) {
	l, err := f.reader.Next()
	switch {
	case errors.Is(err, io.EOF):
		if err := f.checkWhole(); err != nil {
			return Line{}, err
		}
		return Line{}, io.EOF
	case err != nil:
		return Line{}, f.fault(err)
	}
	if l.Open { // which is not a line if the file was cut in it
		if err := f.checkWhole(); err != nil {
			return Line{}, err
		}
	}
	if l.Number == 1 && f.from == 0 {
		l.Text = bytes.TrimPrefix(l.Text, byteOrderMark)
	}
	if n := len(l.Text); n > 0 && l.Text[n-1] == '\r' {
		l.Text = l.Text[:n-1]
	}
	f.passed(l)
	return l, nil
}

// checkWhole compares what was read with the file at the start and now.
func (f *File) checkWhole() error {
	if !f.isRegular() {
		return nil
	}
	now, err := f.file.Stat()
	if err != nil {
		return err
	}
	if now.Size() < f.begun.Size() {
		return fmt.Errorf("the file was cut while it was read: it had %d bytes at the start and has %d now; bring it back before the next run, "+
			"which does not see what is missing", f.begun.Size(), now.Size())
	}
	head := f.head
	if !now.ModTime().Equal(f.begun.ModTime()) {
		if head, err = headDigest(f.file, min(buffer, f.begun.Size())); err != nil {
			return err
		}
	}
	if head != f.head || f.zipped == nil && f.reader.read < f.begun.Size() {
		return errors.New("the file was rewritten while it was read: what was sent of it may be a mixture of both")
	}
	return nil
}

// headDigest is a digest of the first bytes of a file.
func headDigest(r io.ReaderAt, most int64) (sum [sha256.Size]byte, err error) {
	head := make([]byte, most)
	n, err := r.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return sum, err
	}
	return sha256.Sum256(head[:n]), nil
}

// passed notes that a line was read, in this run or an earlier one, for the error of a damaged file.
func (f *File) passed(l Line) {
	if f.zipped == nil || l.End <= f.zipped.good {
		return
	}
	if f.first <= f.zipped.good {
		f.first = l.End
	}
	f.last = l.End
}

// fault says where reading failed, and which lines may be wrong.
func (f *File) fault(err error) error {
	if f.isGzip {
		err = fmt.Errorf("the gzip file is cut off or damaged: %w", err)
	}
	if f.zipped != nil && f.first > f.zipped.good {
		err = fmt.Errorf("%w; the lines that end at byte offsets %d to %d were read since the last checksum that is right, and may be wrong", err, f.first, f.last)
	}
	if f.reader == nil {
		return err
	}
	if number, known := f.Number(Line{Number: f.reader.Number() + 1}); known {
		return fmt.Errorf("line %d: %w", number, err)
	}
	return err
}

// Number is a line's number in the file. Where the reader began in the middle, the lines before are
// counted when the first number is needed; it is not known if they cannot be.
func (f *File) Number(l Line) (number int64, known bool) {
	if !f.counted {
		before, err := f.countNewlines(f.from)
		if err != nil {
			return 0, false
		}
		f.before, f.counted = before, true
	}
	return f.before + l.Number, true
}

// Locate names the place of a line by its number as read, such as "events.jsonl:17", or returns "".
func (f *File) Locate(line int64) string {
	number, known := f.Number(Line{Number: line})
	if !known {
		return ""
	}
	return fmt.Sprintf("%s:%d", mask.Shown(f.Name()), number)
}

// countNewlines counts those before an offset of a plain file, whatever its name leads to by now.
func (f *File) countNewlines(offset int64) (n int64, err error) {
	text := io.NewSectionReader(f.file, 0, offset)
	buf := make([]byte, 256<<10)
	for {
		got, err := text.Read(buf)
		n += int64(bytes.Count(buf[:got], []byte{'\n'}))
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return 0, err
		}
	}
}

// Beginning is a digest of the first megabyte of the plain text, or of all of it, once that is read;
// empty before, for an empty file, and for one that is not read from its start.
func (f *File) Beginning() string {
	if f.content == nil {
		return ""
	}
	return f.content.digest(f.reader.failed != nil)
}

// megabyte hashes the first megabyte that is written to it.
type megabyte struct {
	hash hash.Hash
	n    int64
}

const mostHashed = 1 << 20

func newMegabyte() *megabyte { return &megabyte{hash: sha256.New()} }

// Write implements io.Writer.
func (b *megabyte) Write(p []byte) (int, error) {
	if rest := mostHashed - b.n; rest > 0 {
		b.hash.Write(p[:min(int64(len(p)), rest)])
	}
	b.n += int64(len(p))
	return len(p), nil
}

func (b *megabyte) digest(whole bool) string {
	if b.n == 0 || b.n < mostHashed && !whole {
		return ""
	}
	return string(b.hash.Sum(nil))
}
