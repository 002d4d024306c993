package formats

import (
	"bytes"
	"strings"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/internal/estimate"
	"github.com/hogapi/hogapi/internal/inside"
	"github.com/hogapi/hogapi/internal/jsonb"
	"github.com/hogapi/hogapi/internal/ledger"
	"github.com/hogapi/hogapi/internal/uuidsum"
	"github.com/hogapi/hogapi/internal/wire"
)

// inspector notes facts about the records of a check.
type inspector struct {
	result  CheckReport
	kept    map[string]*int64        // becomes result.Kept
	names   map[string]bool          // of the examples
	kinds   map[idKind]bool          // of the examples
	ids     estimate.Marks[struct{}] // that the vendor gave records
	keys    keyTable[keyUse]
	records int64
	objects int64
	events  int64
	test    RecordTest // may be nil
}

// keyUse is where a key was seen last.
type keyUse struct {
	record, object, event int64  // their numbers
	kept                  *int64 // nil: not counted yet
}

// idKind is how an event names its person.
type idKind struct {
	form   string // of the distinct id
	hasTwo bool   // it has the id before the login too
}

func newInspector(test RecordTest) *inspector {
	i := &inspector{
		names: map[string]bool{}, kinds: map[idKind]bool{}, kept: map[string]*int64{}, test: test,
		ids: estimate.Marks[struct{}]{Most: maxIDs},
	}
	i.result = CheckReport{IDs: map[string]int64{}, UUIDs: map[string]int64{}}
	return i
}

const (
	maxKept     = 1000
	maxKeys     = 10_000
	maxIDs      = 1_000_000
	maxExamples = 3
	maxKinds    = 2 // further examples for them
	maxBefore   = 2000
)

func (i *inspector) see(record []byte, events []hogapi.Event, err error) {
	if i.test != nil {
		i.examine(record, events)
	}
	if err != nil || len(events) == 0 {
		return
	}
	i.seeID(events[0].UUID)
	parts := events[0].Inside(inside.Key{}).Parts
	i.seeKeys(record, parts.RecordOf(record))
	for n := range events {
		ev := &events[n]
		if _, isOut := ev.Skipped(); isOut {
			continue
		}
		i.result.IDs[formOf(ev.DistinctID)]++
		i.result.UUIDs[sourceOf(ev.UUID, record)]++
		i.seeProperties(ev, parts.PropertiesOf(ev.RawProperties))
	}
	ev := &events[0]
	if _, isOut := ev.Skipped(); isOut {
		return
	}
	kind := idKind{formOf(ev.DistinctID), ev.AnonymousID != "" && ev.AnonymousID != ev.DistinctID}
	n := len(i.result.Examples)
	if n < maxExamples && !i.names[ev.Name] || n < maxExamples+maxKinds && !i.kinds[kind] {
		i.names[ev.Name], i.kinds[kind] = true, true
		i.result.Examples = append(i.result.Examples, conversion(record, events))
	}
}

// viewTest is a RecordTest that can look at a record that was read.
type viewTest interface{ AddView(record *jsonb.View) }

func (i *inspector) examine(record []byte, events []hogapi.Event) {
	if test, ok := i.test.(viewTest); ok && len(events) > 0 {
		if view := events[0].Inside(inside.Key{}).Parts.RecordOf(record); view != nil {
			test.AddView(view)
			return
		}
	}
	i.test.Add(record)
}

// seeID notes the id that the vendor gave a record.
func (i *inspector) seeID(id uuid.UUID) {
	if id == uuid.Nil {
		return
	}
	switch _, known, kept := i.ids.Add(ledger.MarkOf(id), struct{}{}); {
	case known:
		i.result.DoubleIDs++
	case !kept:
		i.result.DoublesPart = true
	}
}

