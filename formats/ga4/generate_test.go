package ga4_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats/ga4"
	"github.com/hogapi/hogapi/formats/internal/formattest"
)

type object = map[string]any

// The forms in which BigQuery's rows are about.
const (
	formExport = iota // INT64 as text, no nulls
	formQuery         // numbers as text, all nulls
	formClient        // numbers
)

// generator writes rows as BigQuery does, and notes the expected events of each.
type generator struct {
	formattest.Generator

	form   int
	micros int64    // of the bundle at hand
	facts  []string // about the row at hand
}

// number is an INT64 in the form at hand.
func (g *generator) number(n int64) any {
	if g.form == formClient {
		return n
	}
	return strconv.FormatInt(n, 10)
}

// float is a FLOAT64 in the form at hand.
func (g *generator) float(f float64) any {
	if g.form == formQuery {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return f
}

// param is a param of one value.
func (g *generator) param(key, kind string, value any) object {
	v := object{kind: value}
	if g.form == formQuery {
		v = object{"string_value": nil, "int_value": nil, "float_value": nil, "double_value": nil}
		v[kind] = value
	}
	return object{"key": key, "value": v}
}

// row is a row of an event at a time.
func (g *generator) row(name string, at time.Time) object {
	g.facts = []string{"$pathname=/"}
	system := g.Pick("Macintosh", "Windows")
	g.facts = append(g.facts, "$os="+map[string]string{"Macintosh": "Mac OS X", "Windows": "Windows"}[system])
	params := []object{
		g.param("page_location", "string_value", g.page()),
		g.param("ga_session_id", "int_value", g.number(g.session(at))),
		g.param("firebase_screen_id", "int_value", g.number(int64(g.Uint64()))),
		g.param("ratio", "double_value", g.float(float64(g.IntN(100))/8)),
	}
	source := g.Pick("news", "(direct)", "(not set)", "")
	params = append(params, g.param("source", "string_value", source))
	isTwice := g.Percent(5)
	switch {
	case source == "news":
		g.facts = append(g.facts, "utm_source=news")
	case isTwice:
		g.facts = append(g.facts, "utm_source=twice")
	}
	if isTwice {
		params = append(params, g.param("platform", "string_value", "theirs"), g.param("source", "string_value", "twice"), g.param("distinct_id", "string_value", "x"))
	}
	r := object{
		"event_date":      at.Add(-8 * time.Hour).Format("20060102"), // of a property in California
		"event_timestamp": g.number(at.UnixMicro()), "event_name": name, "event_params": params,
		"event_bundle_sequence_id": g.number(int64(g.IntN(1 << 30))), "stream_id": "555", "platform": "WEB",
		"user_first_touch_timestamp": g.number(at.UnixMicro() - 1000),
		"user_properties":            []object{g.param("plan", "string_value", "team")},
		"device": object{
			"category": g.Pick("desktop", "mobile", "tablet", "smart tv"), "operating_system": system, "operating_system_version": system + " 10",
			"mobile_model_name": g.Pick("Chrome", "<Other>", "M-1"), "web_info": object{"browser": "Chrome", "hostname": "shop.example"},
		},
		"geo":            object{"city": g.Pick("Leeds", "(not set)", ""), "country": g.Pick("United Kingdom", "Atlantis")},
		"traffic_source": object{"name": "(direct)", "source": g.Pick("(direct)", "news")},
	}
	if device, _ := r["device"].(object); device["category"] != "desktop" && device["mobile_model_name"] != "<Other>" {
		g.facts = append(g.facts, fmt.Sprint("$device_model=", device["mobile_model_name"]))
	}
	if geo, _ := r["geo"].(object); geo["country"] == "United Kingdom" {
		g.facts = append(g.facts, "$geoip_country_code=GB")
	}
	if name == "page_view" {
		g.facts = append(g.facts, "$referring_domain=$direct")
	}
	if g.Percent(10) {
		r["ecommerce"], r["items"] = object{"total_item_quantity": g.number(2)}, []object{{"item_id": "1", "quantity": g.number(2), "price": g.float(9.5)}}
		r["user_ltv"] = object{"revenue": g.float(0), "currency": "USD"}
	}
	if g.form == formQuery {
		for _, key := range []string{"event_previous_timestamp", "event_value_in_usd", "privacy_info", "app_info", "user_id", "batch_page_id", "batch_ordering_id", "batch_event_index"} {
			r[key] = nil
		}
		if r["ecommerce"] == nil {
			r["ecommerce"], r["items"], r["user_ltv"] = g.pick(nil, object{}), []any{}, nil
		}
	}
	return r
}

// page is the URL of a page.
func (g *generator) page() string {
	url := "https://shop.example/?n=" + g.Hex(6)
	if g.Percent(30) {
		g.facts = append(g.facts, "gclid=c", "utm_term=a b")
		url += "&gclid=c&utm_term=a+b"
	}
	return url
}

// session is the start of a session in seconds. The id of the session has it, but where it is after the event, and where
// it is more than a day before the event.
func (g *generator) session(at time.Time) int64 {
	const day = 24 * 60 * 60
	start := at.Unix() - int64(g.IntN(3600))
	switch k := g.IntN(10); {
	case k < 1:
		return at.Unix() + 1
	case k < 2:
		start -= 3 * day
		g.facts = append(g.facts, fmt.Sprint("session ", start+3*day))
	default:
		g.facts = append(g.facts, fmt.Sprint("session ", start))
	}
	return start
}

func (g *generator) pick(of ...any) any { return of[g.IntN(len(of))] }

// batch gives a row the numbers that rows have since the middle of 2024.
func (g *generator) batch(r object, page, ordering, index int) {
	r["batch_page_id"], r["batch_ordering_id"], r["batch_event_index"] = g.number(int64(page)), g.number(int64(ordering)), g.number(int64(index))
}

// record makes the next row.
func (g *generator) record() {
	g.form = g.IntN(3)
	if g.Again(2) { // exported twice
		return
	}
	at := g.Time().Add(time.Duration(g.IntN(1000)) * time.Microsecond)
	if g.micros != 0 && g.Percent(10) { // one bundle, one time
		at = time.UnixMicro(g.micros).UTC()
	}
	g.micros = at.UnixMicro()
	name := g.Pick("page_view", "scroll", "session_start", "screen_view", "purchase", "first_visit")
	r := g.row(name, at)
	kind := "web"
	switch n := g.IntN(100); {
	case n < 10:
		r["user_pseudo_id"], kind = g.Hex(16), "app"
	case n < 30:
		r["user_pseudo_id"], r["user_id"], kind = "1.2", fmt.Sprintf("u-%d", g.IntN(300)), "user"
	default:
		r["user_pseudo_id"] = fmt.Sprintf("%d.%d", g.IntN(1<<30), at.Unix())
	}
	id := "" // without the numbers of a batch, equal rows are two events
	if g.Percent(50) {
		g.batch(r, g.IntN(1000), g.IntN(50), g.IntN(20))
		kind, id = kind+", own uuid", string(formattest.Line(r))
	}
	switch n := g.IntN(100); {
	case n < 4: // no consent
		r["user_pseudo_id"], r["user_id"] = nil, g.pick(nil, "")
		g.Skip(r, ga4.SkipNoID)
	case n < 8:
		r["event_name"] = "user_engagement"
		g.Skip(r, ga4.SkipName)
	case n < 9:
		r["event_timestamp"] = g.pick(nil, "", "2024-02-29", -1)
		g.Reject(formattest.Line(r))
	case n < 10:
		g.Reject(formattest.Line(r)[1:])
	default:
		names := map[string]string{"page_view": "$pageview", "screen_view": "$screen"}
		g.Good(r, id, at, cmp.Or(names[name], name), append(g.facts, kind)...)
	}
}

func TestGenerated(t *testing.T) {
	t.Parallel()
	g := generator{Generator: formattest.NewGenerator(5)}
	for range formattest.Size() {
		g.record()
	}
	g.Check(t, ga4.Format(&ga4.Options{Skip: []string{"user_engagement"}}), formattest.Write(t, g.Records), func(ev hogapi.Event) []string {
		kind := "web"
		switch {
		case ev.DistinctID[0] == 'u':
			kind = "user"
		case len(ev.DistinctID) == 32:
			kind = "app"
		}
		if ev.UUID.Version() == 5 {
			kind += ", own uuid"
		}
		facts := []string{kind}
		var p object
		require.NoError(t, json.Unmarshal(ev.RawProperties, &p))
		for _, name := range []string{"$pathname", "$os", "gclid", "utm_term", "utm_source", "$device_model", "$geoip_country_code", "$referring_domain"} {
			if value, has := p[name]; has {
				facts = append(facts, fmt.Sprint(name, "=", value))
			}
		}
		if id, has := p["$session_id"].(string); has {
			sec, _ := uuid.MustParse(id).Time().UnixTime()
			facts = append(facts, fmt.Sprint("session ", sec))
		}
		return facts
	})
}
