// Package generic reads tables and JSON that no other package knows. A map names the meaning of
// their columns, or of the members of their objects:
//
//	format, err := generic.Format(&generic.Options{Map: []string{
//		"event=action", "person=user_id", "person=device_id", "time=when|unix", "uuid=id",
//	}})
//	receipt, err := client.Import(ctx, history.Files(format, "actions.csv"), options)
//
// Each entry of the map is TARGET=SOURCE. The targets are:
//
//	event, person, time   every event needs them
//	uuid                  an id of the event: as it is if it is a UUID, else a version 5 UUID of it and Options.Name
//	anonymous             another id of the person: see formats.Links
//	session               the source's own id of the session, as the property [SessionKey]: see formats.Sessions
//	$set.plan             the person property plan; also $set_once.plan
//	amount                a property; in quotes ("time") where it is called like another target
//	*                     all members of an object become properties
//	[]                    each element of a list becomes an event
//	drop                  the column is left out
//	skip                  the record is left out if a condition holds
//
// A source is a column, or a path such as properties.time; names with dots or bars are in quotes
// ("a.b"). Steps can follow, each after a bar:
//
//	time=at|unix                        seconds since 1970; also unixms, unixus, unixns (milli-, micro-, nanoseconds)
//	time=at|layout:02.01.2006 15:04     the time, in a layout of package time; it is the last step
//	time=at|zone:tz                     times without an offset are in the zone that the column tz names;
//	                                    |layout:… can follow
//	amount=sum|number                   a text that is a number as JSON writes it
//	amount=sum|number:1.234,5           a text that is a number, as 1234.5 is written: also 1234,5 or 1 234,5
//	id=number|text                      a number as a text of the same digits; true as "true"
//	person=session|prefix:session-      a text before the id of a person, where ids of two columns can be equal
//	paid=paid|bool                      true, t, yes, y, 1 or false, f, no, n, 0, in any case
//	cart=cart|json                      a text that is JSON
//	plan=data|json.user.plan            a member of the JSON in a text
//	event=name|table:page_view=$pageview,login=signed in,*=*
//	                                    other texts for some values
//	skip=type|is:test,demo              the condition: one of these texts
//	skip=type|not:live                  another text, or empty
//	skip=user|empty                     absent, null or ""; also filled
//	drop=note|empty                     the column is left out where it is empty; drop=*|empty: all such columns
//
// A source can also be const:TEXT, for the event, the person and properties.
//
// Of several sources for one target the first that is not empty counts, and a constant only where
// all others are empty. One column can be the source of several targets. Other columns stay
// properties of their own names, also if only a zone or a condition names them. The columns
// event, distinct_id, timestamp, uuid and anonymous_id need no entry.
//
// # JSON in a column
//
// The members that no entry names stay in the column, which then holds an object. A text that is
// not JSON, or JSON that is not an object, rejects the record.
//
// # Tables of values
//
// A table replaces values by texts. A value that the table lacks rejects the record, unless the
// table has an entry for all others: *=* keeps them, *=other replaces them, and *= makes them empty,
// so that the next source counts. *, also in a=*, stands for the value itself. Texts with an equals
// sign, a comma or a bar, and an asterisk that is meant, are in quotes. Another kind can follow the
// table, such as |table:low=1,high=2|number.
//
// # Lists
//
// With []=hits, each element of the list hits becomes an event. In the other entries, hits stands
// for one element: event=hits.type. Columns outside of the list are part of each event. Members of
// an element that no entry names stay in the property hits; *=hits makes them properties instead.
// A record without a list or with an empty list is left out, and counted as skipped. A bad element
// rejects the whole record, so that all of its events can be imported once it is corrected.
// A condition of skip on a member of the element leaves out this event alone. If uuid is a member of
// the element, it is the id of one event. If it is outside of the list, the first event has it, and
// the uuids of others are derived from it and their numbers. Without an id, uuids are derived from
// the record and the numbers: see [history.Files]. A record has at most 50,000 elements, and 64 MiB of properties in its events.
//
// # Values are read whole or refused
//
// The error names the column and the kind. A time without |unix or |layout is RFC 3339, also with a
// blank in place of the T, without seconds, or a date alone. A time without an offset is in the zone
// of |zone:, or else in Options.Zone, and refused without a zone. A column for |zone: has names of
// the time zone database, such as Europe/Berlin, or offsets, such as +02:00. A time that the clocks
// of the zone skip is refused. Of one that they show twice, the first counts. Fractions are read to
// the nanosecond. A number keeps all its digits, but PostHog may not: keep ids above 2^53 as |text.
// A mark between groups of three digits is read only if |number: shows it.
//
// A table must have the columns of the map, and one for the event, the person and the time; another
// file stops the import with a [ColumnsError]. A record without one of these three is refused by
// the import, which names the missing one.
package generic

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/formats/internal/record"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/internal/engine"
)

