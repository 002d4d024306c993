package umami

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats/internal/record"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/internal/jsonb"
)

// prefix is of names that something else has already: see [record.Object.Keep].
const prefix = "umami_"

// converter makes events of rows. One goroutine at a time uses it.
type converter struct {
	options Options
	row     *record.Rows
}

// Begin forgets the row before.
func (c *converter) Begin() { c.row.Begin() }

// Read reads a row. Dumps write nulls as \N.
func (c *converter) Read(raw []byte) error {
	return jsonb.Object(raw, func(key, value []byte) {
		if string(value) != `"\\N"` {
			c.row.Visit(key, value)
		}
	})
}

// ID is the uuid of a row.
func (c *converter) ID(bool) uuid.UUID { return record.UUID(space, c.row.Text("event_id")) }

// checkColumns refuses tables that have no events.
func checkColumns(columns []string) error {
	has := func(name string) bool { return slices.Contains(columns, name) }
	switch {
	case (has("data_key") || has("event_key")) && (has("event_id") || has("website_event_id")):
		return errors.New("this is Umami's table event_data, which has properties of events and no events. Join it with website_event into one file " +
			"first: the documentation of package formats/umami has the query, for SQLite and for PostgreSQL")
	case has("event_id") && has("session_id") && has("created_at"):
		return nil
	case has("session_id"):
		return errors.New("this is another table of Umami than website_event: it has no events. Name only files of website_event; " +
			"the documentation of package formats/umami has a query that joins the other tables")
	}
	return errors.New("this is not Umami's table website_event, which has columns event_id, session_id and created_at. " +
		"The export button of Umami writes totals, which are no events: use the data export of Umami Cloud, or the query in the documentation of package formats/umami")
}

// Umami's types of events.
const (
	typeView        = "1"
	typeEvent       = "2"
	typeLink        = "3"
	typePixel       = "4"
	typePerformance = "5"
)

var errType = errors.New("event_type: want a number from 1 to 5: is there a newer release of this package?")

// Events makes the event of the row.
func (c *converter) Events() ([]hogapi.Event, error) {
	ev := hogapi.Event{UUID: c.ID(true)}
	switch name := c.row.Text("event_name"); c.row.Text("event_type") {
	case typeView:
		ev.Name = "$pageview"
	case typePerformance:
		return nil, history.Skip(SkipPerformance)
	case typeEvent, "":
		if ev.Name = name; name == "" {
			return nil, record.Want("event_name", "the name of the event", nil)
		}
	case typeLink:
		ev.Name = cmp.Or(name, "link")
	case typePixel:
		ev.Name = cmp.Or(name, "pixel")
	default:
		return nil, errType
	}
	hasID, err := record.Identify(&ev, "distinct_id", c.row.Get("distinct_id"), "session_id", c.row.Get("session_id"))
	if err != nil {
		return nil, err
	}
	if !hasID {
		return nil, history.Skip(SkipNoID)
	}
	if ev.Timestamp, err = c.row.Time("created_at"); err != nil {
		return nil, err
	}
	c.properties(ev.Name == "$pageview")
	ev.RawProperties = c.row.Out.JSON()
	return []hogapi.Event{ev}, nil
}

func (c *converter) properties(isView bool) {
	out := &c.row.Out
	if data := c.row.Get("event_data"); !c.row.AddInner(data) && !record.IsNone(data) {
		c.row.Keep("event_data", data)
	}
	text := c.row.Text
	out.AddGiven("$current_url", record.PageURL(text("hostname"), text("url_path"), text("url_query"), ""))
	out.AddGiven("$referrer", record.PageURL(text("referrer_domain"), text("referrer_path"), text("referrer_query"), ""))
	out.AddCountry(text("country"))
	region := text("region")
	if country, code, isBoth := strings.Cut(region, "-"); isBoth && country == text("country") {
		region = code
	}
	out.AddGiven("$geoip_subdivision_1_code", region)
	c.row.AddColumns()
	c.device()
	c.row.AddWeb(isView)
	if c.options.LookUpIP {
		out.AddLookUp()
	}
}

// browsers are the names of browsers, where PostHog has others.
var browsers = map[string]string{
	"chrome": "Chrome", "chromium-webview": "Chrome", "crios": "Chrome iOS", "firefox": "Firefox", "fxios": "Firefox iOS",
	"safari": "Safari", "ios": "Mobile Safari", "ios-webview": "Mobile Safari",
	"edge": "Microsoft Edge", "edge-chromium": "Microsoft Edge", "edge-ios": "Microsoft Edge",
	"opera": "Opera", "opera-mini": "Opera Mini", "samsung": "Samsung Internet", "android": "Android Mobile", "ie": "Internet Explorer",
	"yandexbrowser": "Yandex", "facebook": "Facebook Mobile", "blackberry": "BlackBerry", "silk": "Amazon Silk",
}

var deviceTypes = map[string]string{"desktop": "Desktop", "laptop": "Desktop", "mobile": "Mobile", "tablet": "Tablet"}

func (c *converter) device() {
	out := &c.row.Out
	name := c.row.Text("browser")
	out.AddGiven("$browser", cmp.Or(browsers[name], name))
	out.AddOS(c.row.Text("os"), "")
	kind := c.row.Text("device")
	out.AddGiven("$device_type", cmp.Or(deviceTypes[kind], kind, record.DeviceType(c.row.Text("os"), "")))
	if width, height := record.Size(c.row.Get("screen")); width != nil {
		out.Add("$screen_width", width)
		out.Add("$screen_height", height)
	} else if screen := c.row.Get("screen"); !record.IsNone(screen) {
		c.row.Keep("screen", screen)
	}
}
