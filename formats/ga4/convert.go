package ga4

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats/internal/record"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/internal/jsonb"
	"github.com/hogapi/hogapi/internal/records"
)

// prefix is of names that something else has already: see [record.Object.Keep].
const prefix = "ga4_"

// converter makes events of rows. One goroutine at a time may use it.
type converter struct {
	record.Noted

	options Options
	raw     []byte
	row     row
	visit   jsonb.Visitor // of row, bound once
	params  params
	columns columns
	out     record.Object // the properties
	person  person
	scratch []byte
	members []record.Member
	digests records.Digester
	event   hogapi.Event

	session, screen []byte // params
	isPersonless    bool
}

func newConverter(o Options) *converter {
	c := &converter{options: o}
	c.row.bind()
	c.visit = c.row.Visit
	c.params.bind()
	c.columns.bind(&c.Noted, &c.out)
	return c
}

// Read reads a row.
func (c *converter) Read(raw []byte) error {
	c.raw = raw
	_, err := c.ReadObject(raw, c.visit, "", nil)
	return err
}

// Events makes the event of the row.
func (c *converter) Events() ([]hogapi.Event, error) {
	if !record.IsText(c.row.name) {
		return nil, record.Want("event_name", "a text", c.row.name)
	}
	name := record.Text(c.row.name)
	if slices.Contains(c.options.Skip, name) {
		return nil, history.Skip(SkipName)
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
	if err := c.identify(); err != nil {
		return nil, err
	}
	if err := c.addColumns(name); err != nil {
		return nil, err
	}
	if err := c.addSession(); err != nil {
		return nil, err
	}
	c.event.RawProperties = c.JSON(&c.out)
	return []hogapi.Event{c.event}, nil
}

// ID is the uuid of the row.
func (c *converter) ID(isWhole bool) uuid.UUID {
	if !isWhole || c.addParams() != nil {
		return uuid.Nil
	}
	return c.uuid()
}

// Begin forgets the row.
func (c *converter) Begin() {
	c.raw = nil
	c.row.Begin()
}

func nameOf(name string) string {
	switch name {
	case "page_view":
		return "$pageview"
	case "screen_view":
		return "$screen"
	}
	return name
}

// uuid is the uuid of the row, of which only the params are in the properties yet. It is zero for
// rows without numbers of a batch.
func (c *converter) uuid() uuid.UUID {
	r := &c.row
	if !r.hasBatch() {
		return uuid.Nil
	}
	b := c.scratch[:0]
	for _, raw := range [...][]byte{
		r.Get("stream_id"), r.pseudoID, r.userID, r.timestamp, r.name, r.bundle, r.batchPage, r.batchOrdering, r.batchEvent,
	} {
		if !record.IsNone(raw) {
			b = append(b, record.Canonical(record.Number(raw))...)
		}
		b = append(b, '\n')
	}
	if c.options.Mapping < 4 {
		b = append(b, c.out.Members()...)
	} else {
		b = c.appendParams(b)
	}
	c.scratch = b
	return record.Derived(space, b)
}

// appendParams appends the params in the order of their names, without the ones about the batch: the order of
// event_params differs between exports of a day, and the intraday table lacks some numbers of the batch.
func (c *converter) appendParams(b []byte) []byte {
	c.members = c.members[:0]
	c.out.Each(func(key, value []byte) {
		if !strings.HasPrefix(string(key), "batch_") {
			c.members = append(c.members, record.Member{Name: key, Value: value})
		}
	})
	slices.SortFunc(c.members, func(a, b record.Member) int { return bytes.Compare(a.Name, b.Name) })
	for _, m := range c.members {
		b = append(append(append(append(b, m.Name...), ':'), m.Value...), ',')
	}
	return b
}

func (c *converter) identify() error {
	c.isPersonless = false
	hasID, err := record.Identify(&c.event, "user_id", c.row.userID, "user_pseudo_id", c.row.pseudoID)
	switch {
	case err != nil:
		return err
	case !hasID:
		return c.personless()
	}
	if c.event.AnonymousID != "" {
		c.out.Keep(prefix, "user_pseudo_id", c.row.pseudoID)
	}
	if user, _ := record.ID("user_id", c.row.userID); user == "" && c.options.NoVisitorProfiles {
		c.isPersonless = true
		c.out.Keep(prefix, "$process_person_profile", []byte("false"))
	}
	return nil
}

// personless makes the event one of nobody.
func (c *converter) personless() error {
	if !c.options.Personless {
		return history.Skip(SkipNoID)
	}
	id := c.event.UUID
	if id == uuid.Nil {
		digest := c.digests.Of(c.raw)
		id = record.Derived(space, digest[:])
	}
	c.event.DistinctID, c.isPersonless = "ga4-"+id.String(), true
	c.out.Keep(prefix, "$process_person_profile", []byte("false"))
	return nil
}

// addParams adds the params, of which uuids are made: nothing here may change.
func (c *converter) addParams() error {
	c.out.Begin()
	c.session, c.screen = nil, nil
	err := c.params.read(c.row.params, func(key string, value []byte) {
		row, isKnown := paramTargets[key]
		switch {
		case isKnown && row.Kind == record.Event && isReal(value) && c.out.Add(row.To, value):
			return
		case key == "ga_session_id" && c.session == nil:
			c.session = value
		case key == "firebase_screen_class" && isReal(value):
			c.screen = value
		}
		c.out.Keep(prefix, key, value)
	})
	if err != nil {
		return fmt.Errorf("event_params: %w", err)
	}
	return nil
}

// addColumns makes properties of the other columns, and of the person.
func (c *converter) addColumns(name string) error {
	c.person.begin()
	if name == "first_visit" || name == "first_open" {
		c.person.first("$initial_current_url", c.out.Get("$current_url"))
		c.person.first("$initial_referrer", c.out.Get("$referrer"))
	}
	c.out.AddPage(c.out.Get("$current_url"))
	if c.event.Name == "$pageview" && c.out.Get("$current_url") != nil {
		c.out.AddText("$referrer", "$direct") // unless it has one
	}
	c.out.AddReferrer(c.out.Get("$referrer"))
	if c.screen != nil {
		c.out.Add("$screen_name", c.screen)
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

// addSession adds the session of the event. Its id is the start in seconds.
func (c *converter) addSession() error {
	seconds, isNumber := record.Int(c.session)
	if !isNumber || seconds <= 0 {
		return nil
	}
	device, err := record.ID("user_pseudo_id", c.row.pseudoID)
	if device == "" {
		device, err = record.ID("user_id", c.row.userID)
	}
	if device != "" {
		c.out.AddSession(time.Unix(seconds, 0), device, strconv.FormatInt(seconds, 10), c.event.Timestamp)
	}
	return err
}

// row has the columns of a row, as raw JSON; nil where absent.
type row struct {
	record.Reader

	name, timestamp, params, userID, pseudoID, userProperties []byte
	trafficSource, items                                      []byte
	bundle, batchPage, batchOrdering, batchEvent              []byte
}

func (r *row) bind() {
	r.Fields = record.Fields{
		"event_name": &r.name, "event_timestamp": &r.timestamp, "event_params": &r.params, "user_id": &r.userID,
		"user_pseudo_id": &r.pseudoID, "user_properties": &r.userProperties, "traffic_source": &r.trafficSource,
		"items": &r.items, "event_bundle_sequence_id": &r.bundle, "batch_page_id": &r.batchPage,
		"batch_ordering_id": &r.batchOrdering, "batch_event_index": &r.batchEvent,
	}.Drop("event_server_timestamp_offset", "event_previous_timestamp")
}

func (r *row) time() (time.Time, error) {
	if micros, ok := record.Int(r.timestamp); ok && micros > 0 {
		return time.UnixMicro(micros).UTC(), nil
	}
	return time.Time{}, record.Want("event_timestamp", "microseconds since 1970", r.timestamp)
}

// hasBatch reports whether a row has the three numbers that tell an event from all others of its
// visitor.
func (r *row) hasBatch() bool {
	return !record.IsNone(r.batchPage) && !record.IsNone(r.batchOrdering) && !record.IsNone(r.batchEvent)
}
