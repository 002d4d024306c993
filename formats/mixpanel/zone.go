package mixpanel

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats/internal/record"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/internal/jsonb"
)

// ZoneTest compares the times of an export with the clock of Mixpanel's servers, which many records have too,
// to find out if the export is in local time. Only live events count: events without $import that arrived at
// most a minute late. The zero value is ready to use.
type ZoneTest struct {
	Records int64                   // that were added
	Live    int64                   // of these, the live events
	Offsets map[time.Duration]int64 // live events by how far their time is ahead of UTC, such as -7h0m0s

	Devices int64 // records with a distinct_id of "$device:" and an id: see Options.DevicePrefix

	days   map[daysOffset]int64
	fields zoneFields
	visit  jsonb.Visitor // of fields, bound once
}

// zoneFields are the properties of a record that a ZoneTest compares.
type zoneFields struct{ distinctID, isImported, time, arrived, processed []byte }

// daysOffset are the live events of a day of UTC and an offset.
type daysOffset struct {
	day    int64 // since 1970
	offset time.Duration
}

// CheckZone reads the files of an export and compares its times with the clock of Mixpanel's servers. It sends
// nothing. If a file cannot be read, CheckZone returns the error and the counts of the records before it.
func CheckZone(ctx context.Context, pathsOrGlobs ...string) (*ZoneTest, error) {
	test := new(ZoneTest)
	source := history.Files(history.Format{
		Name: "mixpanel zone test", Layout: history.LayoutJSON,
		Convert: func(record []byte) ([]hogapi.Event, error) { // of one goroutine
			test.Add(record)
			return nil, history.Skip("read")
		},
	}, pathsOrGlobs...)
	for _, err := range source.Events(ctx, hogapi.Position{}) {
		if err != nil {
			return test, fmt.Errorf("mixpanel: zone test: %w", err)
		}
	}
	return test, nil
}

// Add adds a record. It must not be called by two goroutines at once.
func (t *ZoneTest) Add(raw []byte) {
	t.begin()
	if twice, err := jsonb.ObjectWithin(raw, nil, "properties", t.visit); err == nil && twice == nil {
		t.add()
	}
}

// begin forgets the record before.
func (t *ZoneTest) begin() {
	t.Records++
	if t.fields = (zoneFields{}); t.visit == nil {
		t.Offsets, t.days = map[time.Duration]int64{}, map[daysOffset]int64{}
		t.visit = t.fields.take
	}
}

func (f *zoneFields) take(key, value []byte) {
	switch string(key) {
	case "distinct_id":
		f.distinctID = value
	case "$import":
		f.isImported = value
	case "time":
		f.time = value
	case "$mp_api_timestamp_ms":
		f.arrived = value
	case "mp_processing_time_ms":
		f.processed = value
	}
}

// AddView is Add for a record that a Format has read.
func (t *ZoneTest) AddView(record *jsonb.View) {
	t.begin()
	isOwn := false // in the properties
	record.Each(func(key, value []byte, isInner bool) {
		if !isInner {
			isOwn = string(key) == "properties"
		} else if isOwn {
			t.visit(key, value)
		}
	})
	t.add()
}

func (t *ZoneTest) add() {
	if bytes.HasPrefix(t.fields.distinctID, []byte(`"`+devicePrefix)) {
		t.Devices++
	}
	if record.IsTrue(t.fields.isImported) {
		return
	}
	at, err := record.UnixTime(t.fields.time)
	if err != nil {
		return
	}
	arrived, err := record.UnixTime(t.fields.arrived)
	if err != nil {
		if arrived, err = record.UnixTime(t.fields.processed); err != nil {
			return
		}
	}
	offset, isLive := offsetOf(at, arrived)
	if !isLive {
		return
	}
	t.Live++
	t.Offsets[offset]++
	t.days[daysOffset{arrived.Unix() / int64(day/time.Second), offset}]++
}

const (
	day     = 24 * time.Hour
	quarter = 15 * time.Minute // all offsets of zones are whole quarters of an hour
	slow    = time.Minute      // that a live event needs at most
	early   = 5 * time.Second  // that a clock is wrong
)

