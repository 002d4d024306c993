package amplitude

import (
	"cmp"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/internal/record"
	"github.com/hogapi/hogapi/history"
)

// PeopleOptions control how the states of users become events. Nil stands for the defaults.
type PeopleOptions struct {
	// PersonProperties says how the properties of users are sent. The default is formats.PersonSetOnce, which only adds
	// properties that today's person lacks; formats.PersonSet replaces it. formats.PersonNone is an error here.
	// Properties of visitors are always sent with $set_once.
	PersonProperties formats.PersonProperties
	// Mapping is the version of the mapping, as in an import that an earlier release began: see formats.MappingVersion.
	// The default is the newest.
	Mapping int
}

// SkipNoProperties is the reason why a row is skipped by PeopleFormat.
const SkipNoProperties = "no user_properties"

// PeopleFormat reads the same rows as [Format], and makes of each an event $set with its user_properties. Amplitude has
// no export of all users, but each row has the state of its user at that moment. formats.Newest keeps the last one:
//
//	people := formats.Newest(history.Files(amplitude.PeopleFormat(nil), "export/*.zip"))
//
// Import the events of the project first, with Options.PersonProperties set to formats.PersonNone. Otherwise the events
// set the oldest value of each property, and these events do not replace it with formats.PersonSetOnce.
//
// Properties have the names that Format gives them. The uuid of an event is derived from the id of the person and the
// time. Rows of session_start count too. Skipped are rows without an id (SkipNoID) and without properties
// (SkipNoProperties).
func PeopleFormat(options *PeopleOptions) history.Format {
	o := record.Options(options)
	o.Mapping = record.Mapping(o.Mapping)
	o.PersonProperties = cmp.Or(o.PersonProperties, formats.PersonSetOnce)
	fault := o.PersonProperties.Check()
	if o.PersonProperties == formats.PersonNone {
		fault = errors.New("PersonProperties: want PersonSetOnce or PersonSet: a state of a user has nothing else")
	}
	return record.Format("amplitude people", o.Mapping, record.PersonText(o.PersonProperties), fault,
		func() *people {
			return &people{newConverter(Options{PersonProperties: o.PersonProperties, Mapping: o.Mapping})}
		})
}

// people makes the event $set of a row.
type people struct{ *converter }

// ID returns no uuid: it depends on the time, which the event has.
func (p *people) ID(bool) uuid.UUID { return uuid.Nil }

// Events makes the event of the row that was read.
func (p *people) Events() ([]hogapi.Event, error) {
	user, device, err := p.ids()
	if err != nil {
		return nil, err
	}
	ev := hogapi.Event{Name: "$set", DistinctID: cmp.Or(user, device)}
	if ev.DistinctID == "" {
		return nil, history.Skip(SkipNoID)
	}
	if ev.Timestamp, err = p.when(); err != nil {
		return nil, err
	}
	p.props.Begin() // without the properties of the event
	p.props.Policy = formats.PersonSetOnce
	if user != "" {
		p.props.Policy, ev.UserIDs = p.options.PersonProperties, []string{user}
	}
	if err := p.readUser(false); err != nil {
		return nil, err
	}
	if !p.props.HasPerson() {
		return nil, history.Skip(SkipNoProperties)
	}
	ev.UUID = derived("people", ev.Timestamp.Format(time.RFC3339Nano), ev.DistinctID)
	ev.RawProperties = p.props.Finish("amplitude")
	return []hogapi.Event{ev}, nil
}
