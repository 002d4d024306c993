package heap

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/internal/record"
	"github.com/hogapi/hogapi/history"
)

// Reasons why rows are skipped.
const (
	SkipNoID       = "no id"       // no user_id
	SkipNoIdentity = "no identity" // a user of nobody known and without properties
)

// SessionKey is the property with the id of a session, for formats.SessionOptions.Key.
const SessionKey = "heap_session_id"

// Options control how rows become events. Nil stands for the defaults.
type Options struct {
	// Event is the name of the event of a table, such as "Sign Up - Click Link". Heap has a table for each event, and
	// the table's name is that of the event without blanks and signs, so that no row has it. Use a format for each
	// table. By default, rows of pageviews are $pageview, custom events have their own name, and others are rejected.
	Event string
	// PersonProperties says how the columns of users are sent.
	PersonProperties formats.PersonProperties
	// LookUpIP sends events with an address and without a country with $geoip_disable: false, so that PostHog looks
	// up where the address is today. By default, an import turns this off.
	LookUpIP bool
	// Mapping is the version of the mapping, as in an import that an earlier release began: see formats.MappingVersion.
	// The default is the newest.
	Mapping int
}

// Format reads rows of the tables of Heap Connect: pageviews, the tables of single events, all_events, users and
// user_migrations.
func Format(options *Options) history.Format {
	o := record.Options(options)
	o.Mapping = record.Mapping(o.Mapping)
	o.PersonProperties = cmp.Or(o.PersonProperties, formats.PersonSetOnce)
	text := record.OptionsText(", ", record.Flag("event="+strconv.QuoteToASCII(o.Event), o.Event != ""),
		record.PersonText(o.PersonProperties), record.Flag("look up ip", o.LookUpIP))
	f := record.Format("heap", o.Mapping, text, o.PersonProperties.Check(), func() *converter {
		c := &converter{options: o, row: record.NewRows(table, prefix)}
		c.row.Out.Policy = o.PersonProperties
		return c
	})
	f.Layout, f.CheckColumns = history.LayoutAny, checkColumns
	return f
}

// space is the namespace of the ids of rows.
var space = uuid.MustParse("a84e15f3-6d72-5c90-8e3b-29f1b7d60c54")

// checkColumns refuses tables that have no events.
func checkColumns(columns []string) error {
	has := func(name string) bool {
		return slices.ContainsFunc(columns, func(column string) bool { return strings.EqualFold(column, name) })
	}
	switch {
	case has("event_id") && has("user_id") && has("time"), has("from_user_id") && has("to_user_id"), has("user_id") && has("joindate"):
		return nil
	case has("session_id"):
		return errors.New("the table sessions of Heap has no events: leave it out, since each event has its session_id")
	}
	return errors.New("this is not a table of Heap Connect with events, which has columns event_id, user_id and time; " +
		"nor users or user_migrations")
}
