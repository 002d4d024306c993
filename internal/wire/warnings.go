package wire

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/event"
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
var names = [...]event.Warning{
	event.WarningSuspectID, event.WarningGroupIdentify, event.WarningBackwards, event.WarningHeatmap, event.WarningStripHeatmaps, event.WarningAIEvent,
	event.WarningException, event.WarningFlagCalled, event.WarningSelfMerge, event.WarningGroupKeyNumber, event.WarningGroupTypes, event.WarningGroupUnchanged,
	event.WarningIDBlanks, event.WarningLongName, event.WarningUUIDTime, event.WarningSessionType, event.WarningSessionID, event.WarningOwnJobID,
	event.WarningUnset, event.WarningSetIgnored, event.WarningLongID, event.WarningLib, event.WarningBefore1980, event.WarningAlmostSpecial,
	event.WarningSessionVersion, event.WarningSessionTime, event.WarningGroupsDropped,
}

// WarningNames returns the names of the warnings, in the order of their bits.
func WarningNames() []event.Warning { return names[:] }

// All yields the names of the warnings in w.
func (w Warnings) All(yield func(event.Warning) bool) {
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
	if e.gate.rules.Protocol == event.ProtocolAuto && len(person) > MaxName {
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
var specialNames = sync.OnceValue(func() map[string]string {
	plain := map[string]string{"$alias": EventAlias}
	for _, name := range []string{
		EventIdentify, EventAlias, EventGroupIdentify, eventMerge, eventException, eventFlagCalled, "$set", "$pageview", "$pageleave", "$screen",
		"$autocapture", "$rageclick", "$web_vitals",
	} {
		plain[withoutMarks(name)] = name
	}
	return plain
})

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
		if special, isNear := specialNames()[withoutMarks(name)]; isNear && special != name {
			w |= nearSpecial
		}
	}
	if strings.HasPrefix(f.Name, prefixAI) {
		w |= aiEvent
	}
	s := e.seen
	hasSet := len(s.set)+len(s.setOnce) > 0 || f.Set != nil || f.SetOnce != nil
	if w&(aiEvent|exceptionEvent) != 0 && hasSet && e.gate.rules.PersonPolicy != event.PersonPolicyStrip {
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
	if len(s.lib) > 0 && e.gate.rules.Protocol == event.ProtocolAuto {
		w |= ownLib
	}
	if len(s.groups) > len("{}") && s.groups[0] == '{' {
		if string(s.processProfile) == "false" {
			w |= groupsDropped
		}
		w |= e.gate.groups(s.groups)
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

// groups returns the warnings about the members of $groups.
func (g *Gate) groups(object []byte) (w Warnings) {
	_ = jsonb.Object(object, func(key, value []byte) { // cannot fail: it was read
		if value[0] == '-' || '0' <= value[0] && value[0] <= '9' {
			w |= groupKeyNumber
		}
		if !g.groupTypes.fit(string(key)) {
			w |= manyGroupTypes
		}
	})
	return w
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
