package wire

// Reserved holds the event's own properties that matter to the gate, as raw JSON. Absent properties
// are empty.
type Reserved struct {
	distinctID, lib, version, geoip, importJob, set, setOnce  []byte
	processProfile, cookieless, groupType, groupKey, groupSet []byte
	groups, alias, anonID                                     []byte

	// lifts are values of properties that capture v1 may take at the root of an event, in order. They
	// are parts of the object that they were read from.
	lifts [][]byte

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
		s.facts |= sessionFacts(value)
		s.lifts = append(s.lifts, value)
	case "$window_id":
		s.facts |= sessionFacts(value) & badSessionType
		s.lifts = append(s.lifts, value)
	case "$product_tour_id", "$ignore_sent_at":
		s.lifts = append(s.lifts, value)
	}
}

func (s *Reserved) keep(field *[]byte, value []byte) {
	*field = append((*field)[:0], value...)
	s.noted = true
}

// sessionFacts judges a session id. Null counts as absent.
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
