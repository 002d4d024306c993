// Package lines reads the lines of texts of any size in bounded memory, and knows where each of them ends:
// of one text, of a file in its forms, and of several files in their order.
package lines

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
)

// Reader reads lines. It is not safe for concurrent use.
type Reader struct {
	source  io.Reader
	longest int
	noHoles bool // zeros in place of text are an error

	buf             []byte
	start, seen, to int   // the rest of the text starts here; no newline before seen; the buffer is filled up to here
	offset          int64 // of start in the text
	number          int64 // of the line before
	read            int64 // offset up to which the source was read
	failed          error
}

// Line is one line of a text. Its bytes are valid until the next call of its reader.
type Line struct {
	Text   []byte // without its newline; of a line over Keep only the beginning
	Length int64  // of the line without its newline
	Number int64  // from 1, counted from where the reader began
	End    int64  // offset behind the newline, also where the text ends without one
	Long   bool   // longer than allowed
	Open   bool   // the text ends without a newline
	Fault  error  // why the record is none, such as a row with too few fields
	Cut    *Cut   // the text is only its beginning
}

const (
	firstBuffer = 256 << 10
	beginning   = 4 << 10 // what is kept of a line over Keep
)

// Keep is the most bytes of a record that is kept as a whole, though it is too long.
const Keep = 16 << 20

// keeper takes a record in pieces, and keeps it, or its beginning and its digest.
type keeper struct {
	begin, length int64
	text          []byte
	sum           hash.Hash
}

func (k *keeper) add(piece []byte) {
	if k.sum == nil {
		k.sum = sha256.New()
	}
	k.sum.Write(piece)
	k.length += int64(len(piece))
	switch {
	case k.length <= Keep:
		k.text = append(k.text, piece...)
	case len(k.text) != beginning:
		text := append(k.text[:min(len(k.text), beginning):beginning], piece[:min(len(piece), beginning)]...)
		k.text = bytes.Clone(text[:min(len(text), beginning)])
	}
}

func (k *keeper) line() Line {
	l := Line{Text: k.text, Length: k.length}
	if k.length > Keep {
		l.Cut = &Cut{Begin: k.begin, Bytes: k.length, SHA256: k.sum.Sum(nil)}
	}
	return l
}

// NewReader reads lines of at most longest bytes from a text that begins at offset.
func NewReader(source io.Reader, offset int64, longest int) *Reader {
	return &Reader{source: source, longest: longest, offset: offset, read: offset, buf: make([]byte, min(firstBuffer, 2*longest))}
}

// Next returns the next line. At the end of the text the error is io.EOF; any other is the source's, and what stands
// between the last newline and the fault is not returned.
func (r *Reader) Next() (Line, error) {
	for {
		if i := bytes.IndexByte(r.buf[r.seen:r.to], '\n'); i >= 0 {
			return r.line(r.seen+i, false)
		}
		r.seen = r.to
		if r.to-r.start > r.longest {
			return r.longLine()
		}
		if r.failed != nil {
			if errors.Is(r.failed, io.EOF) && r.to > r.start {
				return r.line(r.to, true)
			}
			return Line{}, r.failed
		}
		r.fill()
	}
}

// Number is how many lines have been read.
func (r *Reader) Number() int64 { return r.number }

// line takes the line that ends at an index of the buffer.
func (r *Reader) line(end int, open bool) (Line, error) {
	text := r.buf[r.start:end]
	if r.noHoles && hasHole(text) {
		return Line{}, errHole
	}
	l := Line{Text: text, Length: int64(len(text)), Open: open}
	r.start = end
	if !open {
		r.start++
	}
	r.seen = r.start
	return r.finish(l), nil
}

// finish counts a line. Its end is the same whether or not it has a newline.
func (r *Reader) finish(l Line) Line {
	l.Long = l.Length > int64(r.longest)
	r.number++
	r.offset += l.Length + 1
	l.Number, l.End = r.number, r.offset
	return l
}

// longLine passes over a line that does not fit.
func (r *Reader) longLine() (Line, error) {
	var zeros hole
	k := keeper{begin: r.offset}
	for {
		i := bytes.IndexByte(r.buf[r.start:r.to], '\n')
		piece := r.buf[r.start:r.to]
		if i >= 0 {
			piece = piece[:i]
		}
		if r.noHoles && zeros.isIn(piece) {
			return Line{}, errHole
		}
		k.add(piece)
		if i >= 0 {
			r.start += i + 1
			r.seen = r.start
			return r.finish(k.line()), nil
		}
		r.start, r.seen, r.to = 0, 0, 0
		if r.failed != nil {
			if errors.Is(r.failed, io.EOF) {
				l := k.line()
				l.Open = true
				return r.finish(l), nil
			}
			return Line{}, r.failed
		}
		r.fill()
	}
}

// textError says what is wrong with a text, so that nothing after it can be read.
type textError struct{ Text string }

func textErrorf(format string, args ...any) error { return &textError{fmt.Sprintf(format, args...)} }

func (e *textError) Error() string { return e.Text }

// fill reads more behind the rest, for which it makes room.
func (r *Reader) fill() {
	r.to = copy(r.buf, r.buf[r.start:r.to])
	r.seen -= r.start
	r.start = 0
	if r.to == len(r.buf) {
		r.buf = append(r.buf, make([]byte, len(r.buf))...)
	}
	const patience = 100
	for range patience {
		n, err := r.source.Read(r.buf[r.to:])
		r.to += n
		r.read += int64(n)
		r.failed = err
		if n > 0 || err != nil {
			return
		}
	}
	r.failed = io.ErrNoProgress
}

// Skip passes over the text up to an offset, at which a line must begin. It is for sources that cannot seek, and counts
// the lines on its way, and reports each of them.
func (r *Reader) Skip(offset int64, passed func(Line)) error {
	for r.offset < offset {
		l, err := r.Next()
		if errors.Is(err, io.EOF) {
			return ErrShort
		}
		if err != nil {
			return err
		}
		if l.End > offset {
			return ErrInside
		}
		passed(l)
	}
	return nil
}

// The errors of Skip.
var (
	ErrShort  = errors.New("the text ends before the offset")
	ErrInside = errors.New("no line begins at the offset")
)
