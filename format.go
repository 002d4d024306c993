package hogapi

import (
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/ops"
)

// Format converts the records of files to events. An importer for another vendor's files has to write nothing
// else: [FileSource] does the rest.
//
//	visits := hogapi.Format{Name: "visits", Convert: func(record []byte) ([]hogapi.Event, error) {
//		var v struct{ Page, Visitor string; Time time.Time }
//		if err := json.Unmarshal(record, &v); err != nil {
//			return nil, err
//		}
//		return []hogapi.Event{{Name: "$pageview", DistinctID: v.Visitor, Timestamp: v.Time}}, nil
//	}}
type Format struct {
	// Name names the format, such as "mixpanel". It is part of the source's name, so it must never change.
	Name string
	// Options are the settings of Convert as a text, such as a time zone. They are part of the source's name:
	// an import does not resume with other options.
	Options string
	// Layout is the way in which records are divided. The default, LayoutAny, decides by the beginning of a
	// file.
	Layout Layout
	// Columns are the names of the columns of CSV and TSV files without a header. By default, the first row of
	// each file has them.
	Columns []string
	// CheckColumns, if not nil, receives the columns of each CSV and TSV file before its first row. Its error
	// stops the import: the file is not of this format. The error should name the missing columns.
	CheckColumns func(columns []string) error

	// Convert returns the events of a record, one or several. To leave a record out on purpose, it returns the
	// error of [Skip]. Any other error makes the record a reject. The record is a JSON value; a row of a table
	// is an object of its columns, with all values as texts.
	//
	// Convert must be a pure function: every run must make the same events of the same record, regardless of
	// the records before it. Several goroutines may call it. The events may share the record's bytes; Convert
	// must neither change nor keep them. The events need no Position. An event without a UUID gets one that is
	// derived from the record: see [FileSource].
	Convert func(record []byte) ([]Event, error)

	// ID returns the uuid of a record to which the vendor gives an id, and zero for other records. It may be
	// nil. The first event of the record gets this uuid, and so does a record that Convert rejects: wherever it
	// is corrected, it stays one event. ID must not depend on Options.
	ID func(record []byte) uuid.UUID
}

// Layout is the way in which the records of a file are divided.
type Layout string

// The layouts. In each of them the text is UTF-8, with or without a byte order mark.
const (
	LayoutAny  Layout = ""     // JSON if the file begins with { or [, else rows
	LayoutJSON Layout = "json" // one value a line, values one after another, or the elements of an array
	LayoutCSV  Layout = "csv"  // rows of RFC 4180, divided by comma or semicolon
	LayoutTSV  Layout = "tsv"  // one row a line, divided by tabs, without quotes
)

// nameOf returns the name of a source of records in the format.
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
