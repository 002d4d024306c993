package amplitude

import (
	"bytes"
	"cmp"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats/internal/record"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/internal/jsonb"
)

type group struct {
	kind, key  string
	properties []byte // an object; nil without
	isMember   bool   // the event belongs to it
}

type groupList struct {
	all           []group
	isOdd         bool // groups has something else than one key a type
	isOddProperty bool // group_properties has something else than objects
}

// readGroups reads groups, which are lists by type, and group_properties, which are objects by type
// and key.
func (s *converter) readGroups() (list groupList, err error) {
	raw := s.row.Get("groups")
	if groups, isObject := object(raw); isObject {
		if err := jsonb.Object(groups, func(kind, keys []byte) { list.addKeys(string(kind), keys) }); err != nil {
			return list, fmt.Errorf("groups: %w", err)
		}
	} else {
		list.isOdd = !record.IsEmpty(raw)
	}
	raw = s.row.Get("group_properties")
	properties, isObject := object(raw)
	if !isObject {
		list.isOddProperty = !record.IsEmpty(raw)
		return list, nil
	}
	var inner error
	err = jsonb.Object(properties, func(kind, byKey []byte) {
		if !record.IsObject(byKey) {
			list.isOddProperty = list.isOddProperty || !record.IsEmpty(byKey)
			return
		}
		of := string(kind)
		inner = cmp.Or(inner, jsonb.Object(byKey, func(key, values []byte) { list.addProperties(of, string(key), values) }))
	})
	if err = cmp.Or(err, inner); err != nil {
		return list, fmt.Errorf("group_properties: %w", err)
	}
	return list, nil
}

// addKeys adds the groups of a type: a list of keys, or one.
func (l *groupList) addKeys(kind string, raw []byte) {
	if len(raw) == 0 || raw[0] != '[' {
		l.addKey(kind, raw)
		return
	}
	for n, rest := 0, raw; ; n++ {
		key, after := element(rest)
		if key == nil {
			return
		}
		if l.isOdd = l.isOdd || n > 0; !l.addKey(kind, key) {
			return // the rest belongs to another value
		}
		rest = after
	}
}

// element is the first element of the rest of an array of texts and numbers, which was read before.
// It is nil at the end, and where the element is something else.
func element(rest []byte) (first, after []byte) {
	rest = bytes.TrimLeft(rest, "[, \t\r\n")
	if len(rest) == 0 {
		return nil, nil
	}
	end := 1
	switch rest[0] {
	case ']':
		return nil, nil
	case '"':
		for end < len(rest) && rest[end] != '"' {
			if rest[end] == '\\' {
				end++
			}
			end++
		}
		end++
	default:
		end = bytes.IndexAny(rest, ",] \t\r\n")
	}
	if end <= 0 || end > len(rest) {
		return nil, nil
	}
	return rest[:end], rest[end:]
}

// addKey adds a group, unless its key is neither a text nor a number.
func (l *groupList) addKey(kind string, raw []byte) (isKey bool) {
	key, err := record.ID("", raw)
	if err != nil || key == "" || kind == "" {
		l.isOdd = l.isOdd || !record.IsEmpty(raw)
		return err == nil
	}
	l.all = append(l.all, group{kind: kind, key: key, isMember: true})
	return true
}

func (l *groupList) addProperties(kind, key string, values []byte) {
	if record.IsEmpty(values) {
		return
	}
	if !record.IsObject(values) || kind == "" || key == "" {
		l.isOddProperty = true
		return
	}
	for i := range l.all {
		if g := &l.all[i]; g.kind == kind && g.key == key {
			g.properties = values
			return
		}
	}
	l.all = append(l.all, group{kind: kind, key: key, properties: values})
}

// addGroups sends the groups of an event, one a type, and makes the events that set the properties
// of groups.
func (s *converter) addGroups(list groupList, at time.Time) (generated []hogapi.Event) {
	var first record.Object
	hasProperties := false
	for _, g := range list.all {
		if g.isMember {
			first.AddText(g.kind, g.key)
		}
		hasProperties = hasProperties || g.properties != nil
		if g.properties == nil || !s.options.Groups {
			continue
		}
		ev := g.event(at)
		compact, err := jsonb.Compact(nil, g.properties)
		if err != nil {
			compact = g.properties
		}
		ev.UUID = derived(groupIdentify, g.kind, g.key, string(compact), at.UTC().Format(time.RFC3339Nano))
		generated = append(generated, ev)
	}
	if !first.IsEmpty() {
		s.props.Add("$groups", first.Append(nil))
	}
	if list.isOdd {
		s.extra("groups", s.row.Get("groups"))
	}
	if hasProperties && !s.options.Groups || list.isOddProperty {
		s.extra("group_properties", s.row.Get("group_properties"))
	}
	return generated
}

// groupRow makes the events of a row of Amplitude's own $groupidentify.
func (s *converter) groupRow(list groupList, at time.Time) (made []hogapi.Event, err error) {
	id := s.ID(true)
	for i, g := range list.all {
		ev := g.event(at)
		if ev.UUID = id; i > 0 && id != uuid.Nil {
			ev.UUID = derived("group of row", id.String(), g.kind, g.key)
		}
		made = append(made, ev)
	}
	if len(made) == 0 {
		return nil, history.Skip(SkipNoGroup)
	}
	return made, nil
}

// event sets the properties of a group.
func (g group) event(at time.Time) hogapi.Event {
	var object record.Object
	object.AddText("$group_type", g.kind)
	object.AddText("$group_key", g.key)
	properties := g.properties
	if properties == nil {
		properties = []byte("{}")
	}
	object.Add("$group_set", properties)
	object.Add("historical_migration", []byte("true"))
	object.Add("analytics_source", []byte(`"amplitude"`))
	ev := hogapi.GroupIdentify(g.kind, g.key, at, nil) // for the distinct id that such an event has everywhere
	ev.Properties, ev.RawProperties = nil, object.Append(nil)
	return ev
}
