package hogapi

import (
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/ops"
)

// Format says how the records of files become events. It is all that an importer for another vendor's
// files has to write: [FileSource] does the rest.
//
//	visits := hogapi.Format{Name: "visits", Convert: func(record []byte) ([]hogapi.Event, error) {
//		var v struct{ Page, Visitor string; Time time.Time }
//		if err := json.Unmarshal(record, &v); err != nil {
//			return nil, err
//		}
//		return []hogapi.Event{{Name: "$pageview", DistinctID: v.Visitor, Timestamp: v.Time}}, nil
//	}}
type Format struct {
	// Name names the format for good, such as "mixpanel": it is part of the source's name.
	Name string
	// Options are, as a text, what Convert depends on besides the record, such as a time zone. They are
	// part of the source's name: an import does not resume with others.
	Options string
	// Layout is how records are divided. The zero value, LayoutAny, decides by how a file begins.
	Layout Layout
	// Columns are the names of the columns of CSV and TSV files without a header; empty: the first row
	// of each file has them.
	Columns []string
	// CheckColumns, if not nil, is given the columns of each CSV and TSV file before its first row. Its
	// error, which says what is missing, stops the import: the file is not of this format.
	CheckColumns func(columns []string) error

	// Convert makes the events of a record: one or several, or none with [Skip] as its error, where the
	// record is left out on purpose. Any other error makes the record a reject. The record is a JSON
	// value; a row of a table is an object of its columns, with all values as texts.
	//
	// It must be a pure function: every run must make the same events of the same record, whatever came
	// before. It may be called by several goroutines. The events may share the record's bytes; it must
	// neither change nor keep them. They need no Position, and those without a UUID get one that is
	// derived from the record: see [FileSource].
	Convert func(record []byte) ([]Event, error)

	// ID is the uuid of a record to which the vendor gives an id, and zero for other records. It may be
	// nil. The first event of the record has this uuid, and so has a record that Convert rejects, so that
	// it is one event wherever it is corrected. It must not depend on Options.
	ID func(record []byte) uuid.UUID
}

// Layout is how the records of a file are divided.
type Layout string

// Layouts. In each of them the text is UTF-8, with or without a byte order mark.
const (
	LayoutAny  Layout = ""     // JSON where the file begins with { or [, else rows
	LayoutJSON Layout = "json" // a value a line, values one after another, or the elements of an array
	LayoutCSV  Layout = "csv"  // rows of RFC 4180, divided by comma or semicolon
	LayoutTSV  Layout = "tsv"  // a row a line, divided by tabs, without quotes
)

// nameOf is the name of a source of files, or of what else has records, in the format.
func (f Format) nameOf(files string) string {
	if f.Options == "" {
		return f.Name + ": " + files
	}
	return fmt.Sprintf("%s (%s): %s", f.Name, f.Options, files)
}

// check refuses a format that cannot be read.
func (f Format) check() error {
	bad := func(field, value, want string) error {
		return &InputError{Op: ops.Import, Field: "Format." + field, Value: value, Want: want}
	}
	switch {
	case f.Name == "":
		return bad("Name", "", `a name that stays the same, such as "mixpanel"`)
	case f.Convert == nil:
		return bad("Convert", "", "a function that makes events of a record")
	case !slices.Contains([]Layout{LayoutAny, LayoutJSON, LayoutCSV, LayoutTSV}, f.Layout):
		return bad("Layout", string(f.Layout), "LayoutAny, LayoutJSON, LayoutCSV or LayoutTSV")
	}
	return nil
}
