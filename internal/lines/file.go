package lines

import (
	"archive/zip"
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
)

// Options are settings for reading a file.
type Options struct {
	Layout  Layout
	Columns []string // for a table without a header

	CheckColumns func(columns []string) error // refuses a table with wrong columns; may be nil
	KeepNulls    bool                         // in a table, NULL and the like are texts

	Longest int         // limit for the bytes of a record
	Verify  int64       // size limit for packed files that are read to their end before the first record; below 0: never
	Known   Fingerprint // of the file up to the offset, to be checked; zero: any
	Holes   bool        // accept zeros within text, as a crash may leave them
}

// File is an open file of records, plain or packed, or a member of a zip file.
type File struct {
	name    string // the base name, and the member's name
	path    string // empty if it is in no file of this machine
	options Options
	disk    *handle
	archive *zip.Reader // of a zip file, which has no text itself
	member  *zip.File   // nil: not in a zip file

	kind   string        // of packing; empty: plain
	packed unpacker      // nil for a plain file or a zip member
	text   *bufio.Reader // from the start
	layout Layout        // of its text
	begin  int64         // offset of the text after a byte order mark; only lines count the mark

	reader splitter
	source *counter // of the reader

	from    int64 // start of the reader: earlier records are not counted
	counted bool
	before  int64 // records before it

	first, last int64 // offsets of the records since the last valid checksum; see passed
}

type splitter interface {
	Next() (Line, error)
	Number() int64 // of the last record
}

type counter struct {
	io.Reader

	offset int64
}

func (c *counter) Read(p []byte) (n int, err error) {
	n, err = c.Reader.Read(p)
	c.offset += int64(n)
	return n, err
}

