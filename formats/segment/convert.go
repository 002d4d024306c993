package segment

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/internal/record"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/internal/jsonb"
)

// prefix is of names that something else has already: see [record.Object.Keep].
const prefix = "segment_"

const inProperties = "properties."

// converter makes events of calls. One goroutine at a time may use it.
type converter struct {
	record.Noted

	options Options
	call    call
	visit   jsonb.Visitor // of call, bound once
	values  *record.Values
	keep    func(field string, value []byte) // bound once
	out     record.Properties
	context contextReader
	visitor string // the anonymous id
	path    []byte // of a property, from the beginning of the call
	event   hogapi.Event
	kind    string
}

func newConverter(o Options) *converter {
	c := &converter{options: o, values: table.Values()}
	c.call.bind()
	c.visit, c.keep = c.call.Visit, c.keepField
	c.context.bind(&c.Noted, c.values)
	return c
}

// keepField keeps a field where it was, since the event has another value of its property.
func (c *converter) keepField(field string, value []byte) {
	if name, isOwn := strings.CutPrefix(field, inProperties); isOwn {
		c.out.Object.Keep(prefix, name, value)
		return
	}
	c.context.keep(field, value)
}

// Begin forgets the call.
func (c *converter) Begin() {
	c.call.Begin()
	c.values.Begin()
	c.context.stays = nil
}

// Read reads a call.
func (c *converter) Read(raw []byte) error {
	_, err := c.ReadObject(raw, c.visit, "", nil)
	return err
}

// ID is the uuid of a call with a messageId, also of a damaged one.
func (c *converter) ID(bool) uuid.UUID { return uuidOf(c.call.messageID) }

// Events makes the event of the call.
func (c *converter) Events() ([]hogapi.Event, error) {
	kind, err := c.call.kindOf()
	if c.kind = kind; err != nil {
		return nil, err
	}
	if c.kind == kindGroup && c.options.NoGroups {
		return nil, history.Skip(SkipGroup)
	}
	c.event = hogapi.Event{UUID: uuidOf(c.call.messageID)}
	hasID, err := record.Identify(&c.event, "userId", c.call.userID, "anonymousId", c.call.anonymousID)
	if err != nil {
		return nil, err
	}
	if !hasID {
		return nil, history.Skip(SkipNoID)
	}
	c.visitor, _ = record.ID("", c.call.anonymousID) // as Identify has read it
	if c.event.Timestamp, err = c.call.time(); err != nil {
		return nil, err
	}
	if c.event.Timestamp.IsZero() {
		return nil, history.Skip(SkipNoTime)
	}
	if err := c.properties(); err != nil {
		return nil, err
	}
	c.event.RawProperties = c.JSON(&c.out.Object)
	return []hogapi.Event{c.event}, nil
}

func (c *converter) properties() error {
	c.out.Begin()
	if err := c.byKind(); err != nil {
		return err
	}
	if err := c.own(); err != nil {
		return err
	}
	if err := c.context.read(c.call.context); err != nil {
		return fmt.Errorf("context: %w", err)
	}
	if err := c.group(); err != nil {
		return err
	}
	c.system()
	c.values.Add(&c.out, c.keep)
	c.agent()
	c.session()
	c.out.AddPage(c.out.Get("$current_url"))
	if c.kind == kindPage && c.out.Get("$current_url") != nil && c.out.Get("$referring_domain") == nil {
		c.out.AddText("$referrer", "$direct") // unless it has one
	}
	c.out.AddReferrer(c.out.Get("$referrer"))
	c.named()
	if c.kind == kindIdentify {
		if err := c.persons(); err != nil {
			return err
		}
	} else if raw := c.values.Get("context.traits"); raw != nil {
		c.context.keep("context.traits", raw)
	}
	if raw := c.call.context; !record.IsObject(raw) && !record.IsNone(raw) {
		c.out.Object.Keep(prefix, "context", raw)
	}
	c.context.addTo(&c.out.Object)
	if c.options.LookUpIP {
		c.out.AddLookUp()
	}
	c.rest()
	return nil
}

func isBlank(id []byte) bool {
	text, err := record.ID("", id)
	return err == nil && text == ""
}

// named adds the name of a page or screen.
func (c *converter) named() {
	isVisit := c.kind == kindTrack || c.kind == kindPage || c.kind == kindScreen
	if c.options.NoVisitorProfiles && isVisit && isBlank(c.call.userID) {
		c.out.Add("$process_person_profile", []byte("false"))
	}
	switch c.kind {
	case kindPage:
		if !record.IsNone(c.call.name) {
			c.out.Add("title", c.call.name)
		}
	case kindScreen:
		for _, name := range [...][]byte{c.call.name, c.out.Get("name"), c.call.event} {
			if !record.IsEmpty(name) {
				c.out.Add("$screen_name", bytes.Clone(name))
			}
		}
	}
}

