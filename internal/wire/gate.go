package wire

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/mask"
)

// Limits of an event.
const (
	MaxName       = 200     // characters of a name or a distinct id
	MaxEventBytes = 900_000 // counted as the service does
	eventEnvelope = 1 << 10 // added by the service around an event
	defaultMinAge = 48 * time.Hour
)

// The range of a DateTime64. ClickHouse moves times outside to the nearest limit, at least in
// releases before July 2026 (ClickHouse/ClickHouse#107907).
var (
	storedFrom  = time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC)
	storedUntil = time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC)
)

// unlikelyBefore is later than current times in seconds that are read as milliseconds, and later
// than the time of a clock that was never set.
var unlikelyBefore = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

const wantStored = "a year from 1900 to 2299: the service's storage moves others to the nearest of these"

// Rules are the settings of a gate.
type Rules struct {
	MinAge                time.Duration // default 48 h; below 0: any age
	PersonPolicy          event.PersonPolicy
	StripHeatmaps         bool
	AllowMergeDangerously bool
	Protocol              event.Protocol // selects rules; ProtocolAuto also warns of events that only capture v1 drops or changes
}

// Clock tells the time that the ages of events count from. It is safe for concurrent use.
type Clock interface{ Now() time.Time }

// SystemClock is the clock of this machine.
type SystemClock struct{}

// Now implements Clock.
func (SystemClock) Now() time.Time { return time.Now() }

// Gate refuses events that the service would drop, change or fail on, and warns of events that it
// treats specially: the rules of docs/historical-import.md. It is safe for concurrent use.
type Gate struct {
	rules      Rules // with defaults filled in
	clock      Clock
	groupTypes groupTypes
}

// NewGate returns a gate with rules, whose zero fields get defaults.
func NewGate(rules Rules, clock Clock) *Gate {
	if rules.MinAge == 0 {
		rules.MinAge = defaultMinAge
	}
	return &Gate{rules: rules, clock: clock}
}

func (g *Gate) name(s string) *event.Error {
	switch {
	case s == "":
		return &event.Error{Reason: event.ReasonNoName, Field: "event", Want: "a name"}
	case len(s) <= MaxName:
		return nil
	case lengthUTF16(s) > MaxName:
		return refuse(event.ReasonTooLong, "event", s,
			"at most 200 characters, counted in UTF-16 as the service does: it cuts the rest")
	case g.rules.Protocol == event.ProtocolV1:
		return refuse(event.ReasonTooLong, "event", s, "at most 200 bytes: the service drops the event")
	}
	return nil
}

func (g *Gate) distinctID(s string) *event.Error {
	switch {
	case strings.TrimSpace(s) == "":
		return refuse(event.ReasonNoDistinctID, "distinct_id", s, "the id of a person, not blank")
	case strings.IndexByte(s, 0) >= 0:
		return refuse(event.ReasonNUL, "distinct_id", s, "no NUL: the service replaces it")
	case s == cookielessID:
		return refuse(event.ReasonCookieless, "distinct_id", s,
			"the id of a person: cookieless events cannot be imported")
	case len(s) <= MaxName:
		return nil
	case utf8.RuneCountInString(s) > MaxName:
		return refuse(event.ReasonTooLong, "distinct_id", s,
			"at most 200 characters: the service cuts the rest, which merges persons")
	case g.rules.Protocol == event.ProtocolV1:
		return refuse(event.ReasonTooLong, "distinct_id", s, "at most 200 bytes: the service drops the event")
	}
	return nil
}

func lengthUTF16(s string) (n int) {
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}

func (g *Gate) timestamp(t time.Time) *event.Error {
	if t.IsZero() {
		return &event.Error{Reason: event.ReasonNoTimestamp, Field: "timestamp", Want: "the time of the event"}
	}
	bad := func(reason event.Reason, want string) *event.Error {
		return &event.Error{Reason: reason, Field: "timestamp", Value: t.UTC().Format(time.RFC3339), Want: want}
	}
	if t.Before(storedFrom) || !t.Before(storedUntil) {
		return bad(event.ReasonBadTimestamp, wantStored)
	}
	if g.rules.MinAge < 0 {
		return nil
	}
	switch age := g.clock.Now().Sub(t); {
	case age < 0:
		return bad(event.ReasonFuture, "a time in the past")
	case age < g.rules.MinAge:
		return bad(event.ReasonTooYoung, fmt.Sprintf(
			"an age of at least %v: the service bills younger events (GateOptions.MinAge)", g.rules.MinAge))
	}
	return nil
}

// isLive reports whether an event is from the last day and the gate is open for such events.
func (g *Gate) isLive(t time.Time) bool {
	return g.rules.MinAge < 0 && g.clock.Now().Sub(t) < 24*time.Hour
}

