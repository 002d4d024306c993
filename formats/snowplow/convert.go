package snowplow

import (
	"cmp"
	"net/netip"
	"strings"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats/internal/record"
	"github.com/hogapi/hogapi/history"
)

// prefix is of names that something else has already: see [record.Object.Keep].
const prefix = "snowplow_"

// converter makes events of enriched events. One goroutine at a time uses it.
type converter struct {
	options  Options
	row      *record.Rows
	contexts contexts
}

func newConverter(o Options) *converter {
	return &converter{options: o, row: record.NewRows(table, prefix)}
}

// Begin forgets the event before.
func (c *converter) Begin() { c.row.Begin() }

// Read reads an event.
func (c *converter) Read(raw []byte) error { return c.row.Read(raw) }

// ID is the uuid of an event.
func (c *converter) ID(bool) uuid.UUID {
	id := c.row.Text("event_id")
	if fingerprint := c.row.Text("event_fingerprint"); c.options.Fingerprints && id != "" && fingerprint != "" {
		return record.Derived(space, id+"\x00"+fingerprint)
	}
	return record.UUID(space, id)
}

// Events makes the event.
func (c *converter) Events() ([]hogapi.Event, error) {
	kind := c.row.Text("event")
	if kind == pagePing && !c.options.KeepPagePings {
		return nil, history.Skip(SkipPagePing)
	}
	if err := c.contexts.read(c.row.Get("contexts"), c.row.Get("derived_contexts")); err != nil {
		return nil, err
	}
	unstruct, err := c.unstruct()
	if err != nil {
		return nil, err
	}
	name := c.name(kind, unstruct)
	if name == "" {
		return nil, record.Want("event", "the kind of the event", c.row.Get("event"))
	}
	ev := hogapi.Event{Name: name, UUID: c.ID(true)}
	if hasID, err := c.identify(&ev); err != nil || !hasID {
		return nil, cmp.Or(err, history.Skip(SkipNoID))
	}
	if ev.Timestamp, err = c.row.Time("true_tstamp", "derived_tstamp", "collector_tstamp"); err != nil {
		return nil, err
	}
	c.properties(name, unstruct)
	ev.RawProperties = c.row.Out.JSON()
	return []hogapi.Event{ev}, nil
}

const pagePing = "page_ping"

// name is PostHog's name of an event.
func (c *converter) name(kind string, unstruct selfDescribing) string {
	switch kind {
	case "page_view":
		return "$pageview"
	case "struct":
		return cmp.Or(c.row.Text("se_action"), kind)
	}
	name := cmp.Or(unstruct.name, c.row.Text("event_name"), kind)
	if name == "screen_view" {
		return "$screen"
	}
	return name
}

// noID is the id of a visitor who is not to be known.
const noID = "00000000-0000-0000-0000-000000000000"

func (c *converter) identify(ev *hogapi.Event) (hasID bool, err error) {
	for _, column := range [...]string{"domain_userid", "network_userid"} {
		if c.row.Text(column) == noID {
			c.row.Set(column, nil)
		}
	}
	session, isMobile := c.contexts.of("client_session")
	if isMobile && record.IsNone(c.row.Get("domain_userid")) {
		if id := session.get("userId"); record.Text(id) != noID {
			c.row.Set("domain_userid", id)
		}
	}
	if isMobile && record.IsNone(c.row.Get("domain_sessionid")) {
		c.row.Set("domain_sessionid", session.get("sessionId"))
	}
	visitor := c.row.Get("domain_userid")
	if record.IsNone(visitor) {
		visitor = c.row.Get("network_userid")
	}
	return record.Identify(ev, "user_id", c.row.Get("user_id"), "domain_userid", visitor)
}

// unstruct is the self-describing event, of the column or of that of a table atomic.events.
func (c *converter) unstruct() (selfDescribing, error) {
	if raw := c.row.Get("unstruct_event"); !record.IsNone(raw) {
		return readUnstruct(raw)
	}
	for _, m := range c.row.Rest {
		if strings.HasPrefix(string(m.Name), "unstruct_event_") && !record.IsEmpty(m.Value) {
			return selfDescribing{data: record.Inner(m.Value)}, nil
		}
	}
	return selfDescribing{}, nil
}

