package lines

import (
	"errors"
	"io"
)

// values reads a sequence of JSON values, with or without whitespace between them, or as elements
// of arrays. It finds the ends of values and does not validate them. It is not safe for concurrent
// use.
type values struct {
	text    window
	longest int
	arrays  bool // the values are their elements

	inArray bool // at an element or after one
	settled bool // after an element: a comma or the array's end must follow
	number  int64
}

// newValues reads values of at most longest bytes from a text that begins at offset. In a text of
// arrays, afterElement says that it begins after an element and not before the first array.
func newValues(source io.Reader, offset int64, longest int, arrays, afterElement bool) *values {
	v := &values{text: newWindow(source, offset, longest), longest: longest, arrays: arrays}
	v.inArray, v.settled = arrays && afterElement, afterElement
	return v
}

// Number returns the number of values read.
func (v *values) Number() int64 { return v.number }

// Next returns the next value. At the end of the text the error is io.EOF.
func (v *values) Next() (Line, error) {
	for {
		c, err := v.text.first()
		switch {
		case errors.Is(err, io.EOF) && v.inArray:
			return Line{}, &textError{"the array has no end: the file was cut off, or is still being written; get it again"}
		case err != nil:
			return Line{}, err
		case v.arrays && !v.inArray && c == '[':
			v.inArray, v.settled = true, false
		case v.inArray && v.settled && c == ',':
			v.settled = false
		case v.inArray && c == ']': // also after a trailing comma
			v.inArray = false
		case c == 0:
			return Line{}, errHole
		case v.arrays && (!v.inArray || v.settled), c == ']', c == '}', c == ',', c == ':':
			return Line{}, textErrorf("byte %d is %q, where %s is wanted: from here on it is not JSON", v.text.offset, c, v.wanted())
		default:
			return v.value()
		}
		v.text.start++
		v.text.offset++
	}
}

func (v *values) wanted() string {
	switch {
	case !v.arrays:
		return "a JSON value"
	case !v.inArray:
		return "an array, as at the beginning of the file,"
	case v.settled:
		return "a comma or the end of the array"
	}
	return "an element of an array"
}

// endless: an open value is taken for damaged text when it exceeds the longest value this many
// times.
const endless = 8

func (v *values) value() (Line, error) {
	begin := v.text.offset
	k := keeper{begin: begin}
	var s valueScan
	var zeros hole
	for {
		more := v.text.rest()[s.seen:]
		n, ended := s.scan(more)
		if zeros.isIn(more[:n]) {
			return Line{}, errHole
		}
		s.seen += n
		if !ended && v.text.failed == nil {
			if s.seen > v.longest { // keep the beginning, drop the rest
				k.add(v.text.rest()[:s.seen])
				v.text.drop(s.seen)
				s.seen = 0
			}
			if k.length > endless*int64(v.longest) {
				return Line{}, textErrorf("the value that begins at byte %d has no end within %d bytes: a quote or a bracket is missing", begin, k.length)
			}
			v.text.fill()
			continue
		}
		if !ended && (!errors.Is(v.text.failed, io.EOF) || !s.isScalar) {
			if errors.Is(v.text.failed, io.EOF) {
				return Line{}, textErrorf("the value that begins at byte %d has no end: if the file is still being written, run again when it is complete; "+
					"if it was cut off, get it again, or complete or remove that value", begin)
			}
			return Line{}, v.text.failed
		}
		l := Line{Text: v.text.rest()[:s.seen], Length: int64(s.seen)}
		if k.length > 0 {
			k.add(l.Text)
			l = k.line()
		}
		l.Long = l.Length > int64(v.longest)
		v.text.drop(s.seen)
		v.number++
		v.settled = true
		l.Number, l.End = v.number, v.text.offset
		return l, nil
	}
}

// valueScan finds the end of a JSON value that may come in pieces.
type valueScan struct {
	seen             int // bytes of the buffer
	isScalar         bool
	inText, inEscape bool
	depth            int
}

// scan reads on in the value. It returns the number of bytes that belong to it, and whether it ends
// there.
func (s *valueScan) scan(more []byte) (n int, ended bool) {
	for i, c := range more {
		switch {
		case s.inEscape:
			s.inEscape = false
		case s.inText:
			if c == '\\' {
				s.inEscape = true
			} else if c == '"' {
				if s.inText = false; s.depth == 0 {
					return i + 1, true
				}
			}
		case s.isScalar:
			if c <= ' ' || c == ',' || c == ']' || c == '}' || c == '{' || c == '[' || c == '"' {
				return i, true
			}
		case c == '"':
			s.inText = true
		case c == '{' || c == '[':
			s.depth++
		case c == '}' || c == ']':
			if s.depth--; s.depth == 0 {
				return i + 1, true
			}
		case s.depth == 0:
			s.isScalar = true
		}
	}
	return len(more), false
}

// window reads a text into a buffer that holds the unread part of it.
type window struct {
	source    io.Reader
	buf       []byte
	start, to int   // bounds of the unread text
	offset    int64 // of start in the text
	failed    error
}

func newWindow(source io.Reader, offset int64, longest int) window {
	return window{source: source, offset: offset, buf: make([]byte, min(firstBuffer, 2*longest))}
}

func (w *window) rest() []byte { return w.buf[w.start:w.to] }

func (w *window) drop(n int) {
	w.start += n
	w.offset += int64(n)
}

func (w *window) first() (byte, error) {
	for {
		for _, c := range w.rest() {
			if c != ' ' && c != '\n' && c != '\t' && c != '\r' {
				return c, nil
			}
			w.drop(1)
		}
		if w.failed != nil {
			return 0, w.failed
		}
		w.fill()
	}
}

// fill makes room in the buffer and reads more.
func (w *window) fill() {
	w.to = copy(w.buf, w.buf[w.start:w.to])
	w.start = 0
	if w.to == len(w.buf) {
		w.buf = append(w.buf, make([]byte, len(w.buf))...)
	}
	const patience = 100
	for range patience {
		n, err := w.source.Read(w.buf[w.to:])
		w.to += n
		w.failed = err
		if n > 0 || err != nil {
			return
		}
	}
	w.failed = io.ErrNoProgress
}
