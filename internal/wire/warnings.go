package wire

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/jsonb"
)

// Warnings is a set of warnings about one event. It is small because each event in flight has one.
type Warnings uint32

// The warnings. This package does not set Backwards: the batch does. OwnJobID marks an event that a
// query for its import misses.
const (
	suspectID Warnings = 1 << iota
	groupIdentify
	Backwards
	heatmap
	heatmapStripped
	aiEvent
	exceptionEvent
	flagCalled
	selfMerge
	groupKeyNumber
	manyGroupTypes
	groupUnchanged
	idBlanks
	longName
	uuidTime
	sessionType
	sessionID
	OwnJobID
	unset
	setIgnored
	longID
	ownLib
	before1980
	nearSpecial
	sessionVersion
	sessionTime
	groupsDropped
)

// names are in the order of the bits.
var names = [...]string{
	"suspect_distinct_id", "group_identify_name", "time_runs_backwards", "heatmap_data", "heatmap_stripped", "ai_event",
	"exception_event", "flag_called_event", "self_merge", "group_key_number", "group_types", "group_unchanged",
	"distinct_id_blanks", "name_over_200_bytes", "uuid_time", "session_id_type", "session_id_not_uuid",
	"own_import_job_id",
	"unset", "set_ignored", "v1_distinct_id_bytes", "v1_lib", "before_1980", "almost_special_name",
	"session_id_not_v7", "session_id_time", "groups_dropped",
}

// WarningNames returns the names of the warnings, in the order of their bits.
func WarningNames() []string { return names[:] }

// All yields the names of the warnings in w.
func (w Warnings) All(yield func(name string) bool) {
	for i, name := range names {
		if w&(1<<i) != 0 && !yield(name) {
			return
		}
	}
}

// warnings returns the warnings for an event that is not refused.
func (e *Encoder) warnings(f *Fields, person string) (w Warnings) {
	if name := f.Name; name[0] == '$' || name[0] <= ' ' || len(name) > MaxName {
		w |= e.nameWarnings(f)
	}
	if isSuspectID(person) {
		w |= suspectID
	}
	if strings.TrimSpace(person) != person {
		w |= idBlanks
	}
	if f.UUID[6]>>4 == 7 && uuidDrift(f.UUID, f.Timestamp) > maxUUIDDrift {
		w |= uuidTime
	}
	if e.gate.rules.Protocol == ProtocolUnknown && len(person) > MaxName {
		w |= longID
	}
	if f.Timestamp.Before(unlikelyBefore) {
		w |= before1980
	}
	if e.seen.noted || e.seen.facts&^hasCurrentURL != 0 {
		w |= e.propertyWarnings(f)
	}
	return w
}

// specialNames are the names that the service or its web analytics act on, without marks.
var specialNames = func() map[string]string {
	plain := map[string]string{"$alias": EventAlias}
	for _, name := range []string{
		EventIdentify, EventAlias, EventGroupIdentify, eventMerge, eventException, eventFlagCalled, "$set", "$pageview", "$pageleave", "$screen",
		"$autocapture", "$rageclick", "$web_vitals",
	} {
		plain[withoutMarks(name)] = name
	}
	return plain
}()

// withoutMarks returns a name in lower case, without blanks and the marks between words.
func withoutMarks(name string) string {
	return strings.ToLower(strings.Map(func(r rune) rune {
		if r <= ' ' || r == '_' || r == '-' || r == '.' {
			return -1
		}
		return r
	}, name))
}

func (e *Encoder) nameWarnings(f *Fields) (w Warnings) {
	switch name := f.Name; {
	case len(name) > MaxName:
		w |= longName
	case name == eventGroupIdentified:
		w |= groupIdentify
	case name == eventFlagCalled:
		w |= flagCalled
	case name == eventException:
		w |= exceptionEvent
	case len(name) < 40: // longer than each of them
		if special, isNear := specialNames[withoutMarks(name)]; isNear && special != name {
			w |= nearSpecial
		}
	}
	if strings.HasPrefix(f.Name, prefixAI) {
		w |= aiEvent
	}
	s := e.seen
	hasSet := len(s.set)+len(s.setOnce) > 0 || f.Set != nil || f.SetOnce != nil
	if w&(aiEvent|exceptionEvent) != 0 && hasSet && e.gate.rules.PersonPolicy != PersonPolicyStrip {
		w |= setIgnored
	}
	return w
}

func (e *Encoder) propertyWarnings(f *Fields) (w Warnings) {
	s := e.seen
	if s.facts&hasSessionTime != 0 && f.Timestamp.Sub(time.UnixMilli(s.sessionMS)).Abs() > maxSessionDrift {
		w |= sessionTime
	}
	for _, of := range factWarnings {
		if s.facts&of.fact != 0 {
			w |= of.warning
		}
	}
	if s.hasHeatmap() && e.gate.rules.StripHeatmaps {
		w |= heatmapStripped
	} else if s.hasHeatmap() {
		w |= heatmap
	}
	ours := e.stamps.importJob
	if len(s.importJob) > 0 && len(ours) > 0 && !bytes.HasSuffix(ours, append([]byte{':'}, s.importJob...)) {
		w |= OwnJobID
	}
	if len(s.lib) > 0 && e.gate.rules.Protocol == ProtocolUnknown {
		w |= ownLib
	}
	if len(s.groups) > len("{}") && s.groups[0] == '{' {
		if string(s.processProfile) == "false" {
			w |= groupsDropped
		}
		e.groupWarn = 0
		_ = jsonb.Object(s.groups, e.visitGroup) // cannot fail: it was read
		w |= e.groupWarn
	}
	if f.Name == EventGroupIdentify {
		if group, _ := jsonb.Unquote(s.groupType); !e.gate.groupTypes.fit(group) {
			w |= manyGroupTypes
		}
	}
	return w
}

