package hogapi

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/klauspost/compress/gzip"

	"github.com/hogapi/hogapi/internal/lines"
)

// JSONLinesFile reads events from files with one JSON object a line, in the order given. It is the format of the service's own
// managed migrations:
//
//	{"event":"order placed","distinct_id":"ann","timestamp":"2024-05-01T12:30:00+02:00","properties":{"price":12.5}}
//
// A line may have a uuid, $set and $set_once, and no other key; "$reject", as [RejectFile] writes it, is passed over. The
// distinct_id may stand in the properties instead, and may be a whole number. Times are RFC 3339 with an offset. Properties
// are sent as they are, with every digit, and with those that [Client.Import] adds.
//
// Files may be gzip, which shows in their content, not in their name. Blank lines, a byte order mark and CRLF are fine. A line that makes
// no event, or is over 1 MiB, is a [BadEvent] that names its number, has the line's uuid where that can be read, and never stops the import;
// nor does a last line that was cut off. A file that cannot be read to its end does, with its name and line.
//
// A position is the base name of the file, which must be unique, and the byte offset behind the line in the plain text. An import goes on
// from there: at once in a plain file, at the speed of unpacking in a gzip file. Between runs the file that
// it is in, and those after it, may grow by whole lines. What stands before that place is not read again, also not what an earlier
// file has gained. A file that begins with other bytes is refused, and where no line ends at the place any more, the import stops; other
// changes it does not see.
func JSONLinesFile(paths ...string) Source {
	s := &jsonLines{paths: slices.Clone(paths)}
	for _, path := range paths {
		s.names = append(s.names, filepath.Base(path))
	}
	return s
}

// longestLine is the most bytes of a line.
const longestLine = 1 << 20

// jsonLines is the source of JSONLinesFile.
type jsonLines struct {
	paths, names []string
}

// Name lists the files; of very many, the first, the last and a digest.
func (s *jsonLines) Name() string {
	const most = 8
	list := strings.Join(s.names, ",")
	if len(s.names) <= most {
		return list
	}
	digest := sha256.Sum256([]byte(list))
	return fmt.Sprintf("%s … %s (%d files, %x)", s.names[0], s.names[len(s.names)-1], len(s.names), digest[:6])
}

// Events implements Source.
func (s *jsonLines) Events(ctx context.Context, after Position) iter.Seq2[Event, error] {
	return s.eventsOf(ctx, after, func(string, []byte) error { return nil })
}

// eventsOf implements beginner.
func (s *jsonLines) eventsOf(ctx context.Context, after Position, opened func(name string, head []byte) error) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		first, err := s.begin(after)
		if err != nil {
			yield(Event{}, err)
			return
		}
		parser := newLineParser()
		for i := first; i < len(s.paths); i++ {
			at := Position{Key: s.names[i], Offset: after.Offset}
			file, err := openLines(s.paths[i], at.Offset)
			if err != nil {
				yield(Event{}, fmt.Errorf("%s: %w", at.Key, err))
				return
			}
			if err := opened(at.Key, file.head); err != nil {
				file.close()
				yield(Event{}, err)
				return
			}
			if !readLines(ctx, file, at, parser, yield) {
				return
			}
			after = Position{}
		}
	}
}

// begin finds the file to go on with, and looks whether all that are needed are there: better now than in the middle of the night.
func (s *jsonLines) begin(after Position) (first int, err error) {
	if len(s.paths) == 0 {
		return 0, &InputError{Op: OpImport, Field: "paths", Want: "at least one file"}
	}
	for i, name := range s.names {
		if !utf8.ValidString(name) {
			return 0, &InputError{Op: OpImport, Field: "paths", Value: name, Want: "files whose base names are UTF-8, since they are a part of positions"}
		}
		if slices.Contains(s.names[:i], name) {
			return 0, &InputError{Op: OpImport, Field: "paths", Value: name, Want: "files with different base names, which tell positions apart"}
		}
	}
	if !after.IsZero() {
		if first = slices.Index(s.names, after.Key); first < 0 || after.Offset < 0 {
			return 0, fmt.Errorf("there is no position %s in these files", after)
		}
	}
	var missing []error
	for _, path := range s.paths[first:] {
		if _, err := os.Stat(path); err != nil {
			missing = append(missing, err)
		}
	}
	return first, errors.Join(missing...)
}

