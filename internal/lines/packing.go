package lines

import (
	"archive/zip"
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/hogapi/hogapi/internal/mask"
)

type unpacker interface {
	io.Reader
	checked() int64 // number of bytes covered by valid checksums
	close()
}

// Kinds of packed files, and their first bytes.
const (
	isGzip = "gzip"
	isZstd = "zstd"
	isZip  = "zip"

	inArchive = "!/" // between the name of a zip file and that of its member
)

var packings = []struct{ kind, magic string }{
	{isGzip, "\x1f\x8b"}, {isZstd, "\x28\xb5\x2f\xfd"}, {isZip, "PK\x03\x04"}, {isZip, "PK\x05\x06"},
}

// packing detects the kind of a file by its first bytes, or returns "".
func packing(head []byte) string {
	for _, p := range packings {
		if bytes.HasPrefix(head, []byte(p.magic)) {
			return p.kind
		}
	}
	return ""
}

// foreignMagic are first bytes of files that are not text, with advice for each.
var foreignMagic = []struct{ magic, advice string }{
	{"\x1f\x8b", "the file is compressed twice: unpack it once"},
	{"\x28\xb5\x2f\xfd", "the file is compressed twice: unpack it once"},
	{"PK\x03\x04", "this is a zip file inside another file: unpack it once"},
	{"BZh", "this is a bzip2 file: unpack it"},
	{"\xfd7zXZ\x00", "this is an xz file: unpack it"},
	{"\xff\xfe", "this is UTF-16: convert it to UTF-8"},
	{"\xfe\xff", "this is UTF-16: convert it to UTF-8"},
	{"PAR1", "this is a Parquet file, which this package does not read"},
	{"Obj\x01", "this is an Avro file: convert it to JSON lines"},
}

// adviceFor returns an error with advice if the first bytes show that a file is not text.
func adviceFor(head []byte) error {
	for _, foreign := range foreignMagic {
		if bytes.HasPrefix(head, []byte(foreign.magic)) {
			return errors.New(foreign.advice)
		}
	}
	return nil
}

func unpack(kind string, packed *bufio.Reader) (unpacker, error) {
	if kind == isGzip {
		z, err := gzip.NewReader(packed)
		if err != nil {
			return nil, err
		}
		z.Multistream(false)
		return &members{packed: packed, z: z}, nil
	}
	d, err := zstd.NewReader(packed, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, err
	}
	return &frames{Decoder: d}, nil
}

type frames struct {
	*zstd.Decoder

	read, good int64
}

const maxWindow = 8 << 20

func (f *frames) Read(p []byte) (n int, err error) {
	n, err = f.Decoder.Read(p)
	f.read += int64(n)
	switch {
	case errors.Is(err, io.EOF):
		f.good = f.read
	case errors.Is(err, zstd.ErrWindowSizeExceeded):
		err = fmt.Errorf("%w: its window is over %d MiB: unpack it, or compress it without --long and --ultra", err, maxWindow>>20)
	}
	return n, err
}

func (f *frames) checked() int64 { return f.good }

func (f *frames) close() { f.Decoder.Close() }

func openArchive(h *handle) (*zip.Reader, error) {
	if h.at == nil {
		return nil, errors.New("a zip file cannot be read from a pipe: its list of members is at its end; write it to a file first")
	}
	z, err := zip.NewReader(h.at, h.begun.Size())
	if err != nil {
		return nil, fmt.Errorf("the zip file is cut off or damaged, so nothing of it was sent: %w; get it again", err)
	}
	z.RegisterDecompressor(zip.Deflate, flate.NewReader)
	return z, nil
}

// members reads the members of a gzip file in sequence, and tracks the text with valid checksums.
// Zeros after the last member are padding.
type members struct {
	packed *bufio.Reader
	z      *gzip.Reader
	plain  int64 // bytes read
	good   int64 // bytes covered by valid checksums
}

func (m *members) checked() int64 { return m.good }

func (m *members) close() {}

func (m *members) Read(p []byte) (n int, err error) {
	for {
		n, err = m.z.Read(p)
		m.plain += int64(n)
		if !errors.Is(err, io.EOF) {
			return n, err
		}
		m.good = m.plain
		if err = m.next(); err != nil || n > 0 {
			return n, err
		}
	}
}

// next begins the next member. The error is io.EOF after the last one.
func (m *members) next() error {
	for {
		c, err := m.packed.ReadByte()
		if err != nil {
			return err
		}
		if c == 0 {
			continue
		}
		if err := m.packed.UnreadByte(); err != nil {
			return err
		}
		if err := m.z.Reset(m.packed); err != nil {
			return err
		}
		m.z.Multistream(false)
		return nil
	}
}

// readMembers reads the records of a zip file's members after a position, in the order of their names.
func (f *File) readMembers(ctx context.Context, after position, w Walk, begins map[string]string) (more bool, err error) {
	members := membersOf(f.archive)
	for i := range members[:max(0, len(members)-1)] {
		if members[i].Name == members[i+1].Name {
			return false, fmt.Errorf("the zip file has two members %q, which positions cannot tell apart: unpack it", members[i].Name)
		}
	}
	first := 0
	if after.member != "" || after.offset > 0 {
		if first = slices.IndexFunc(members, func(m *zip.File) bool { return m.Name == after.member }); first < 0 {
			return false, ErrNoPosition
		}
	}
	for _, member := range members[first:] {
		more, err := f.readMember(ctx, member, after.offset, w, begins)
		if err != nil {
			return false, fmt.Errorf("%s: %w", mask.Shown(member.Name), err)
		}
		if !more {
			return false, nil
		}
		after.offset = 0
	}
	return true, nil
}

func (f *File) readMember(ctx context.Context, member *zip.File, offset int64, w Walk, begins map[string]string) (more bool, err error) {
	m, err := f.openMember(member)
	if err != nil {
		return false, err
	}
	defer m.closeText()
	return m.read(ctx, offset, w, begins)
}

// membersOf returns the files of an archive in the order of their names, without the files that macOS adds.
func membersOf(z *zip.Reader) (members []*zip.File) {
	for _, m := range z.File {
		base := path.Base(m.Name)
		if m.Mode().IsDir() || strings.HasPrefix(m.Name, "__MACOSX/") || strings.HasPrefix(base, "._") || base == ".DS_Store" {
			continue
		}
		members = append(members, m)
	}
	slices.SortStableFunc(members, func(a, b *zip.File) int { return ByNumber(a.Name, b.Name) })
	return members
}

// ByNumber compares names, with runs of digits as numbers: "9.json" comes before "10.json".
func ByNumber(a, b string) int {
	for x, y := a, b; x != "" && y != ""; {
		if isDigit(x[0]) && isDigit(y[0]) {
			n, restX := leadingNumber(x)
			m, restY := leadingNumber(y)
			if order := cmp.Or(cmp.Compare(len(n), len(m)), cmp.Compare(n, m)); order != 0 {
				return order
			}
			x, y = restX, restY
			continue
		}
		if x[0] != y[0] {
			return cmp.Compare(x[0], y[0])
		}
		x, y = x[1:], y[1:]
	}
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// leadingNumber splits the number at the start of a text, without leading zeros, from the rest.
func leadingNumber(text string) (digits, rest string) {
	rest = strings.TrimLeft(text, "0123456789")
	return strings.TrimLeft(text[:len(text)-len(rest)], "0"), rest
}
