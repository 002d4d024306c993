package formats

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/internal/jsonb"
	"github.com/hogapi/hogapi/ops"
)

// EditOptions say how [Edit] and [EditFormat] change the events of any source. The names are whole names, in the
// spelling of PostHog's event. The ids of persons stay as they are, also if they are e-mail addresses. All changes apply to the event as it was: {"a": "b", "b": "c"} makes b of a, and c of b.
//
// A property is one of the event, of its person ($set and $set_once) and of its group ($group_set): it is renamed or
// dropped in all of them.
type EditOptions struct {
	// RenameEvents has new names of events by their old names. Neither can be a name on which PostHog acts: $identify,
	// $create_alias, $merge_dangerously or $groupidentify.
	RenameEvents map[string]string
	// DropProperties has the names of properties that are left out, such as "email". Without the property $ip, PostHog
	// stores the address of the machine that imports, unless the project discards addresses.
	DropProperties []string
	// RenameProperties has new names of properties by their old names. If an event has two properties that would get
	// one name, and their values differ, it is a reject: neither is lost.
	RenameProperties map[string]string
}

// Edit returns a source that changes the events of another one: it renames events, and drops or renames properties.
// The options are part of the name of the source, so an import resumes with the same options only. Files may be added
// after the others as before. Events keep their uuids and positions. Everything that is not edited stays as it is, in
// RawProperties byte for byte.
//
// Names that decide how PostHog stores an event cannot be dropped, renamed or given to a property, since persons,
// groups or the import would change: distinct_id, $set, $set_once, $unset, $groups, names that begin with $group_,
// $anon_distinct_id, $process_person_profile, $cookieless_mode, $geoip_disable, $import_job_id and $ignore_sent_at.
// No property can get the name alias, and the alias of a $create_alias event stays. The error for such options is a
// [*hogapi.InputError].
//
// A reject has the record as it was, also in a [history.RejectFile]. To import it, edit the source of the rejects by
// the same options.
func Edit(source history.Source, options *EditOptions) (history.Source, error) {
	e, err := newEditor(options)
	if err != nil || e.settings == "" {
		return source, err
	}
	return history.MapAs(e.settings, source, func(ev hogapi.Event) ([]hogapi.Event, error) {
		err := e.edit(&ev)
		return []hogapi.Event{ev}, err
	}), nil
}

// EditFormat returns a format of which the events are edited as [Edit] does. The options become part of the format's
// Options.
func EditFormat(format history.Format, options *EditOptions) (history.Format, error) {
	e, err := newEditor(options)
	if err != nil || e.settings == "" || format.Convert == nil {
		return format, err
	}
	if format.Options != "" {
		format.Options += "; "
	}
	format.Options += e.settings
	convert := format.Convert
	format.Convert = func(record []byte) ([]hogapi.Event, error) {
		events, err := convert(record)
		for i := range events {
			if err == nil {
				err = e.edit(&events[i])
			}
		}
		if err != nil {
			return nil, err
		}
		return events, nil
	}
	return format, nil
}

type editor struct {
	events, properties map[string]string
	drops              map[string]bool
	settings           string // empty: nothing is edited
}

func newEditor(options *EditOptions) (*editor, error) {
	e := &editor{drops: map[string]bool{}}
	if options == nil {
		return e, nil
	}
	e.events, e.properties = maps.Clone(options.RenameEvents), maps.Clone(options.RenameProperties)
	for _, name := range options.DropProperties {
		e.drops[name] = true
	}
	if err := e.check(); err != nil {
		return nil, err
	}
	var parts []string
	renamed := func(what string, names map[string]string) {
		for _, from := range slices.Sorted(maps.Keys(names)) {
			parts = append(parts, fmt.Sprintf("%s %s=%s", what, strconv.Quote(from), strconv.Quote(names[from])))
		}
	}
	renamed("rename", e.events)
	for _, name := range slices.Sorted(maps.Keys(e.drops)) {
		parts = append(parts, "drop "+strconv.Quote(name))
	}
	renamed("rename-property", e.properties)
	e.settings = strings.Join(parts, ", ")
	return e, nil
}