// Options map the columns. The zero value reads tables and JSON with the columns event, distinct_id, timestamp,
// uuid and anonymous_id.
type Options struct {
	Name   string         // of the format: default "generic"; uuids of ids are derived from it
	Layout history.Layout // default: decided by how a file begins
	Header []string       // the columns of tables without a header
	Map    []string       // of columns and members, TARGET=SOURCE each
	Zone   *time.Location // of times without an offset; nil: these are refused
	// Mapping is the version of the mapping, as in an import that an earlier release began: see formats.MappingVersion.
	// The default is the newest.
	Mapping int
}

// Format returns the format of the options; nil stands for the defaults. The error of a map is a [*MapError].
func Format(options *Options) (history.Format, error) {
	o, c, err := read(options)
	if err != nil {
		return history.Format{}, err
	}
	return history.Format{
		Name: o.Name, Options: o.text(), Layout: o.Layout, Columns: o.Header, CheckColumns: c.check, Convert: c.convert, ID: c.idOf,
		KeepNulls: record.KeepNulls(o.Mapping),
	}, nil
}

// read returns the options with their defaults, and the converter that they describe.
func read(options *Options) (Options, *converter, error) {
	o := record.Options(options)
	o.Name, o.Mapping = cmp.Or(o.Name, "generic"), record.Mapping(o.Mapping)
	if err := record.CheckMapping(o.Mapping); err != nil {
		return o, nil, fmt.Errorf("%s: options: %w", o.Name, err)
	}
	c := &converter{zone: o.Zone, space: record.Derived(namespace, o.Name), fields: map[string][]*use{}, props: map[string][]*use{}}
	for _, mapping := range o.Map {
		u, err := parse(mapping)
		if err != nil {
			return o, nil, err
		}
		if u.is(targetSession) { // a property, which earlier versions of the mapping called session
			u.isProperty = true
			if o.Mapping >= 4 {
				u.target = SessionKey
			}
		}
		if u.conversion == asLayout && o.Zone == nil && u.zone == nil && !hasOffset(u.layout) && !hasAbbreviation(u.layout) {
			return o, nil, mapError(mapping, strings.LastIndex(mapping, u.layout),
				"times of this layout have no offset: give Options.Zone, such as UTC")
		}
		if err := c.add(u); err != nil {
			return o, nil, err
		}
	}
	c.finish()
	return o, c, nil
}

// SessionKey is the property of the target session, of which formats.Sessions makes sessions.
const SessionKey = "source_session_id"

// namespace is that of the uuids that are made of ids.
var namespace = uuid.MustParse("3d7b9d0b-64f4-5f0c-9f0e-9a3d0f6f2f11")

// text names the options that change the events of a file.
func (o Options) text() string {
	zone := "none"
	if o.Zone != nil {
		zone = o.Zone.String()
	}
	parts := append(slices.Clone(o.Map), "zone "+zone)
	if len(o.Header) > 0 {
		parts = append(parts, fmt.Sprintf("header %q", o.Header))
	}
	text := strings.Join(parts, ", ")
	if record.KeepNulls(o.Mapping) { // there was no version then
		return text
	}
	return engine.WithMapping(text, o.Mapping)
}

// ColumnsError is the error of a table that does not fit the map.
type ColumnsError struct {
	Columns  []string // that the table has
	Absent   []string // entries of the map for which it has no column
	Unmapped []string // targets without a column: event, person, time
}

// Error names everything that is missing.
func (e *ColumnsError) Error() string {
	var missing []string
	if len(e.Absent) > 0 {
		missing = append(missing, "the table has no column for '"+strings.Join(e.Absent, "', '")+"'")
	}
	if len(e.Unmapped) > 0 {
		what := "column is the " + strings.Join(e.Unmapped, ", the ") + ": name it"
		if len(e.Unmapped) > 1 {
			what = "columns are the " + strings.Join(e.Unmapped, ", the ") + ": name them"
		}
		missing = append(missing, "nothing says which "+what+" in Options.Map")
	}
	what := "the table has " + list(e.Columns)
	if e.IsData() {
		what = "its first row looks like data: if the table has no header, name its columns in Options.Header"
	}
	return strings.Join(missing, "; ") + "; " + what
}

// IsData reports whether the columns look like the values of a row, as the first row of a table
// without a header does.
func (e *ColumnsError) IsData() bool {
	return slices.ContainsFunc(e.Columns, func(name string) bool {
		_, noNumber := strconv.ParseFloat(name, 64)
		_, _, noTime := parseTime(name, time.UTC)
		_, noUUID := uuid.Parse(name)
		return noNumber == nil || noTime == nil || noUUID == nil || strings.Contains(name, "@")
	})
}

// list names columns, the first of many.
func list(columns []string) string {
	const most, longest = 20, 40
	var shown []string
	for _, name := range columns[:min(len(columns), most)] {
		if runes := []rune(name); len(runes) > longest {
			name = string(runes[:longest]) + "…"
		}
		shown = append(shown, name)
	}
	if more := len(columns) - most; more > 0 {
		shown = append(shown, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(shown, ", ")
}