// beginningOf implements beginner.
func (s *jsonLines) beginningOf(name string) []byte {
	i := slices.Index(s.names, name)
	if i < 0 || strings.HasPrefix(s.paths[i], "/dev/") {
		return nil
	}
	if info, err := os.Stat(s.paths[i]); err != nil || !info.Mode().IsRegular() {
		return nil // to look into a pipe would take from it
	}
	f, err := openText(s.paths[i])
	if err != nil {
		return nil
	}
	f.close()
	return f.head
}

// readLines gives the events of one file behind a position, and closes it. It reports false where no more are wanted.
func readLines(ctx context.Context, f *linesFile, at Position, parser *lineParser, yield func(Event, error) bool) bool {
	defer f.close()
	for {
		if ctx.Err() != nil {
			yield(Event{}, context.Cause(ctx))
			return false
		}
		l, err := f.reader.Next()
		if errors.Is(err, io.EOF) {
			return true
		}
		if err != nil {
			yield(Event{}, fmt.Errorf("%s: %w", at.Key, f.fault(err)))
			return false
		}
		text := f.content(l)
		if isBlank(text) && !l.Long {
			continue
		}
		at.Offset = l.End
		ev, fault := parser.event(text, l)
		if fault == nil {
			ev.Position = at
		} else if number, err := f.number(l); err == nil {
			ev = BadEvent(at, text, fmt.Errorf("line %d: %w", number, fault))
			ev.UUID = ownUUID(text)
		} else {
			yield(Event{}, fmt.Errorf("%s: counting the lines: %w", at.Key, err))
			return false
		}
		if !yield(ev, nil) {
			return false
		}
	}
}

func isBlank(text []byte) bool {
	return len(text) == 0 || text[0] <= ' ' && len(bytes.TrimLeft(text, " \t\r")) == 0
}

// linesFile is one open file.
type linesFile struct {
	path   string
	file   *os.File
	info   os.FileInfo
	zipped bool
	text   *bufio.Reader // plain, from the start
	head   []byte        // its first bytes, unless it is a pipe
	reader *lines.Reader

	from    int64 // where the reader has begun: lines before it are not counted
	counted bool
	before  int64 // lines before it
}

