package segment

import (
	"errors"
	"fmt"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/internal/props"
	"github.com/hogapi/hogapi/internal/jsonb"
)

// prefix is of names that something else has already: see [props.Object.Keep].
const prefix = "segment_"

// converter makes events of calls. One goroutine at a time may use it.
type converter struct {
	options Options
	call    call
	visit   jsonb.Visitor // of call, bound once
	out     props.Object  // the properties
	context contextReader
	event   hogapi.Event
	kind    string
}

func newConverter(o Options) *converter {
	c := &converter{options: o}
	c.visit = c.call.visit
	c.context.out, c.context.groupType = &c.out, o.GroupType
	c.context.visitors()
	return c
}

// convert makes the event of a call.
func (c *converter) convert(record []byte) ([]hogapi.Event, error) {
	c.call = call{rest: c.call.rest[:0]}
	if err := jsonb.Object(record, c.visit); err != nil {
		return nil, err
	}
	var err error
	if c.kind, err = c.call.kindOf(); err != nil {
		return nil, err
	}
	if c.kind == kindGroup && c.options.NoGroups {
		return nil, hogapi.Skip(SkipGroup)
	}
	c.event = hogapi.Event{UUID: uuidOf(c.call.messageID)}
	if err := c.identify(); err != nil {
		return nil, err
	}
	if c.event.Timestamp, err = c.call.time(); err != nil {
		return nil, err
	}
	if c.event.Timestamp.IsZero() {
		return nil, hogapi.Skip(SkipNoTime)
	}
	if err := c.properties(); err != nil {
		return nil, err
	}
	c.event.RawProperties = c.out.JSON()
	return []hogapi.Event{c.event}, nil
}

// identify settles whose event it is.
func (c *converter) identify() error {
	user, err := props.ID("userId", c.call.userID)
	if err != nil {
		return err
	}
	anonymous, err := props.ID("anonymousId", c.call.anonymousID)
	switch {
	case err != nil:
		return err
	case user == "" && anonymous == "":
		return hogapi.Skip(SkipNoID)
	case user == "":
		c.event.DistinctID = anonymous
	default:
		c.event.DistinctID = user
		if anonymous != user {
			c.event.AnonymousID = anonymous
		}
	}
	return nil
}

// properties makes the properties of the event, and its name.
func (c *converter) properties() error {
	c.out.Begin()
	if err := c.byKind(); err != nil {
		return err
	}
	if err := c.own(); err != nil {
		return err
	}
	if err := c.context.read(c.call.context, c.kind == kindIdentify); err != nil {
		return fmt.Errorf("context: %w", err)
	}
	if c.kind == kindPage && !props.IsNone(c.call.name) {
		c.out.Add("title", c.call.name)
	}
	if c.kind == kindIdentify {
		if err := c.persons(); err != nil {
			return err
		}
	}
	c.rest()
	return nil
}

// byKind names the event, and adds what only this kind of call has.
func (c *converter) byKind() error {
	switch c.kind {
	case kindTrack:
		if !props.IsText(c.call.event) {
			return props.Want("event", "the name of the event", c.call.event)
		}
		c.event.Name = props.Text(c.call.event)
	case kindPage:
		c.event.Name = "$pageview"
	case kindScreen:
		c.event.Name = "$screen"
		if !props.IsNone(c.call.name) {
			c.out.Add("$screen_name", c.call.name)
		}
	case kindIdentify:
		c.event.Name = "$identify"
		if c.event.AnonymousID != "" {
			c.out.AddText("$anon_distinct_id", c.event.AnonymousID)
		}
	case kindGroup:
		c.event.Name = "$groupidentify"
		return c.group()
	case kindAlias:
		c.event.Name = "$create_alias"
		previous, err := props.ID("previousId", c.call.previousID)
		if err != nil {
			return err
		}
		if previous == "" {
			return errors.New("previousId: an alias call needs one")
		}
		c.out.AddText("alias", previous)
	}
	return nil
}

// group adds what a group call says.
func (c *converter) group() error {
	key, err := props.ID("groupId", c.call.groupID)
	if err != nil {
		return err
	}
	if key == "" {
		return errors.New("groupId: a group call needs one")
	}
	groupType := c.options.GroupType
	if props.IsObject(c.call.traits) {
		_ = jsonb.Object(c.call.traits, func(name, value []byte) { // valid: it was read
			if string(name) == "groupType" && props.IsText(value) && !props.IsNone(value) {
				groupType = props.Text(value)
			}
		})
	}
	if groupType == "" {
		return errors.New("a group call without a group type: set Options.GroupType, or Options.NoGroups")
	}
	c.out.AddText("$group_type", groupType)
	c.out.AddText("$group_key", key)
	if props.IsObject(c.call.traits) {
		c.out.Add("$group_set", c.call.traits)
	} else {
		c.out.Add("$group_set", []byte("{}"))
	}
	return nil
}

// own adds the call's own properties.
func (c *converter) own() error {
	switch raw := c.call.properties; {
	case props.IsObject(raw):
		err := jsonb.Object(raw, func(key, value []byte) {
			name := string(key)
			if target := pageNames[name]; target != "" && c.kind == kindPage {
				if props.IsNone(value) {
					return
				}
				if c.out.Add(target, value) {
					c.context.place(name, value)
					return
				}
			}
			c.out.Keep(prefix, name, value)
		})
		if err != nil {
			return fmt.Errorf("properties: %w", err)
		}
	case !props.IsNone(raw):
		c.out.Keep(prefix, "properties", raw)
	}
	return nil
}

// persons adds the traits of an identify call, those of the call before those of its context.
func (c *converter) persons() error {
	if c.options.PersonProperties == formats.PersonNone {
		return nil
	}
	key := "$set_once"
	if c.options.PersonProperties == formats.PersonSet {
		key = "$set"
	}
	own, more := c.call.traits, c.context.traits
	switch {
	case !props.IsObject(own):
		own = more
	case props.IsObject(more):
		both := &c.context.inner
		both.Begin()
		for _, traits := range [][]byte{own, more} {
			if err := jsonb.Object(traits, func(key, value []byte) { both.Add(string(key), value) }); err != nil {
				return fmt.Errorf("traits: %w", err)
			}
		}
		own = both.JSON()
	}
	if props.IsObject(own) {
		c.out.Keep(prefix, key, own)
	}
	return nil
}

// rest adds what is kept under its own name.
func (c *converter) rest() {
	keep := func(name string, raw []byte) {
		if !props.IsNone(raw) {
			c.out.Keep(prefix, name, raw)
		}
	}
	if c.event.UUID.String() != props.Text(c.call.messageID) {
		keep("messageId", c.call.messageID)
	}
	if c.event.AnonymousID != "" && c.kind != kindIdentify {
		c.out.Keep(prefix, "anonymousId", c.call.anonymousID)
	}
	if c.kind != kindTrack {
		keep("event", c.call.event)
	}
	if c.kind != kindScreen {
		keep("name", c.call.name)
	}
	if c.kind != kindIdentify && c.kind != kindGroup || !props.IsObject(c.call.traits) {
		keep("traits", c.call.traits)
	}
	if c.kind != kindGroup {
		keep("groupId", c.call.groupID)
	}
	if c.kind != kindAlias {
		keep("previousId", c.call.previousID)
	}
	for _, m := range c.call.rest {
		keep(string(m.key), m.value)
	}
}
