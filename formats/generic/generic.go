// Package generic reads tables and JSON whose columns are named by a map: for exports of which no other
// package knows anything, and for tables of one's own.
//
//	format := generic.Format(&generic.Options{
//		Columns: map[string]string{"action": generic.Event, "user": generic.DistinctID, "when": generic.Timestamp, "id": generic.UUID},
//	})
//	receipt, err := client.Import(ctx, hogapi.FileSource(format, "actions.csv"), options)
//
// A column that is not in the map becomes a property of its own name, with its value as it is:
//
//	column mapped to     | becomes
//	---------------------|------------------------------------------------------------------------
//	Event                | the event's name; without it Options.EventName
//	DistinctID           | the person; a number is taken digit for digit
//	AnonymousID          | another id of the person: see formats.Links
//	Timestamp            | the time, read as Options.TimeLayout and Options.Zone say
//	UUID                 | the uuid: as it is if it is one, else a version 5 of it and Options.Name
//	"$set.plan"          | the person property plan
//	"$set_once.plan"     | the person property plan, where it is not yet set
//	any other name       | a property of that name
//	Drop                 | nothing
//	(not in the map)     | a property of the column's name
//
// Of several columns for the name, the person or the other id, the last one that is not empty counts.
// A table must have each column of the map that is not mapped to Drop, and one for the name, the person or
// the time; another file stops the import. Values of a table are texts; those of the columns in Options.Numbers become numbers. A record without
// a name, a person or a time is refused by the import, which names what is missing.
package generic

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/internal/jsonb"
)

// What a column can be mapped to, besides the names of properties.
const (
	Event       = "event"
	DistinctID  = "distinct_id"
	AnonymousID = "anonymous_id"
	Timestamp   = "timestamp"
	UUID        = "uuid"
	Drop        = "-"

	set     = "$set."
	setOnce = "$set_once."
)

// Values of Options.TimeLayout besides the layouts of package time.
const (
	UnixSeconds      = "unix"    // since 1970, with or without a fraction
	UnixMilliseconds = "unix ms" // since 1970
)

// Options say what the columns are. The zero value reads tables and JSON whose columns are called as
// the constants of this package.
type Options struct {
	Name       string            // of the format: default "generic"; uuids of ids are derived from it
	Layout     hogapi.Layout     // default: decided by how a file begins
	Header     []string          // the columns of a table without a header
	Columns    map[string]string // what a column is mapped to
	EventName  string            // of all events, where no column has it
	TimeLayout string            // default time.RFC3339
	Zone       *time.Location    // of times without an offset: default UTC
	Numbers    []string          // columns whose texts are numbers
}

// Format is the format of the columns. Nil options are the defaults.
func Format(options *Options) hogapi.Format {
	var o Options
	if options != nil {
		o = *options
	}
	if o.Name == "" {
		o.Name = "generic"
	}
	if o.TimeLayout == "" {
		o.TimeLayout = time.RFC3339
	}
	if o.Zone == nil {
		o.Zone = time.UTC
	}
	c := converter{Options: o, space: uuid.NewSHA1(namespace, []byte(o.Name))}
	return hogapi.Format{Name: o.Name, Options: o.text(), Layout: o.Layout, Columns: o.Header, CheckColumns: c.check, Convert: c.convert, ID: c.id}
}

// namespace is that of the uuids that are made of ids.
var namespace = uuid.MustParse("3d7b9d0b-64f4-5f0c-9f0e-9a3d0f6f2f11")

// text is what makes other events of the same file.
func (o Options) text() string {
	var parts []string
	for column, target := range o.Columns {
		parts = append(parts, column+"="+target)
	}
	slices.Sort(parts)
	if o.EventName != "" {
		parts = append(parts, "event name "+o.EventName)
	}
	parts = append(parts, "time "+o.TimeLayout+" "+o.Zone.String())
	if len(o.Numbers) > 0 {
		parts = append(parts, "numbers "+strings.Join(o.Numbers, " "))
	}
	return strings.Join(parts, ", ")
}

type converter struct {
	Options

	space uuid.UUID // of uuids made of ids
}

// target is what a column is mapped to.
func (c *converter) target(column string) string {
	if target, ok := c.Columns[column]; ok {
		return target
	}
	return column
}

