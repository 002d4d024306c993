package wire

import (
	"strconv"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/jsonb"
)

// Reserved holds the event's own properties that matter to the gate, as raw JSON. Absent properties
// are empty.
type Reserved struct {
	distinctID, lib, version, geoip, importJob, set, setOnce  []byte
	processProfile, cookieless, groupType, groupKey, groupSet []byte
	groups, alias, anonID                                     []byte

	// lifts are values of properties that capture v1 may take at the root of an event, in order. They
	// are parts of the object that they were read from.
	lifts [][]byte

	sessionMS int64 // the time in $session_id, with hasSessionTime

	facts facts // properties that need no value
	noted bool  // some value was noted; without one, reset has nothing to do
	fault error // of the properties, if a source has read them
}

// facts are notes on properties that need no value.
type facts uint16

const (
	hasHeatmapData facts = 1 << iota
	hasPreviousPath
	hasCurrentURL
	hasUnset
	hasImportLib
	badSessionType
	badSessionID
	badSessionVersion
	hasSessionTime
)

// hasHeatmap reports whether the service makes heatmap rows from the event.
func (s *Reserved) hasHeatmap() bool {
	const path = hasPreviousPath | hasCurrentURL
	return s.facts&hasHeatmapData != 0 || s.facts&path == path
}

// note notes one top-level property of a map.
func (s *Reserved) note(key string, value []byte) { noteReserved(s, key, value) }

// noteRaw notes one top-level property of a raw object.
func (s *Reserved) noteRaw(key, value []byte) { noteReserved(s, key, value) }

// noteReserved notes a property if it is reserved.
func noteReserved[T string | []byte](s *Reserved, key T, value []byte) {
	if len(key) == 0 || key[0] != '$' && key[0] != 'd' && key[0] != 'a' { // rejects most other keys quickly
		return
	}
	switch string(key) {
	case "distinct_id":
		s.keep(&s.distinctID, value)
		s.lifts = append(s.lifts, value)
	case "alias":
		s.keep(&s.alias, value)
	case "$anon_distinct_id":
		s.keep(&s.anonID, value)
	case "$lib":
		s.keep(&s.lib, value)
		s.lifts = append(s.lifts, value)
	case "$lib_version":
		s.keep(&s.version, value)
		s.lifts = append(s.lifts, value)
	case "$geoip_disable":
		s.keep(&s.geoip, value)
	case "$import_job_id":
		s.keep(&s.importJob, value)
	case "$set":
		s.keep(&s.set, value)
	case "$set_once":
		s.keep(&s.setOnce, value)
	case "$process_person_profile":
		s.keep(&s.processProfile, value)
		s.lifts = append(s.lifts, value)
	case "$cookieless_mode":
		s.keep(&s.cookieless, value)
		s.lifts = append(s.lifts, value)
	case "$groups":
		s.keep(&s.groups, value)
	case "$group_type":
		s.keep(&s.groupType, value)
	case "$group_key":
		s.keep(&s.groupKey, value)
	case "$group_set":
		s.keep(&s.groupSet, value)
	case "$heatmap_data":
		s.facts |= hasHeatmapData
	case "$prev_pageview_pathname":
		s.facts |= hasPreviousPath
	case "$current_url":
		s.facts |= hasCurrentURL
	case "$unset":
		s.facts |= hasUnset
	case "$import_lib", "$import_lib_version":
		s.facts |= hasImportLib
	case "$session_id":
		s.noteSession(value)
		s.lifts = append(s.lifts, value)
	case "$window_id":
		if value[0] != '"' && string(value) != "null" {
			s.facts |= badSessionType
		}
		s.lifts = append(s.lifts, value)
	case "$product_tour_id", "$ignore_sent_at":
		s.lifts = append(s.lifts, value)
	}
}

func (s *Reserved) keep(field *[]byte, value []byte) {
	*field = append((*field)[:0], value...)
	s.noted = true
}

// noteSession judges a session id. Null counts as absent.
func (s *Reserved) noteSession(value []byte) {
	switch {
	case string(value) == "null":
		return
	case value[0] != '"':
		s.facts |= badSessionType
		return
	}
	switch id, ok := parseUUID(value[1 : len(value)-1]); {
	case !ok:
		s.facts |= badSessionID
	case id[6]>>4 != 7:
		s.facts |= badSessionVersion
	default:
		s.facts |= hasSessionTime
		s.sessionMS = v7Time(id)
	}
}

// reset clears the values and keeps their memory.
func (s *Reserved) reset() {
	s.fault, s.facts, s.lifts = nil, 0, s.lifts[:0]
	if !s.noted {
		return
	}
	s.noted = false
	for _, field := range []*[]byte{
		&s.distinctID, &s.lib, &s.version, &s.geoip, &s.importJob, &s.set, &s.setOnce, &s.processProfile, &s.cookieless,
		&s.groupType, &s.groupKey, &s.groupSet, &s.groups, &s.alias, &s.anonID,
	} {
		*field = (*field)[:0]
	}
}

