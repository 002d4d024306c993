package pendo

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats/internal/record"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/internal/jsonb"
)

// prefix is of names that something else has already: see [record.Object.Keep].
const prefix = "pendo_"

// converter makes events of records. One goroutine at a time uses it.
type converter struct {
	options Options
	row     *record.Rows
}

// Begin forgets the record before.
func (c *converter) Begin() { c.row.Begin() }

// known are the names of the table.
var known = func() map[string]bool {
	found := map[string]bool{}
	for _, row := range table {
		found[row.From] = true
	}
	return found
}()

const surveySent = "survey sent"

// noApp stands for the only app of a subscription.
const noApp = "-323232"

// Read reads a record, or a row with the names of a loader.
func (c *converter) Read(raw []byte) error {
	return jsonb.Object(raw, func(key, value []byte) {
		name := string(key)
		switch id, _ := record.ID("", value); {
		case strings.HasPrefix(name, "_fivetran_"), camel(name) == "appId" && id == noApp:
			return
		case known[camel(name)]:
			name = camel(name)
		}
		c.row.Visit([]byte(name), value)
	})
}

// ID is the uuid of an event with an id.
func (c *converter) ID(bool) uuid.UUID { return record.UUID(space, c.row.Text("eventId")) }

// Events makes the event of the record.
func (c *converter) Events() ([]hogapi.Event, error) {
	if !record.IsNone(c.row.Get("numEvents")) || !record.IsNone(c.row.Get("numMinutes")) {
		return nil, errTotals
	}
	ev := hogapi.Event{UUID: c.ID(true), Name: c.name()}
	if ev.Name == "" {
		return nil, record.Want("type", "the kind of the event", c.row.Get("type"))
	}
	visitor, err := record.ID("visitorId", c.row.Get("visitorId"))
	switch {
	case err != nil:
		return nil, err
	case visitor == "":
		return nil, history.Skip(SkipNoID)
	}
	if _, err := record.Identify(&ev, "visitorId", c.row.Get("visitorId"), "oldVisitorId", c.row.Get("oldVisitorId")); err != nil {
		return nil, err
	}
	if isAnonymous(visitor) {
		ev.UserIDs = nil // nobody has logged in
	}
	if ev.Timestamp, err = c.when(); err != nil {
		return nil, err
	}
	if err := c.properties(ev.Name == surveySent); err != nil {
		return nil, err
	}
	ev.RawProperties = c.row.Out.JSON()
	return []hogapi.Event{ev}, nil
}

// isAnonymous reports whether an id is of a visitor who has not logged in.
func isAnonymous(id string) bool { return strings.HasPrefix(id, "_PENDO_T_") }

// name is PostHog's name of the event.
func (c *converter) name() string {
	kind := strings.TrimPrefix(cmp.Or(c.row.Text("eventType"), c.row.Text("type")), "ui:web:")
	switch kind {
	case "load":
		return "$pageview"
	case "click", "change", "focus":
		c.row.Out.AddText("$event_type", kind)
		return "$autocapture"
	case "pollResponse":
		return surveySent
	}
	return kind
}

// when is the time of the event.
func (c *converter) when() (time.Time, error) {
	for _, name := range [...]string{"browserTimestamp", "timestamp"} {
		raw := c.row.Get(name)
		if record.IsNone(raw) {
			continue
		}
		at, err := record.TableTime(raw)
		if millis, isNumber := record.Int(raw); isNumber && millis > 0 {
			at, err = time.UnixMilli(millis).UTC(), nil
		}
		if err != nil {
			return at, fmt.Errorf("%s: %w, or milliseconds since 1970", name, err)
		}
		return at, nil
	}
	return time.Time{}, record.Want("timestamp", "a time", nil)
}

// survey adds the properties that PostHog's survey results use. The guide is the survey, or else the poll itself.
func (c *converter) survey() {
	var poll, response []byte
	for _, m := range c.row.Rest {
		switch camel(string(m.Name)) {
		case "pollId":
			poll = m.Value
		case "pollResponse":
			response = m.Value
		}
	}
	if survey := c.row.Get("guideId"); !record.IsNone(survey) {
		poll = survey
	}
	if !record.IsNone(poll) {
		c.row.Out.Add("$survey_id", poll)
	}
	if !record.IsNone(response) {
		c.row.Out.Add("$survey_response", response)
	}
}

func (c *converter) properties(isPoll bool) error {
	out := &c.row.Out
	for _, name := range [...]string{"properties", "propertiesJson"} {
		if raw := c.row.Get(name); !c.row.AddInner(raw) && !record.IsNone(raw) {
			c.row.Keep(name, raw)
		}
	}
	if isPoll && c.options.Mapping >= 4 {
		c.survey()
	}
	account, err := record.ID("accountId", c.row.Get("accountId"))
	if err != nil {
		return err
	}
	if account != "" {
		var groups record.Object
		groups.AddText(c.options.GroupType, account)
		out.Add("$groups", groups.JSON())
	}
	out.AddCountry(c.row.Text("country"))
	out.AddGiven("$geoip_subdivision_1_code", strings.ToUpper(c.row.Text("region")))
	if strings.Trim(c.row.Text("latitude")+c.row.Text("longitude"), "0.") == "" {
		c.row.Set("latitude", nil)
		c.row.Set("longitude", nil)
	}
	if raw := c.row.Get("loadTime"); !record.IsNone(raw) {
		out.Add("load_time", record.Number(raw))
	}
	c.row.AddColumns()
	out.AddAgent(c.options.UserAgent, c.row.Get("userAgent"))
	c.row.AddWeb(false)
	if c.options.LookUpIP {
		out.AddLookUp()
	}
	return nil
}