func (c *converter) properties(name string, unstruct selfDescribing) {
	out, r := &c.row.Out, c.row
	if !c.row.AddInner(unstruct.data) && !record.IsNone(unstruct.data) {
		out.Object.Keep(prefix, "unstruct_event", unstruct.data)
	}
	if name == "$screen" {
		if screen := out.Get("name"); record.IsText(screen) {
			out.AddText("$screen_name", record.Text(screen))
		}
	}
	for i, m := range r.Rest {
		switch column := string(m.Name); {
		case strings.HasPrefix(column, "unstruct_event_"):
			r.Rest[i].Value = nil
		case strings.HasPrefix(column, "contexts_"):
			r.Rest[i].Value = record.Inner(m.Value)
		case strings.HasPrefix(column, "tr_"), strings.HasPrefix(column, "ti_"), strings.HasPrefix(column, "pp_"),
			strings.HasPrefix(column, "doc_"):
			r.Rest[i].Value = record.Number(m.Value)
		}
	}
	for _, of := range [...][2]string{{"page_url", "page_urlhost"}, {"page_referrer", "refr_urlhost"}} {
		if host := record.Host(r.Get(of[0])); host != "" { // with its port
			r.Set(of[1], record.Quoted(host))
		}
	}
	if language := r.Text("br_lang"); language != "" {
		r.Set("br_lang", record.Quoted(record.Language(language)))
	}
	r.AddColumns()
	for _, of := range [...][2]string{{"se_value", "value"}, {"domain_sessionidx", "snowplow_session_index"}} {
		if raw := record.Number(r.Get(of[0])); !record.IsNone(raw) {
			r.Keep(of[1], raw)
		}
	}
	c.device()
	c.place()
	r.AddWeb(name == "$pageview")
	c.contexts.addTo(&out.Object)
}

// place adds where the visitor is.
func (c *converter) place() {
	out := &c.row.Out
	out.AddCountry(c.row.Text("geo_country"))
	ip := c.row.Text("user_ipaddress")
	if _, err := netip.ParseAddr(ip); err == nil {
		out.AddText("$ip", ip)
		if c.options.LookUpIP {
			out.AddLookUp()
		}
	} else if ip != "" {
		c.row.Keep("user_ipaddress", c.row.Get("user_ipaddress"))
	}
}

// deviceTypes are the kinds of devices of the column dvce_type.
var deviceTypes = map[string]string{
	"Computer": "Desktop", "Mobile": "Mobile", "Tablet": "Tablet", "Game console": "Console", "Digital media receiver": "TV",
	"Wearable computer": "Wearable",
}

// device adds the program and the device: of the user agent, of the contexts, and of older columns.
func (c *converter) device() {
	out := &c.row.Out
	out.AddAgent(c.options.UserAgent, c.row.Get("useragent"))
	if mobile, isThere := c.contexts.of("mobile_context"); isThere {
		c.system(mobile.text("osType"), mobile.text("osVersion"))
		out.AddGiven("$device_manufacturer", mobile.text("deviceManufacturer"))
		out.AddGiven("$device_model", mobile.text("deviceModel"))
		out.AddGiven("$network_carrier", mobile.text("carrier"))
	}
	if app, isThere := c.contexts.of("application"); isThere {
		out.AddGiven("$app_version", app.text("version"))
		out.AddGiven("$app_build", app.text("build"))
	}
	if agent, isThere := c.contexts.of("ua_parser_context"); isThere {
		os := agent.text("osFamily")
		version := agent.text("osMajor")
		if minor := agent.text("osMinor"); minor != "" {
			version += "." + minor
		}
		c.system(os, version)
		if family := agent.text("useragentFamily"); family != other {
			out.AddBrowser(family, agent.text("useragentMajor")+"."+cmp.Or(agent.text("useragentMinor"), "0"), os)
		}
	}
	os := c.row.Text("os_family")
	out.AddGiven("$browser", record.Browser(c.row.Text("br_family"), os))
	c.system(os, "")
	out.AddGiven("$device_type", deviceTypes[c.row.Text("dvce_type")])
	out.AddGiven("$device_type", record.DeviceType(record.Text(out.Get("$os")), record.Text(out.Get("$device_model"))))
}

// other is the name of a browser or system that ua_parser does not know.
const other = "Other"

func (c *converter) system(name, version string) {
	if name != other {
		c.row.Out.AddOS(name, version)
	}
}
