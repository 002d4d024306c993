package mixpanel_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/stretchr/testify/assert"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats/internal/formattest"
	"github.com/hogapi/hogapi/formats/mixpanel"
)

// generator makes records as Mixpanel exports them, with every trap at one to ten percent, and notes the expected events. It knows
// Mixpanel, not the converter.
type generator struct {
	formattest.Generator

	zone    *time.Location
	inserts []string // ids of events
}

// record makes one record, or several that belong together.
func (g *generator) record() {
	at := time.Date(2022, 10, 25, 0, 0, 0, 0, time.UTC).Add(time.Duration(g.Int64N(20*24*3600)) * time.Second)
	name := []string{"Order Placed", "Sign off", "editor:save", "Items sold", "$mp_web_page_view"}[g.IntN(5)]
	p := map[string]any{"$mp_api_endpoint": "api-js.mixpanel.com", "plan": "team", "n": g.IntN(1000)}
	if g.Percent(10) {
		p["tags"], p["form"] = []any{"a", 1, nil}, map[string]any{"id": g.IntN(9)}
	}
	switch g.IntN(3) {
	case 0:
		p["$browser"], p["$browser_version"], p["$os"] = "Chrome", 100+g.IntN(20), "Windows"
	case 1:
		p["$browser"], p["$browser_version"], p["$city"], p["$region"], p["mp_country_code"] = "Safari", "16.1", "Köln", "NRW", "DE"
	}
	at = g.time(p, at)
	person, linked := g.person(p)
	id := g.insertID(p)
	g.bookkeeping(p)
	record := map[string]any{"event": name, "properties": p}
	switch {
	case g.Percent(1): // the export ended in the middle of a line
		line := formattest.Line(record)
		g.Reject(line[:len(line)/2])
	case g.Percent(1):
		p["$is_deleted"] = true
		g.Skip(record, mixpanel.SkipDeleted)
	case g.Percent(1):
		record["event"] = "$delete"
		g.Skip(record, mixpanel.SkipDeleted)
	case person == "":
		g.Skip(record, mixpanel.SkipNoID)
	case g.Percent(1):
		delete(p, "time")
		g.Reject(formattest.Line(record))
	default:
		if name == "$mp_web_page_view" {
			name = "$pageview"
		}
		g.Good(record, id, at, name, formattest.IDs(person, linked, id != "")...)
		if id != "" {
			g.inserts = append(g.inserts, id)
			g.Again(2) // raw exports have records twice
		}
	}
}

// time sets the time of the event, which is in local time where the project's is, and when it arrived.
// It returns the event's true time.
func (g *generator) time(p map[string]any, at time.Time) time.Time {
	arrived := at.Add(time.Duration(g.IntN(50_000)) * time.Millisecond)
	isImported := g.Percent(3)
	if isImported {
		p["$import"], arrived = true, at.Add(time.Duration(20+g.IntN(100))*time.Hour)
	}
	written := func(t time.Time) time.Time { // as Mixpanel writes it
		_, offset := t.In(g.zone).Zone()
		return t.Add(time.Duration(offset) * time.Second)
	}
	// A time that the clocks show twice counts as the first one if the record does not tell its arrival.
	if _, isSecond := g.twice(at); isSecond && isImported {
		at = at.Add(-time.Hour)
	}
	switch {
	case g.Percent(4): // time_in_ms=true
		at = at.Add(time.Duration(g.IntN(1000)) * time.Millisecond)
		p["time"] = written(at).UnixMilli()
	case g.Percent(4): // a fraction
		at = at.Add(time.Duration(1+g.IntN(999)) * time.Millisecond)
		p["time"] = json.Number(fmt.Sprintf("%d.%03d", written(at).Unix(), at.Nanosecond()/1_000_000))
	default:
		p["time"] = written(at).Unix()
	}
	p["mp_processing_time_ms"] = arrived.UnixMilli() + int64(g.IntN(20_000))
	if !g.Percent(5) { // through Segment
		p["$mp_api_timestamp_ms"] = arrived.UnixMilli()
	}
	return at
}

// twice reports whether the clocks of the zone show a time twice, and if it is the second time.
func (g *generator) twice(at time.Time) (isFirst, isSecond bool) {
	show := func(t time.Time) string { return t.In(g.zone).Format(time.DateTime) }
	return show(at) == show(at.Add(time.Hour)), show(at) == show(at.Add(-time.Hour))
}

