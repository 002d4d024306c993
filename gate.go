package hogapi

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/hogapi/hogapi/internal/mask"
)

// Reason says why an event is refused before it is sent, or was rejected by the service.
type Reason string

// Reasons of the gate, and of the service's answers.
const (
	ReasonBadRecord      Reason = "bad_record"       // the source's record made no event
	ReasonNoName         Reason = "no_name"          // the event has no name
	ReasonDropped        Reason = "dropped"          // the service keeps no event of this name
	ReasonNoDistinctID   Reason = "no_distinct_id"   // neither in the field nor in the properties
	ReasonTwoDistinctIDs Reason = "two_distinct_ids" // the field and the property differ
	ReasonNUL            Reason = "nul"              // in the distinct id: the service puts U+FFFD in its place, which can merge persons
	ReasonTooLong        Reason = "too_long"         // name or distinct id over 200 characters: the service cuts or drops
	ReasonNoTimestamp    Reason = "no_timestamp"     // the service would take now
	ReasonBadTimestamp   Reason = "bad_timestamp"    // outside the years 1900 to 2299, which the service stores unchanged
	ReasonFuture         Reason = "future"           // the service would take now
	ReasonTooYoung       Reason = "too_young"        // not yet 48 h old: the service would not treat it as historical, and bill it
	ReasonBadUUID        Reason = "bad_uuid"         // not of the RFC 9562 variant: the service drops it
	ReasonNoIdentity     Reason = "no_identity"      // neither uuid nor position: a second sending would be a second event
	ReasonIdentityFull   Reason = "identity_full"    // more different contents than ContentIDs allows
	ReasonTooLarge       Reason = "too_large"        // over 900,000 bytes as the service counts
	ReasonBadUTF8        Reason = "bad_utf8"         // text that is not UTF-8, or half a surrogate pair
	ReasonBadNumber      Reason = "bad_number"       // NaN, infinite, or beyond what the service can read
	ReasonBadProperties  Reason = "bad_properties"   // not a JSON object, nested too deep, or a value that JSON cannot hold
	ReasonBadSpecial     Reason = "bad_special"      // a $property whose value the service would drop the event for, or ignore
	ReasonBadMerge       Reason = "bad_merge"        // a merge with an id such as "null", which the service refuses
	ReasonDangerousMerge Reason = "dangerous_merge"  // $merge_dangerously without GateOptions.AllowMergeDangerously
	ReasonCookieless     Reason = "cookieless"       // the distinct id of cookieless events, which cannot be imported
	ReasonAnswer400      Reason = "answer_400"       // the service refused the event, sent alone
	ReasonAnswer413      Reason = "answer_413"       // too large for the service, sent alone
)

// Limits of the gate.
const (
	maxNameLength = 200     // characters of a name or a distinct id
	maxEventBytes = 900_000 // as the service counts
	eventEnvelope = 1 << 10 // what the service adds around an event
	defaultMinAge = 48 * time.Hour
)

// What a DateTime64 holds. ClickHouse moves other times to the nearest of these, in releases before July 2026 at least
// (ClickHouse/ClickHouse#107907).
var (
	storedFrom  = time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC)
	storedUntil = time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC)
)

// EventError is an event that is refused or was rejected.
type EventError struct {
	Reason   Reason
	Where    string   // the record in its file, such as "events.jsonl:17"; empty where that is not known
	Position Position // in the source; zero where the event has none
	Field    string   // where the fault is
	Value    string   // what was refused, cut, and without keys; may be empty
	Want     string   // what is allowed
	Err      error    // what the source, the encoder or the service said; may be nil

	Also []*EventError // further faults that the gate found in the event: correct them too
}

const eventRefused = "event refused: "

// Error names reason, value, what is allowed, and the place.
func (e *EventError) Error() string {
	var b strings.Builder
	b.WriteString(prefix + eventRefused + e.fault())
	for _, other := range e.Also {
		b.WriteString("; also " + other.fault())
	}
	switch {
	case e.Where != "":
		fmt.Fprintf(&b, " (%s, byte offset %d)", e.Where, e.Position.Offset)
	case !e.Position.IsZero():
		b.WriteString(" (at " + e.Position.String() + ")")
	}
	return b.String()
}

