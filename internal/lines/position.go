package lines

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/hogapi/hogapi/internal/mask"
)

// Lead observes the records before the position where reading begins. Each attempt starts with Begin.
// While Passed is not satisfied, the next attempt starts further back, the last one at the start.
type Lead interface {
	Begin(f *File)
	Passed(f *File, l Line) (enough bool)
}

// firstLead is the number of bytes before the position that the first attempt reads.
const firstLead = 1 << 20

// skipTo starts the reader at an offset. A text without random access is read up to there.
func (f *File) skipTo(offset int64, lead Lead) error {
	if offset == 0 || !f.canSeek() {
		if err := f.beginAt(0); err != nil {
			return err
		}
		_, err := f.skip(offset, lead)
		return f.changed(err)
	}
	if err := f.changed(f.checkEnd(offset)); err != nil {
		return err
	}
	if lead == nil {
		return f.beginAt(offset)
	}
	for back := int64(firstLead); ; back *= 8 {
		begin, err := f.lineBefore(offset - back)
		if err == nil {
			err = f.beginAt(begin)
		}
		if err != nil {
			return err
		}
		enough, err := f.skip(offset, lead)
		if err != nil || enough || begin == 0 {
			return f.changed(err)
		}
	}
}

// beginAt makes a reader at an offset where a record may begin.
func (f *File) beginAt(offset int64) (err error) {
	var text io.Reader = f.text
	f.from = offset
	f.before, f.counted = 0, offset == 0
	if f.canSeek() {
		text = f.disk.from(offset)
	}
	f.source = &counter{Reader: text, offset: offset}
	if offset == 0 {
		if _, err := io.CopyN(io.Discard, f.source, f.begin); err != nil {
			return f.fault(err)
		}
		offset = f.begin
	}
	f.reader, err = f.split(f.source, offset, f.options.Columns)
	return err
}

func (f *File) split(text io.Reader, offset int64, columns []string) (splitter, error) {
	longest := f.options.Longest
	switch f.layout {
	case jsonArrays, jsonValues:
		return newValues(text, offset, longest, f.layout == jsonArrays, offset > f.begin), nil
	case TSV, CSV, semicolons:
	default:
		return f.lines(text, offset), nil
	}
	table := Table{Layout: f.layout, Columns: columns, KeepNulls: f.options.KeepNulls}
	if len(columns) == 0 && offset > f.begin { // the header's columns
		header, err := newRows(table, table.divide(f.disk.from(f.begin), f.begin, longest, !f.options.Holes))
		if err != nil {
			return nil, err
		}
		table.Columns = header.table.Columns
	}
	r, err := newRows(table, table.divide(text, offset, longest, !f.options.Holes))
	if err != nil {
		return nil, err
	}
	columns = r.table.Columns
	if f.options.CheckColumns == nil || len(columns) == 0 {
		return r, nil
	}
	if err := f.options.CheckColumns(slices.Clone(columns)); err != nil {
		return nil, fmt.Errorf("the header: %w%s", err, hintOfEnds(columns))
	}
	return r, nil
}

func (f *File) lines(text io.Reader, offset int64) *Reader {
	r := NewReader(text, offset, f.options.Longest)
	r.noHoles = !f.options.Holes
	return r
}

// lineBefore returns the start of a record at or before an offset. For layouts other than lines,
// that is the start of the text.
func (f *File) lineBefore(offset int64) (int64, error) {
	if offset <= 0 || f.layout != Lines {
		return 0, nil
	}
	r := NewReader(f.disk.from(offset), offset, f.options.Longest)
	l, err := r.Next() // skips a partial line
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, f.fault(err)
	}
	return l.End, nil
}

// skip reads up to an offset at which a record must begin.
func (f *File) skip(offset int64, lead Lead) (enough bool, err error) {
	if lead != nil && offset > 0 {
		lead.Begin(f)
	}
	for at := f.from; at < offset; {
		l, err := f.Next()
		if errors.Is(err, io.EOF) {
			return enough, ErrShort
		}
		if err != nil {
			return enough, err
		}
		if at = l.End; at > offset {
			return enough, ErrInside
		}
		if lead != nil && lead.Passed(f, l) {
			enough = true
		}
	}
	return enough, nil
}

// checkEnd checks that a record can end right before an offset. A last line without a newline ends
// one byte after the file.
func (f *File) checkEnd(offset int64) error {
	size := f.disk.begun.Size()
	if f.layout != Lines && f.layout != TSV {
		if offset > size {
			return ErrShort
		}
		return nil
	}
	if offset > size+1 {
		return ErrShort
	}
	var last [1]byte
	if _, err := f.disk.at.ReadAt(last[:], min(offset, size)-1); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if (last[0] == '\n') != (offset <= size) {
		return ErrInside
	}
	return nil
}

// The errors of an offset at which no record begins.
var (
	ErrShort  = errors.New("the text ends before the offset")
	ErrInside = errors.New("no line begins at the offset")
)

// changed explains an offset of an earlier run that does not fit.
func (f *File) changed(err error) error {
	if errors.Is(err, ErrShort) || errors.Is(err, ErrInside) {
		return fmt.Errorf("the file has changed since the import began: %w", err)
	}
	return err
}

// unit says how records are numbered: values by their own count, other records by lines.
func (f *File) unit() string {
	if f.layout == jsonArrays || f.layout == jsonValues {
		return "record"
	}
	return "line"
}

// Number returns a record's number in the file. If the reader began in the middle, the first call
// counts the earlier records; known is false if they cannot be counted.
func (f *File) Number(l Line) (number int64, known bool) {
	if !f.counted {
		before, err := f.countTo(f.from)
		if err != nil {
			return 0, false
		}
		f.before, f.counted = before, true
	}
	return f.before + l.Number, true
}

// nth names a record by its number as read, for an error that names the file.
func (f *File) nth(line int64) string {
	if number, known := f.Number(Line{Number: line}); known {
		return fmt.Sprintf("%s %d", f.unit(), number)
	}
	return "a " + f.unit()
}

// Locate returns the position of a record by its number as read, such as "events.jsonl:17", or "".
func (f *File) Locate(line int64) string {
	number, known := f.Number(Line{Number: line})
	switch {
	case !known:
		return ""
	case f.unit() == "record":
		return fmt.Sprintf("%s, record %d", mask.Shown(f.Name()), number)
	}
	return fmt.Sprintf("%s:%d", mask.Shown(f.Name()), number)
}

// countTo counts the records before an offset of a plain file, even if its name now leads
// elsewhere.
func (f *File) countTo(offset int64) (n int64, err error) {
	text := io.NewSectionReader(f.disk.at, 0, offset)
	if f.unit() == "record" {
		if _, err := text.Seek(f.begin, io.SeekStart); err != nil {
			return 0, err
		}
		v := newValues(text, f.begin, f.options.Longest, f.layout == jsonArrays, false)
		for {
			if _, err := v.Next(); err != nil { // an array is still open there
				return v.Number(), nil //nolint:nilerr // see above
			}
		}
	}
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
