package formats

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/internal/estimate"
	"github.com/hogapi/hogapi/internal/jsonb"
	"github.com/hogapi/hogapi/internal/wire"
)

// String returns the report as a text: the report of the import, and tables of the facts about the format.
func (r CheckReport) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "format %s\n%s\n", r.Format, r.CheckReport)
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	if r.Good > 0 {
		fmt.Fprintf(table, "in UTC\tfrom %s\tto %s\n", r.Oldest.UTC().Format(time.RFC3339), r.Newest.UTC().Format(time.RFC3339))
		fmt.Fprintf(table, "in %s\tfrom %s\tto %s\n", r.Zone, r.OldestLocal.Format(time.RFC3339), r.NewestLocal.Format(time.RFC3339))
	}
	shares(table, "distinct id", r.IDs)
	shares(table, "uuid of", r.UUIDs)
	fmt.Fprintf(table, "records with the vendor's id of an earlier one\t%d\n", r.DoubleIDs)
	_ = table.Flush()
	if r.Test != "" {
		fmt.Fprintf(&b, "test: %s\n", r.Test)
	}
	if len(r.Kept) > 0 {
		fmt.Fprintf(&b, "kept under their own names: %s\n", counted(r.Kept))
	}
	for _, e := range r.Examples {
		fmt.Fprintf(&b, "from %s\n", e.Before)
		for _, after := range e.After {
			fmt.Fprintf(&b, "  to %s\n", after)
		}
	}
	r.held(&b)
	if r.Links != nil {
		fmt.Fprintf(&b, "%s\n", r.Links)
	}
	fmt.Fprintf(&b, "to import: %d events of about %d persons", r.Good, r.Persons)
	if r.Hours > 0 {
		fmt.Fprintf(&b, ", %.1f hours at the chosen rate", r.Hours)
	}
	b.WriteString("\nbilling: historical events less than 48 hours old are billed as live ones, so the gate refuses them; " +
		"whether others are billed, your plan says")
	return b.String()
}

func (r CheckReport) held(b *strings.Builder) {
	if len(r.Held) == 0 {
		return
	}
	table := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(table, "day\tthe project has\tthe files have\t\n")
	for _, d := range r.Held {
		fmt.Fprintf(table, "%s\t%d\t%d\t\n", d.Day, d.Project, d.Files)
	}
	_ = table.Flush()
	if r.CutFrom != "" {
		fmt.Fprintf(b, "from %s on the project has events on every day of the files: if those are the same events, "+
			"import only what is before\n", r.CutFrom)
	}
}

// shares writes how many events are of each kind, the largest first.
func shares(table *tabwriter.Writer, what string, counts map[string]int64) {
	const percent = 100
	var all int64
	for _, n := range counts {
		all += n
	}
	for _, kind := range bySize(counts) {
		fmt.Fprintf(table, "%s: %s\t%d\t%.1f %%\n", what, kind, counts[kind], float64(percent*counts[kind])/float64(all))
	}
}

// bySize are the keys of counts, the largest first.
func bySize(counts map[string]int64) []string {
	return slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
}

// counted lists counts, the largest first.
func counted(counts map[string]int64) string {
	const most = 30
	keys := bySize(counts)
	var parts []string
	for _, key := range keys[:min(most, len(keys))] {
		parts = append(parts, fmt.Sprintf("%q %d", key, counts[key]))
	}
	if more := len(keys) - most; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, ", ")
}

type inspector struct {
	mu     sync.Mutex
	result CheckReport
	names  map[string]bool          // of the examples
	kinds  map[idKind]bool          // of the examples
	ids    estimate.Marks[struct{}] // that the vendor gave records
	test   RecordTest               // may be nil
}

// idKind is how an event names its person.
type idKind struct {
	form   string // of the distinct id
	hasTwo bool   // it has the id before the login too
}

func newInspector(test RecordTest) *inspector {
	i := &inspector{names: map[string]bool{}, kinds: map[idKind]bool{}, ids: estimate.Marks[struct{}]{Most: maxIDs}, test: test}
	i.result = CheckReport{IDs: map[string]int64{}, UUIDs: map[string]int64{}, Kept: map[string]int64{}}
	return i
}

const (
	mostKept     = 1000
	maxIDs       = 1_000_000
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
		if _, isOut := ev.Skipped(); isOut {
			continue
		}
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
	if _, isOut := ev.Skipped(); isOut {
		return
	}
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
	switch _, known, kept := i.ids.Add(binary.BigEndian.Uint64(id[:8])*mix^binary.BigEndian.Uint64(id[8:]), struct{}{}); {
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
func (i *inspector) report(check history.CheckReport) CheckReport {
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
