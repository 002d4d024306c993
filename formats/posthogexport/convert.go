package posthogexport

import (
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/internal/record"
	"github.com/hogapi/hogapi/internal/jsonb"
)

// prefix is of names that something else has already: see [record.Object.Keep].
const prefix = "posthog_"

// row has the columns of a row, as raw JSON; nil where absent.
type row struct {
	record.Reader

	uuid, event, distinctID, properties, elements, tableElements, timestamp, ip []byte

	columns []column // in place of properties
}

func (r *row) bind() {
	r.Fields = record.Fields{
		"uuid": &r.uuid, "event": &r.event, "distinct_id": &r.distinctID, "properties": &r.properties,
		"elements_chain": &r.elements, "elements": &r.tableElements, "timestamp": &r.timestamp, "ip": &r.ip,
	}.Drop(dropped...)
	r.columns = newColumns()
	for i := range r.columns {
		c := &r.columns[i]
		r.Fields[c.name] = &c.values[0]
	}
	r.Fields["people_set"], r.Fields["people_set_once"] = &r.columns[0].values[1], &r.columns[1].values[1] // of Snowflake
}

// converter makes events of rows. One goroutine at a time may use it.
type converter struct {
	record.Noted

	options Options
	row     row
	visit   jsonb.Visitor // of row, bound once
	own     jsonb.Visitor // of its properties, bound once
	out     record.Object
	person  record.Object
	set     []byte // of the properties, where they become $set_once
	setOnce []byte

	distinctID string
	anonymous  string // the $anon_distinct_id of the properties
	cookieless []byte // the $cookieless_mode of the properties
	dollarID   []byte // their $distinct_id
	job        []byte // their $import_job_id
	groups     groups
}

func newConverter(o Options) *converter {
	c := &converter{options: o}
	c.row.bind()
	c.visit, c.own = c.row.Visit, c.property
	return c
}

// Begin forgets the row.
func (c *converter) Begin() {
	c.row.Begin()
	c.set, c.setOnce, c.cookieless, c.dollarID, c.job, c.groups = nil, nil, nil, nil, nil, groups{}
	for i := range c.row.columns {
		c.row.columns[i].isSet = false
	}
}

// Read reads a row.
func (c *converter) Read(raw []byte) error {
	_, err := c.ReadObject(raw, c.visit, "", nil)
	return err
}

// ID is the uuid of a row, also of a damaged one.
func (c *converter) ID(bool) uuid.UUID {
	id, _ := uuidOf(c.row.uuid)
	return id
}

// Events makes the event of the row.
func (c *converter) Events() ([]hogapi.Event, error) {
	ev, err := c.event()
	if err != nil {
		return nil, err
	}
	if err := c.properties(ev.DistinctID); err != nil {
		return nil, fmt.Errorf("properties: %w", err)
	}
	if ev.Name == "$identify" && c.anonymous != ev.DistinctID {
		ev.AnonymousID = c.anonymous
	}
	ev.RawProperties = c.JSON(&c.out)
	return []hogapi.Event{ev}, nil
}

func (c *converter) event() (ev hogapi.Event, err error) {
	switch {
	case len(c.row.event) == 0 && len(c.row.Get("files")) > 0:
		return ev, errors.New("no event: this is the list of a manifest.json, leave that file out")
	case !record.IsText(c.row.event):
		return ev, record.Want("event", "a name, as rows of the events model have (those of persons and sessions are no events)", c.row.event)
	}
	ev.Name = record.Text(c.row.event)
	if ev.UUID, err = uuidOf(c.row.uuid); err != nil {
		return ev, err
	}
	if ev.DistinctID, err = record.ID("distinct_id", c.row.distinctID); err != nil {
		return ev, err
	}
	ev.Timestamp, err = timeOf(c.row.timestamp)
	return ev, err
}

