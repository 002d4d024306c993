package ga4_test

import (
	"cmp"
	"fmt"
	"strconv"
	"testing"
	"time"

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
	micros int64 // of the bundle at hand
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
	params := []object{
		g.param("page_location", "string_value", "https://shop.example/?n="+g.Hex(6)),
		g.param("ga_session_id", "int_value", g.number(at.Unix())),
		g.param("firebase_screen_id", "int_value", g.number(int64(g.Uint64()))),
		g.param("ratio", "double_value", g.float(float64(g.IntN(100))/8)),
		g.param("source", "string_value", g.Pick("news", "(direct)", "(not set)", "")),
	}
	if g.Percent(5) {
		params = append(params, g.param("platform", "string_value", "theirs"), g.param("source", "string_value", "twice"), g.param("distinct_id", "string_value", "x"))
	}
	r := object{
		"event_date":      at.Add(-8 * time.Hour).Format("20060102"), // of a property in California
		"event_timestamp": g.number(at.UnixMicro()), "event_name": name, "event_params": params,
		"event_bundle_sequence_id": g.number(int64(g.IntN(1 << 30))), "stream_id": "555", "platform": "WEB",
		"user_first_touch_timestamp": g.number(at.UnixMicro() - 1000),
		"user_properties":            []object{g.param("plan", "string_value", "team")},
		"device":                     object{"category": g.Pick("desktop", "mobile", "tablet", "smart tv"), "web_info": object{"browser": "Chrome", "hostname": "shop.example"}},
		"geo":                        object{"city": g.Pick("Leeds", "(not set)", ""), "country": "United Kingdom"},
		"traffic_source":             object{"name": "(direct)", "source": g.Pick("(direct)", "news")},
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
		g.Good(r, id, at, cmp.Or(names[name], name), kind)
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
		return []string{kind}
	})
}
