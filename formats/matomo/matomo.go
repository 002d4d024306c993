package matomo

import (
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/formats/internal/record"
	"github.com/hogapi/hogapi/history"
)

// Reasons why visits are skipped.
const (
	SkipNoID        = "no id" // neither userId nor visitorId, without Options.Personless
	SkipNoAction    = "no actions"
	SkipGoal        = "a goal" // see Options.NoGoals
	SkipListedTwice = "an action that is listed twice"
)

// Options control how visits become events. Nil stands for the defaults.
type Options struct {
	// Zone is the time zone of the site, in which Matomo writes the times of actions. By default, each visit tells
	// by its other times how far its actions are from UTC, and a visit of which they do not tell it is rejected.
	Zone *time.Location
	// NoGoals leaves the goals that were reached out. By default each is an event goal, with its goalName and revenue:
	// of a goal that was set off by hand or by a server, no other action tells.
	NoGoals bool
	// Personless keeps visits without userId and visitorId, which a token without the right to see visitors gets: each
	// visit is a person of its own, and its events have $process_person_profile false. By default they are skipped.
	Personless bool
	// LookUpIP sends events with an address and without a country with $geoip_disable: false, so that PostHog looks
	// up where the address is today. By default, an import turns this off.
	LookUpIP bool
	// Mapping is the version of the mapping, as in an import that an earlier release began: see formats.MappingVersion.
	// The default is the newest.
	Mapping int
}

// Format reads visits of Matomo's method Live.getLastVisitsDetails as JSON. A visit becomes an event for each action.
func Format(options *Options) history.Format {
	o := record.Options(options)
	o.Mapping = record.Mapping(o.Mapping)
	zone := ""
	if o.Zone != nil {
		zone = o.Zone.String()
	}
	text := record.OptionsText(", ", record.Flag("zone="+zone, zone != ""), record.Flag("no goals", o.NoGoals),
		record.Flag("personless", o.Personless), record.Flag("look up ip", o.LookUpIP))
	o.NoGoals = o.NoGoals || o.countsByPage()
	f := record.Format("matomo", o.Mapping, text, nil, func() *converter { return newConverter(o) })
	f.Layout = history.LayoutAny
	f.CheckColumns = func([]string) error {
		return errors.New("a table of Matomo has visits without their actions, or totals, and so no events: " +
			"export the visits as JSON with the method Live.getLastVisitsDetails, format=JSON and language=en")
	}
	return f
}

// countsByPage reports whether actions are told apart by their pages alone, and goals are left out: mapping 3.
func (o Options) countsByPage() bool { return o.Mapping < 4 }

// space is the namespace of the ids of actions.
var space = uuid.MustParse("92b0c6d7-4e1f-5a83-b5d2-60f7e3a8c149")