// timeOf reads a time of RFC 3339, or as tables write it: 2024-02-29 23:59:58.012 UTC by BigQuery, and with +00 by Redshift.
func timeOf(raw []byte) (time.Time, error) {
	text := []byte(record.Text(raw))
	at, err := jsonb.ParseTime(text)
	if err == nil {
		return at, nil
	}
	const layout = "2006-01-02 15:04:05"
	if len(text) >= len(layout) && (text[10] == ' ' || text[10] == 'T') {
		text[10] = ' '
		for _, zone := range [...]string{"", " UTC", "Z07:00", "Z07", "Z0700", " Z07:00", " Z07", " Z0700"} {
			if at, err := time.Parse(layout+zone, string(text)); err == nil {
				return at.UTC(), nil
			}
		}
	}
	return time.Time{}, record.Want("timestamp", "a time such as 2024-02-29T23:59:58.012000+00:00", raw)
}

func (c *converter) properties(distinctID string) error {
	raw := c.row.properties
	if record.IsText(raw) { // as Parquet and some tables have them
		raw = []byte(record.Text(raw))
	}
	c.out.Begin()
	c.distinctID, c.anonymous = distinctID, ""
	if !record.IsNone(raw) {
		if err := c.Object(raw, c.own); err != nil {
			return err
		}
	}
	for i := range c.row.columns {
		column := &c.row.columns[i]
		value, err := column.value()
		if err != nil {
			return err
		}
		if value != nil {
			c.property([]byte(column.property), value)
		}
	}
	if err := c.persons(); err != nil {
		return err
	}
	c.identity()
	c.groups.others(func(name string, value []byte) { c.out.Keep(prefix, prefix+name, value) })
	if !record.IsNone(c.row.elements) {
		c.out.Keep(prefix, "$elements_chain", c.row.elements)
	}
	switch chain := unpacked(c.row.tableElements); {
	case record.IsEmpty(chain):
	case record.IsText(chain):
		c.out.Keep(prefix, "$elements_chain", chain)
	default:
		c.out.Keep(prefix, "elements", c.row.tableElements)
	}
	if !record.IsNone(c.row.ip) {
		c.out.Keep(prefix, "$ip", c.row.ip)
	}
	for _, column := range c.row.Rest {
		if !record.IsNone(column.Value) {
			c.out.Keep(prefix, string(column.Name), column.Value)
		}
	}
	return nil
}

func (c *converter) property(key, value []byte) {
	name := string(key)
	for i := range c.row.columns {
		column := &c.row.columns[i]
		column.isSet = column.isSet || column.property == name
	}
	switch {
	case c.groups.take(name, value):
		return
	case name == "$cookieless_mode":
		c.cookieless = value
		return
	case name == "$distinct_id":
		c.dollarID = value
		return
	case name == "$import_job_id":
		c.job = value
		return
	case c.options.PersonProperties == formats.PersonSet:
	case name == "$set" && record.IsObject(value):
		c.set = value
		return
	case name == "$set_once" && record.IsObject(value):
		c.setOnce = value
		return
	}
	if name == "distinct_id" && record.Text(value) == c.distinctID {
		return // the import adds it
	}
	if name == "$anon_distinct_id" {
		c.anonymous = record.Text(value)
	}
	c.out.Keep(prefix, name, value)
}

// identity keeps the mode of a cookieless event under another name: its distinct id is the hash already, and the server
// would drop an old event of this mode. It keeps the id of an earlier import in the same way: the event gets the id of
// this one.
func (c *converter) identity() {
	if c.job != nil {
		c.out.Keep(prefix, "posthog_import_job_id", c.job)
	}
	switch {
	case c.cookieless != nil:
		c.out.Keep(prefix, "posthog_cookieless_mode", c.cookieless)
		if c.dollarID != nil && record.Text(c.dollarID) != c.distinctID {
			c.out.Keep(prefix, "distinct_id", c.dollarID)
		}
	case c.dollarID != nil:
		c.out.Keep(prefix, "$distinct_id", c.dollarID)
	}
}

// persons puts $set and $set_once into one. Where a key is in both, the value of $set is the newer
// one.
func (c *converter) persons() error {
	if c.options.PersonProperties == formats.PersonNone {
		return nil
	}
	once := c.setOnce
	switch {
	case once == nil:
		once = c.set
	case c.set != nil:
		c.person.Begin()
		if err := c.person.AddAll(c.set, once); err != nil {
			return err
		}
		once = c.person.Raw()
	}
	if once != nil {
		c.out.Keep(prefix, "$set_once", once)
	}
	return nil
}