// person sets the ids, and returns the kinds of the event's id and of the one that is linked to it.
func (g *generator) person(p map[string]any) (kind, linked string) {
	n, k := g.IntN(500), g.IntN(100)
	user, device, digits := fmt.Sprintf("user-%d", n), fmt.Sprintf("dev-%d", n), strconv.Itoa(100_000+n)
	type ids = map[string]any
	for _, c := range []struct {
		below        int
		ids          ids
		kind, linked string
	}{
		{1, nil, "", ""}, // a server without any id
		{3, ids{"distinct_id": ""}, "", ""},
		{13, ids{"distinct_id": "$device:" + device, "$device_id": device}, "$device", ""},    // simplified merge, before the login
		{33, ids{"distinct_id": user, "$user_id": user, "$device_id": device}, "user", "dev"}, // after the login
		{38, ids{"distinct_id": device, "$device_id": device}, "dev", ""},                     // legacy, before the login
		{41, ids{"distinct_id": 100_000 + n}, "digits", ""},
		{44, ids{"distinct_id": digits}, "digits", ""},
		{47, ids{"distinct_id": digits, "$distinct_id_before_identity": "before-1"}, "digits", ""}, // digits are no device
		{50, ids{"distinct_id": fmt.Sprintf("A1-%dF", n), "$distinct_id_before_identity": fmt.Sprintf("before-%d", n)}, "before", ""},
		{53, ids{"distinct_id": "$device:" + device, "$distinct_id_before_identity": fmt.Sprintf("before-%d", n)}, "before", ""},
		{56, ids{"$user_id": user}, "user", ""},
		{59, ids{"$device_id": device, "distinct_id": ""}, "dev", ""},
		{100, ids{"distinct_id": user}, "user", ""},
	} {
		if k < c.below {
			maps.Copy(p, c.ids)
			return c.kind, c.linked
		}
	}
	panic("not reached")
}

func kindOf(id string) string {
	if strings.Trim(id, "0123456789") == "" {
		return "digits"
	}
	kind, _, _ := strings.Cut(id, "-")
	kind, _, _ = strings.Cut(kind, ":")
	return kind
}

// insertID sets the id of the record, in one of the forms that are seen, or of an earlier event.
func (g *generator) insertID(p map[string]any) (id string) {
	switch k := g.IntN(100); {
	case k < 3:
		return ""
	case k < 6 && len(g.inserts) > 0:
		id = g.inserts[g.IntN(len(g.inserts))]
	case k < 30:
		id = g.UUID().String()
	case k < 60:
		id = g.Hex(8)
	default:
		id = strings.Repeat("x", 20) + g.Hex(8)
	}
	p["$insert_id"] = id
	return id
}

// bookkeeping sets properties that must not change id, name or time, and properties on which PostHog acts.
func (g *generator) bookkeeping(p map[string]any) {
	if g.Percent(5) {
		p["$is_reshuffled"], p["$preshuffle_distinct_id"], p["$is_deleted"] = true, "other", false
		p["$version"], p["$warehouse_table"], p["mp_original_distinct_id"], p["mp_original_event_name"] = 2, "t", "o", "e"
	}
	if g.Percent(3) {
		p["$set"], p["$groups"], p["$session_id"], p["$process_person_profile"] = 1, "x", "17", "no"
		p["$geoip_city_name"], p["$lib"] = "Own", "own"
	}
}

// All totals equal the totals of the generator, for a project in UTC and for one in local time.
func TestGenerated(t *testing.T) {
	t.Parallel()
	for name, n := range map[string]int{"UTC": formattest.Size() / 5, "America/New_York": formattest.Size()} {
		zone := loadZone(t, name)
		g := generator{Generator: formattest.NewGenerator(1), zone: zone}
		for len(g.Records) < n {
			g.record()
		}
		options := &mixpanel.Options{Zone: zone}
		if name == "UTC" {
			options = nil
		}
		g.Check(t, mixpanel.Format(options), formattest.Write(t, g.Records), func(ev hogapi.Event) []string { return formattest.IDsOf(ev, kindOf) })

		var test mixpanel.ZoneTest
		for _, record := range g.Records {
			test.Add(record)
		}
		assert.Equal(t, name != "UTC", test.IsLocal(), test.String())
		assert.Greater(t, test.Share(zone), 0.95)
		assert.Greater(t, test.Live, int64(len(g.Records)*8/10))
	}
}
