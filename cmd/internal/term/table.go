package term

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// Table aligns the columns of rows. Flush writes the rows whole, unless [Table.Narrow] says how they become narrower: then,
// on a terminal, in its width, each row in one line.
type Table struct {
	bytes.Buffer

	out      io.Writer
	flexible []string
	optional []string
}

// NewTable returns a table.
func NewTable(w io.Writer) *Table { return &Table{out: w} }

// Narrow says how the table becomes narrower: first the cells of the flexible columns are cut, to 8 characters, then the
// optional columns are left out, in their order. Then all cells are cut, to 3 characters, and the last columns are left out.
// Each cell ends with a tab, and the first row has the names of the columns.
func (t *Table) Narrow(flexible, optional []string) *Table {
	t.flexible, t.optional = flexible, optional
	return t
}

// Flush writes the rows.
func (t *Table) Flush() error {
	if s, ok := t.out.(*Screen); ok && s.file != nil && !s.isRaw && t.flexible != nil {
		_, err := io.WriteString(t.out, t.fitted(s.Width()))
		return err
	}
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, gutter, ' ', 0)
	_, _ = t.WriteTo(w) // to a buffer, as all that follows
	_ = w.Flush()
	_, err := b.WriteTo(t.out) // in one piece, as a Screen needs it
	return err
}

// gutter is the room between two columns.
const gutter = 2

// fitted returns the rows in a width.
func (t *Table) fitted(width int) string {
	var rows [][]string
	for line := range strings.Lines(t.String()) {
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		rows = append(rows, cells[:len(cells)-1])
	}
	if len(rows) == 0 {
		return ""
	}
	widths, isFlexible := make([]int, len(rows[0])), make([]bool, len(rows[0]))
	for i, name := range rows[0] {
		isFlexible[i] = slices.Contains(t.flexible, name)
		for word := range strings.FieldsSeq(name) {
			widths[i] = max(widths[i], Columns(word))
		}
		for _, row := range rows[1:] {
			if i < len(row) {
				widths[i] = max(widths[i], Columns(row[i]))
			}
		}
	}
	whole := slices.Clone(widths)
	for t.shrink(rows[0], widths, isFlexible, width) {
	}
	grow(widths, whole, width)
	var b strings.Builder
	for _, line := range headLines(rows[0], widths) {
		writeRow(&b, line, widths)
	}
	for _, row := range rows[1:] {
		writeRow(&b, row, widths)
	}
	return b.String()
}

// shrink makes a table that is too wide narrower by a column or a character, and reports whether it could. A width of 0
// leaves a column out.
func (t *Table) shrink(names []string, widths []int, isFlexible []bool, width int) bool {
	const narrow, narrowest = 8, 3
	if totalOf(widths) <= width {
		return false
	}
	if i := widest(widths, narrow, isFlexible); i >= 0 {
		widths[i]--
		return true
	}
	for _, name := range t.optional {
		if i := slices.Index(names, name); i >= 0 && widths[i] > 0 {
			widths[i] = 0
			return true
		}
	}
	if i := widest(widths, narrowest, nil); i >= 0 {
		widths[i]--
		return true
	}
	for i, w := range slices.Backward(widths) {
		if w > 0 {
			widths[i] = 0
			return i > 0
		}
	}
	return false
}

// widest returns the widest column that is wider than a bound, among some or all, or -1.
func widest(widths []int, bound int, among []bool) int {
	found := -1
	for i, w := range widths {
		if (among == nil || among[i]) && w > bound && (found < 0 || w > widths[found]) {
			found = i
		}
	}
	return found
}

// grow gives the spare room of a column to the columns that were cut.
func grow(widths, whole []int, width int) {
	for totalOf(widths) < width {
		least := -1
		for i, w := range widths {
			if w > 0 && w < whole[i] && (least < 0 || w < widths[least]) {
				least = i
			}
		}
		if least < 0 {
			return
		}
		widths[least]++
	}
}

func totalOf(widths []int) (total int) {
	for _, w := range widths {
		if w > 0 {
			total += w + gutter
		}
	}
	return total - gutter
}

// headLines returns the names of the columns on as many lines as their widths need.
func headLines(names []string, widths []int) (lines [][]string) {
	for i, name := range names {
		if widths[i] == 0 {
			continue
		}
		for n, part := range strings.Split(Wrapped(name, widths[i]), "\n") {
			if n == len(lines) {
				lines = append(lines, make([]string, len(names)))
			}
			lines[n][i] = part // cut where a word is too long
		}
	}
	return lines
}

func writeRow(b *strings.Builder, cells []string, widths []int) {
	var line strings.Builder
	for i, cell := range cells {
		if i < len(widths) && widths[i] > 0 {
			fmt.Fprint(&line, Padded(cell, widths[i]), strings.Repeat(" ", gutter))
		}
	}
	b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
}