var factWarnings = [...]struct {
	fact    facts
	warning Warnings
}{{hasUnset, unset}, {badSessionType, sessionType}, {badSessionID, sessionID}, {badSessionVersion, sessionVersion}}

// noteGroup checks one member of $groups.
func (e *Encoder) noteGroup(key, value []byte) {
	if value[0] == '-' || '0' <= value[0] && value[0] <= '9' {
		e.groupWarn |= groupKeyNumber
	}
	if !e.gate.groupTypes.fit(string(key)) {
		e.groupWarn |= manyGroupTypes
	}
}

const (
	maxGroupTypes = 5                  // of a project
	maxUUIDDrift  = 3 * 24 * time.Hour // between the time in a version 7 uuid and the event's time

	maxSessionDrift = 24 * time.Hour // between the time in $session_id and the event's time: a session is not longer
)

// groupTypes are the first group types of a run, as many as a project has room for.
type groupTypes struct {
	mu    sync.Mutex
	known []string
}

func (g *groupTypes) fit(name string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if slices.Contains(g.known, name) {
		return true
	}
	if len(g.known) == maxGroupTypes {
		return false
	}
	g.known = append(g.known, strings.Clone(name))
	return true
}

// uuidDrift returns the distance between the time in a version 7 uuid and the event's time.
func uuidDrift(id uuid.UUID, at time.Time) time.Duration {
	return at.Sub(time.UnixMilli(v7Time(id))).Abs()
}

// v7Time returns the milliseconds in a version 7 uuid.
func v7Time(id uuid.UUID) int64 { return int64(binary.BigEndian.Uint64(id[:8]) >> 16) }

// Advice explains a warning and says how to react. It is empty for an unknown warning.
func Advice(warning string) string { return advice[warning] }

// advice covers the warnings of this package and the warnings about whole batches, files and
// imports.
var advice = map[string]string{
	"suspect_distinct_id":  "a placeholder and not an id: all such users count as one person; map it to a real id, or leave the events out",
	"group_identify_name":  "the service stores $group_identify as an ordinary event; only $groupidentify changes a group",
	"batch_spans_days":     "slow for the service; sort the source by time",
	"time_runs_backwards":  "give the oldest events first: the service applies person properties as they arrive",
	"same_content":         "if one file is a copy of another, its events are imported twice",
	"no_records":           "check the file: a dump that failed may leave an empty one",
	"all_skipped":          "every record was left out: check that the files are of the format that reads them, and the mapping",
	"key_not_checked":      "check in the app that events arrive",
	"protocol_unknown":     "events go to /batch/; set Delivery.Protocol if the server has capture v1",
	"heatmap_data":         "the service adds heatmap rows at every send; set Gate.NoHeatmaps to send the events without",
	"heatmap_stripped":     "sent without heatmap data, as Gate.NoHeatmaps says",
	"ai_event":             "the service may drop AI events after accepting them, and stores their long texts elsewhere; counts may miss them",
	"exception_event":      "exceptions go to error tracking, which has a quota of its own and can alert people; counts may miss them",
	"flag_called_event":    "the service removes most properties of these events, and drops repeated ones; counts miss them",
	"self_merge":           "a merge of an id with itself has no effect",
	"group_key_number":     "send group keys as text, so that all events name the same group",
	"group_types":          "a project has room for five group types; the service ignores others",
	"group_unchanged":      "the group stays as it is; remove $process_person_profile",
	"distinct_id_blanks":   "/batch/ keeps blanks around a distinct id and capture v1 removes them: one user can become two persons",
	"name_over_200_bytes":  "/batch/ stores names over 200 bytes and does not list them, capture v1 drops the event; shorten the name",
	"uuid_time":            "the uuid is of version 7 and was made at another time: looking the event up by its uuid misses it; use another version",
	"uuid_conflict":        "the service never merges two events that differ in name, person or day, and in its newer events table none that differ in time; capture v1 refuses them in one batch",
	"uuid_reuse":           "the service merges events of one uuid, name, person and time, so one of the two contents is lost: give each event a uuid of its own",
	"session_id_type":      "/batch/ keeps $session_id and $window_id as they are, capture v1 takes texts only",
	"session_id_not_uuid":  "the service makes no sessions of ids that are not UUIDs",
	"session_id_not_v7":    "the service makes sessions only of UUIDs of version 7: give each session one, with the time of its start",
	"session_id_time":      "the time in the $session_id is more than 24 h from the event's: the service takes the session's start from it",
	"groups_dropped":       "the service drops $groups of an event with $process_person_profile false, so it is not counted for the group; remove one of the two",
	"almost_special_name":  "an ordinary event with almost the name of one that the service acts on, such as $Identify for $identify: correct the name",
	"own_import_job_id":    "the event keeps its own $import_job_id: queries for this import do not find it",
	"unset":                "an old removal changes the persons of today",
	"set_ignored":          "the service ignores person properties of AI events and exceptions",
	"v1_distinct_id_bytes": "the distinct id has over 200 bytes: /batch/ takes 200 characters, capture v1 drops the event",
	"before_1980":          "the time is before 1980: seconds read as milliseconds, or a clock that was never set",
	"v1_lib":               "capture v1 overwrites $lib; it is kept as $import_lib there",

	// Of capture v1's answers. The second stands for a warning without details.
	"person_processing_disabled": "stored without a person's profile: the distinct id is a placeholder, or over the service's rate of events per id",
	"warning":                    "the service stored the event and warned without a reason; look at the event in the app",
}
