package lines

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/hogapi/hogapi/internal/jsonb"
)

// rows converts the rows of a table to JSON objects by column. All values are strings; a NULL is absent.
// It is not safe for concurrent use.
type rows struct {
	divider

	table  Table
	ofBad  *Table   // of rows with a fault; nil: its names are too long for a note of each
	keys   [][]byte // of the columns, as JSON, with the colon
	object []byte
	given  []byte // object with the words for NULL
}

// divider divides a text into rows.
type divider interface {
	divide() ([]string, Line, error) // the fields of the next row, with the line of its text
	isQuoted(field int) bool         // of that row
	number() int64                   // of the last line
}

// newRows reads rows with the columns of the table, or else with the names in the first row.
func newRows(table Table, d divider) (*rows, error) {
	r := &rows{divider: d, table: table}
	r.table.Columns = slices.Clone(table.Columns)
	if len(table.Columns) == 0 {
		fields, l, err := d.divide()
		if errors.Is(err, io.EOF) {
			return r, nil
		}
		if err == nil {
			err = l.Fault
		}
		if err != nil {
			return nil, fmt.Errorf("the header: %w", err)
		}
		r.table.Columns = slices.Clone(fields)
	}
	if err := checkHeader(r.table.Columns); err != nil {
		return nil, err
	}
	names := 0
	taken := make(map[string]int, len(r.table.Columns)) // for each name, the next suffix that makes a duplicate unique
	for i, name := range r.table.Columns {
		name = strings.TrimSpace(name)
		first := name
		for n := max(taken[first], 2); taken[name] > 0; n++ {
			name = first + "_" + strconv.Itoa(n)
			taken[first] = n + 1
		}
		taken[name]++
		r.table.Columns[i] = name
		key, err := jsonb.AppendString(nil, name)
		if err != nil {
			return nil, fmt.Errorf("the file is not UTF-8: convert it; column %d of the header: %w", i+1, err)
		}
		r.keys = append(r.keys, append(key, ':'))
		names += len(key)
	}
	if names <= maxNoted {
		r.ofBad = &r.table
	}
	return r, nil
}

// Limits of a header, since each row repeats all names.
const (
	maxColumns = 10_000
	maxNames   = 1 << 20 // bytes
)

func checkHeader(columns []string) error {
	if len(columns) > maxColumns {
		return fmt.Errorf("the header has %d columns, and at most %d are read: is it the header of a table?", len(columns), maxColumns)
	}
	bytes := 0
	for _, name := range columns {
		bytes += len(name)
	}
	if bytes > maxNames {
		return fmt.Errorf("the column names in the header have over %d bytes: is it the header of a table?", maxNames)
	}
	return nil
}

// Number returns the line number of the last row.
func (r *rows) Number() int64 { return r.number() }

// Next returns the next row. At the end of the text the error is io.EOF.
func (r *rows) Next() (Line, error) {
	fields, l, err := r.divide()
	l.Table = r.ofBad
	if err != nil || l.Fault != nil || l.Long {
		return l, err
	}
	if len(fields) != len(r.keys) {
		l.row = []byte(fields[0])
		l.Fault = fmt.Errorf("the row has %d fields, and the table %d columns", len(fields), len(r.keys))
		if len(fields) < len(r.keys) && l.Open {
			return Line{}, textErrorf("the last row is not finished: if the file is still being written, run again when it is complete; " +
				"if it was cut off, complete or remove that row")
		}
		return l, nil
	}
	object, given, hasNulls := append(r.object[:0], '{'), append(r.given[:0], '{'), false
	for i, field := range fields {
		start := len(object)
		if object, err = r.append(object, i, field); err != nil {
			l.Fault = fmt.Errorf("column %s: %w", r.table.Columns[i], err)
			return l, nil
		}
		if r.isNull(i, field) {
			if !hasNulls {
				hasNulls, given = true, append(given[:0], object[:start]...)
			}
			object = object[:start]
		}
		if hasNulls {
			given, _ = r.append(given, i, field)
		}
	}
	l.Table = nil
	r.object, r.given = append(object, '}'), append(given, '}')
	l.Text = r.object
	if hasNulls {
		l.given = r.given
	}
	return l, nil
}

// append adds a field to an object.
func (r *rows) append(object []byte, i int, field string) ([]byte, error) {
	if len(object) > 1 {
		object = append(object, ',')
	}
	return jsonb.AppendString(append(object, r.keys[i]...), field)
}

// isNull reports whether a field is the NULL of a database. \N is that of the CSV of Snowflake, ClickHouse, MySQL and
// Postgres, some of which quote it. The other words are of editors and drivers; quoted they are texts.
func (r *rows) isNull(i int, field string) bool {
	if r.table.KeepNulls {
		return false
	}
	switch field {
	case `\N`:
		return true
	case "NULL", "null", "[NULL]", "(null)":
		return !r.isQuoted(i)
	}
	return false
}

// tabs divides lines at tabs.
type tabs struct{ text *Reader }

func (t tabs) divide() ([]string, Line, error) {
	for {
		l, err := t.text.Next()
		if err != nil || l.Long {
			return nil, l, err
		}
		if l.Text = bytes.TrimSuffix(l.Text, []byte{'\r'}); len(l.Text) > 0 {
			return strings.Split(string(l.Text), "\t"), l, nil
		}
	}
}

func (t tabs) isQuoted(int) bool { return false }

