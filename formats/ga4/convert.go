package ga4

import (
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats/internal/props"
	"github.com/hogapi/hogapi/internal/jsonb"
	"github.com/hogapi/hogapi/internal/records"
)

// prefix is of names that something else has already: see [props.Object.Keep].
const prefix = "ga4_"

// converter makes events of rows. One goroutine at a time may use it.
type converter struct {
	options Options
	row     row
	visit   jsonb.Visitor // of row, bound once
	params  params
	columns columns
	out     props.Object // the properties
	person  person
	scratch []byte
	digests records.Digester
	event   hogapi.Event

	isPersonless bool
}

func newConverter(o Options) *converter {
	c := &converter{options: o}
	c.visit = c.row.visit
	c.params.bind()
	c.columns.bind(&c.out)
	return c
}

// convert makes the event of a row.
func (c *converter) convert(record []byte) ([]hogapi.Event, error) {
	if err := c.read(record); err != nil {
		return nil, err
	}
	if !props.IsText(c.row.name) {
		return nil, props.Want("event_name", "a text", c.row.name)
	}
	name := props.Text(c.row.name)
	if slices.Contains(c.options.Skip, name) {
		return nil, hogapi.Skip(SkipName)
	}
	c.event = hogapi.Event{Name: nameOf(name)}
	var err error
	if c.event.Timestamp, err = c.row.time(); err != nil {
		return nil, err
	}
	if err := c.addParams(); err != nil {
		return nil, err
	}
	c.event.UUID = c.uuid()
	if err := c.identify(record); err != nil {
		return nil, err
	}
	if err := c.addColumns(name); err != nil {
		return nil, err
	}
	c.event.RawProperties = c.out.JSON()
	return []hogapi.Event{c.event}, nil
}

// id is the uuid of a row, which may be damaged.
func (c *converter) id(record []byte) uuid.UUID {
	if c.read(record) != nil || c.addParams() != nil {
		return uuid.Nil
	}
	return c.uuid()
}

func (c *converter) read(record []byte) error {
	c.row = row{rest: c.row.rest[:0]}
	return jsonb.Object(record, c.visit)
}

// nameOf is the name of an event in PostHog.
func nameOf(name string) string {
	switch name {
	case "page_view":
		return "$pageview"
	case "screen_view":
		return "$screen"
	}
	return name
}

// uuid is the uuid of the row at hand, whose params alone are the properties so far. Rows without
// numbers of a batch have none.
func (c *converter) uuid() uuid.UUID {
	r := &c.row
	if !r.hasBatch() {
		return uuid.Nil
	}
	b := c.scratch[:0]
	for _, raw := range [...][]byte{
		r.stream, r.pseudoID, r.userID, r.timestamp, r.name, r.bundle, r.batchPage, r.batchOrdering, r.batchEvent,
	} {
		if !props.IsNone(raw) {
			b = append(b, props.Canonical(props.Number(raw))...)
		}
		b = append(b, '\n')
	}
	b = append(b, c.out.Members()...)
	c.scratch = b
	return uuid.NewSHA1(space, b)
}

// identify settles whose event it is.
func (c *converter) identify(record []byte) error {
	c.isPersonless = false
	user, err := props.ID("user_id", c.row.userID)
	if err != nil {
		return err
	}
	pseudo, err := props.ID("user_pseudo_id", c.row.pseudoID)
	switch {
	case err != nil:
		return err
	case user == "" && pseudo == "":
		return c.personless(record)
	case user == "":
		c.event.DistinctID = pseudo
	default:
		c.event.DistinctID = user
		if pseudo != user {
			c.event.AnonymousID = pseudo
		}
	}
	if c.event.AnonymousID != "" {
		c.out.Keep(prefix, "user_pseudo_id", c.row.pseudoID)
	}
	return nil
}

// personless makes the event one of nobody.
func (c *converter) personless(record []byte) error {
	if !c.options.Personless {
		return hogapi.Skip(SkipNoID)
	}
	id := c.event.UUID
	if id == uuid.Nil {
		digest := c.digests.Of(record)
		id = uuid.NewSHA1(space, digest[:])
	}
	c.event.DistinctID, c.isPersonless = "ga4-"+id.String(), true
	c.out.Keep(prefix, "$process_person_profile", []byte("false"))
	return nil
}

// addParams makes properties of the params of the event.
func (c *converter) addParams() error {
	c.out.Begin()
	err := c.params.read(c.row.params, func(key string, value []byte) {
		target := paramNames[key]
		if target == "" || !isReal(value) || !c.out.Add(target, value) {
			c.out.Keep(prefix, key, value)
		}
	})
	if err != nil {
		return fmt.Errorf("event_params: %w", err)
	}
	return nil
}

// addColumns makes properties of the other columns, and of the person.
func (c *converter) addColumns(name string) error {
	url, referrer := c.out.Get("$current_url"), c.out.Get("$referrer")
	host, path, domain := props.Host(url), props.Path(url), props.Host(referrer)
	c.person.begin()
	if name == "first_visit" || name == "first_open" {
		c.person.first("$initial_current_url", url)
		c.person.first("$initial_referrer", referrer)
	}
	for _, of := range [...]struct{ key, text string }{{"$host", host}, {"$pathname", path}, {"$referring_domain", domain}} {
		if of.text != "" {
			c.out.AddText(of.key, of.text)
		}
	}
	if err := c.columns.read(&c.row); err != nil {
		return err
	}
	if c.isPersonless {
		c.columns.keepAs("traffic_source", c.row.trafficSource)
		c.columns.keepAs("user_properties", c.row.userProperties)
		return nil
	}
	if err := c.person.source(c.row.trafficSource, &c.columns); err != nil {
		return err
	}
	if err := c.person.properties(&c.params, c.row.userProperties); err != nil {
		return err
	}
	c.person.add(&c.out, c.options.PersonProperties)
	return nil
}
