package parquet

import (
	"errors"
	"fmt"
	"io"

	parquetgo "github.com/parquet-go/parquet-go"
)

type leaf struct {
	name       string
	column     int
	isRepeated bool // a row may have several values

	pages  parquetgo.Pages
	page   parquetgo.Page
	values parquetgo.ValueReader
	buf    [128]parquetgo.Value
	at, n  int

	row     []parquetgo.Value // of the row at hand
	written int               // how many of them were used
	old     []parquetgo.Page  // in which values of the row at hand may be
}

// open begins with the row after so many of a row group.
func (l *leaf) open(chunk parquetgo.ColumnChunk, after int64) error {
	l.pages, l.at, l.n = chunk.Pages(), 0, 0
	if after == 0 {
		return nil
	}
	return l.fault(l.pages.SeekToRow(after))
}

func (l *leaf) close() {
	if l.pages == nil {
		return
	}
	l.release()
	if l.page != nil {
		parquetgo.Release(l.page)
	}
	_ = l.pages.Close()
	l.pages, l.page, l.values = nil, nil, nil
}

func (l *leaf) release() {
	for _, page := range l.old {
		parquetgo.Release(page)
	}
	l.old = l.old[:0]
}

func (l *leaf) next() error {
	l.release()
	l.row, l.written = l.row[:0], 0
	for {
		if l.at == l.n {
			err := l.fill()
			if errors.Is(err, io.EOF) && len(l.row) > 0 {
				return nil
			}
			if err != nil {
				return l.fault(err)
			}
		}
		v := l.buf[l.at]
		if len(l.row) > 0 && v.RepetitionLevel() == 0 {
			return nil
		}
		l.row = append(l.row, v)
		l.at++
		if !l.isRepeated {
			return nil
		}
	}
}

func (l *leaf) fill() error {
	for {
		if l.values == nil {
			page, err := l.pages.ReadPage()
			if err != nil {
				return err
			}
			if l.page != nil {
				l.old = append(l.old, l.page)
			}
			l.page, l.values = page, page.Values()
		}
		n, err := l.values.ReadValues(l.buf[:])
		l.at, l.n = 0, n
		if err != nil {
			l.values = nil
			if !errors.Is(err, io.EOF) {
				return err
			}
		}
		if n > 0 {
			return nil
		}
	}
}

// fault names the column in an error. The end comes too early wherever it is one.
func (l *leaf) fault(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("column %q: %w", l.name, err)
}

func (l *leaf) peek() (v parquetgo.Value, ok bool) {
	if l.written >= len(l.row) {
		return v, false
	}
	return l.row[l.written], true
}