func (t tabs) number() int64 { return t.text.Number() }

type quoted struct {
	tap   *tap
	csv   *csv.Reader
	begin int64  // offset at which csv began
	line  int64  // of the last row
	lines int64  // newlines in the text read so far
	text  []byte // of the last row, with the blank lines before it
	first int64  // line of that text
}

// A row beyond one of these limits is taken for one with an unclosed quote.
const (
	maxRowLines = 1000
	maxRowBytes = 1 << 20
)

func newQuoted(source io.Reader, offset int64, longest int, comma rune) *quoted {
	q := &quoted{tap: &tap{source: source, most: longest + firstBuffer}, begin: offset}
	q.csv = csv.NewReader(q.tap)
	q.csv.Comma, q.csv.FieldsPerRecord, q.csv.ReuseRecord = comma, -1, true
	return q
}

// divide returns the next row. An invalid row has a fault, and the next one begins at the next
// line.
func (q *quoted) divide() ([]string, Line, error) {
	from := q.csv.InputOffset()
	fields, err := q.csv.Read()
	to := q.csv.InputOffset()
	line := q.line + 1
	if len(fields) > 0 && err == nil {
		n, _ := q.csv.FieldPos(0)
		line = int64(n)
	}
	bad, isBad := errors.AsType[*csv.ParseError](err)
	switch {
	case errors.Is(err, errNoRowEnd):
		rest := q.tap.kept[q.tap.taken:]
		if hasHole(rest) {
			return nil, Line{}, errHole
		}
		breaks, _ := openQuote(rest, byte(q.csv.Comma))
		q.line = q.lines + breaks // the error is about the next row
		return nil, Line{}, textErrorf("the row has no end within %d bytes: a quote is missing", q.tap.most)
	case isBad:
		line = int64(bad.StartLine)
	case err != nil:
		return nil, Line{}, err
	}
	text := q.tap.take(to - from)
	q.text, q.first = text, q.lines+1
	l := Line{Text: text, Length: int64(len(text)), Number: line, End: q.begin + to}
	l.Open = len(text) == 0 || text[len(text)-1] != '\n'
	if hasHole(text) {
		return nil, Line{}, errHole
	}
	if isBad {
		if breaks, isOpen := openQuote(text, byte(q.csv.Comma)); isOpen {
			q.line = q.lines + breaks // the error is about the next row
			return nil, Line{}, textErrorf("the quote that opens here has no end: the file was cut off, or a quote is missing")
		}
	}
	q.lines += int64(bytes.Count(text, []byte{'\n'}))
	last := q.lines
	if l.Open {
		last++
	}
	if n := last - line + 1; n > maxRowLines || n > 1 && len(text) > maxRowBytes {
		q.line = line - 1
		return nil, Line{}, textErrorf("a quote makes one row of %d lines and %d bytes, and at most %d lines or %d bytes are read as one: "+
			"a quote is missing here or before", n, len(text), maxRowLines, maxRowBytes)
	}
	q.line = line
	if isBad {
		l.Fault = fmt.Errorf("not CSV: %w", bad.Err)
	}
	return fields, l, nil
}

// openQuote reports whether a text of rows ends within quotes, and counts the line breaks before
// the last opening quote. It stops at text that is not CSV.
func openQuote(text []byte, comma byte) (breaks int64, isOpen bool) {
	line := int64(0)
	for len(text) > 0 {
		if text[0] == '"' {
			breaks, isOpen = line, true
			for isOpen {
				end := bytes.IndexByte(text[1:], '"') + 1
				if end == 0 {
					return breaks, true
				}
				line += int64(bytes.Count(text[:end], []byte{'\n'}))
				text = text[end:]
				if isOpen = len(text) > 1 && text[1] == '"'; isOpen {
					text = text[1:]
				}
			}
			text = bytes.TrimPrefix(text[1:], []byte{'\r'})
			if len(text) > 0 && text[0] != comma && text[0] != '\n' {
				return breaks, false
			}
		}
		next := bytes.IndexAny(text, string([]byte{comma, '\n'}))
		if next < 0 {
			return breaks, false
		}
		if text[next] == '\n' {
			line++
		}
		text = text[next+1:]
	}
	return breaks, false
}

func (q *quoted) number() int64 { return q.line }

func (q *quoted) isQuoted(field int) bool {
	line, column := q.csv.FieldPos(field)
	text := q.text
	for range int64(line) - q.first {
		_, text, _ = bytes.Cut(text, []byte{'\n'})
	}
	return column <= len(text) && text[column-1] == '"'
}

// tap keeps the text of the current row, and cuts off an endless row.
type tap struct {
	source io.Reader
	most   int
	kept   []byte
	taken  int // bytes of the kept text before the row
}

var errNoRowEnd = errors.New("the row has no end")

func (t *tap) Read(p []byte) (n int, err error) {
	if len(t.kept)-t.taken > t.most {
		return 0, errNoRowEnd
	}
	n, err = t.source.Read(p)
	if t.taken > 0 {
		t.kept = t.kept[:copy(t.kept, t.kept[t.taken:])]
		t.taken = 0
	}
	t.kept = append(t.kept, p[:n]...)
	return n, err
}

// take returns the next n kept bytes, valid until the next Read.
func (t *tap) take(n int64) []byte {
	text := t.kept[t.taken:][:n]
	t.taken += int(n)
	return text
}