// fault is the error without its place.
func (e *EventError) fault() string {
	var b strings.Builder
	b.WriteString(onOneLine(string(e.Reason)))
	if e.Field != "" {
		b.WriteString(": " + onOneLine(e.Field))
	}
	if e.Value != "" {
		b.WriteString(" " + strconv.QuoteToGraphic(e.Value))
	}
	if e.Want != "" {
		b.WriteString(": want " + onOneLine(e.Want))
	}
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", bare(e.Err))
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *EventError) Unwrap() error { return e.Err }

// Is matches ErrInvalid.
func (e *EventError) Is(target error) bool { return target == ErrInvalid }

// shown is a refused value for an error: cut, on one line, and without keys.
func shown(value string) string {
	const most = 64
	if len(value) > 4*most {
		value = value[:4*most]
	}
	value = mask.Clean(mask.Keys(value))
	if n := utf8.RuneCountInString(value); n > most {
		value = string([]rune(value)[:most]) + "…"
	}
	return value
}

// GateOptions say what is refused before it is sent. Their zero value is right for the service.
type GateOptions struct {
	// MinAge is how old an event must be: default 48 h, as the service treats younger ones as live
	// events and bills them. A negative age lets every event pass, future ones too.
	MinAge time.Duration
	// ContentIDs lets events without uuid and position pass: their identity is their content and how
	// often it came before. It is the number of different contents to remember, at about 100 bytes
	// each. Only for sources that give the same events in the same order each time.
	ContentIDs int
	// SetPolicy says what becomes of $set in old events, which would overwrite newer values of a person.
	SetPolicy SetPolicy
	// Heatmaps says what becomes of heatmap data, of which the service adds rows at every send.
	Heatmaps HeatmapPolicy
	// AllowMergeDangerously lets $merge_dangerously pass, which merges persons of today for good, also
	// identified ones.
	AllowMergeDangerously bool
}

// SetPolicy says what becomes of person properties in the events of an import.
type SetPolicy uint8

const (
	// SetKeep sends $set as it is: the values of the newest arrival win, not those of the newest event.
	SetKeep SetPolicy = iota
	// SetToSetOnce turns $set into $set_once: only values that a person lacks are set. Where an event has
	// both, it keeps the keys of both, with the value of $set for a key that is in both.
	SetToSetOnce
	// SetStrip removes $set and $set_once from all but identity events.
	SetStrip
)

// HeatmapPolicy says what becomes of heatmap data in the events of an import: of $heatmap_data, and of
// $prev_pageview_pathname together with $current_url.
type HeatmapPolicy uint8

const (
	// HeatmapKeep sends it as it is, with a warning: the service adds rows to its heatmaps at every
	// send, so an event that is sent twice counts twice there.
	HeatmapKeep HeatmapPolicy = iota
	// HeatmapStrip removes $heatmap_data, and renames $prev_pageview_pathname to
	// import_prev_pageview_pathname. Click heatmaps and scroll depths are not imported.
	HeatmapStrip
)

func (o GateOptions) check(op Op) error {
	if o.ContentIDs < 0 {
		return &InputError{Op: op, Field: "Gate.ContentIDs", Value: strconv.Itoa(o.ContentIDs), Want: "0 or more"}
	}
	if o.SetPolicy > SetStrip {
		return &InputError{Op: op, Field: "Gate.SetPolicy", Value: strconv.Itoa(int(o.SetPolicy)), Want: "SetKeep, SetToSetOnce or SetStrip"}
	}
	if o.Heatmaps > HeatmapStrip {
		return &InputError{Op: op, Field: "Gate.Heatmaps", Value: strconv.Itoa(int(o.Heatmaps)), Want: "HeatmapKeep or HeatmapStrip"}
	}
	return nil
}

// protocol is how an import sends its events. It decides which rules of the gate apply.
type protocol uint8

const (
	protocolUnknown protocol = iota // of a Check: what capture v1 alone drops or changes is a warning
	protocolBatch                   // POST /batch/
	protocolV1                      // capture v1
)

