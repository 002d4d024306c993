package hogapi

import (
	"encoding/json"
	"unicode/utf8"
)

// special is what an event's own properties say that matters to the gate, as raw JSON; empty where absent.
type special struct {
	distinctID, lib, version, geoip, importJob, set, setOnce         []byte
	processProfile, cookieless, groupType, groupKey, groupSet, alias []byte

	noted bool  // something was; most events have nothing to note, and nothing to forget
	fault error // of the properties, where a source has read them
}

// note notes one top-level property of a map.
func (s *special) note(key string, value []byte) { keep(s, field(s, key), value) }

// noteRaw notes one top-level property of a raw object.
func (s *special) noteRaw(key, value []byte) { keep(s, field(s, key), value) }

// keep copies a value to the field where it is noted, if it is.
func keep(s *special, field *[]byte, value []byte) {
	if field != nil {
		*field = append((*field)[:0], value...)
		s.noted = true
	}
}

// field is where a property's value is noted, or nil for an ordinary one.
func field[T string | []byte](s *special, key T) *[]byte {
	if len(key) == 0 || key[0] != '$' && key[0] != 'd' && key[0] != 'a' { // the first letter of nearly all others
		return nil
	}
	switch string(key) {
	case "distinct_id":
		return &s.distinctID
	case "alias":
		return &s.alias
	case "$lib":
		return &s.lib
	case "$lib_version":
		return &s.version
	case "$geoip_disable":
		return &s.geoip
	case "$import_job_id":
		return &s.importJob
	case "$set":
		return &s.set
	case "$set_once":
		return &s.setOnce
	case "$process_person_profile":
		return &s.processProfile
	case "$cookieless_mode":
		return &s.cookieless
	case "$group_type":
		return &s.groupType
	case "$group_key":
		return &s.groupKey
	case "$group_set":
		return &s.groupSet
	}
	return nil
}

// reset forgets the values and keeps their room.
func (s *special) reset() {
	s.fault = nil
	if !s.noted {
		return
	}
	s.noted = false
	for _, field := range []*[]byte{
		&s.distinctID, &s.lib, &s.version, &s.geoip, &s.importJob, &s.set, &s.setOnce,
		&s.processProfile, &s.cookieless, &s.groupType, &s.groupKey, &s.groupSet, &s.alias,
	} {
		*field = (*field)[:0]
	}
}

// check refuses values of special properties for which the service drops the event, or the whole batch.
func (s *special) check(name string) *EventError {
	bad := func(field, want string) *EventError {
		return &EventError{Reason: ReasonBadSpecial, Field: "properties." + field, Want: want}
	}
	switch {
	case len(s.processProfile) > 0 && !isBool(s.processProfile):
		return bad("$process_person_profile", "true or false")
	case string(s.processProfile) == "false" && isIdentityEvent(name) && name != "$set":
		return bad("$process_person_profile", "no false on an event that changes persons or groups: the service drops it")
	case len(s.cookieless) > 0 && string(s.cookieless) != "false":
		return bad("$cookieless_mode", "none, or false: the service drops cookieless events that are some days old")
	case len(s.set) > 0 && s.set[0] != '{':
		return bad("$set", "an object")
	case len(s.setOnce) > 0 && s.setOnce[0] != '{':
		return bad("$set_once", "an object")
	case name == eventGroupIdentify && !isFilledText(s.groupType):
		return bad("$group_type", "a text")
	case name == eventGroupIdentify && (!isFilledText(s.groupKey) || textLength(s.groupKey) > 400):
		return bad("$group_key", "a text of at most 400 characters")
	case name == eventGroupIdentify && len(s.groupSet) > 0 && s.groupSet[0] != '{' && string(s.groupSet) != "null":
		return bad("$group_set", "an object")
	case (name == eventAlias || name == eventMerge) && !isFilledText(s.alias):
		return bad("alias", "the other id, a text")
	}
	return nil
}

func isBool(raw []byte) bool { return string(raw) == "true" || string(raw) == "false" }

// textLength counts the characters of a text; of what is no text it is 0.
func textLength(raw []byte) int {
	var s string
	_ = json.Unmarshal(raw, &s)
	return utf8.RuneCountInString(s)
}

func isFilledText(raw []byte) bool { return len(raw) > 2 && raw[0] == '"' }