// seeKeys notes the keys of a record, and of the objects in it: of a damaged or doubtful one, the keys before the fault.
func (i *inspector) seeKeys(record []byte, view *jsonb.View) {
	if len(i.keys.known) > maxKeys {
		i.keys = keyTable[keyUse]{}
	}
	i.records++
	e := &i.keys.first
	if view != nil {
		view.Each(func(key, _ []byte, _ bool) {
			e = i.keys.after(e, key)
			e.of.record = i.records
		})
		return
	}
	_ = jsonb.Object(record, func(key, value []byte) {
		e = i.keys.after(e, key)
		e.of.record = i.records
		if value[0] != '{' {
			return
		}
		i.objects++
		isTwice := false
		jsonb.Members(value[1:len(value)-1], func(key, _, _ []byte) {
			e = i.keys.after(e, key)
			use := &e.of
			if isTwice = isTwice || use.object == i.objects; !isTwice {
				use.record, use.object = i.records, i.objects
			}
		})
	})
}

// seeProperties counts the properties that are keys of the record too.
func (i *inspector) seeProperties(ev *hogapi.Event, view *jsonb.View) {
	i.events++
	e := &i.keys.first
	note := func(name []byte) {
		e = i.keys.after(e, name)
		use := &e.of
		if use.record != i.records || use.event == i.events || len(name) > 0 && name[0] == '$' {
			return
		}
		use.event = i.events
		if use.kept == nil {
			use.kept = i.kept[string(name)]
		}
		if use.kept == nil && len(i.kept) < maxKept {
			use.kept = new(int64)
			i.kept[string(name)] = use.kept
		}
		if use.kept != nil {
			*use.kept++
		}
	}
	for name := range ev.Properties {
		note([]byte(name))
	}
	if view != nil {
		view.Each(func(key, _ []byte, _ bool) { note(key) })
		return
	}
	_ = jsonb.Object(ev.RawProperties, func(key, _ []byte) { note(key) })
}

// sourceOf is where the uuid of an event of a record comes from.
func sourceOf(id uuid.UUID, record []byte) string {
	switch {
	case id == uuid.Nil:
		return UUIDOfContent
	case hasUUID(record, id):
		return UUIDOfVendor
	}
	return UUIDOfID
}

// hasUUID reports whether a text has a uuid, in small or capital letters.
func hasUUID(text []byte, id uuid.UUID) bool {
	const before, length = 8, 36 // of the first hyphen, and of all
	want := uuidsum.Text(id)
	for from := 0; ; from++ {
		at := bytes.IndexByte(text[from:], '-')
		if at < 0 {
			return false
		}
		from += at
		if from < before || from-before+length > len(text) || text[from-before+length-13] != '-' {
			continue
		}
		if bytes.EqualFold(text[from-before:from-before+length], want[:]) {
			return true
		}
	}
}

// report is the report of an import, with the facts that see has noted.
func (i *inspector) report(check history.CheckReport) CheckReport {
	r := i.result
	r.CheckReport, r.Kept = check, map[string]int64{}
	for name, n := range i.kept {
		r.Kept[name] = *n
	}
	if i.test != nil {
		r.Test = i.test.String()
	}
	return r
}

func conversion(record []byte, events []hogapi.Event) (c Conversion) {
	before, err := jsonb.Compact(nil, record)
	if err != nil {
		before = record
	}
	c.Before = string(bytes.ToValidUTF8(before[:min(maxBefore, len(before))], []byte("\uFFFD")))
	for _, ev := range events {
		fields := wire.FieldsOf(&ev)
		c.After = append(c.After, string(wire.Describe(&fields).Line))
	}
	return c
}

// formOf is the form of an id.
func formOf(id string) string {
	name, domain, isAddress := strings.Cut(id, "@")
	switch {
	case id == "":
		return "none"
	case isUUID(id):
		return "uuid"
	case strings.Trim(id, "0123456789") == "":
		return "number"
	case isAddress && name != "" && len(domain) > 2 && strings.Contains(domain[1:len(domain)-1], ".") && !strings.ContainsAny(domain, "@") && !strings.ContainsAny(id, " \t\n\f\r"):
		return "e-mail"
	}
	return "text"
}

func isUUID(id string) bool {
	const length = 36
	if len(id) != length {
		return false
	}
	for i := range length {
		switch c := id[i] | 0x20; i {
		case 8, 13, 18, 23:
			if id[i] != '-' {
				return false
			}
		default:
			if (c < 'a' || c > 'f') && (id[i] < '0' || id[i] > '9') {
				return false
			}
		}
	}
	return true
}