// size checks an encoded event as the service counts it: as a string within JSON.
func (g *Gate) size(wire []byte) *event.Error {
	if 2*len(wire)+eventEnvelope <= MaxEventBytes {
		return nil
	}
	n := len(wire) + eventEnvelope
	for _, c := range wire {
		if c == '"' || c == '\\' || c < 0x20 { // of these, JSON has \n, \r and \t
			n++
		}
	}
	if n <= MaxEventBytes {
		return nil
	}
	return refuse(event.ReasonTooLarge, "event", "",
		fmt.Sprintf("at most %d bytes, it has %d as the service counts", MaxEventBytes, n))
}

// checkDropped refuses events that the service accepts but does not keep as events.
func checkDropped(name string) *event.Error {
	switch name {
	case "$performance_event", "$$heatmap", "$$client_ingestion_warning":
		return refuse(event.ReasonDropped, "event", name,
			"another name: the service accepts these silently but keeps no event")
	}
	return nil
}

func checkUUID(id uuid.UUID) *event.Error {
	if id != uuid.Nil && id.Variant() != uuid.RFC4122 {
		return &event.Error{Reason: event.ReasonBadUUID, Field: "uuid", Value: id.String(), Want: "a UUID of the RFC 9562 variant"}
	}
	return nil
}

// Names of events and properties that the service acts on.
const (
	EventIdentify        = "$identify"
	EventAlias           = "$create_alias"
	EventGroupIdentify   = "$groupidentify"
	eventMerge           = "$merge_dangerously"
	eventGroupIdentified = "$group_identify" // the spelling in PostHog's API reference; the service acts on $groupidentify only
)

// Names and values that the service treats specially.
const (
	eventException  = "$exception"
	eventFlagCalled = "$feature_flag_called"
	prefixAI        = "$ai_"
	cookielessID    = "$posthog_cookieless"
	previousPath    = "$prev_pageview_pathname"
	renamedPath     = "import_prev_pageview_pathname" // see Rules.StripHeatmaps
)

// isMerge reports whether events with this name may merge persons.
func isMerge(name string) bool {
	return name == EventIdentify || name == EventAlias || name == eventMerge
}

// isIdentity reports whether events with this name only serve to change persons or groups.
func isIdentity(name string) bool {
	return isMerge(name) || name == EventGroupIdentify || name == "$set"
}

// suspectIDs are the placeholders in place of ids, by length, in any case and with or without blanks around them: the
// list of capture v1, and values that public reports found as ids of users (langfuse#12358, PostHog/posthog#876 and
// #12008, n8n#5093).
var suspectIDs = func() (byLength [64][]string) {
	for _, id := range []string{
		"0", "anonymous", "anonymous-user", "backend", "distinct_id", "distinctid", "email", "false", "guest",
		"id", "nan", "none",
		"not_authenticated", "null", "system", "true", "undefined", "user", "[object object]",
		"00000000-0000-0000-0000-000000000000",

		"nil", "n/a", "(not set)", "not set", "(none)", "unknown", "(unknown)", "test", "-1", "anonymous user", "anonymous_user", "guest user",
		"(null)", "[null]", `\n`, "<null>", "device 000000000000",
	} {
		byLength[len(id)] = append(byLength[len(id)], id)
	}
	return byLength
}()

// IsPlaceholder reports whether an id stands for a missing id: many visitors have it, so it does not identify a person.
func IsPlaceholder(id string) bool {
	if last := len(id) - 1; last > 0 && (id[0] == '"' || id[0] == '\'') && id[0] == id[last] {
		id = id[1:last]
		return id == "" || isSuspectID(id)
	}
	return id != "" && isSuspectID(id)
}

// isSuspectID reports whether an id is a placeholder that broken tracking code sends.
func isSuspectID(id string) bool {
	if id[0] == '"' || id[0] == '\'' {
		return isPlaceholder(id)
	}
	id = strings.TrimSpace(id)
	isSame := func(suspect string) bool { return strings.EqualFold(id, suspect) }
	return len(id) < len(suspectIDs) && slices.ContainsFunc(suspectIDs[len(id)], isSame)
}

// isPlaceholder reports whether the service refuses to merge a person with this id. It ignores case
// for some ids only, also compares them in quotes, and never trims.
func isPlaceholder(id string) bool {
	if strings.TrimSpace(id) == "" {
		return true
	}
	if last := len(id) - 1; last > 0 && (id[0] == '"' || id[0] == '\'') && id[0] == id[last] {
		id = id[1:last]
	}
	switch strings.ToLower(id) {
	case "anonymous", "guest", "distinctid", "distinct_id", "id", "not_authenticated", "email",
		"undefined", "true", "false":
		return true
	}
	switch id {
	case "[object Object]", "NaN", "None", "none", "null", "0":
		return true
	}
	return false
}

// shown returns a refused value for an error: short, on one line, and without keys.
func shown(value string) string {
	const most = 64
	if len(value) > 4*most {
		value = value[:4*most]
	}
	value = mask.Clean(mask.Keys(value))
	if utf8.RuneCountInString(value) > most {
		value = string([]rune(value)[:most]) + "…"
	}
	return value
}
