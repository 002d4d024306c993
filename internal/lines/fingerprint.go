package lines

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
)

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