// Names on which PostHog acts.
var (
	mergeEvents = []string{"$create_alias", "$merge_dangerously"}
	actsOnEvent = append([]string{"$identify", "$groupidentify"}, mergeEvents...)
	acts        = []string{
		"distinct_id", "$set", "$set_once", "$unset", "$groups", "$anon_distinct_id", "$process_person_profile", "$cookieless_mode",
		"$geoip_disable", "$import_job_id", "$ignore_sent_at",
	}
)

const (
	aliasProperty = "alias"
	groupPrefix   = "$group_"
)

// personProperties are the properties that hold properties of the person or the group.
var personProperties = []string{"$set", "$set_once", "$group_set"}

func isActing(property string) bool {
	return slices.Contains(acts, property) || strings.HasPrefix(property, groupPrefix)
}

func (e *editor) check() error {
	for _, from := range slices.Sorted(maps.Keys(e.events)) {
		for _, name := range []string{from, e.events[from]} {
			if err := checkName("RenameEvents", name, slices.Contains(actsOnEvent, name)); err != nil {
				return err
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(e.drops)) {
		if err := checkName("DropProperties", name, isActing(name)); err != nil {
			return err
		}
	}
	const field = "RenameProperties"
	for _, from := range slices.Sorted(maps.Keys(e.properties)) {
		to := e.properties[from]
		if err := checkName(field, from, isActing(from)); err != nil {
			return err
		}
		if err := checkName(field, to, isActing(to) || to == aliasProperty); err != nil {
			return err
		}
		for _, name := range []string{from, to} {
			if e.drops[name] {
				return refusedEdit(field, name, "a property that is not dropped too")
			}
		}
	}
	return nil
}

func checkName(field, name string, isActing bool) error {
	switch {
	case strings.TrimSpace(name) == "" || !utf8.ValidString(name):
		return refusedEdit(field, name, "a name in UTF-8 that is not empty")
	case isActing:
		return refusedEdit(field, name, "a name on which PostHog does not act: persons, groups or the import would change")
	}
	return nil
}

func refusedEdit(field, value, want string) error {
	return &hogapi.InputError{Op: ops.Import, Field: "EditOptions." + field, Value: value, Want: want}
}

func (e *editor) edit(ev *hogapi.Event) error {
	at := place{isEvent: true, isMerge: slices.Contains(mergeEvents, ev.Name)}
	if to, ok := e.events[ev.Name]; ok {
		ev.Name = to
	}
	if len(e.drops)+len(e.properties) == 0 {
		return nil
	}
	var err error
	if ev.RawProperties, err = e.raw(ev.RawProperties, at); err != nil {
		return err
	}
	if ev.Properties, err = e.values(ev.Properties, at); err != nil {
		return err
	}
	if ev.Set, err = e.values(ev.Set, place{name: "$set"}); err != nil {
		return err
	}
	ev.SetOnce, err = e.values(ev.SetOnce, place{name: "$set_once"})
	return err
}

// place is an object with properties.
type place struct {
	name    string // of a property of the event; empty for the event
	isEvent bool
	isMerge bool // the event merges persons
}

// isKept reports whether a property stays as it is.
func (p place) isKept(name string) bool { return p.isMerge && name == aliasProperty }

// isPersons reports whether a property holds properties of the person or the group.
func (p place) isPersons(name string) bool {
	return p.isEvent && slices.Contains(personProperties, name)
}

// renamed returns the new name of a property, and whether it is renamed.
func (e *editor) renamed(name string, at place) (string, bool) {
	to, ok := e.properties[name]
	if !ok || at.isKept(name) {
		return name, false
	}
	return to, true
}

func (e *editor) isDropped(name string, at place) bool { return e.drops[name] && !at.isKept(name) }

// touches reports whether a property is edited.
func (e *editor) touches(name string, at place) bool {
	_, isRenamed := e.renamed(name, at)
	return isRenamed || e.isDropped(name, at)
}

// raw returns properties as JSON with the changes, or the same bytes without any. Anything but an object with each name
// once stays as it is: the import refuses it.
func (e *editor) raw(object []byte, at place) ([]byte, error) {
	if object == nil {
		return nil, nil
	}
	isTouched := false
	err := jsonb.Object(object, func(key, value []byte) {
		isTouched = isTouched || e.touches(string(key), at) || at.isPersons(string(key)) && e.touchesWithin(value)
	})
	if err != nil || !isTouched {
		return object, nil //nolint:nilerr // the import refuses it
	}
	return e.rewritten(object, at)
}

// touchesWithin reports whether a member of a valid value is edited.
func (e *editor) touchesWithin(value []byte) (yes bool) {
	if value[0] == '{' {
		jsonb.Members(value[1:len(value)-1], func(key, _, _ []byte) { yes = yes || e.touches(string(key), place{}) })
	}
	return yes
}

// property is a member of an object after the changes.
type property struct {
	name, was     string
	value, member []byte // the member with its name as it was
	isRenamed     bool
}

func (e *editor) rewritten(object []byte, at place) (out []byte, err error) {
	begin, end := bytes.IndexByte(object, '{'), bytes.LastIndexByte(object, '}')
	var all []property
	jsonb.Members(object[begin+1:end], func(key, value, member []byte) {
		p := property{was: string(key), value: value, member: member}
		if e.isDropped(p.was, at) {
			return
		}
		p.name, p.isRenamed = e.renamed(p.was, at)
		if at.isPersons(p.was) && e.touchesWithin(value) {
			var inner []byte
			var failed error
			if inner, failed = e.rewritten(value, place{name: p.was}); failed != nil && err == nil {
				err = failed
			}
			p.member = append(slices.Clone(member[:len(member)-len(value)]), inner...)
		}
		all = append(all, p)
	})
	if err != nil {
		return nil, err
	}
	if all, err = once(all, at, func(a, b property) bool { return string(a.value) == string(b.value) }); err != nil {
		return nil, err
	}
	out = append(make([]byte, 0, len(object)), '{')
	for i, p := range all {
		if i > 0 {
			out = append(out, ',')
		}
		if !p.isRenamed {
			out = append(out, p.member...)
			continue
		}
		out, _ = jsonb.AppendString(out, p.name) // cannot fail: the names were checked
		out = append(append(out, ':'), p.value...)
	}
	return append(out, '}'), nil
}

// once leaves out renamed properties that are there already with an equal value. It refuses other values: one of them
// would be lost.
func once(all []property, at place, isEqual func(a, b property) bool) ([]property, error) {
	first := make(map[string]property, len(all))
	for _, p := range all {
		if _, known := first[p.name]; !known && !p.isRenamed {
			first[p.name] = p
		}
	}
	var kept []property
	for _, p := range all {
		other, known := first[p.name]
		switch {
		case !p.isRenamed:
		case !known:
			first[p.name] = p
		case isEqual(p, other):
			continue
		default:
			where := ""
			if at.name != "" {
				where = "in " + at.name + ", "
			}
			return nil, fmt.Errorf("%sthe properties %s and %s would both be called %s, with different values: rename one of them to another name, or drop it",
				where, other.was, p.was, p.name)
		}
		kept = append(kept, p)
	}
	return kept, nil
}

// values returns properties with the changes, or the same map without any.
func (e *editor) values(m map[string]any, at place) (map[string]any, error) {
	out := make(map[string]any, len(m))
	isTouched := false
	var all []property
	for _, name := range slices.Sorted(maps.Keys(m)) {
		isTouched = isTouched || e.touches(name, at)
		if e.isDropped(name, at) {
			continue
		}
		p := property{was: name}
		p.name, p.isRenamed = e.renamed(name, at)
		all = append(all, p)
		if !at.isPersons(name) {
			continue
		}
		inner, isInnerTouched, err := e.within(m[name], name)
		if err != nil {
			return nil, err
		}
		if isInnerTouched {
			out[name], isTouched = inner, true
		}
	}
	if !isTouched {
		return m, nil
	}
	all, err := once(all, at, func(a, b property) bool { return reflect.DeepEqual(m[a.was], m[b.was]) })
	for _, p := range all {
		if _, isThere := out[p.name]; !isThere {
			out[p.name] = m[p.was]
		}
	}
	return out, err
}

// within edits the properties of a person or a group in a map, of any type that is JSON.
func (e *editor) within(value any, name string) (edited any, isTouched bool, err error) {
	if m, ok := value.(map[string]any); ok {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(m)), func(key string) bool { return e.touches(key, place{}) }) {
			return value, false, nil
		}
		edited, err = e.values(m, place{name: name})
		return edited, true, err
	}
	text, err := json.Marshal(value)
	if err != nil || !e.touchesWithin(text) {
		return value, false, nil //nolint:nilerr // the import refuses it
	}
	text, err = e.rewritten(text, place{name: name})
	return json.RawMessage(text), true, err
}
