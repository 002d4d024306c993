package formats

import (
	"bytes"
	"encoding/binary"
	"sync"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/internal/estimate"
	"github.com/hogapi/hogapi/internal/jsonb"
	"github.com/hogapi/hogapi/internal/wire"
)

type inspector struct {
	mu     sync.Mutex
	result CheckReport
	names  map[string]bool // of the examples
	kinds  map[idKind]bool // of the examples
	ids    estimate.Marks  // that the vendor gave records
	test   RecordTest      // may be nil
}

// idKind is how an event names its person.
type idKind struct {
	form   string // of the distinct id
	hasTwo bool   // it has the id before the login too
}

func newInspector(test RecordTest) *inspector {
	i := &inspector{names: map[string]bool{}, kinds: map[idKind]bool{}, ids: estimate.Marks{Most: mostIDs}, test: test}
	i.result = CheckReport{IDs: map[string]int64{}, UUIDs: map[string]int64{}, Kept: map[string]int64{}}
	return i
}

const (
	mostKept     = 1000
	mostIDs      = 1_000_000
	mostExamples = 3
	mostKinds    = 2 // further examples for them
	mostBefore   = 2000
)

func (i *inspector) see(record []byte, events []hogapi.Event, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.test != nil {
		i.test.Add(record)
	}
	if err != nil || len(events) == 0 {
		return
	}
	i.seeID(events[0].UUID)
	keys := keysOf(record)
	for n := range events {
		ev := &events[n]
		i.result.IDs[formOf(ev.DistinctID)]++
		i.result.UUIDs[sourceOf(ev.UUID, record)]++
		for name := range propertiesOf(ev) {
			_, known := i.result.Kept[name]
			if keys[name] && name[:min(1, len(name))] != "$" && (known || len(i.result.Kept) < mostKept) {
				i.result.Kept[name]++
			}
		}
	}
	ev := &events[0]
	kind := idKind{formOf(ev.DistinctID), ev.AnonymousID != "" && ev.AnonymousID != ev.DistinctID}
	n := len(i.result.Examples)
	if n < mostExamples && !i.names[ev.Name] || n < mostExamples+mostKinds && !i.kinds[kind] {
		i.names[ev.Name], i.kinds[kind] = true, true
		i.result.Examples = append(i.result.Examples, conversion(record, events))
	}
}

// seeID notes the id that the vendor gave a record.
func (i *inspector) seeID(id uuid.UUID) {
	if id == uuid.Nil {
		return
	}
	const mix = 0x9E3779B97F4A7C15 // so that equal changes of both halves do not cancel out
	switch _, known, kept := i.ids.Add(binary.BigEndian.Uint64(id[:8])*mix^binary.BigEndian.Uint64(id[8:]), 0); {
	case known:
		i.result.DoubleIDs++
	case !kept:
		i.result.DoublesPart = true
	}
}

// sourceOf is where the uuid of an event of a record comes from.
func sourceOf(id uuid.UUID, record []byte) string {
	switch {
	case id == uuid.Nil:
		return UUIDOfContent
	case bytes.Contains(bytes.ToLower(record), []byte(id.String())):
		return UUIDOfVendor
	}
	return UUIDOfID
}

// report is the report of an import, with the facts that see has noted.
func (i *inspector) report(check hogapi.CheckReport) CheckReport {
	i.mu.Lock()
	defer i.mu.Unlock()
	r := i.result
	r.CheckReport = check
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
	c.Before = string(bytes.ToValidUTF8(before[:min(mostBefore, len(before))], []byte("\uFFFD")))
	for _, ev := range events {
		line := wire.Describe(&wire.Fields{
			Name: ev.Name, DistinctID: ev.DistinctID, Timestamp: ev.Timestamp, UUID: ev.UUID,
			Properties: ev.Properties, RawProperties: ev.RawProperties, Set: ev.Set, SetOnce: ev.SetOnce,
		}).Line
		c.After = append(c.After, string(line))
	}
	return c
}

// keysOf are the keys of a record, and of the objects in it.
func keysOf(record []byte) map[string]bool {
	keys := map[string]bool{}
	_ = jsonb.Object(record, func(key, value []byte) { // of a damaged record, the keys before the fault
		keys[string(key)] = true
		if value[0] == '{' {
			_ = jsonb.Object(value, func(key, _ []byte) { keys[string(key)] = true })
		}
	})
	return keys
}

func propertiesOf(ev *hogapi.Event) map[string]bool {
	names := map[string]bool{}
	for name := range ev.Properties {
		names[name] = true
	}
	_ = jsonb.Object(ev.RawProperties, func(key, _ []byte) { names[string(key)] = true })
	return names
}
