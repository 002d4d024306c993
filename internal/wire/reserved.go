package wire

// Reserved is what an event's own properties say that matters to the gate, as raw JSON. A member is
// empty where the property is absent.
type Reserved struct {
	distinctID, lib, version, geoip, importJob, set, setOnce  []byte
	processProfile, cookieless, groupType, groupKey, groupSet []byte
	groups, alias, anonID                                     []byte

	facts facts // of those whose value need not be kept
	noted bool  // a value was; most events have none to note, and none to forget
	fault error // of the properties, where a source has read them
}

// facts are what is noted of properties in place of their values.
type facts uint16

const (
	hasHeatmapData facts = 1 << iota
	hasPreviousPath
	hasCurrentURL
	hasUnset
	hasImportLib
	badSessionType
	badSessionID
	isLifted // by capture v1, to the root of the event
)

// hasHeatmap reports whether the service makes heatmap rows of the event.
func (s *Reserved) hasHeatmap() bool {
	const path = hasPreviousPath | hasCurrentURL
	return s.facts&hasHeatmapData != 0 || s.facts&path == path
}

// note notes one top-level property of a map.
func (s *Reserved) note(key string, value []byte) { noteReserved(s, key, value) }

// noteRaw notes one top-level property of a raw object.
func (s *Reserved) noteRaw(key, value []byte) { noteReserved(s, key, value) }

// noteReserved notes a property if it is a special one.
func noteReserved[T string | []byte](s *Reserved, key T, value []byte) {
	if len(key) == 0 || key[0] != '$' && key[0] != 'd' && key[0] != 'a' { // the first letter of nearly all others
		return
	}
	if field := field(s, key); field != nil {
		*field = append((*field)[:0], value...)
		s.noted = true
		return
	}
	s.facts |= factOf(key, value)
}

// field is where a property's value is noted, or nil.
func field[T string | []byte](s *Reserved, key T) *[]byte {
	switch string(key) {
	case "distinct_id":
		return &s.distinctID
	case "alias":
		return &s.alias
	case "$anon_distinct_id":
		return &s.anonID
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
	case "$groups":
		return &s.groups
	case "$group_type":
		return &s.groupType
	case "$group_key":
		return &s.groupKey
	case "$group_set":
		return &s.groupSet
	}
	return nil
}

// factOf is what is noted of a property in place of its value.
func factOf[T string | []byte](key T, value []byte) facts {
	switch string(key) {
	case "$heatmap_data":
		return hasHeatmapData
	case "$prev_pageview_pathname":
		return hasPreviousPath
	case "$current_url":
		return hasCurrentURL
	case "$unset":
		return hasUnset
	case "$import_lib":
		return hasImportLib
	case "$session_id":
		return sessionFacts(value) | isLifted
	case "$window_id":
		return sessionFacts(value)&badSessionType | isLifted
	case "$product_tour_id", "$ignore_sent_at":
		return isLifted
	}
	return 0
}

// sessionFacts judges a session id. Null is none.
func sessionFacts(value []byte) facts {
	switch {
	case string(value) == "null":
		return 0
	case value[0] != '"':
		return badSessionType
	}
	if _, ok := parseUUID(value[1 : len(value)-1]); !ok {
		return badSessionID
	}
	return 0
}

// reset forgets the values and keeps their room.
func (s *Reserved) reset() {
	s.fault, s.facts = nil, 0
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
