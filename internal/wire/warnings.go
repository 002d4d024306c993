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

// The warnings. This package does not set three of them: the batch sets Backwards, and the memory
// of uuids sets UUIDConflict and UUIDReuse. OwnJobID marks an event that a query for its import
// misses.
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
	UUIDConflict
	UUIDReuse
)

// names are in the order of the bits.
var names = [...]string{
	"suspect_distinct_id", "group_identify_name", "time_runs_backwards", "heatmap_data", "heatmap_stripped", "ai_event",
	"exception_event", "flag_called_event", "self_merge", "group_key_number", "group_types", "group_unchanged",
	"distinct_id_blanks", "name_over_200_bytes", "uuid_time", "session_id_type", "session_id_not_uuid",
	"own_import_job_id",
	"unset", "set_ignored", "v1_distinct_id_bytes", "v1_lib", "before_1980", "uuid_conflict", "uuid_reuse",
}

// WarningNames returns the names of all warnings, in the order of their bits.
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
	if name := f.Name; name[0] == '$' || len(name) > MaxName {
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
		w |= e.propertyWarnings(f.Name)
	}
	return w
}

// nameWarnings returns the warnings for an event's name.
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

// propertyWarnings returns the warnings for the reserved properties.
func (e *Encoder) propertyWarnings(name string) (w Warnings) {
	s := e.seen
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
	if len(s.groups) > 0 && s.groups[0] == '{' {
		e.groupWarn = 0
		_ = jsonb.Object(s.groups, e.visitGroup) // cannot fail: it was read
		w |= e.groupWarn
	}
	if name == EventGroupIdentify {
		if group, _ := jsonb.Unquote(s.groupType); !e.gate.groupTypes.fit(group) {
			w |= manyGroupTypes
		}
	}
	return w
}

var factWarnings = [...]struct {
	fact    facts
	warning Warnings
}{{hasUnset, unset}, {badSessionType, sessionType}, {badSessionID, sessionID}}

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
	ms := int64(binary.BigEndian.Uint64(id[:8]) >> 16)
	return at.Sub(time.UnixMilli(ms)).Abs()
}
