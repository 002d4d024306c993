package hogapi

import (
	"bytes"
	"encoding/binary"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/jsonb"
)

// Names and values that the service treats in a way of its own.
const (
	eventException  = "$exception"
	eventFlagCalled = "$feature_flag_called"
	prefixAI        = "$ai_"
	cookielessID    = "$posthog_cookieless"
	previousPath    = "$prev_pageview_pathname"
	renamedPath     = "import_prev_pageview_pathname" // see HeatmapStrip

	maxGroupKey   = 400                // UTF-16 units
	maxGroupTypes = 5                  // of a project
	maxUUIDDrift  = 3 * 24 * time.Hour // of a version 7 uuid from its event
)

// checkSpecial refuses values of special properties for which the service drops the event or the whole
// batch, or stores the event without its effect.
func (e *encoder) checkSpecial(name, person string) *EventError {
	s := e.seen
	switch {
	case len(s.processProfile) > 0 && !isBool(s.processProfile):
		return badSpecial("$process_person_profile", "true or false")
	case string(s.processProfile) == "false" && isMerge(name):
		return badSpecial("$process_person_profile", "no false on an event that changes persons: the service drops it")
	case len(s.cookieless) > 0 && string(s.cookieless) != "false":
		return badSpecial("$cookieless_mode", "none, or false: the service drops cookieless events that are some days old")
	case len(s.set) > 0 && s.set[0] != '{':
		return badSpecial("$set", "an object")
	case len(s.setOnce) > 0 && s.setOnce[0] != '{':
		return badSpecial("$set_once", "an object")
	case len(s.groups) > 0 && s.groups[0] != '{' && string(s.groups) != "null":
		return badSpecial("$groups", "an object of group types and keys")
	case name == eventGroupIdentify:
		return e.checkGroup()
	case isMerge(name):
		return e.checkMerge(name, person)
	}
	return nil
}

func badSpecial(field, want string) *EventError {
	return &EventError{Reason: ReasonBadSpecial, Field: "properties." + field, Want: want}
}

// checkGroup judges an event that sets the properties of a group.
func (e *encoder) checkGroup() *EventError {
	s := e.seen
	isNumber := isNonZero(s.groupKey)
	switch {
	case !isFilledText(s.groupType):
		return badSpecial("$group_type", "a text")
	case !isNumber && !isFilledText(s.groupKey):
		return badSpecial("$group_key", "a text of at most 400 characters")
	case len(s.groupKey) > maxGroupKey && textLength(s.groupKey) > maxGroupKey:
		return badSpecial("$group_key", "at most 400 characters, counted in UTF-16: the service drops the event")
	case len(s.groupSet) > 0 && s.groupSet[0] != '{' && string(s.groupSet) != "null":
		return badSpecial("$group_set", "an object")
	}
	if isNumber {
		e.warn |= groupKeyNumber
	}
	if string(s.processProfile) == "false" {
		e.warn |= groupUnchanged
	}
	return nil
}

// checkMerge judges an event that merges persons.
func (e *encoder) checkMerge(name, person string) *EventError {
	s := e.seen
	for _, id := range []struct {
		key string
		raw []byte
	}{{"$anon_distinct_id", s.anonID}, {"alias", s.alias}} {
		if len(id.raw) > 0 && id.raw[0] != '"' && string(id.raw) != "null" {
			return badSpecial(id.key, "a text: the service drops the event")
		}
	}
	field, raw := "alias", s.alias
	switch {
	case name == eventIdentify:
		field, raw = "$anon_distinct_id", s.anonID
		if len(raw) == 0 {
			return nil
		}
	case !isFilledText(raw):
		return badSpecial("alias", "the other id, a text")
	case name == eventMerge && !e.gate.options.AllowMergeDangerously:
		return &EventError{Reason: ReasonDangerousMerge, Field: "event", Value: name,
			Want: "GateOptions.AllowMergeDangerously: it merges persons of today for good, also identified ones"}
	}
	other := "null" // which the service makes of null
	if raw[0] == '"' {
		other, _ = jsonb.Unquote(raw) // valid: it was read
	}
	if isPlaceholder(other) || isPlaceholder(person) {
		return &EventError{Reason: ReasonBadMerge, Field: "properties." + field, Value: shown(other),
			Want: "two ids, neither a placeholder such as null, to merge with " + strconv.QuoteToGraphic(shown(person)) +
				": the service refuses the merge and stores an event without its effect"}
	}
	if other == person {
		e.warn |= selfMerge
	}
	return nil
}

