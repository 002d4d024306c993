package mixpanel

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats"
)

// Options say how an export is read. Nil stands for the defaults.
type Options struct {
	// Zone is the project's time zone, for a project that exports local time: [CheckZone] finds out. Nil is
	// UTC. Give a zone by its name (time.LoadLocation), with the times at which its clocks change.
	Zone *time.Location

	// DevicePrefix makes the ids of devices, as [hogapi.Event.AnonymousID], "$device:" and the id. This is
	// how projects with simplified ID merge write the distinct_id of a visitor before the login. Without
	// it they are the id alone, as in older projects and in PostHog's own importer.
	DevicePrefix bool

	// PersonProperties says what becomes of what an event shows about its person.
	PersonProperties formats.PersonProperties

	// KeepDeleted imports the events that are marked as deleted, and the marks.
	KeepDeleted bool

	// KeepAll keeps the properties that are dropped, named $mixpanel_ and their name: see the package's
	// table.
	KeepAll bool

	// WholeKey derives uuids from all four parts of Mixpanel's own key: name, distinct_id, time and
	// $insert_id. Use it where Check warns of one uuid on different events. The uuids then differ from those
	// of PostHog's own importer, and from those of an export with other times.
	WholeKey bool
}

// Why records are skipped.
const (
	SkipNoID    = "no id"               // neither distinct_id nor $user_id nor $device_id
	SkipDeleted = "deleted in Mixpanel" // $is_deleted, or an event $delete: see Options.KeepDeleted
)

// Format reads the lines of Mixpanel's raw export.
func Format(options *Options) hogapi.Format {
	var o Options
	if options != nil {
		o = *options
	}
	o.PersonProperties = cmp.Or(o.PersonProperties, formats.PersonSetOnce)
	c := &converter{options: o, fault: o.fault()}
	c.scratch.New = func() any { return newScratch(o) }
	return hogapi.Format{Name: "mixpanel", Options: o.text(), Layout: hogapi.LayoutJSON, Convert: c.convert, ID: c.id}
}

// fault is what is wrong with the options, if anything: no record is converted then.
func (o Options) fault() error {
	switch {
	case o.Zone == time.Local:
		return errors.New("mixpanel: options: Zone: want the project's time zone by its name, not time.Local, " +
			"which is another one on every machine")
	case o.PersonProperties.Check() != nil:
		return fmt.Errorf("mixpanel: options: %w", o.PersonProperties.Check())
	}
	return nil
}

// text is what differs from the defaults. A zone has its offsets, since two can have one name.
func (o Options) text() string {
	var parts []string
	if o.Zone != nil && o.Zone != time.UTC {
		_, winter := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC).In(o.Zone).Zone()
		_, summer := time.Date(2020, 7, 1, 0, 0, 0, 0, time.UTC).In(o.Zone).Zone()
		parts = append(parts, fmt.Sprintf("zone=%s %ds/%ds", o.Zone, winter, summer))
	}
	if o.PersonProperties != formats.PersonSetOnce {
		parts = append(parts, "person="+string(o.PersonProperties))
	}
	for _, flag := range []struct {
		name string
		isOn bool
	}{
		{"device prefix", o.DevicePrefix}, {"keep deleted", o.KeepDeleted}, {"keep all", o.KeepAll}, {"whole key", o.WholeKey},
	} {
		if flag.isOn {
			parts = append(parts, flag.name)
		}
	}
	return strings.Join(parts, ", ")
}

// namespace is that of PostHog's own importer, so that both give a record the same uuid.
var namespace = uuid.UUID([]byte("posthog_mixpanel"))

// wholeNamespace is that of Options.WholeKey.
var wholeNamespace = uuid.MustParse("6d1f8f0c-2a51-5b0a-9a3e-0f2f7f1a9c44")

// converter makes events of records. It is safe for concurrent use.
type converter struct {
	options Options
	fault   error
	scratch sync.Pool // of *scratch
}

func (c *converter) convert(record []byte) ([]hogapi.Event, error) {
	if c.fault != nil {
		return nil, c.fault
	}
	s := c.scratch.Get().(*scratch)
	defer c.free(s)
	if err := s.read(record); err != nil {
		return nil, err
	}
	return s.event()
}

// free gives scratch space back, without parts of the record.
func (c *converter) free(s *scratch) {
	clear(s.outer)
	s.fields = fields{outer: s.outer[:0]}
	c.scratch.Put(s)
}

// id is the uuid of a record: also of one that is rejected.
func (c *converter) id(record []byte) uuid.UUID {
	s := c.scratch.Get().(*scratch)
	defer c.free(s)
	if s.read(record) != nil {
		return uuid.Nil
	}
	return s.uuid()
}

// uuid is derived from $insert_id, and is zero without it.
func (s *scratch) uuid() uuid.UUID {
	insert, err := idOf("$insert_id", s.insertID)
	if err != nil || insert == "" {
		return uuid.Nil
	}
	if !s.options.WholeKey {
		return uuid.NewSHA1(namespace, []byte(insert))
	}
	key := bytes.Join([][]byte{s.name, s.distinctID, s.time, s.insertID}, []byte{'\n'})
	return uuid.NewSHA1(wholeNamespace, key)
}