// check refuses the columns of a table that is another one.
func (c *converter) check(columns []string) error {
	var missing []string
	for column, target := range c.Columns {
		if target != Drop && !slices.Contains(columns, column) {
			missing = append(missing, column)
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		return fmt.Errorf("the table has no column %s, which Options.Columns maps: this is another file, or the column has another name", strings.Join(missing, ", "))
	}
	isOfEvents := func(column string) bool {
		return slices.Contains([]string{Event, DistinctID, Timestamp}, c.target(column))
	}
	if !slices.ContainsFunc(columns, isOfEvents) {
		return fmt.Errorf("the table has no column %s, %s or %s: map those that it has with Options.Columns", Event, DistinctID, Timestamp)
	}
	return nil
}

func (c *converter) convert(record []byte) ([]hogapi.Event, error) {
	ev := hogapi.Event{Name: c.EventName, UUID: c.id(record)}
	own := append(make([]byte, 0, len(record)+len(record)/4), '{')
	var persons, once []byte
	var errs []error
	err := jsonb.Object(record, func(key, value []byte) {
		column := string(key)
		var err error
		switch target := c.target(column); {
		case target == Drop:
		case target == Event:
			err = putText(&ev.Name, value)
		case target == DistinctID:
			err = putText(&ev.DistinctID, value)
		case target == AnonymousID:
			err = putText(&ev.AnonymousID, value)
		case target == Timestamp:
			ev.Timestamp, err = c.time(value)
		case target == UUID:
		case strings.HasPrefix(target, set):
			persons, err = c.member(persons, target[len(set):], column, value)
		case strings.HasPrefix(target, setOnce):
			once, err = c.member(once, target[len(setOnce):], column, value)
		default:
			own, err = c.member(own, target, column, value)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("column %s: %w", column, err))
		}
	})
	if err = errors.Join(err, errors.Join(errs...)); err != nil {
		return nil, err
	}
	for _, part := range []struct {
		name    string
		members []byte
	}{{"$set", persons}, {"$set_once", once}} {
		if part.members != nil {
			own = append(append(append(own, `"`+part.name+`":{`...), part.members[:len(part.members)-1]...), '}', ',')
		}
	}
	if n := len(own) - 1; own[n] == ',' {
		own = own[:n]
	}
	ev.RawProperties = append(own, '}')
	return []hogapi.Event{ev}, nil
}

// member appends a member with a comma.
func (c *converter) member(dst []byte, name, column string, value []byte) ([]byte, error) {
	dst, err := jsonb.AppendString(dst, name)
	if err != nil {
		return dst, err
	}
	dst = append(dst, ':')
	if value[0] == '"' && slices.Contains(c.Numbers, column) {
		number, err := text(value)
		switch {
		case err == nil && number == "":
			value = []byte("null")
		case err != nil || !isNumber(number):
			return dst, fmt.Errorf("want a number, not %s", shown(value))
		default:
			value = []byte(number)
		}
	}
	return append(append(dst, value...), ','), nil
}

// time reads a time.
func (c *converter) time(value []byte) (time.Time, error) {
	s, err := text(value)
	if err != nil || s == "" {
		return time.Time{}, err
	}
	switch c.TimeLayout {
	case UnixSeconds:
		return unix(s, 9)
	case UnixMilliseconds:
		return unix(s, 6)
	}
	at, err := time.ParseInLocation(c.TimeLayout, s, c.Zone)
	if err != nil {
		return at, fmt.Errorf("want a time such as %q, not %s", c.TimeLayout, shown(value))
	}
	return at.UTC(), nil
}

// unix reads a number of units since 1970, of which one has that many digits of nanoseconds.
func unix(s string, digits int) (time.Time, error) {
	whole, fraction, _ := strings.Cut(s, ".")
	fraction += strings.Repeat("0", max(0, digits-len(fraction)))
	n, err := strconv.ParseInt(whole+fraction[:digits], 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("want a number since 1970, not %q", s[:min(len(s), 40)])
	}
	return time.Unix(0, n).UTC(), nil
}

// id is the uuid of a record that has an id.
func (c *converter) id(record []byte) (id uuid.UUID) {
	_ = jsonb.Object(record, func(key, value []byte) {
		if c.target(string(key)) != UUID {
			return
		}
		s, err := text(value)
		if err != nil || s == "" {
			return
		}
		if id, err = uuid.Parse(s); err != nil || len(s) != 36 {
			id = uuid.NewSHA1(c.space, []byte(s))
		}
	})
	return id
}

// text is a text, or a number as its digits; null is the empty text.
func text(value []byte) (string, error) {
	switch c := value[0]; {
	case c == '"':
		return jsonb.Unquote(value)
	case c == 'n':
		return "", nil
	case c == '-' || '0' <= c && c <= '9':
		return string(value), nil
	}
	return "", fmt.Errorf("want a text or a number, not %s", shown(value))
}

// putText sets a field, unless the value is empty.
func putText(field *string, value []byte) error {
	s, err := text(value)
	if s != "" {
		*field = s
	}
	return err
}

func isNumber(s string) bool {
	return json.Valid([]byte(s)) && (s[0] == '-' || '0' <= s[0] && s[0] <= '9')
}

// shown is the beginning of a value, for an error.
func shown(value []byte) string {
	const most = 40
	if len(value) > most {
		return strings.ToValidUTF8(string(value[:most]), "") + "…"
	}
	return string(value)
}
