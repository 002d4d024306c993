// Package lines reads lines from one text, from a file in any form, or from several files in order.
// It needs bounded memory for texts of any size, and knows the end offset of each line.
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
	noHoles bool // zeros within text are an error

	buf             []byte
	start, seen, to int   // the unread text is start..to; start..seen has no newline
	offset          int64 // of start in the text
	number          int64 // of the previous line
	read            int64 // bytes read from the source, as an offset in the text
	failed          error
}

// Line is one line of a text. Its bytes are valid until the next call to its reader.
type Line struct {
	Text   []byte // without its newline; over Keep bytes only the beginning
	Length int64  // of the line without its newline
	Number int64  // from 1, at the reader's start
	End    int64  // offset after the newline, counted even if the text ends without one
	Long   bool   // longer than allowed
	Open   bool   // the text ends without a newline
	Fault  error  // why this is no valid record, such as a row with too few fields
	Cut    *Cut   // if Text is only the beginning
}

const (
	firstBuffer = 256 << 10
	beginning   = 4 << 10 // the part kept of a line over Keep
)

// Keep is the size up to which an overlong record is kept as a whole.
const Keep = 16 << 20

// keeper collects a record in pieces. It keeps the record, or its beginning and digest.
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

// Next returns the next line. At the end of the text the error is io.EOF; other errors come from
// the source, and Next then discards the text after the last newline.
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

// Number returns the number of lines read.
func (r *Reader) Number() int64 { return r.number }

// line takes the line up to an index of the buffer.
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

// finish counts a line. The newline counts even if the text ends without one.
func (r *Reader) finish(l Line) Line {
	l.Long = l.Length > int64(r.longest)
	r.number++
	r.offset += l.Length + 1
	l.Number, l.End = r.number, r.offset
	return l
}

// longLine reads past an overlong line.
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

// textError is a fault in a text that makes the rest unreadable.
type textError struct{ Text string }

func textErrorf(format string, args ...any) error { return &textError{fmt.Sprintf(format, args...)} }

func (e *textError) Error() string { return e.Text }

// fill makes room in the buffer and reads more.
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

// Skip reads up to an offset at which a line must begin, for sources that cannot seek. It counts
// and reports each line.
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