// gate refuses what the service would drop, change or fail on, and warns of what it treats in a way of
// its own: the rules of docs/historical-import.md. It is safe for concurrent use.
type gate struct {
	options    GateOptions // with their defaults
	protocol   protocol
	now        func() time.Time
	groupTypes groupTypes
}

func newGate(o GateOptions, p protocol, now func() time.Time) *gate {
	if o.MinAge == 0 {
		o.MinAge = defaultMinAge
	}
	return &gate{options: o, protocol: p, now: now}
}

// name checks an event's name.
func (g *gate) name(s string) *EventError {
	switch {
	case s == "":
		return &EventError{Reason: ReasonNoName, Field: "event", Want: "a name"}
	case len(s) <= maxNameLength:
		return nil
	case lengthUTF16(s) > maxNameLength:
		return &EventError{Reason: ReasonTooLong, Field: "event", Value: shown(s), Want: "at most 200 characters, counted in UTF-16 as the service does: it cuts the rest"}
	case g.protocol == protocolV1:
		return &EventError{Reason: ReasonTooLong, Field: "event", Value: shown(s), Want: "at most 200 bytes: the service drops the event"}
	}
	return nil
}

// distinctID checks an event's person.
func (g *gate) distinctID(s string) *EventError {
	switch {
	case strings.TrimSpace(s) == "":
		return &EventError{Reason: ReasonNoDistinctID, Field: "distinct_id", Value: shown(s), Want: "the id of a person, not blank"}
	case strings.IndexByte(s, 0) >= 0:
		return &EventError{Reason: ReasonNUL, Field: "distinct_id", Value: shown(s), Want: "no NUL: the service puts another character in its place"}
	case s == cookielessID:
		return &EventError{Reason: ReasonCookieless, Field: "distinct_id", Value: s, Want: "the id of a person: cookieless events cannot be imported"}
	case len(s) <= maxNameLength:
		return nil
	case utf8.RuneCountInString(s) > maxNameLength:
		return &EventError{Reason: ReasonTooLong, Field: "distinct_id", Value: shown(s), Want: "at most 200 characters: the service cuts the rest, which merges persons"}
	case g.protocol == protocolV1:
		return &EventError{Reason: ReasonTooLong, Field: "distinct_id", Value: shown(s), Want: "at most 200 bytes: the service drops the event"}
	}
	return nil
}

func lengthUTF16(s string) (n int) {
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}

// timestamp checks an event's time against the clock.
func (g *gate) timestamp(t time.Time) *EventError {
	if t.IsZero() {
		return &EventError{Reason: ReasonNoTimestamp, Field: "timestamp", Want: "the time of the event"}
	}
	bad := func(reason Reason, want string) *EventError {
		return &EventError{Reason: reason, Field: "timestamp", Value: t.UTC().Format(time.RFC3339), Want: want}
	}
	if t.Before(storedFrom) || !t.Before(storedUntil) {
		return bad(ReasonBadTimestamp, wantStored)
	}
	if g.options.MinAge < 0 {
		return nil
	}
	switch age := g.now().Sub(t); {
	case age < 0:
		return bad(ReasonFuture, "a time in the past")
	case age < g.options.MinAge:
		return bad(ReasonTooYoung, fmt.Sprintf("an age of at least %v: the service bills younger events (GateOptions.MinAge)", g.options.MinAge))
	}
	return nil
}

const wantStored = "a year from 1900 to 2299: the service's storage moves others to the nearest of these"

// size checks an encoded event as the service counts it: as text inside another JSON text.
func (g *gate) size(wire []byte) *EventError {
	if 2*len(wire)+eventEnvelope <= maxEventBytes {
		return nil
	}
	n := len(wire) + eventEnvelope
	for _, c := range wire {
		if c == '"' || c == '\\' || c < 0x20 { // of these, JSON has \n, \r and \t
			n++
		}
	}
	if n <= maxEventBytes {
		return nil
	}
	return &EventError{Reason: ReasonTooLarge, Field: "event", Want: fmt.Sprintf("at most %d bytes, it has %d as the service counts", maxEventBytes, n)}
}
