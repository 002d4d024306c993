package cli

import (
	"bytes"
	"slices"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/hogimport/internal/page"
	"github.com/hogapi/hogapi/formats/generic"
	"github.com/hogapi/hogapi/internal/inside"
	"github.com/hogapi/hogapi/internal/jsonb"
)

// hints collects the decisions that a person has to make about the records of a check.
type hints struct {
	found   *page.Hints
	persons *generic.Persons // nil: one column names the person
	zone    *time.Location   // of the clocks; nil: none, or without changes
	inUTC   func(record []byte) ([]hogapi.Event, error)
	isCalls bool // of Segment
	isNamed bool // a column without a name is dropped by the map
}

func (in *input) newHints() (*hints, error) {
	h := &hints{found: page.NewHints(), isCalls: in.joinsByDefault() || in.Format == segmentWarehouse}
	h.isNamed = slices.Contains(in.Map, `drop=""`)
	h.found.Twins.IsGA4 = in.isGA4()
	if !isMapped(in.Format) {
		return h, nil
	}
	var err error
	if h.persons, err = generic.NewPersons(&generic.Options{Mapping: in.mapping, Map: in.Map, Zone: in.zone()}); err != nil {
		return nil, err
	}
	if zone := in.zone(); zone != nil && zone != time.UTC {
		utc := *in
		utc.Zone = "UTC"
		h.zone, h.inUTC, h.found.Zone = zone, utc.format().Convert, zone.String()
	}
	return h, nil
}

// zone returns the zone of --zone, which was checked; nil without one.
func (in *input) zone() *time.Location {
	if in.Zone == "" {
		return nil
	}
	zone, _ := time.LoadLocation(in.Zone)
	return zone
}

// see notes an event that would be sent.
func (h *hints) see(ev *hogapi.Event, isCopy bool) { h.found.See(ev, isCopy) }

// record notes a record and its events.
func (h *hints) record(record []byte, events []hogapi.Event) {
	if len(events) == 0 {
		return
	}
	if h.persons != nil {
		if column, id := h.persons.Of(record); column != "" {
			h.found.Columns.Add(column, id)
		}
	}
	if h.isCalls {
		h.clock(record, &events[0])
	}
	if h.zone != nil {
		h.twice(record, events)
	}
}

// clock compares the two times of a call of Segment.
func (h *hints) clock(record []byte, ev *hogapi.Event) {
	var original []byte
	note := func(key, value []byte) {
		if name := string(key); name == "originalTimestamp" || name == "original_timestamp" {
			original = value
		}
	}
	if !ev.Inside(inside.Key{}).Parts.RecordOf(record).Object(note) {
		_ = jsonb.Object(record, note)
	}
	text := string(bytes.Trim(original, `"`))
	if len(text) < len(time.DateOnly) {
		return
	}
	day, err := time.Parse(time.DateOnly, text[:len(time.DateOnly)])
	if err == nil && page.YearsApart(day, ev.Timestamp) {
		h.found.Clocks.Add(func() string {
			return "The first has the timestamp " + ev.Timestamp.UTC().Format(time.DateTime) + " and the originalTimestamp " + text
		})
	}
}

// twice notes events at the first of two times that the clocks of the zone show alike. Read with the clocks of UTC, an event at
// a time with an offset does not change.
func (h *hints) twice(record []byte, events []hogapi.Event) {
	const longest = 3 * time.Hour // by which clocks are set back
	offset := func(at time.Time) time.Duration {
		_, seconds := at.In(h.zone).Zone()
		return time.Duration(seconds) * time.Second
	}
	isFirst := func(at time.Time) bool {
		back := offset(at) - offset(at.Add(longest))
		return back > 0 && offset(at.Add(back)) == offset(at)-back
	}
	if !slices.ContainsFunc(events, func(ev hogapi.Event) bool { return isFirst(ev.Timestamp) }) {
		return
	}
	others, err := h.inUTC(record)
	for i := range events {
		ev := &events[i]
		if isFirst(ev.Timestamp) && (err != nil || i >= len(others) || !others[i].Timestamp.Equal(ev.Timestamp)) {
			h.found.Twice.Add(func() string { return ev.Timestamp.In(h.zone).Format(time.DateTime) })
		}
	}
}

// columns notes a column without a name, and calls check unless it is nil.
func (h *hints) columns(check func([]string) error) func([]string) error {
	return func(columns []string) error {
		h.found.Unnamed = h.found.Unnamed || !h.isNamed && slices.Contains(columns, "")
		if check == nil {
			return nil
		}
		return check(columns)
	}
}