func open(ctx context.Context, fsys fs.FS, path, name string, o Options) (*File, error) {
	disk, err := openHandle(ctx, fsys, path)
	if err != nil {
		return nil, err
	}
	f := &File{name: name, options: o, disk: disk}
	if fsys == (Disk{}) {
		f.path = path
	}
	if err := f.open(path); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Close closes the file.
func (f *File) Close() {
	f.closeText()
	f.disk.close()
}

func (f *File) closeText() {
	if f.packed != nil {
		f.packed.close()
	}
}

// Name is the base name of the file; for a zip member, "!/" and the member's name follow.
func (f *File) Name() string { return f.name }

// Info describes the file at the time of opening.
func (f *File) Info() fs.FileInfo { return f.disk.begun }

// canSeek reports whether the text can be read from any offset.
func (f *File) canSeek() bool { return f.kind == "" && f.member == nil && f.disk.at != nil }

func (f *File) open(path string) error {
	f.text = bufio.NewReaderSize(f.disk.from(0), buffer)
	head, err := f.peek()
	if err != nil {
		return err
	}
	if packing(head) == isZip {
		f.archive, err = openArchive(f.disk)
		return err
	}
	const shortestMagic = 4
	if len(head) < shortestMagic && packing(head) == "" && (strings.HasSuffix(path, ".gz") || strings.HasSuffix(path, ".zst") || strings.HasSuffix(path, ".zip")) {
		return fmt.Errorf("the file has %d bytes, but even an empty packed file has a header: it was probably never written; get it again", len(head))
	}
	return f.unpack(head, f.disk.begun.Size())
}

func (f *File) openMember(member *zip.File) (*File, error) {
	m := &File{name: f.name + inArchive + member.Name, path: f.path, options: f.options, disk: f.disk, member: member}
	if member.Flags&1 != 0 {
		return nil, errors.New("the member is encrypted: unpack the zip file")
	}
	err := m.openText()
	if err != nil {
		m.closeText()
		return nil, err
	}
	return m, nil
}

func (f *File) openText() error {
	r, err := f.member.Open()
	if err != nil {
		return f.fault(err)
	}
	f.text = bufio.NewReaderSize(r, buffer)
	head, err := f.peek()
	if err != nil {
		return err
	}
	return f.unpack(head, int64(f.member.CompressedSize64))
}

func (f *File) unpack(head []byte, size int64) (err error) {
	if err := f.verify(packing(head), size); err != nil {
		return err
	}
	if f.kind = packing(head); f.kind == isZip {
		return adviceFor(head)
	} else if f.kind != "" {
		if f.packed, err = unpack(f.kind, f.text); err != nil {
			return f.fault(err)
		}
		f.text = bufio.NewReaderSize(f.packed, buffer)
		if head, err = f.peek(); err != nil {
			return err
		}
	}
	if err := adviceFor(head); err != nil {
		return err
	}
	if f.layout = f.options.Layout; f.layout != Lines {
		text, err := f.text.Peek(buffer)
		if err != nil && !errors.Is(err, io.EOF) {
			return f.fault(err)
		}
		if f.layout, err = f.layout.of(text, err != nil); err != nil {
			return err
		}
	}
	if f.layout != Lines && bytes.HasPrefix(head, byteOrderMark) {
		f.begin = int64(len(byteOrderMark))
	}
	return nil
}

func (f *File) peek() ([]byte, error) {
	const longestMagic = 6
	head, err := f.text.Peek(longestMagic)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, f.fault(err)
	}
	return head, nil
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// verify reads a packed text to its end unless it is too large, so that a damaged file yields no
// record.
func (f *File) verify(kind string, size int64) error {
	if kind == "" && f.member == nil || f.disk.at == nil || size > f.options.Verify {
		return nil
	}
	err := func() error {
		packed := io.LimitReader(f.disk.from(0), size)
		if f.member != nil {
			r, err := f.member.Open()
			if err != nil {
				return err
			}
			packed = r
		}
		if kind != "" && kind != isZip {
			u, err := unpack(kind, bufio.NewReaderSize(packed, buffer))
			if err != nil {
				return err
			}
			defer u.close()
			packed = u
		}
		_, err := io.Copy(io.Discard, packed)
		return err
	}()
	if err != nil {
		return fmt.Errorf("the %s file is cut off or damaged, so nothing of it was sent: %w", f.packing(kind), err)
	}
	return nil
}

// packing names the kind of the file for an error.
func (f *File) packing(kind string) string {
	if f.member != nil {
		return isZip
	}
	return kind
}

// Next returns the next record, a line without byte order mark and CR. At the end of the file the
// error is io.EOF. Other errors say where and why reading failed, or that the file changed while it
// was read.
func (f *File) Next() (Line, error) {
	l, err := f.reader.Next()
	if l.Cut != nil {
		l.Cut.File = f.path
	}
	switch {
	case errors.Is(err, io.EOF):
		if err := f.checkWhole(); err != nil {
			return Line{}, err
		}
		return Line{}, io.EOF
	case err != nil:
		return Line{}, f.fault(err)
	}
	if l.Open { // it may be the start of a line that was cut off
		if err := f.checkWhole(); err != nil {
			return Line{}, err
		}
	}
	if f.layout == Lines {
		if l.Number == 1 && f.from == 0 {
			l.Text = bytes.TrimPrefix(l.Text, byteOrderMark)
		}
		l.Text = bytes.TrimSuffix(l.Text, []byte{'\r'})
	}
	f.passed(l)
	return l, nil
}

// checkWhole compares the file with its state at opening and with the text read.
func (f *File) checkWhole() error {
	if f.canSeek() {
		return f.disk.checkWhole(f.source.offset)
	}
	return f.disk.checkWhole(-1)
}

// passed notes a record that was read in this or an earlier run, for the error of a damaged file.
func (f *File) passed(l Line) {
	if f.packed == nil || l.End <= f.packed.checked() {
		return
	}
	if f.first <= f.packed.checked() {
		f.first = l.End
	}
	f.last = l.End
}

// fault says where reading failed, and which records may be wrong.
func (f *File) fault(err error) error {
	_, isOfText := errors.AsType[*textError](err)
	if kind := f.packing(f.kind); kind != "" && !isOfText {
		err = fmt.Errorf("the %s file is cut off or damaged: %w", kind, err)
	}
	if f.packed != nil && f.first > f.packed.checked() {
		err = fmt.Errorf("%w; the lines that end at byte offsets %d to %d were read since the last checksum that is right, and may be wrong", err, f.first, f.last)
	}
	if f.reader == nil {
		return err
	}
	if number, known := f.Number(Line{Number: f.reader.Number() + 1}); known {
		return fmt.Errorf("%s %d: %w", f.unit(), number, err)
	}
	return err
}

// beginning is a digest of the first 64 KiB of the plain text, or of all of a shorter one. It is taken before the
// reader begins. It is empty for an empty file, and for a pipe, which may have to wait for its text.
func (f *File) beginning() string {
	if f.disk.at == nil {
		return ""
	}
	head, _ := f.text.Peek(buffer) // the reader has the error
	if len(head) == 0 {
		return ""
	}
	sum := sha256.Sum256(head)
	return string(sum[:])
}
