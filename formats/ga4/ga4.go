package ga4

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/internal/record"
	"github.com/hogapi/hogapi/history"
)

// Reasons why rows are skipped.
const (
	SkipNoID = "no id"        // neither user_id nor user_pseudo_id, without Options.Personless
	SkipName = "skipped name" // one of Options.Skip
)

// Options control how rows become events. Nil stands for the defaults.
type Options struct {
	// Personless keeps the events of visitors without consent, who have no id: each event gets an id of its own,
	// derived from its row, and $process_person_profile false. By default these events are skipped.
	Personless bool
	// Skip are the names of GA4's events to leave out. Some events that Google makes itself say little in PostHog:
	// session_start, first_visit, user_engagement.
	Skip []string
	// PersonProperties says how user properties are sent.
	PersonProperties formats.PersonProperties
	// NoVisitorProfiles sends $process_person_profile false with the events that have no user_id, and no person
	// properties: these visitors get no person profile. By default each visitor gets one.
	NoVisitorProfiles bool
	// Mapping is the version of the mapping, as in an import that an earlier release began: see formats.MappingVersion.
	// The default is the newest.
	Mapping int
}

// Format reads rows of the tables events_… of GA4's export to BigQuery, as JSON objects in any of
// their forms.
func Format(options *Options) history.Format {
	o := record.Options(options)
	o.Mapping = record.Mapping(o.Mapping)
	o.Skip = slices.Clone(o.Skip)
	o.PersonProperties = cmp.Or(o.PersonProperties, formats.PersonSetOnce)
	return record.Format("ga4", o.Mapping, o.text(), o.PersonProperties.Check(), func() *converter { return newConverter(o) })
}

// text names the options that differ from the defaults.
func (o Options) text() string {
	parts := []string{record.Flag("personless", o.Personless), record.PersonText(o.PersonProperties), record.Flag("no visitor profiles", o.NoVisitorProfiles)}
	skip := slices.Clone(o.Skip)
	slices.Sort(skip)
	for _, name := range slices.Compact(skip) {
		parts = append(parts, "skip="+strconv.QuoteToASCII(name))
	}
	return record.OptionsText(",", parts...)
}

// space is the namespace of the ids of rows.
var space = uuid.MustParse("3f7e2c9a-51b8-5d04-8a6c-0e94b7d2f613")
