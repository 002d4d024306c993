package hogbeam

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"

	"github.com/hogapi/hogapi"
)

const (
	longestLine = 1 << 20 // bytes; as the core has it
	beginning   = 4 << 10 // what is kept of a longer one
	readBuffer  = 256 << 10
)

// readLines gives the events of the lines that begin at start or behind it, as long as their offsets can be claimed.
func readLines(ctx context.Context, in file, start int64, claim func(int64) bool, emit func(Event)) error {
	fs, err := filesystem.New(ctx, in.Path)
	if err != nil {
		return err
	}
	defer fs.Close()
	stored, err := fs.OpenRead(ctx, in.Path)
	if err != nil {
		return err
	}
	defer stored.Close()
	text, err := open(stored, in, start)
	if err != nil {
		return err
	}
	l := &lineReader{text: bufio.NewReaderSize(text, readBuffer)}
	if start > 0 { // a line that begins before belongs to another range
		l.end = start - 1
		if err := l.next(); err != nil {
			return l.fault(err, in)
		}
	}
	for claim(l.end) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := l.next(); err != nil {
			return l.fault(err, in)
		}
		if ev, ok := l.event(in.Name); ok {
			emit(ev)
		}
	}
	return l.beyond(in)
}

// open is the plain text of a file: from its beginning, or from the byte before start.
func open(stored io.Reader, in file, start int64) (io.Reader, error) {
	if !in.Gzip {
		if start == 0 {
			return stored, nil
		}
		if seeker, can := stored.(io.Seeker); can {
			_, err := seeker.Seek(start-1, io.SeekStart)
			return stored, err
		}
		_, err := io.CopyN(io.Discard, stored, start-1)
		return stored, err
	}
	plain, err := gzip.NewReader(stored)
	if err != nil {
		return nil, gzipFault(err)
	}
	text := bufio.NewReaderSize(plain, readBuffer)
	head, err := text.Peek(512)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, gzipFault(err)
	}
	return text, checkText(in.Path, head)
}

func gzipFault(err error) error { return fmt.Errorf("the gzip stream is cut off or damaged: %w", err) }

// lineReader reads lines of any length in bounded memory.
type lineReader struct {
	text *bufio.Reader
	line []byte // without its end; of a long line only the beginning
	size int64  // of the line
	end  int64  // offset behind the line and its newline, also where the text ends without one
}

// next reads a line. At the end of the text the error is io.EOF.
func (l *lineReader) next() error {
	l.line, l.size = l.line[:0], 0
	for {
		part, err := l.text.ReadSlice('\n')
		l.size += int64(len(part))
		if l.size <= longestLine+1 {
			l.line = append(l.line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && l.size > 0:
			l.size++ // the newline that is missing
			l.end += l.size
			return nil
		case err != nil:
			return err
		default:
			l.line = bytes.TrimSuffix(l.line, []byte{'\n'})
			l.end += l.size
			return nil
		}
	}
}

// fault says where reading has failed, if it has: the end of the text is none where the file was to end.
func (l *lineReader) fault(err error, in file) error {
	switch {
	case errors.Is(err, io.EOF) && (in.Gzip || l.end >= in.Size):
		return nil
	case errors.Is(err, io.EOF):
		err = fmt.Errorf("the file has become shorter than the %d bytes that it had: %w", in.Size, io.ErrUnexpectedEOF)
	case in.Gzip:
		err = gzipFault(err)
	}
	return fmt.Errorf("behind offset %d: %w", l.end, err)
}

// beyond looks whether the text goes on where the file was to end: no range would have the lines there.
func (l *lineReader) beyond(in file) error {
	if l.end < in.Size {
		return nil
	}
	_, err := l.text.Peek(1)
	if errors.Is(err, io.EOF) && l.end <= in.Size+1 { // the last line may lack its newline
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = errors.New("it has grown, or it is unpacked on its way (Content-Encoding: gzip)")
	}
	return fmt.Errorf("the file is longer than the %d bytes that it had: %w", in.Size, err)
}

// event makes the event of the line, or a record that became none. It reports false for a blank line.
func (l *lineReader) event(name string) (Event, bool) {
	line := l.line
	if l.end == l.size {
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	}
	at := hogapi.Position{Key: name, Offset: l.end}
	if l.size > longestLine+1 {
		raw := bytes.Clone(line[:min(beginning, len(line))])
		known, _ := hogapi.ParseJSONLine(raw) // of its event, the uuid is all that can be whole
		return Event{
			Position: at, UUID: known.UUID, Raw: raw,
			Bad: fmt.Sprintf("it has %d bytes, and no more than %d are read; what is kept of it is its beginning", l.size-1, longestLine),
		}, true
	}
	if line = bytes.TrimSuffix(line, []byte{'\r'}); len(bytes.TrimLeft(line, " \t\r")) == 0 {
		return Event{}, false
	}
	line = bytes.Clone(line) // the event keeps parts of it
	ev, err := hogapi.ParseJSONLine(line)
	if err != nil {
		return Event{Position: at, UUID: ev.UUID, Raw: line, Bad: err.Error()}, true
	}
	return Event{
		Name: ev.Name, DistinctID: ev.DistinctID, Timestamp: ev.Timestamp, Properties: ev.RawProperties, UUID: ev.UUID, Position: at,
	}, true
}