// warnings are those about an event that is not refused.
func (e *encoder) warnings(ev *Event, person string) (w warningSet) {
	if name := ev.Name; name[0] == '$' || len(name) > maxNameLength {
		w |= e.nameWarnings(ev)
	}
	if isSuspectID(person) {
		w |= suspectID
	}
	if strings.TrimSpace(person) != person {
		w |= idBlanks
	}
	if ev.UUID[6]>>4 == 7 && uuidDrift(ev.UUID, ev.Timestamp) > maxUUIDDrift {
		w |= uuidTime
	}
	if e.gate.protocol == protocolUnknown && len(person) > maxNameLength {
		w |= longID
	}
	if e.seen.noted || e.seen.facts&^hasCurrentURL != 0 {
		w |= e.propertyWarnings(ev.Name)
	}
	return w
}

// nameWarnings are those that an event's name leads to.
func (e *encoder) nameWarnings(ev *Event) (w warningSet) {
	switch name := ev.Name; {
	case len(name) > maxNameLength:
		w |= longName
	case name == eventGroupIdentified:
		w |= groupIdentify
	case name == eventFlagCalled:
		w |= flagCalled
	case name == eventException:
		w |= exceptionEvent
	}
	if strings.HasPrefix(ev.Name, prefixAI) {
		w |= aiEvent
	}
	s := e.seen
	hasSet := len(s.set)+len(s.setOnce) > 0 || ev.Set != nil || ev.SetOnce != nil
	if w&(aiEvent|exceptionEvent) != 0 && hasSet && e.gate.options.SetPolicy != SetStrip {
		w |= setIgnored
	}
	return w
}

// propertyWarnings are those that the special properties lead to.
func (e *encoder) propertyWarnings(name string) (w warningSet) {
	s := e.seen
	for _, of := range factWarnings {
		if s.facts&of.fact != 0 {
			w |= of.warning
		}
	}
	if s.hasHeatmap() && e.gate.options.Heatmaps == HeatmapStrip {
		w |= heatmapStripped
	} else if s.hasHeatmap() {
		w |= heatmap
	}
	if len(s.importJob) > 0 && len(e.stamps.importJob) > 0 && !bytes.HasSuffix(e.stamps.importJob, append([]byte{':'}, s.importJob...)) {
		w |= ownJobID
	}
	if len(s.lib) > 0 && e.gate.protocol == protocolUnknown {
		w |= ownLib
	}
	if len(s.groups) > 0 && s.groups[0] == '{' {
		e.groupWarn = 0
		_ = jsonb.Object(s.groups, e.visitGroup) // valid: it was read
		w |= e.groupWarn
	}
	if name == eventGroupIdentify {
		if group, _ := jsonb.Unquote(s.groupType); !e.gate.groupTypes.fit(group) {
			w |= manyGroupTypes
		}
	}
	return w
}

var factWarnings = [...]struct {
	fact    facts
	warning warningSet
}{{hasUnset, unset}, {badSessionType, sessionType}, {badSessionID, sessionID}}

// noteGroup judges one member of $groups.
func (e *encoder) noteGroup(key, value []byte) {
	if value[0] == '-' || '0' <= value[0] && value[0] <= '9' {
		e.groupWarn |= groupKeyNumber
	}
	if !e.gate.groupTypes.fit(string(key)) {
		e.groupWarn |= manyGroupTypes
	}
}