// group adds the group of the context.
func (c *converter) group() error {
	raw := c.values.Get("context.groupId")
	if raw == nil {
		return nil
	}
	if c.options.GroupType == "" {
		c.context.keep("context.groupId", raw)
		return nil
	}
	key, err := record.ID("context.groupId", raw)
	if err != nil {
		return fmt.Errorf("context: %w", err)
	}
	if key == "" {
		return nil
	}
	var groups record.Object
	groups.AddText(c.options.GroupType, key)
	if !c.out.Add("$groups", groups.Raw()) {
		c.context.keep("context.groupId", raw)
	}
	return nil
}

// byKind names the event, and adds the members that only this kind of call has.
func (c *converter) byKind() error {
	switch c.kind {
	case kindTrack:
		if !record.IsText(c.call.event) {
			return record.Want("event", "the name of the event", c.call.event)
		}
		c.event.Name = record.Text(c.call.event)
	case kindPage:
		c.event.Name = "$pageview"
	case kindScreen:
		c.event.Name = "$screen"
	case kindIdentify:
		c.event.Name = "$identify"
		if c.event.AnonymousID != "" {
			c.out.AddText("$anon_distinct_id", c.event.AnonymousID)
		}
	case kindGroup:
		c.event.Name = "$groupidentify"
		return c.groupCall()
	case kindAlias:
		c.event.Name = "$create_alias"
		previous, err := record.ID("previousId", c.call.previousID)
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

func (c *converter) groupCall() error {
	key, err := record.ID("groupId", c.call.groupID)
	if err != nil {
		return err
	}
	if key == "" {
		return errors.New("groupId: a group call needs one")
	}
	groupType := c.options.GroupType
	if record.IsObject(c.call.traits) {
		_ = jsonb.Object(c.call.traits, func(name, value []byte) { // valid: it was read
			if string(name) == "groupType" && record.IsText(value) && !record.IsNone(value) {
				groupType = record.Text(value)
			}
		})
	}
	if groupType == "" {
		return errors.New("a group call without a group type: set Options.GroupType, or Options.NoGroups")
	}
	c.out.AddText("$group_type", groupType)
	c.out.AddText("$group_key", key)
	if record.IsObject(c.call.traits) {
		c.out.Add("$group_set", c.call.traits)
	} else {
		c.out.Add("$group_set", []byte("{}"))
	}
	return nil
}

func (c *converter) own() error {
	switch raw := c.call.properties; {
	case record.IsObject(raw):
		err := c.Object(raw, func(key, value []byte) {
			if c.kind == kindPage {
				c.path = append(append(c.path[:0], inProperties...), key...)
				if record.IsNone(value) && c.values.Take(c.path, nil) || !record.IsNone(value) && c.values.Take(c.path, value) {
					return
				}
			}
			c.out.Object.Keep(prefix, string(key), value)
		})
		if err != nil {
			return fmt.Errorf("properties: %w", err)
		}
	case !record.IsNone(raw):
		c.out.Object.Keep(prefix, "properties", raw)
	}
	return nil
}

// persons adds the traits of an identify call: its own go before the ones of its context.
func (c *converter) persons() error {
	if raw := c.values.Get("context.traits"); !record.IsNone(raw) && !record.IsObject(raw) {
		c.context.keep("context.traits", raw)
	}
	if c.options.PersonProperties == formats.PersonNone {
		return nil
	}
	key := "$set_once"
	if c.options.PersonProperties == formats.PersonSet {
		key = "$set"
	}
	own, more := c.call.traits, c.values.Get("context.traits")
	switch {
	case !record.IsObject(own):
		own = more
	case record.IsObject(more):
		var both record.Object
		both.Begin()
		if err := both.AddAll(own, more); err != nil {
			return fmt.Errorf("traits: %w", err)
		}
		own = both.JSON()
	}
	if record.IsObject(own) {
		c.out.Object.Keep(prefix, key, own)
	}
	return nil
}

func (c *converter) rest() {
	keep := func(name string, raw []byte) {
		if !record.IsNone(raw) {
			c.out.Object.Keep(prefix, name, raw)
		}
	}
	if c.event.UUID.String() != record.Text(c.call.messageID) {
		keep("messageId", c.call.messageID)
	}
	if c.event.AnonymousID != "" && c.kind != kindIdentify {
		c.out.Object.Keep(prefix, "anonymousId", c.call.anonymousID)
	}
	if c.kind != kindTrack {
		keep("event", c.call.event)
	}
	if c.kind != kindScreen {
		keep("name", c.call.name)
	}
	if c.kind != kindIdentify && c.kind != kindGroup || !record.IsObject(c.call.traits) {
		keep("traits", c.call.traits)
	}
	if c.kind != kindGroup {
		keep("groupId", c.call.groupID)
	}
	if c.kind != kindAlias {
		keep("previousId", c.call.previousID)
	}
	for _, m := range c.call.Rest {
		keep(string(m.Name), m.Value)
	}
}