// openLines opens a file to read the lines behind an offset of its plain text.
func openLines(path string, offset int64) (*linesFile, error) {
	f, err := openText(path)
	if err != nil {
		return nil, err
	}
	if err := f.goTo(offset); err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

// openText opens a file to read its plain text.
func openText(path string) (*linesFile, error) {
	file, err := os.Open(path) //nolint:gosec // the caller names its own files
	if err != nil {
		return nil, err
	}
	f := &linesFile{path: path, file: file}
	if f.info, err = file.Stat(); err == nil {
		err = f.begin()
	}
	if err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

func (f *linesFile) close() { _ = f.file.Close() } // nothing was written

// begin finds out what the file is.
func (f *linesFile) begin() error {
	const buffer = 64 << 10
	f.text = bufio.NewReaderSize(f.file, buffer)
	head, err := f.peek()
	if err != nil {
		return err
	}
	if f.zipped = bytes.HasPrefix(head, gzipMagic); f.zipped {
		plain, err := gzip.NewReader(f.text)
		if err != nil {
			return f.fault(err)
		}
		f.text = bufio.NewReaderSize(plain, buffer)
		if head, err = f.peek(); err != nil {
			return err
		}
	}
	if len(head) == 0 && !f.zipped && strings.HasSuffix(f.path, ".gz") {
		return errors.New("the file is empty, and an empty gzip file is not")
	}
	for magic, advice := range foreignMagic {
		if bytes.HasPrefix(head, []byte(magic)) {
			return errors.New(advice)
		}
	}
	if f.info.Mode().IsRegular() { // to wait for so many bytes of a pipe could take long
		head, _ = f.text.Peek(mostOfBeginning) // what cannot be read shows again
		f.head = bytes.Clone(head)
	}
	return nil
}

// peek looks at the first bytes of the text.
func (f *linesFile) peek() ([]byte, error) {
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

// foreignMagic are the beginnings of what is no text of lines, and what to do about it.
var foreignMagic = map[string]string{
	"\x1f\x8b":         "the file is compressed twice: unpack it once",
	"PK\x03\x04":       "this is a zip file: unpack it",
	"\x28\xb5\x2f\xfd": "this is a zstd file: unpack it",
	"BZh":              "this is a bzip2 file: unpack it",
	"\xfd7zXZ\x00":     "this is an xz file: unpack it",
	"\xff\xfe":         "this is UTF-16: convert it to UTF-8",
	"\xfe\xff":         "this is UTF-16: convert it to UTF-8",
}

// goTo makes the reader begin at an offset. What cannot seek is read up to there.
func (f *linesFile) goTo(offset int64) error {
	if offset == 0 || f.zipped || !f.info.Mode().IsRegular() {
		f.reader = lines.NewReader(f.text, 0, longestLine)
		f.counted = true
		return f.changed(f.reader.Skip(offset))
	}
	if err := f.changed(f.checkLineEnd(offset, f.info.Size())); err != nil {
		return err
	}
	if _, err := f.file.Seek(offset, io.SeekStart); err != nil {
		return err
	}
	f.from = offset
	f.reader = lines.NewReader(f.file, offset, longestLine)
	return nil
}

// checkLineEnd looks whether a line ends right before an offset. A last line without a newline ends one byte behind the file.
func (f *linesFile) checkLineEnd(offset, size int64) error {
	if offset > size+1 {
		return lines.ErrShort
	}
	var last [1]byte
	if _, err := f.file.ReadAt(last[:], min(offset, size)-1); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if (last[0] == '\n') != (offset <= size) {
		return lines.ErrInside
	}
	return nil
}

// changed says what it means when the offset of an earlier run does not fit.
func (f *linesFile) changed(err error) error {
	if errors.Is(err, lines.ErrShort) || errors.Is(err, lines.ErrInside) {
		return fmt.Errorf("the file has changed since the import began: %w", err)
	}
	if err != nil {
		return f.fault(err)
	}
	return nil
}

// fault says where reading has failed.
func (f *linesFile) fault(err error) error {
	if f.zipped {
		err = fmt.Errorf("the gzip stream is cut off or damaged: %w", err)
	}
	if f.reader == nil {
		return err
	}
	number, countErr := f.number(lines.Line{Number: f.reader.Number() + 1})
	return errors.Join(fmt.Errorf("line %d: %w", number, err), countErr)
}

// content is a line's text without a byte order mark and CR.
func (f *linesFile) content(l lines.Line) []byte {
	text := l.Text
	if l.Number == 1 && f.from == 0 {
		text = bytes.TrimPrefix(text, byteOrderMark)
	}
	if n := len(text); n > 0 && text[n-1] == '\r' {
		text = text[:n-1]
	}
	return text
}

// number is a line's number in the file. Where the reader began in the middle, the lines before are counted when the first number is needed.
func (f *linesFile) number(l lines.Line) (int64, error) {
	if !f.counted {
		before, err := countNewlines(f.path, f.from)
		if err != nil {
			return 0, err
		}
		f.before, f.counted = before, true
	}
	return f.before + l.Number, nil
}

func countNewlines(path string, size int64) (n int64, err error) {
	file, err := os.Open(path) //nolint:gosec // the caller names its own files
	if err != nil {
		return 0, err
	}
	defer file.Close()
	text := io.LimitReader(file, size)
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
