package segment_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats/internal/formattest"
	"github.com/hogapi/hogapi/formats/segment"
)

type object = map[string]any

// generator writes calls as Segment and RudderStack do, and notes the expected events of each.
type generator struct{ formattest.Generator }

const isoMillis = "2006-01-02T15:04:05.000Z"

// call returns a call of some kind with the fields that all calls have.
func (g *generator) call(at time.Time) (c object, id string, isOwn bool) {
	kind := g.Pick("track", "track", "track", "page", "screen", "identify", "group", "alias")
	c = object{
		"type": kind, "userId": nil, "integrations": object{}, "projectId": "p1", "version": 2,
		"_metadata":         object{"bundled": []string{"Segment.io"}, "unbundled": []string{}},
		"receivedAt":        at.Add(time.Duration(g.IntN(48)) * time.Hour).Format(isoMillis), // often on another day
		"sentAt":            at.Add(time.Second).Format(isoMillis),
		"originalTimestamp": at.Add(-time.Duration(g.IntN(3)) * 24 * time.Hour).Format(isoMillis), // the client's clock
		"timestamp":         at.Format(isoMillis),
		"context":           g.context(),
	}
	switch g.IntN(20) { // message ids
	case 0, 1, 2, 3, 4, 5, 6:
		c["messageId"], isOwn = g.UUID().String(), true
	case 7:
		c["messageId"] = fmt.Sprintf("%d-%s", at.UnixMilli(), g.UUID())
	case 8:
		c["messageId"] = strings.Replace(g.UUID().String(), "-", "", 1) // broken
	case 9:
		c["messageId"], isOwn = strings.ToUpper(g.UUID().String()), true
	case 10:
		c["messageId"] = "api-" + g.Hex(12)
	default:
		c["messageId"] = g.Pick("ajs-", "ajs-next-") + g.Hex(16)
	}
	id = "anonymous"
	switch n := g.IntN(100); {
	case n < 40:
		c["anonymousId"] = "a-" + g.Hex(4)
	case n < 70:
		c["anonymousId"], c["userId"], id = "a-"+g.Hex(4), fmt.Sprintf("u-%d", g.IntN(500)), "user"
	case n < 90:
		c["userId"], id = fmt.Sprintf("u-%d", g.IntN(500)), "user"
	case n < 95:
		c["userId"], id = g.IntN(500)+1, "number"
	default:
		c["anonymousId"], c["userId"] = "a-"+g.Hex(4), ""
	}
	return c, id, isOwn
}

func (g *generator) context() object {
	c := object{"ip": "203.0.113.9", "library": object{"name": "analytics.js", "version": "2.0.0"}, "locale": "en-GB"}
	if g.Percent(50) {
		c["page"] = object{"url": "https://shop.example/a?b=c", "path": "/a", "title": g.Pick("", "A page"), "referrer": g.Pick("", "https://news.example/")}
	}
	if g.Percent(10) {
		c["campaign"] = object{}
	}
	if g.Percent(10) {
		c["traits"] = object{"plan": "free", "logins": 5}
	}
	if g.Percent(5) {
		c["groupId"] = "acme"
	}
	if g.Percent(5) {
		c["active"], c["unknown"] = true, object{"deep": []any{1, nil}}
	}
	return c
}

// name is the name of the event that a call becomes. It completes the call.
func (g *generator) name(c object) string {
	switch c["type"] {
	case "track":
		name := g.Pick("Plan Upgraded", "Order Completed", "Cart Viewed", "page")
		c["event"], c["properties"] = name, object{"plan": "team", "seats": g.IntN(9)}
		if g.Percent(3) {
			c["properties"] = object{"distinct_id": "another", "name": "n", "context": "own", "$current_url": "own"}
		}
		return name
	case "page":
		c["name"], c["properties"] = "Home", object{"url": "https://shop.example/", "title": g.Pick("", "Shop"), "search": ""}
		return "$pageview"
	case "screen":
		c["name"], c["properties"] = "Cart", nil
		return "$screen"
	case "identify":
		if g.Percent(50) {
			c["traits"] = object{"email": "ann@example.com"}
		}
		c["event"] = "identify" // RudderStack's
		return "$identify"
	case "group":
		c["groupId"], c["traits"] = g.Pick("acme", "initech"), object{"tier": "gold"}
		if g.Percent(10) {
			c["traits"] = object{"groupType": "organization"}
		}
		return "$groupidentify"
	default:
		c["previousId"] = "p-" + g.Hex(4)
		return "$create_alias"
	}
}

// record makes the next call.
func (g *generator) record() {
	if g.Again(3) { // delivered twice
		return
	}
	at := g.Time()
	c, id, isOwn := g.call(at)
	name := g.name(c)
	kind := id + ", derived uuid"
	if isOwn {
		kind = id + ", own uuid"
	}
	switch n := g.IntN(100); {
	case n < 3: // RudderStack's calls without the corrected time
		delete(c, "timestamp")
		c["originalTimestamp"] = at.Format(isoMillis)
	case n < 5:
		delete(c, "timestamp")
		delete(c, "originalTimestamp")
		c["sentAt"] = at.Format(isoMillis)
	case n < 7:
		delete(c, "timestamp")
		delete(c, "originalTimestamp")
		delete(c, "sentAt")
		g.Skip(c, segment.SkipNoTime)
		return
	case n < 9:
		c["userId"], c["anonymousId"] = g.Pick("", " "), nil
		g.Skip(c, segment.SkipNoID)
		return
	case n < 10:
		line := formattest.Line(c)
		g.Reject(line[:len(line)-2]) // cut off
		return
	case n < 11:
		c["type"] = g.Pick("batch", "delete")
		g.Reject(formattest.Line(c))
		return
	case n < 13: // other calls than the vendors' own libraries write
		c["timestamp"] = at.In(time.FixedZone("", 5*3600+1800)).Format("2006-01-02T15:04:05.000-07:00")
	}
	g.Good(c, c["messageId"].(string), at, name, kind)
}

func TestGenerated(t *testing.T) {
	t.Parallel()
	g := generator{formattest.NewGenerator(17)}
	for range formattest.Size() {
		g.record()
	}
	g.Check(t, segment.Format(&segment.Options{GroupType: "company"}), formattest.Write(t, g.Records), func(ev hogapi.Event) []string {
		kind := "number"
		switch ev.DistinctID[0] {
		case 'u':
			kind = "user"
		case 'a':
			kind = "anonymous"
		}
		if ev.UUID.Version() == 4 {
			return []string{kind + ", own uuid"}
		}
		return []string{kind + ", derived uuid"}
	})
}
