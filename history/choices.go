package history

import "slices"

// Choices say how the records of files become events, and what is done with all of them before the first is sent. Each
// has the name of a flag of hogimport; docs/formats.md says which formats have which. A choice that a format does not have
// stays empty.
type Choices struct {
	Format            string   `json:"format"`                        // such as mixpanel
	Header            []string `json:"header,omitempty"`              // names of the columns of tables without a header
	Map               []string `json:"map,omitempty"`                 // TARGET=SOURCE, for formats/generic
	Zone              string   `json:"zone,omitempty"`                // of times without one, such as US/Pacific
	GroupType         string   `json:"group_type,omitempty"`          // of the groups of Segment and Pendo
	Table             string   `json:"table,omitempty"`               // which table of a warehouse the files are of
	Numbers           []string `json:"numbers,omitempty"`             // further columns with numbers
	DevicePrefix      bool     `json:"device_prefix,omitempty"`       // Mixpanel's ids of devices get their prefix
	SetPolicy         string   `json:"set_policy,omitempty"`          // of properties of persons: keep, set-once or strip
	Rename            []string `json:"rename,omitempty"`              // of events, OLD=NEW
	Drop              []string `json:"drop,omitempty"`                // properties that are left out
	RenameProperty    []string `json:"rename_property,omitempty"`     // OLD=NEW
	Until             string   `json:"until,omitempty"`               // events at and after this time are left out
	Sort              bool     `json:"sort,omitempty"`                // all events by time
	Links             bool     `json:"links,omitempty"`               // the ids of each person are joined first
	SharedDevices     string   `json:"shared_devices,omitempty"`      // alone or first-user
	MaxIDs            string   `json:"max_ids,omitempty"`             // of a person, or none
	RealIDs           []string `json:"real_ids,omitempty"`            // ids that look like placeholders
	Groups            []string `json:"groups,omitempty"`              // PROPERTY=TYPE
	NoVisitorProfiles bool     `json:"no_visitor_profiles,omitempty"` // no persons of visitors who never logged in
	LookUpIP          bool     `json:"look_up_ip,omitempty"`          // PostHog looks up where addresses are today
	LeavePersons      bool     `json:"leave_persons,omitempty"`       // today's persons keep their properties
	KeepNulls         bool     `json:"keep_nulls,omitempty"`          // NULL, \N and the like are texts
	NoGoals           bool     `json:"no_goals,omitempty"`            // Matomo's goals are left out
	NoIntraday        bool     `json:"no_intraday,omitempty"`         // GA4's earlier files of a day are left out
	WholeKey          bool     `json:"whole_key,omitempty"`           // Mixpanel's uuids are made of four parts
	Fingerprints      bool     `json:"fingerprints,omitempty"`        // Snowplow's uuids are made with the fingerprint too
	NoID              string   `json:"no_id,omitempty"`               // the id of Mixpanel's events that name no person
	SkipNoID          bool     `json:"skip_no_id,omitempty"`          // they are left out
	NamedColumns      bool     `json:"named,omitempty"`               // Snowplow's files have a header

	Sessions      string `json:"sessions,omitempty"`       // the silence that ends one, such as 30m
	SessionsAfter string `json:"sessions_after,omitempty"` // the file of the sessions that go on
}

// A PlanKey is a choice or a limit by its name, which is that of hogimport's flag and of the key in its file. With it a
// program reads and writes plans in a form of its own.
type PlanKey struct {
	Name string
	To   any // *string, *bool or *[]string, in the plan
}

// Take sets the choice or the limit to that of another plan, by a key of the same name.
func (k PlanKey) Take(from PlanKey) {
	switch to := k.To.(type) {
	case *string:
		*to = *from.To.(*string)
	case *bool:
		*to = *from.To.(*bool)
	case *[]string:
		*to = *from.To.(*[]string)
	}
}

// Keys returns all choices. The first ones, up to until, change the events that a record becomes.
func (c *Choices) Keys() []PlanKey {
	return []PlanKey{
		{"format", &c.Format}, {"header", &c.Header}, {"map", &c.Map}, {"zone", &c.Zone}, {"group-type", &c.GroupType}, {"table", &c.Table},
		{"numbers", &c.Numbers}, {"device-prefix", &c.DevicePrefix}, {"set-policy", &c.SetPolicy}, {"group", &c.Groups},
		{"no-visitor-profiles", &c.NoVisitorProfiles}, {"look-up-ip", &c.LookUpIP}, {"leave-persons", &c.LeavePersons}, {"keep-nulls", &c.KeepNulls},
		{"no-goals", &c.NoGoals}, {"no-intraday", &c.NoIntraday}, {"whole-key", &c.WholeKey}, {"fingerprints", &c.Fingerprints},
		{"no-id", &c.NoID}, {"skip-no-id", &c.SkipNoID}, {"named-columns", &c.NamedColumns},
		{"rename", &c.Rename}, {"drop", &c.Drop}, {"rename-property", &c.RenameProperty},
		{"until", &c.Until}, {"sort", &c.Sort}, {"links", &c.Links}, {"sessions", &c.Sessions}, {"sessions-after", &c.SessionsAfter},
		{"shared-devices", &c.SharedDevices}, {"max-ids", &c.MaxIDs}, {"real-id", &c.RealIDs},
	}
}

// Differences returns the names of the choices in which two plans differ.
func (c *Choices) Differences(other *Choices) (names []string) {
	others := other.Keys()
	for i, key := range c.Keys() {
		if !key.equals(others[i]) {
			names = append(names, key.Name)
		}
	}
	return names
}

func (k PlanKey) equals(other PlanKey) bool {
	switch to := k.To.(type) {
	case *string:
		return *to == *other.To.(*string)
	case *bool:
		return *to == *other.To.(*bool)
	default:
		return slices.Equal(*to.(*[]string), *other.To.(*[]string))
	}
}
