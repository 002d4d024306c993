package posthogexport_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats/internal/formattest"
	"github.com/hogapi/hogapi/formats/posthogexport"
)

type object = map[string]any

// generator writes rows as a batch export does, and notes the expected events of each.
type generator struct{ formattest.Generator }

// row is a row of an event at a time.
func (g *generator) row(name, id string, at time.Time) object {
	const iso = "2006-01-02T15:04:05.000000-07:00"
	properties := object{"$current_url": "https://shop.example/", "$lib": "web", "n": g.IntN(1000)}
	if g.Percent(10) {
		properties["$set"], properties["$set_once"] = object{"plan": "team"}, object{"plan": "free", "$initial_os": "Linux"}
	}
	if g.Percent(10) {
		properties["distinct_id"] = g.Pick(id, "another")
	}
	r := object{
		"uuid": g.UUID().String(), "event": name, "distinct_id": id, "person_id": g.UUID().String(), "elements_chain": "",
		"properties": properties, "person_properties": object{"email": "ann@example.com"}, "timestamp": at.Format(iso),
		"created_at": at.Add(30 * time.Hour).Format(iso), "_inserted_at": at.Add(31 * time.Hour).Format(iso),
	}
	if name == "$autocapture" {
		r["elements_chain"] = `button:text="Buy"`
	}
	switch n := g.IntN(100); {
	case n < 10: // Parquet's and some tables' form
		r["properties"], r["person_properties"] = string(formattest.Line(properties)), "{}"
	case n < 15: // of other destinations
		r["team_id"], r["set"], r["set_once"], r["ip"], r["site_url"] = 7, "{}", "{}", "203.0.113.9", ""
		r["timestamp"] = at.Format("2006-01-02 15:04:05.000000 UTC")
	case n < 18:
		r["a_new_field"] = "full"
	}
	return r
}

// record makes the next row.
func (g *generator) record() {
	if g.Again(3) {
		return
	}
	at := g.Time() // rows are not in the order of time
	name := g.Pick("$pageview", "$autocapture", "$identify", "order placed")
	kind := g.Pick("user", "anonymous")
	r := g.row(name, fmt.Sprintf("%c-%d", kind[0], g.IntN(500)), at)
	switch n := g.IntN(100); {
	case n < 2:
		r["uuid"] = nil
		g.Good(r, "", at, name, kind)
	case n < 3:
		r["uuid"] = "not one"
		g.Reject(formattest.Line(r))
	case n < 4:
		delete(r, "event") // a row of the persons model
		g.Reject(formattest.Line(r))
	case n < 5:
		r["timestamp"] = nil
		g.Reject(formattest.Line(r))
	case n < 6:
		g.Reject([]byte(`{"files":["a.jsonl"]}`))
	default:
		g.Good(r, r["uuid"].(string), at, name, kind+", own uuid")
	}
}

func TestGenerated(t *testing.T) {
	t.Parallel()
	g := generator{formattest.NewGenerator(23)}
	for range formattest.Size() {
		g.record()
	}
	g.Check(t, posthogexport.Format(nil), formattest.Write(t, g.Records), func(ev hogapi.Event) []string {
		kind := "user"
		if ev.DistinctID[0] == 'a' {
			kind = "anonymous"
		}
		if ev.UUID.Version() == 4 {
			kind += ", own uuid"
		}
		return []string{kind}
	})
}
