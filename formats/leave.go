package formats

import (
	"encoding/json"
	"maps"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/internal/jsonb"
	"github.com/hogapi/hogapi/internal/wire"
)

const personProfile = "$process_person_profile"

// LeavePersons returns a source of the events of another source that leave the properties of today's persons as they
// are: each event has $process_person_profile: false, except events about persons or groups ($identify, $create_alias,
// $merge_dangerously, $groupidentify and $set). Use it for an import into a project that is in use. Without it, PostHog
// copies some properties of each event to its person, even without $set: $browser, $os, $current_url, $referrer, utm_…
// and others, so that old values replace the new ones.
//
// The events still belong to the persons of their distinct ids, and [LinksWith] joins ids as before. There are limits:
// a new person gets no profile until a later event makes one; the events have no person properties of their own, which
// matters in projects that filter by the properties at the time of the event; and they belong to no groups, so it is
// not for histories with groups.
//
// An event that says something about its profile already stays as it is. The events have the same uuids as before.
func LeavePersons(source history.Source) history.Source {
	return history.Map(source, func(ev hogapi.Event) ([]hogapi.Event, error) {
		switch ev.Name {
		case wire.EventIdentify, wire.EventAlias, wire.EventGroupIdentify, "$merge_dangerously", "$set":
		default:
			leave(&ev)
		}
		return []hogapi.Event{ev}, nil
	})
}

func leave(ev *hogapi.Event) {
	if ev.RawProperties == nil {
		if _, has := ev.Properties[personProfile]; !has {
			ev.Properties = maps.Clone(ev.Properties)
			if ev.Properties == nil {
				ev.Properties = map[string]any{}
			}
			ev.Properties[personProfile] = false
		}
		return
	}
	has, isEmpty := false, true
	err := jsonb.Object(ev.RawProperties, func(key, _ []byte) { has, isEmpty = has || string(key) == personProfile, false })
	if err != nil || has { // the gate refuses damaged ones
		return
	}
	raw := append(make(json.RawMessage, 0, len(ev.RawProperties)+len(personProfile)+len(`"":false,`)), `{"`+personProfile+`":false`...)
	if !isEmpty {
		raw = append(raw, ',')
	}
	at := 0
	for ev.RawProperties[at] != '{' { // blanks
		at++
	}
	ev.RawProperties = append(raw, ev.RawProperties[at+1:]...)
}