// offsetOf is how far an event's time is ahead of UTC, judged by when it arrived.
func offsetOf(at, arrived time.Time) (offset time.Duration, isLive bool) {
	gap := arrived.Sub(at)
	if gap < -day || gap > day {
		return 0, false
	}
	delay := ((gap+early)%quarter+quarter)%quarter - early
	return delay - gap, delay <= slow
}

// Share returns the share of live events, from 0 to 1, with the time of a zone's clocks. It is near 1 for the
// zone of the export, and 0 without live events. A nil zone is UTC. On a day on which the clocks change, both
// offsets count.
func (t *ZoneTest) Share(zone *time.Location) float64 {
	if zone == nil {
		zone = time.UTC
	}
	var right int64
	for found, n := range t.days {
		midnight := time.Unix(found.day*int64(day/time.Second), 0)
		if found.offset == record.Offset(midnight, zone) || found.offset == record.Offset(midnight.Add(day), zone) {
			right += n
		}
	}
	return float64(right) / float64(max(t.Live, 1))
}

// IsLocal reports whether most live events are in local time: give Options.Zone then.
func (t *ZoneTest) IsLocal() bool { return t.Live > 0 && t.Share(time.UTC) < 0.5 }

// String reports the offsets, and advises on the options.
func (t *ZoneTest) String() string {
	var b strings.Builder
	if t.Live == 0 {
		fmt.Fprintf(&b, "none of %d records shows the time zone: see the project's settings in Mixpanel, "+
			"and compare a day's count with its chart", t.Records)
	} else {
		t.describe(&b)
	}
	if t.Devices > 0 {
		fmt.Fprintf(&b, ". %d records have a distinct_id that begins with %q: set Options.DevicePrefix to link them", t.Devices, devicePrefix)
	}
	return b.String()
}

func (t *ZoneTest) describe(b *strings.Builder) {
	fmt.Fprintf(b, "%d of %d records are live events. Their time is ahead of UTC by", t.Live, t.Records)
	order := func(a, b time.Duration) int {
		return cmp.Or(cmp.Compare(t.Offsets[b], t.Offsets[a]), cmp.Compare(a, b))
	}
	for i, offset := range slices.SortedFunc(maps.Keys(t.Offsets), order) {
		if i == 4 {
			fmt.Fprintf(b, " and %d more offsets", len(t.Offsets)-i)
			break
		}
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(b, " %v (%d)", offset, t.Offsets[offset])
	}
	if t.IsLocal() {
		b.WriteString(". The export is in local time: set Options.Zone to the time zone of the project, " +
			"which its settings in Mixpanel show, and check it with Share")
	} else {
		b.WriteString(". The export is in UTC")
	}
}

// when is the time of the event in UTC. Of a local time that the clocks show twice, at the end of
// summer time, it is the second one if the event arrived within half an hour of it, else the first.
// One that they skip is an error.
func (s *converter) when() (time.Time, error) {
	at, err := record.UnixTime(s.get("time"))
	if err != nil {
		return time.Time{}, fmt.Errorf("time: %w", err)
	}
	if s.options.Zone == nil {
		return at, nil
	}
	arrived, err := record.UnixTime(s.get("$mp_api_timestamp_ms"))
	if err != nil {
		arrived, _ = record.UnixTime(s.get("mp_processing_time_ms")) // zero without it
	}
	first, last, ok := record.InZone(at, s.options.Zone)
	switch delay := arrived.Sub(last); {
	case !ok:
		return time.Time{}, fmt.Errorf("time: the clocks of %s skip %s: is it the zone of the project", s.options.Zone, at.Format(time.DateTime))
	case !arrived.IsZero() && delay >= -time.Minute && delay <= late:
		return last, nil // it is also first, unless the clocks were set back
	}
	return first, nil
}

// late is how much later than an event's time its arrival can be, at most, if it is taken for live.
const late = 30 * time.Minute
