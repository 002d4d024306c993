package amplitude

import (
	"cmp"
	"fmt"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/internal/record"
)

// Options say how an export is read. Nil stands for the defaults.
type Options struct {
	// KeepSessions imports the events session_start, which PostHog has no use for.
	KeepSessions bool

	// Groups makes events $groupidentify of the properties of groups that a record has: see the package's
	// section on groups. Without it they are the property $amplitude_group_properties.
	Groups bool

	// PersonProperties says what becomes of user properties, and of what an event shows about its person.
	PersonProperties formats.PersonProperties

	// KeepAll keeps the fields that are dropped, named $amplitude_ and their name, and user_properties as they
	// were at each event.
	KeepAll bool
}

// Why records are skipped.
const (
	SkipNoID         = "no id"         // neither user_id nor device_id
	SkipNoEventType  = "no event_type" // nothing says what happened
	SkipSessionStart = "session_start" // see Options.KeepSessions
	SkipMergedUsers  = "merged users"  // a row of the table of merged Amplitude IDs, which no event of PostHog has
	SkipNoGroup      = "no group"      // an event $groupidentify without a group
)

// Format reads the rows of Amplitude's export.
func Format(options *Options) hogapi.Format {
	var o Options
	if options != nil {
		o = *options
	}
	o.PersonProperties = cmp.Or(o.PersonProperties, formats.PersonSetOnce)
	c := &converter{}
	if err := o.PersonProperties.Check(); err != nil {
		c.fault = fmt.Errorf("amplitude: options: %w", err)
	}
	c.scratch.New = func() any { return newScratch(o) }
	return hogapi.Format{Name: "amplitude", Options: o.text(), Layout: hogapi.LayoutJSON, Convert: c.convert, ID: c.id}
}

// text is what differs from the defaults.
func (o Options) text() string {
	var parts []string
	if o.PersonProperties != formats.PersonSetOnce {
		parts = append(parts, "person="+string(o.PersonProperties))
	}
	for _, flag := range []struct {
		name string
		isOn bool
	}{{"keep sessions", o.KeepSessions}, {"groups", o.Groups}, {"keep all", o.KeepAll}} {
		if flag.isOn {
			parts = append(parts, flag.name)
		}
	}
	return strings.Join(parts, ", ")
}

// converter makes events of records. It is safe for concurrent use.
type converter struct {
	fault   error     // of the options
	scratch sync.Pool // of *scratch
}

func (c *converter) convert(raw []byte) ([]hogapi.Event, error) {
	if c.fault != nil {
		return nil, c.fault
	}
	s := c.scratch.Get().(*scratch)
	defer c.free(s)
	if err := s.read(raw); err != nil {
		return nil, err
	}
	return s.events()
}

// free gives scratch space back, without parts of the record.
func (c *converter) free(s *scratch) {
	s.fields = fields{}
	c.scratch.Put(s)
}

// id is the uuid of a record: also of one that is rejected.
func (c *converter) id(raw []byte) uuid.UUID {
	s := c.scratch.Get().(*scratch)
	defer c.free(s)
	if s.read(raw) != nil {
		return uuid.Nil
	}
	return s.id()
}

// namespace is that of all uuids that are derived here.
var namespace = uuid.MustParse("b3c0a5de-6f0b-5d3e-8a55-9d7c1c1f2a60")

// id is the record's uuid, or one that is derived from its $insert_id, which is unique for a device. It is
// zero without both.
func (s *scratch) id() uuid.UUID {
	own, err := record.ID(s.uuid)
	if err == nil && own != "" {
		if id, err := uuid.Parse(own); err == nil && len(own) == len(uuid.UUID{}.String()) && id.Variant() == uuid.RFC4122 {
			return id
		}
		return derived("uuid", own)
	}
	insert, err := record.ID(s.insertID)
	if err != nil || insert == "" {
		return uuid.Nil
	}
	device, err := record.ID(s.deviceID)
	if err != nil || device == "" {
		user, _ := record.ID(s.userID)
		return derived("user insert", user, insert)
	}
	return derived("insert", device, insert)
}

// derived is a uuid of a kind and of texts.
func derived(kind string, texts ...string) uuid.UUID {
	return uuid.NewSHA1(namespace, []byte(kind+"\x00"+strings.Join(texts, "\x00")))
}
