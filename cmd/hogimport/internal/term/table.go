package term

import (
	"bufio"
	"errors"
	"io"
	"text/tabwriter"
)

// Table aligns the columns of rows. Each cell ends with a tab. Flush writes the rows.
type Table struct {
	*tabwriter.Writer
	whole *bufio.Writer
}

// NewTable makes a table that is written in one piece, as a [Screen] needs it.
func NewTable(w io.Writer) *Table {
	const most = 256 << 10
	whole := bufio.NewWriterSize(w, most)
	return &Table{tabwriter.NewWriter(whole, 0, 0, 2, ' ', 0), whole}
}

// Flush writes the rows.
func (t *Table) Flush() error { return errors.Join(t.Writer.Flush(), t.whole.Flush()) }
