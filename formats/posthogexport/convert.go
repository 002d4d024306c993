package posthogexport

import (
	"errors"
	"fmt"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/internal/props"
	"github.com/hogapi/hogapi/internal/jsonb"
)

// prefix is of names that something else has already: see [props.Object.Keep].
const prefix = "posthog_"

// row has the columns of a row, as raw JSON; nil where absent.
type row struct {
	uuid, event, distinctID, properties, elements, timestamp, ip, files []byte

	rest []column // what is kept under its own name
}

// column is a column of a row. Both parts are valid as long as the record is.
type column struct{ name, value []byte }

// visit notes a column.
func (r *row) visit(key, value []byte) {
	switch string(key) {
	case "uuid":
		r.uuid = value
	case "event":
		r.event = value
	case "distinct_id":
		r.distinctID = value
	case "properties":
		r.properties = value
	case "elements_chain":
		r.elements = value
	case "timestamp":
		r.timestamp = value
	case "ip":
		r.ip = value
	case "person_id", "person_properties", "created_at", "_inserted_at", "team_id", "site_url": // of the project
	case "set", "set_once": // which are in the properties too
	case "files":
		r.files = value
		fallthrough
	default:
		r.rest = append(r.rest, column{key, value})
	}
}

// converter makes events of rows. One goroutine at a time may use it.
type converter struct {
	options Options
	row     row
	visit   jsonb.Visitor // of row, bound once
	own     jsonb.Visitor // of its properties, bound once
	out     props.Object
	person  props.Object
	set     []byte // of the properties, where they become $set_once
	setOnce []byte

	distinctID string
	anonymous  string // the $anon_distinct_id of the properties
}

func newConverter(o Options) *converter {
	c := &converter{options: o}
	c.visit, c.own = c.row.visit, c.property
	return c
}

// convert makes the event of a row.
func (c *converter) convert(record []byte) ([]hogapi.Event, error) {
	c.row = row{rest: c.row.rest[:0]}
	if err := jsonb.Object(record, c.visit); err != nil {
		return nil, err
	}
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
	ev.RawProperties = c.out.JSON()
	return []hogapi.Event{ev}, nil
}

// event is the event without its properties.
func (c *converter) event() (ev hogapi.Event, err error) {
	switch {
	case len(c.row.event) == 0 && len(c.row.files) > 0:
		return ev, errors.New("no event: this is the list of a manifest.json, leave that file out")
	case !props.IsText(c.row.event):
		return ev, props.Want("event", "a name, as rows of the events model have (those of persons and sessions are no events)", c.row.event)
	}
	ev.Name = props.Text(c.row.event)
	if ev.UUID, err = uuidOf(c.row.uuid); err != nil {
		return ev, err
	}
	if ev.DistinctID, err = props.ID("distinct_id", c.row.distinctID); err != nil {
		return ev, err
	}
	ev.Timestamp, err = timeOf(c.row.timestamp)
	return ev, err
}

// timeOf reads a time of RFC 3339, or as BigQuery writes it: 2024-02-29 23:59:58.012 UTC.
func timeOf(raw []byte) (time.Time, error) {
	text := []byte(props.Text(raw))
	at, err := jsonb.ParseTime(text)
	if err == nil {
		return at, nil
	}
	const layout = "2006-01-02 15:04:05"
	if len(text) >= len(layout) && text[10] == ' ' {
		for _, layout := range [...]string{layout, layout + " UTC", layout + "Z07:00"} {
			if at, err := time.Parse(layout, string(text)); err == nil {
				return at.UTC(), nil
			}
		}
	}
	return time.Time{}, props.Want("timestamp", "a time such as 2024-02-29T23:59:58.012000+00:00", raw)
}

// properties makes the properties of an event.
func (c *converter) properties(distinctID string) error {
	raw := c.row.properties
	if props.IsText(raw) { // as Parquet and some tables have them
		raw = []byte(props.Text(raw))
	}
	c.out.Begin()
	c.set, c.setOnce, c.distinctID, c.anonymous = nil, nil, distinctID, ""
	if !props.IsNone(raw) {
		if err := jsonb.Object(raw, c.own); err != nil {
			return err
		}
	}
	if err := c.persons(); err != nil {
		return err
	}
	if !props.IsNone(c.row.elements) {
		c.out.Keep(prefix, "$elements_chain", c.row.elements)
	}
	if !props.IsNone(c.row.ip) {
		c.out.Keep(prefix, "$ip", c.row.ip)
	}
	for _, column := range c.row.rest {
		if !props.IsNone(column.value) {
			c.out.Keep(prefix, string(column.name), column.value)
		}
	}
	return nil
}

// property adds a property of the event.
func (c *converter) property(key, value []byte) {
	name := string(key)
	switch {
	case c.options.PersonProperties == formats.PersonSet:
	case name == "$set" && props.IsObject(value):
		c.set = value
		return
	case name == "$set_once" && props.IsObject(value):
		c.setOnce = value
		return
	}
	if name == "distinct_id" && props.Text(value) == c.distinctID {
		return // the import adds it
	}
	if name == "$anon_distinct_id" {
		c.anonymous = props.Text(value)
	}
	c.out.Keep(prefix, name, value)
}

// persons puts $set and $set_once into one. Where a key is in both, the value of $set is the newer one.
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
		for _, raw := range [][]byte{c.set, once} {
			if err := jsonb.Object(raw, func(key, value []byte) { c.person.Add(string(key), value) }); err != nil {
				return err
			}
		}
		once = c.person.Raw()
	}
	if once != nil {
		c.out.Keep(prefix, "$set_once", once)
	}
	return nil
}
