package record

import (
	"github.com/hogapi/hogapi/formats"
)

// Properties are the properties of an event, and of its person.
type Properties struct {
	Object // of the event

	Policy formats.PersonProperties

	set, once Object   // of the person
	placed    []member // of both, in the result of WithPerson
}

// Begin removes all properties.
func (p *Properties) Begin() {
	p.Object.Begin()
	p.set.Begin()
	p.once.Begin()
}

// Keep adds a property under its name or, where that is taken, under the name with as many "_" after it as are needed.
func (p *Properties) Keep(name string, value []byte) {
	for !p.Add(name, value) {
		name += "_"
	}
}

// AddPerson adds a property of the person, to $set or $set_once by the policy.
func (p *Properties) AddPerson(name string, value []byte) { p.person().Add(name, value) }

// AddPersonOnce adds a property of the person's beginning.
func (p *Properties) AddPersonOnce(name string, value []byte) { p.once.Add(name, value) }

// AddTextOfBoth adds a text to the event and to its person, unless it is empty or the event has the
// name.
func (p *Properties) AddTextOfBoth(name, text string) {
	if text != "" && p.AddText(name, text) {
		p.person().AddText(name, text)
	}
}

func (p *Properties) person() *Object {
	if p.Policy == formats.PersonSet {
		return &p.set
	}
	return &p.once
}

// HasPerson reports whether the person has properties.
func (p *Properties) HasPerson() bool { return !p.set.IsEmpty() || !p.once.IsEmpty() }

// Finish marks the event as history of a vendor, and returns all properties.
func (p *Properties) Finish(vendor string) []byte {
	p.Add("historical_migration", []byte("true"))
	p.AddText("analytics_source", vendor)
	return p.WithPerson()
}

// WithPerson returns the properties of the event and of its person.
func (p *Properties) WithPerson() []byte {
	raw := make([]byte, 0, p.Size()+p.set.Size()+p.once.Size()+len(`,"$set":,"$set_once":`))
	raw, p.placed = p.Append(raw), p.placed[:0]
	if p.Policy != formats.PersonNone {
		raw = p.appendMember(raw, "$set", &p.set)
		raw = p.appendMember(raw, "$set_once", &p.once)
	}
	return raw
}

func (p *Properties) appendMember(raw []byte, name string, o *Object) []byte {
	if raw = AppendMember(raw, name, o); !o.IsEmpty() {
		end := len(raw) - len("}")
		colon := end - o.Size() - len(":")
		p.placed = append(p.placed, member{key: colon - len(name) - len(`""`), colon: colon, end: end})
	}
	return raw
}

// IsReserved reports whether PostHog acts on a property of this name, which means something else in
// the record of another vendor. It would change persons, groups or sessions, or drop the event.
func IsReserved[T string | []byte](name T) bool {
	if len(name) == 0 || name[0] != '$' && name[0] != 'd' { // most names
		return false
	}
	switch string(name) {
	case "distinct_id", "$set", "$set_once", "$unset", "$groups", "$group_type", "$group_key", "$group_set",
		"$anon_distinct_id", "$process_person_profile", "$cookieless_mode", "$geoip_disable", "$import_job_id",
		"$session_id", "$window_id", "$heatmap_data", "$prev_pageview_pathname", "$product_tour_id", "$ignore_sent_at":
		return true
	}
	return false
}
