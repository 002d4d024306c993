// Package inside has the fields of an event and a reject that only the packages of this module see.
package inside

import (
	"sync"

	"github.com/hogapi/hogapi/internal/jsonb"
	"github.com/hogapi/hogapi/internal/lines"
)

// Key is the parameter of methods that only packages of this module can call.
type Key struct{}

// Event is the hidden part of an event.
type Event struct {
	Provenance

	Bad   *BadRecord // not nil: the record made no event
	Parts *Parts     // of the first event of a record; nil: not noted. Valid until the next event is asked for
}

// Parts are the places of the members of a record, and of the properties that a format made of it, as they were found on the
// way. Each is a view of certain bytes: an event that was changed has others.
type Parts struct{ Record, Properties jsonb.View }

var parts = sync.Pool{New: func() any { return new(Parts) }}

// NewParts returns Parts that nobody uses.
func NewParts() *Parts {
	p, _ := parts.Get().(*Parts)
	return p
}

// Free gives the Parts back, which may be nil.
func (p *Parts) Free() {
	if p != nil {
		p.Record.Begin(nil)
		p.Properties.Begin(nil)
		parts.Put(p)
	}
}

// PropertiesOf returns the view of the properties, or nil if these are others.
func (p *Parts) PropertiesOf(raw []byte) *jsonb.View {
	if p == nil || !p.Properties.IsOf(raw) {
		return nil
	}
	return &p.Properties
}

// RecordOf returns the view of the record, or nil if this is another one.
func (p *Parts) RecordOf(text []byte) *jsonb.View {
	if p == nil || !p.Record.IsOf(text) {
		return nil
	}
	return &p.Record
}

// BadRecord is a record without an event.
type BadRecord struct {
	Raw []byte
	Err error
}

// Provenance describes the record that an event is made of.
type Provenance struct {
	Record   []byte       // of the source; kept where it is bad or mapped; valid until the next event is asked for
	Cut      *lines.Cut   // where the record is, where Record is only its beginning
	Table    *lines.Table // of a record that is a row with a fault
	File     *lines.File  // where the record is; nil: see Where
	Line     int64        // of the record in File
	Where    string       // where the record was; empty: not known
	Format   string       // that read the record; empty: it is a line
	Number   uint64       // of the event among the events of its record; 0: to be counted
	IsMapped bool         // a mapping made the event from its record
	IsFinal  bool         // not to be mapped again: a mapping made the event before
	IsLoose  bool         // not of a file, or from bytes that were kept

	NeedsMapping bool // the import that rejected the record had a mapping
}

// Location returns where the record is in its file, such as "events.jsonl:17", or "".
func (p *Provenance) Location() string {
	if p.File == nil {
		return p.Where
	}
	return p.File.Locate(p.Line)
}