const maxGroupKey = 400 // UTF-16 units

// checkReserved refuses values of reserved properties for which the service drops the event or the
// whole batch, or stores the event without its effect.
func (e *Encoder) checkReserved(f *Fields, person string) *event.Error {
	s, name := e.seen, f.Name
	switch {
	case len(s.processProfile) > 0 && !isBool(s.processProfile):
		return badReserved("$process_person_profile", "true or false")
	case string(s.processProfile) == "false" && isMerge(name):
		return badReserved("$process_person_profile", "no false on an event that changes persons: the service drops it")
	case len(s.cookieless) > 0 && string(s.cookieless) != "false" && !(string(s.cookieless) == "true" && e.gate.isLive(f.Timestamp)):
		return badReserved("$cookieless_mode", "no value or false: the service drops cookieless events that are some days old")
	case len(s.set) > 0 && s.set[0] != '{':
		return badReserved("$set", "an object")
	case len(s.setOnce) > 0 && s.setOnce[0] != '{':
		return badReserved("$set_once", "an object")
	case len(s.groups) > 0 && s.groups[0] != '{' && string(s.groups) != "null":
		return badReserved("$groups", "an object of group types and keys")
	case name == EventGroupIdentify:
		return e.checkGroup()
	case isMerge(name):
		return e.checkMerge(name, person)
	}
	return nil
}

func badReserved(field, want string) *event.Error {
	return &event.Error{Reason: event.ReasonBadSpecial, Field: "properties." + field, Want: want}
}

func (e *Encoder) checkGroup() *event.Error {
	s := e.seen
	n, err := strconv.ParseFloat(string(s.groupKey), 64)
	isNumber := err == nil && n != 0
	switch {
	case !isFilledText(s.groupType):
		return badReserved("$group_type", "a text")
	case !isNumber && !isFilledText(s.groupKey):
		return badReserved("$group_key", "a text of at most 400 characters")
	case len(s.groupKey) > maxGroupKey && textLength(s.groupKey) > maxGroupKey:
		return badReserved("$group_key", "at most 400 characters, counted in UTF-16: the service drops the event")
	case len(s.groupSet) > 0 && s.groupSet[0] != '{' && string(s.groupSet) != "null":
		return badReserved("$group_set", "an object")
	}
	if isNumber {
		e.warn |= groupKeyNumber
	}
	if string(s.processProfile) == "false" {
		e.warn |= groupUnchanged
	}
	return nil
}

func (e *Encoder) checkMerge(name, person string) *event.Error {
	s := e.seen
	for _, id := range []struct {
		key string
		raw []byte
	}{{"$anon_distinct_id", s.anonID}, {"alias", s.alias}} {
		if len(id.raw) > 0 && id.raw[0] != '"' && string(id.raw) != "null" {
			return badReserved(id.key, "a text: the service drops the event")
		}
	}
	field, raw := "alias", s.alias
	switch {
	case name == EventIdentify:
		field, raw = "$anon_distinct_id", s.anonID
		if len(raw) == 0 {
			return nil
		}
	case !isFilledText(raw):
		return badReserved("alias", "the other id, a text")
	case name == eventMerge && !e.gate.rules.AllowMergeDangerously:
		return &event.Error{Reason: event.ReasonDangerousMerge, Field: "event", Value: name,
			Want: "GateOptions.AllowMergeDangerously: it merges persons of today for good, also identified ones"}
	}
	other := "null" // the service makes this text of null
	if raw[0] == '"' {
		other, _ = jsonb.Unquote(raw) // cannot fail: it was read
	}
	if isPlaceholder(other) || isPlaceholder(person) {
		return &event.Error{Reason: event.ReasonBadMerge, Field: "properties." + field, Value: shown(other),
			Want: "two ids, neither a placeholder such as null, to merge with " + strconv.QuoteToGraphic(shown(person)) +
				": the service refuses the merge and stores an event without its effect"}
	}
	if refusal := e.gate.distinctID(other); refusal != nil { // the service would change it
		refusal.Field = "properties." + field
		return refusal
	}
	if other == person {
		e.warn |= selfMerge
	}
	return nil
}

func isBool(raw []byte) bool { return string(raw) == "true" || string(raw) == "false" }

func isFilledText(raw []byte) bool { return len(raw) > 2 && raw[0] == '"' }

// textLength counts the UTF-16 units of a raw string.
func textLength(raw []byte) int {
	text, _ := jsonb.Unquote(raw)
	return lengthUTF16(text)
}
