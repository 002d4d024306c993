package history

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/ops"
)

// Format converts the records of files to events. It is all that an import of another vendor's files needs:
// [Files] does the rest.
//
//	visits := Format{Name: "visits", Convert: func(record []byte) ([]hogapi.Event, error) {
//		var v struct{ Page, Visitor string; Time time.Time }
//		if err := json.Unmarshal(record, &v); err != nil {
//			return nil, err
//		}
//		return []hogapi.Event{{Name: "$pageview", DistinctID: v.Visitor, Timestamp: v.Time}}, nil
//	}}
type Format struct {
	// Name is the name of the format, such as "mixpanel". It is required. It is part of the source's name, so it
	// must never change.
	Name string
	// Options are the settings of Convert as text, such as a time zone. They are part of the source's name, so an
	// import does not resume with other options. The default is empty.
	Options string
	// Layout is the way in which a file is divided into records. The default is LayoutAny, which decides by the
	// beginning of the file.
	Layout Layout
	// Columns are the names of the columns of CSV and TSV files without a header. By default, the first row of
	// each file has the names.
	Columns []string
	// CheckColumns is called with the columns of each CSV or TSV file before its first row. Its error means that
	// the file is not of this format, and stops the import. The error should name the missing columns. By default,
	// no columns are checked.
	CheckColumns func(columns []string) error
	// KeepNulls reads the words for NULL in tables as texts. By default, a column with NULL, null, [NULL], (null) or
	// \N is absent from the record; in quotes, only \N is. The uuid is derived from the row with its words.
	KeepNulls bool

	// Convert returns the events of a record. It is required. To leave a record out on purpose, it returns no
	// events or, with a reason, the error of [Skip]. Any other error makes the record a reject. The record is a
	// JSON value; a row of a table is an object with the names of the columns as keys and strings as values.
	//
	// Convert must be a pure function: in every run it must return the same events for the same record, regardless
	// of the records before it. Several goroutines may call it at the same time. The events may share the bytes of
	// the record; Convert must neither change these bytes nor keep them elsewhere. It may replace RawProperties that
	// another format made, but not change their bytes. The events need no Position. An event without a UUID gets one
	// that is derived from the record: see [Files].
	Convert func(record []byte) ([]event.Event, error)

	// ID returns the uuid of a record that has an id of the vendor, and the zero UUID for other records. The first
	// event of the record gets this uuid. A record that Convert rejects gets it too, so it stays one event
	// wherever it is corrected. ID must not depend on Options. By default, uuids are derived from the records.
	ID func(record []byte) uuid.UUID
}

// Layout is the way in which the records of a file are divided.
type Layout string

// The layouts. The text of a file is UTF-8, with or without a byte order mark.
const (
	LayoutAny  Layout = ""     // JSON if the file begins with { or [, else rows
	LayoutJSON Layout = "json" // one value a line, values one after another, or the elements of one array
	LayoutCSV  Layout = "csv"  // rows of RFC 4180, with fields separated by commas or semicolons
	LayoutTSV  Layout = "tsv"  // one row a line, with fields separated by tabs, without quotes
)

var layouts = []Layout{LayoutAny, LayoutJSON, LayoutCSV, LayoutTSV}

func (f Format) nameOf(files string) string {
	if f.Options == "" {
		return f.Name + ": " + files
	}
	return fmt.Sprintf("%s (%s): %s", f.Name, f.Options, files)
}

func (f Format) check() error {
	return outgoing.Refused(ops.Import, cmp.Or(
		outgoing.If(f.Name == "", "Format.Name", "", `a name that stays the same, such as "mixpanel"`),
		outgoing.If(f.Convert == nil, "Format.Convert", "", "a function that makes events of a record"),
		outgoing.If(!slices.Contains(layouts, f.Layout), "Format.Layout", string(f.Layout), "LayoutAny, LayoutJSON, LayoutCSV or LayoutTSV"),
	))
}