// groupTypes are the first group types of a run, as many as a project has room for.
type groupTypes struct {
	mu    sync.Mutex
	known []string
}

// fit reports whether a group type is one of the first.
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

// uuidDrift is how far the time in a version 7 uuid is from the event's.
func uuidDrift(id uuid.UUID, at time.Time) time.Duration {
	ms := int64(binary.BigEndian.Uint64(id[:8]) >> 16)
	return at.Sub(time.UnixMilli(ms)).Abs()
}

// isMerge reports whether events of this name merge persons, or can.
func isMerge(name string) bool {
	return name == eventIdentify || name == eventAlias || name == eventMerge
}

func isBool(raw []byte) bool { return string(raw) == "true" || string(raw) == "false" }

func isFilledText(raw []byte) bool { return len(raw) > 2 && raw[0] == '"' }

// isNonZero reports whether a raw value is a number other than 0.
func isNonZero(raw []byte) bool {
	n, err := strconv.ParseFloat(string(raw), 64)
	return err == nil && n != 0
}

// textLength counts the characters of a raw text in UTF-16.
func textLength(raw []byte) int {
	text, _ := jsonb.Unquote(raw)
	return lengthUTF16(text)
}

// checkImportID checks that an id can be sent as it is, with every event.
func checkImportID(field, id string) error {
	if !isVisibleASCII(id) || len(id) > maxNameLength {
		return &InputError{Op: OpImport, Field: field, Value: id, Want: "at most 200 visible ASCII characters without blanks"}
	}
	if looksTyped.MatchString(id) {
		return &InputError{Op: OpImport, Field: field, Value: id,
			Want: "an id that the service takes for a text when it counts events by it, not for a number, a date or a truth value, such as hogapi-" + id}
	}
	return nil
}

// looksTyped finds values of $import_job_id for which the service guesses another type than text. A
// query for them would then find nothing.
var looksTyped = regexp.MustCompile(`(?i)^(true|false|[+-]?[0-9.]+(e[+-]?[0-9]+)?|([0-9]{4}[/-][0-9]{2}[/-][0-9]{2}|[0-9]{2}[/-][0-9]{2}[/-][0-9]{4})(t[0-9:.z+-]+)?)$`)

// suspectIDs are what capture v1 takes for no person, by their length, with blanks around them or not and in any case.
var suspectIDs = func() (byLength [64][]string) {
	for _, id := range []string{
		"0", "anonymous", "anonymous-user", "backend", "distinct_id", "distinctid", "email", "false", "guest", "id", "nan", "none",
		"not_authenticated", "null", "system", "true", "undefined", "user", "[object object]",
		"00000000-0000-0000-0000-000000000000",
	} {
		byLength[len(id)] = append(byLength[len(id)], id)
	}
	return byLength
}()

// isSuspectID reports whether an id is what broken tracking code sends in place of a person's.
func isSuspectID(id string) bool {
	if id[0] == '"' || id[0] == '\'' {
		return isPlaceholder(id)
	}
	id = strings.TrimSpace(id)
	return len(id) < len(suspectIDs) && slices.ContainsFunc(suspectIDs[len(id)], func(suspect string) bool { return strings.EqualFold(id, suspect) })
}

// isPlaceholder reports whether the service refuses to merge a person of this id. It compares some ids in
// any case and some exactly, also in quotes, and trims none.
func isPlaceholder(id string) bool {
	if strings.TrimSpace(id) == "" {
		return true
	}
	if last := len(id) - 1; last > 0 && (id[0] == '"' || id[0] == '\'') && id[0] == id[last] {
		id = id[1:last]
	}
	switch strings.ToLower(id) {
	case "anonymous", "guest", "distinctid", "distinct_id", "id", "not_authenticated", "email", "undefined", "true", "false":
		return true
	}
	switch id {
	case "[object Object]", "NaN", "None", "none", "null", "0":
		return true
	}
	return false
}
