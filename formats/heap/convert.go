package heap

import (
	"cmp"
	"errors"
	"strings"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/internal/record"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/internal/jsonb"
)

// prefix is of names that something else has already: see [record.Object.Keep].
const prefix = "heap_"

// converter makes events of rows. One goroutine at a time uses it.
type converter struct {
	options Options
	row     *record.Rows
	hasType bool // the table has a column type
}

// Begin forgets the row before.
func (c *converter) Begin() {
	c.row.Begin()
	c.hasType = false
}

// Read reads a row. Heap writes the name of one column in capital letters, and warehouses the names of all.
func (c *converter) Read(raw []byte) error {
	return jsonb.Object(raw, func(key, value []byte) {
		name := strings.ToLower(string(key))
		if c.hasType = c.hasType || name == "type"; !strings.HasPrefix(name, "_sdc_") && !strings.HasPrefix(name, "_fivetran_") {
			c.row.Visit([]byte(name), value)
		}
	})
}

// ID is the uuid of a row.
func (c *converter) ID(bool) uuid.UUID {
	switch event, from := c.row.Text("event_id"), c.row.Text("from_user_id"); {
	case event != "":
		return record.Derived(space, "event\x00"+event)
	case from != "":
		return record.Derived(space, "migration\x00"+from+"\x00"+c.row.Text("to_user_id"))
	case !record.IsNone(c.row.Get("joindate")) && c.row.Text("user_id") != "":
		return record.Derived(space, "user\x00"+c.row.Text("user_id"))
	}
	return uuid.Nil
}

// Events makes the event of the row.
func (c *converter) Events() ([]hogapi.Event, error) {
	ev := hogapi.Event{UUID: c.ID(true)}
	var err error
	switch {
	case c.row.Text("from_user_id") != "" || c.row.Text("to_user_id") != "":
		err = c.migration(&ev)
	case !record.IsNone(c.row.Get("joindate")) && c.row.Text("event_id") == "":
		err = c.user(&ev)
	default:
		err = c.event(&ev)
	}
	if err != nil {
		return nil, err
	}
	ev.RawProperties = c.row.Out.WithPerson()
	return []hogapi.Event{ev}, nil
}

// migration joins two persons, as Heap did.
func (c *converter) migration(ev *hogapi.Event) (err error) {
	from, to := c.row.Text("from_user_id"), c.row.Text("to_user_id")
	if from == "" || to == "" {
		return errors.New("from_user_id, to_user_id: a row of user_migrations needs both")
	}
	ev.Name, ev.DistinctID, ev.AnonymousID = "$identify", to, from
	c.row.Out.AddText("$anon_distinct_id", from)
	ev.Timestamp, err = c.row.Time("time")
	return err
}

// user joins a user to its identity, and sets its properties.
func (c *converter) user(ev *hogapi.Event) (err error) {
	id, identity := c.row.Text("user_id"), c.row.Text("identity")
	if id == "" {
		return history.Skip(SkipNoID)
	}
	for _, m := range c.row.Rest {
		if !record.IsNone(m.Value) && !record.IsReserved(m.Name) {
			c.row.Out.AddPerson(string(m.Name), m.Value)
		}
	}
	ev.Name, ev.DistinctID = "$set", id
	switch {
	case identity != "" && identity != id:
		ev.Name, ev.DistinctID, ev.AnonymousID = "$identify", identity, id
		c.row.Out.AddText("$anon_distinct_id", id)
	case !c.row.Out.HasPerson() || c.options.PersonProperties == formats.PersonNone:
		return history.Skip(SkipNoIdentity)
	}
	ev.Timestamp, err = c.row.Time("joindate")
	return err
}

func (c *converter) event(ev *hogapi.Event) (err error) {
	user := c.row.Text("user_id")
	if user == "" {
		_, second, _ := strings.Cut(strings.Trim(c.row.Text("id"), "()"), ",")
		user = strings.TrimSpace(second)
	}
	if user == "" {
		return history.Skip(SkipNoID)
	}
	ev.DistinctID = user
	if ev.Name, err = c.name(); err != nil {
		return err
	}
	if ev.Timestamp, err = c.row.Time("time"); err != nil {
		return err
	}
	c.row.AddInner(c.row.Get("properties"))
	c.page(ev.Name == pageview)
	c.device()
	c.row.Out.AddCountry(c.row.Text("country"))
	c.row.Out.AddGiven("$geoip_country_name", c.row.Text("country"))
	c.row.Out.AddGiven(SessionKey, c.row.Text("session_id"))
	for i, m := range c.row.Rest {
		if !record.IsText(m.Value) {
			c.row.Rest[i].Value = record.Number(m.Value) // ids of 64 bits
		}
	}
	c.row.AddColumns()
	if c.options.LookUpIP {
		c.row.Out.AddLookUp()
	}
	return nil
}

const pageview = "$pageview"

// interactions are the types of events that Heap records by itself, with the word for $event_type.
var interactions = map[string]string{
	"click": "click", "submit": "submit", "change": "change", "touch": "touch", "edit field": "change", "edit_field": "change",
	"view page": "view", "view_page": "view", "pageview": "view",
}

var errName = errors.New("a row of a table of an event does not have the name of the event: " +
	"set Options.Event to it, and use a format for each table")

func (c *converter) name() (string, error) {
	kind := cmp.Or(c.row.Text("type"), c.row.Text("object"))
	does := interactions[kind]
	if does != "" && does != "view" {
		c.row.Out.AddText("$event_type", does)
	}
	switch {
	case c.options.Event != "":
		return c.options.Event, nil
	case c.row.Text("event_table_name") != "":
		return c.row.Text("event_table_name"), nil
	case does == "view", kind == "" && !c.hasType && c.row.Text("path")+c.row.Text("view_controller") != "":
		return pageview, nil
	case does != "" || kind == "":
		return "", errName
	}
	return kind, nil
}

// page adds the page of an event. Where the visitor came from is that of the session in all rows: only the landing
// page has it too.
func (c *converter) page(isView bool) {
	out := &c.row.Out
	landing := c.row.Get("landing_page")
	host := cmp.Or(c.row.Text("domain"), record.Host(landing))
	path := c.row.Text("path")
	if path != "" {
		out.AddGiven("$current_url", record.PageURL(host, path, c.row.Text("query"), c.row.Text("hash")))
	}
	referrer := c.row.Text("referrer")
	if referrer == "direct" {
		referrer = "$direct"
	}
	out.AddGiven("$session_entry_referrer", referrer)
	isLanding := strings.TrimSuffix(record.Path(landing), "/") == strings.TrimSuffix(path, "/")
	if isView && !record.IsNone(landing) && isLanding {
		out.AddGiven("$referrer", referrer)
		for _, name := range [...]string{"utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content"} {
			if value := c.row.Get(name); !record.IsNone(value) {
				out.Add(name, value)
			}
		}
	}
	out.AddPage(out.Get("$current_url"))
	out.AddReferrer(out.Get("$referrer"))
}

func (c *converter) device() {
	out := &c.row.Out
	platform := c.row.Text("platform")
	out.AddOS(platform, "")
	browser, version := c.row.Text("browser"), ""
	if i := strings.LastIndexByte(browser, ' '); i > 0 && record.BrowserVersion(browser[i+1:]) != "" {
		browser, version = browser[:i], browser[i+1:]
	}
	out.AddBrowser(browser, version, platform)
	if c.row.Text("device_type") == "" {
		out.AddGiven("$device_type", record.DeviceType(platform, c.row.Text("device")))
	}
}
