// Package lines reads lines from one text, from a file in any form, or from several files in order. Its memory
// is bounded for texts of any size. Each line has the offset of its end.
package lines

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/internal/mask"
)

// Reader reads lines. It is not safe for concurrent use.
type Reader struct {
	text    window
	longest int
	noHoles bool // zeros within text are an error

	seen   int   // bytes of the unread text without a newline
	number int64 // of the previous line
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
	Table  *Table // of a row with a fault, with which the corrected row can be read

	given []byte // a row with the words for its NULLs, if it has any
	row   []byte // the text of a row with a fault
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

// Record returns a record of a text that is not read here. Its position is a number instead of an offset.
func Record(text []byte, number int64, longest int, fault error) Line {
	l := Line{Text: text, Length: int64(len(text)), Number: number, End: number, Long: len(text) > longest, Fault: fault}
	if len(text) > Keep {
		sum := sha256.Sum256(text)
		l.Text, l.Cut = l.Beginning(), &Cut{Bytes: l.Length, SHA256: sum[:]}
	}
	return l
}

// Beginning returns the part of a record that its uuid is derived from: all of it, with the words for NULLs, unless the
// record is too long.
func (l Line) Beginning() []byte {
	if !l.Long {
		if l.given != nil {
			return l.given
		}
		return l.Text
	}
	return l.Text[:min(len(l.Text), beginning)]
}

// Kept returns the line with its bytes in room, where they stay valid, and the room.
func (l Line) Kept(room []byte) (Line, []byte) {
	for _, text := range []*[]byte{&l.Text, &l.given, &l.row} {
		if from := len(room); *text != nil {
			room = append(room, *text...)
			*text = room[from:len(room):len(room)]
		}
	}
	return l, room
}

// NewReader reads lines of at most longest bytes from a text that begins at offset.
func NewReader(source io.Reader, offset int64, longest int) *Reader {
	return &Reader{text: newWindow(source, offset, longest), longest: longest}
}

// Next returns the next line. At the end of the text the error is io.EOF; other errors come from
// the source, and Next then discards the text after the last newline.
func (r *Reader) Next() (Line, error) {
	for {
		rest := r.text.rest()
		if i := bytes.IndexByte(rest[r.seen:], '\n'); i >= 0 {
			return r.line(rest[:r.seen+i], false)
		}
		if r.seen = len(rest); r.seen > r.longest {
			return r.longLine()
		}
		if r.text.failed != nil {
			if errors.Is(r.text.failed, io.EOF) && len(rest) > 0 {
				return r.line(rest, true)
			}
			return Line{}, r.text.failed
		}
		r.text.fill()
	}
}

// Number returns the number of lines read.
func (r *Reader) Number() int64 { return r.number }

func (r *Reader) line(text []byte, open bool) (Line, error) {
	if r.noHoles && hasHole(text) {
		return Line{}, errHole
	}
	r.text.drop(len(text))
	return r.finish(Line{Text: text, Length: int64(len(text)), Open: open}), nil
}

// finish takes the newline and counts the line. The newline counts even if the text ends without one.
func (r *Reader) finish(l Line) Line {
	if !l.Open {
		r.text.start++
	}
	r.text.offset++
	r.number++
	r.seen = 0
	l.Long = l.Length > int64(r.longest)
	l.Number, l.End = r.number, r.text.offset
	return l
}

func (r *Reader) longLine() (Line, error) {
	var zeros hole
	k := keeper{begin: r.text.offset}
	for {
		piece, _, ended := bytes.Cut(r.text.rest(), []byte{'\n'})
		if r.noHoles && zeros.isIn(piece) {
			return Line{}, errHole
		}
		k.add(piece)
		r.text.drop(len(piece))
		r.seen = 0
		switch {
		case ended || errors.Is(r.text.failed, io.EOF):
			l := k.line()
			l.Open = !ended
			return r.finish(l), nil
		case r.text.failed != nil:
			return Line{}, r.text.failed
		}
		r.text.fill()
	}
}

// textError is a fault in a text that makes the rest unreadable.
type textError struct{ Text string }

func textErrorf(format string, args ...any) error { return &textError{fmt.Sprintf(format, args...)} }

func (e *textError) Error() string { return e.Text }

var errHole = &textError{"the file has zeros in place of text: it was not written completely, or copied with a hole; get it again"}

// minHole is a number of consecutive zeros that no text has.
const minHole = 512

// hole finds zeros within a text that comes in pieces.
type hole struct{ zeros int } // at the end of the last piece

// isIn reports whether a run of that many zeros ends in the next piece.
func (h *hole) isIn(piece []byte) bool {
	for len(piece) > 0 {
		rest := bytes.TrimLeft(piece, "\x00")
		if h.zeros += len(piece) - len(rest); h.zeros >= minHole {
			return true
		}
		if len(rest) == 0 {
			return false
		}
		h.zeros = 0
		next := bytes.IndexByte(rest, 0)
		if next < 0 {
			return false
		}
		piece = rest[next:]
	}
	return false
}

func hasHole(text []byte) bool { return new(hole).isIn(text) }

// Cut is the position of a record that is kept only in part. It is saved as JSON.
type Cut struct {
	File   string `json:"file,omitempty"` // its path; empty if it is in no file of this machine
	Begin  int64  `json:"begin"`          // offset in the plain text
	Bytes  int64  `json:"bytes"`
	SHA256 []byte `json:"sha256"`
}

// maxOriginal limits the bytes of a record that Read reads.
const maxOriginal = 256 << 20

// Read reads the whole record from its file.
func (c *Cut) Read(ctx context.Context) (record []byte, err error) {
	info, _ := os.Stat(c.File)
	switch {
	case c.File == "", info != nil && !info.Mode().IsRegular(): // what a pipe had is read
		return nil, fmt.Errorf("the record has %d bytes, and its source keeps it: correct it there", c.Bytes)
	case c.Bytes < 0 || c.Begin < 0:
		return nil, fmt.Errorf("the place of the record is damaged: %d bytes at byte %d", c.Bytes, c.Begin)
	case c.Bytes > maxOriginal:
		return nil, fmt.Errorf("the record has %d bytes, and at most %d are read: correct it in its file", c.Bytes, maxOriginal)
	}
	name := mask.Shown(filepath.Base(c.File))
	defer func() {
		if err != nil {
			err = fmt.Errorf("the record is in %s at byte %d, and cannot be read there: %w; put the file of the import back", name, c.Begin, errtext.Pathless(err))
		}
	}()
	f, err := open(ctx, Disk{}, c.File, name, Options{})
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text := io.Reader(f.text)
	switch {
	case f.archive != nil:
		return nil, errors.New("the record is inside a zip file: unpack the zip file")
	case f.canSeek():
		text = f.disk.from(c.Begin)
	default:
		if _, err := io.CopyN(io.Discard, text, c.Begin); err != nil {
			return nil, err
		}
	}
	record = make([]byte, c.Bytes)
	if _, err := io.ReadFull(text, record); err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(record); !bytes.Equal(sum[:], c.SHA256) {
		return nil, errors.New("the file has changed")
	}
	return record, nil
}

// checkAborted returns an error if a record says that the export of its file broke off, so that the rest is missing: a
// message of the vendor's service or of the program that fetched the file, or the beginning of a record. In lines they
// are signs only at the end of the file, but for Mixpanel's.
func (f *File) checkAborted(l *Line) error {
	if l.Long || f.options.Holes { // a reject file
		return nil
	}
	sign := ""
	r, isLines := f.reader.(*Reader)
	switch {
	case isLines && f.layout == Lines:
		if text := bytes.TrimSpace(l.Text); len(text) > 0 && text[0] != '{' && bytes.Contains(text, terminatedEarly) {
			sign = "a message that the export ended early"
		} else if r.isAtEnd(l) {
			sign = signOfEnd(bytes.TrimSpace(l.Text))
		}
	case l.Fault != nil && message.Match(l.row):
		sign = "a message of an error and no row"
	}
	if sign == "" {
		return nil
	}
	return fmt.Errorf("%s is %s: the export broke off, and what follows is missing; get the file again, or remove that line to import what there is",
		f.nth(l.Number), sign)
}

// signOfEnd describes the last line of an export that broke off, or returns "".
func signOfEnd(text []byte) string {
	switch {
	case len(text) == 0:
	case text[0] != '{' && (isMarkup(text) || message.Match(text)):
		return "a message of an error and no record"
	case text[0] == '{' && isErrorObject(text):
		return "the answer of a service that failed"
	case text[0] == '{' && isUnfinished(text):
		return "the beginning of a record"
	}
	return ""
}

// terminatedEarly is Mixpanel's text after the last line of an export that it could not finish.
var terminatedEarly = []byte("terminated early")

// message matches the errors that servers, proxies and programs write in place of the rest of a file.
var message = regexp.MustCompile(`(?i)^[^{",;\t]{0,60}(terminated early|time-?d? ?-?out|gateway|internal server error|connection (reset|closed|refused)|` +
	`too many requests|rate limit|curl: \(|traceback|broken pipe|out of memory|unexpected eof)`)

// isErrorObject reports whether an object has an error and nothing that events have.
func isErrorObject(text []byte) bool {
	var members map[string]json.RawMessage
	if json.Unmarshal(text, &members) != nil {
		return false
	}
	says := false
	for name, value := range members {
		switch name {
		case "error", "errors":
			says = says || string(value) != "null" && string(value) != "false"
		case "status", "result":
			says = says || slices.Contains([]string{`"error"`, `"failure"`, `"failed"`}, string(value))
		case "message", "code", "request", "request_id", "details", "detail", "error_description", "error_message", "type", "statusCode", "status_code":
		default:
			return false
		}
	}
	return says
}

// isAtEnd reports whether only blanks follow the line that was returned last.
func (r *Reader) isAtEnd(last *Line) bool {
	for isKept := false; ; {
		rest := r.text.rest()
		switch {
		case slices.ContainsFunc(rest, func(c byte) bool { return c > ' ' }):
			return false
		case r.text.failed != nil:
			return errors.Is(r.text.failed, io.EOF)
		case len(rest) > firstBuffer:
			return false
		}
		if !isKept { // fill moves the bytes
			last.Text, isKept = bytes.Clone(last.Text), true
		}
		r.text.fill()
	}
}
