package lines

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Table says how a row of a table is read, also without its file: a reject keeps it for a row that has to be corrected.
type Table struct {
	Layout    Layout   `json:"layout"` // CSV, semicolons or TSV
	Columns   []string `json:"columns"`
	KeepNulls bool     `json:"keep_nulls,omitempty"` // the words for NULL are texts
}

// maxNoted is the most bytes of names that each row with a fault is noted with.
const maxNoted = 64 << 10

// divide returns a divider of a text of the table's layout, which starts at an offset.
func (t Table) divide(text io.Reader, offset int64, longest int, noHoles bool) divider {
	switch t.Layout { //nolint:exhaustive // others are no tables
	case TSV:
		r := NewReader(text, offset, longest)
		r.noHoles = noHoles
		return tabs{r}
	case semicolons:
		return newQuoted(text, offset, longest, ';')
	}
	return newQuoted(text, offset, longest, ',')
}

// Record returns the object of a record that was a row with a fault, and that was corrected: as a row of the file, or as an
// object of the columns. An object stays as it is.
func (t Table) Record(corrected []byte) ([]byte, error) {
	text := bytes.TrimSpace(corrected)
	if bytes.HasPrefix(text, []byte{'{'}) && json.Valid(text) {
		return text, nil
	}
	text = append(bytes.Trim(bytes.Clone(corrected), "\r\n"), '\n')
	r, err := newRows(t, t.divide(bytes.NewReader(text), 0, len(text), false))
	if err != nil {
		return nil, err
	}
	l, err := r.Next()
	switch {
	case errors.Is(err, io.EOF):
		return nil, errors.New("the row is empty")
	case err != nil:
		return nil, err
	case l.Fault != nil:
		return nil, l.Fault
	}
	record := bytes.Clone(l.Text)
	if _, err := r.Next(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("a rejected row became several: correct it to one row of %d fields", len(t.Columns))
	}
	return record, nil
}
