package hogapi

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/internal/wire"
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
	ReasonUnconfirmed    Reason = "unconfirmed"      // sent, but no answer says what became of it: it may have arrived
)

// ReasonDropPrefix begins the reason of an event that capture v1 has dropped; the service's word comes
// after it, as in "drop_distinct_id_too_large".
const ReasonDropPrefix = "drop_"

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

// newEventError is a refusal as a caller sees it, without its place.
func newEventError(r *wire.Refusal) *EventError {
	e := &EventError{Reason: Reason(r.Reason), Field: r.Field, Value: r.Value, Want: r.Want, Err: r.Err}
	for _, other := range r.Also {
		e.Also = append(e.Also, newEventError(other))
	}
	return e
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
	b.WriteString(mask.OneLine(string(e.Reason)))
	if e.Field != "" {
		b.WriteString(": " + mask.OneLine(e.Field))
	}
	if e.Value != "" {
		b.WriteString(" " + strconv.QuoteToGraphic(e.Value))
	}
	if e.Want != "" {
		b.WriteString(": want " + mask.OneLine(e.Want))
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

// GateOptions say what is refused before it is sent. Their zero value is right for the service.
type GateOptions struct {
	// MinAge is how old an event must be: default 48 h, as the service treats younger ones as live
	// events and bills them. A negative age lets every event pass, future ones too.
	MinAge time.Duration
	// ContentIDs lets events without uuid and position pass: their identity is their content and how
	// often it came before. It is the number of different contents to remember, at about 100 bytes
	// each. Only for sources that give the same events in the same order each time.
	ContentIDs int
	// PersonPolicy says what becomes of $set in old events, which would overwrite newer values of a person.
	PersonPolicy PersonPolicy
	// NoHeatmaps sends events without heatmap data: it removes $heatmap_data, and renames
	// $prev_pageview_pathname to import_prev_pageview_pathname. Otherwise the data is sent as it is, with a
	// warning: the service adds rows to its heatmaps at every send, so an event that is sent twice counts
	// twice there.
	NoHeatmaps bool
	// AllowMergeDangerously lets $merge_dangerously pass, which merges persons of today for good, also
	// identified ones.
	AllowMergeDangerously bool
}

// PersonPolicy says what becomes of person properties in the events of an import.
type PersonPolicy uint8

const (
	// PersonPolicyKeep sends $set as it is: the values of the newest arrival win, not those of the newest event.
	PersonPolicyKeep PersonPolicy = iota
	// PersonPolicySetOnce turns $set into $set_once: only values that a person lacks are set. Where an event has
	// both, it keeps the keys of both, with the value of $set for a key that is in both.
	PersonPolicySetOnce
	// PersonPolicyStrip removes $set and $set_once from all but identity events.
	PersonPolicyStrip
)

func (o GateOptions) check(op Op) error {
	if o.ContentIDs < 0 {
		return &InputError{Op: op, Field: "Gate.ContentIDs", Value: strconv.Itoa(o.ContentIDs), Want: "0 or more"}
	}
	if o.PersonPolicy > PersonPolicyStrip {
		return &InputError{Op: op, Field: "Gate.PersonPolicy", Value: strconv.Itoa(int(o.PersonPolicy)), Want: "PersonPolicyKeep, PersonPolicySetOnce or PersonPolicyStrip"}
	}
	return nil
}

// rules are those that the options ask for.
func (o GateOptions) rules(p wire.Protocol, now func() time.Time) wire.Rules {
	return wire.Rules{
		MinAge: o.MinAge, PersonPolicy: wire.PersonPolicy(o.PersonPolicy), StripHeatmaps: o.NoHeatmaps,
		AllowMergeDangerously: o.AllowMergeDangerously, Protocol: p, Now: now,
	}
}

// Warning names something to look at, although the event is sent. [Warning.Advice] says what it means.
type Warning string

// Warnings.
const (
	WarnSuspectID      Warning = "suspect_distinct_id"  // such as "null": many persons become one
	WarnGroupIdentify  Warning = "group_identify_name"  // $group_identify: the service acts on $groupidentify only
	WarnWideBatch      Warning = "batch_spans_days"     // a batch spans more than a day: slow for the service
	WarnBackwards      Warning = "time_runs_backwards"  // an event is over a day older than one before it in its batch
	WarnSameContent    Warning = "same_content"         // two files begin with the same megabyte: is one a copy?
	WarnNoRecords      Warning = "no_records"           // the source has none: is it the right file?
	WarnAllSkipped     Warning = "all_skipped"          // every record of the source was left out: is it the right format?
	WarnKeyUnchecked   Warning = "key_not_checked"      // whether the service knows the project key could not be found out
	WarnProtocol       Warning = "protocol_unknown"     // the server's answer does not say which protocol it takes
	WarnHeatmap        Warning = "heatmap_data"         // the service adds heatmap rows at every send
	WarnHeatmapStrip   Warning = "heatmap_stripped"     // the event is sent without its heatmap data
	WarnAIEvent        Warning = "ai_event"             // $ai_…: a lane and a budget of its own
	WarnException      Warning = "exception_event"      // $exception: goes to error tracking
	WarnFlagCalled     Warning = "flag_called_event"    // $feature_flag_called: most properties and repeats are removed
	WarnSelfMerge      Warning = "self_merge"           // a merge of an id with itself
	WarnGroupKeyNumber Warning = "group_key_number"     // a group's key is a number, which the service turns into text
	WarnGroupTypes     Warning = "group_types"          // a sixth group type, or a later one, of this run
	WarnGroupUnchanged Warning = "group_unchanged"      // $groupidentify with $process_person_profile false
	WarnIDBlanks       Warning = "distinct_id_blanks"   // blanks around a distinct id
	WarnLongName       Warning = "name_over_200_bytes"  // stored by /batch/ and not listed, dropped by capture v1
	WarnUUIDTime       Warning = "uuid_time"            // a version 7 uuid of another time than the event's
	WarnUUIDConflict   Warning = "uuid_conflict"        // Check only: an earlier event with this uuid has another name, person or day
	WarnSessionType    Warning = "session_id_type"      // $session_id or $window_id is not a text
	WarnSessionID      Warning = "session_id_not_uuid"  // no sessions are made of it
	WarnOwnJobID       Warning = "own_import_job_id"    // the event keeps its $import_job_id: counts of this import miss it
	WarnUnset          Warning = "unset"                // $unset removes properties of today's persons
	WarnSetIgnored     Warning = "set_ignored"          // $set on events for which the service ignores it
	WarnLongID         Warning = "v1_distinct_id_bytes" // Check only: over 200 bytes, which capture v1 drops
	WarnLib            Warning = "v1_lib"               // Check only: capture v1 would overwrite $lib
)

// Advice is what the warning means, and what to do. It is empty for a warning that this release does
// not know.
func (w Warning) Advice() string { return advice[w] }

var advice = map[Warning]string{
	WarnSuspectID:      "a placeholder and not an id: all such users become one person; map it to a real id, or leave the events out",
	WarnGroupIdentify:  "the service stores $group_identify as an ordinary event; only $groupidentify changes a group",
	WarnWideBatch:      "slow for the service; set Delivery.MaxBatchSpan, or sort the source by time",
	WarnBackwards:      "give the oldest events first: the service applies person properties as they arrive",
	WarnSameContent:    "if one file is a copy of another, its events are imported twice",
	WarnNoRecords:      "check the file: a dump that failed may leave an empty one",
	WarnAllSkipped:     "every record was left out: check that the files are of the format that reads them, and the mapping",
	WarnKeyUnchecked:   "check in the app that events arrive",
	WarnProtocol:       "events go to /batch/; set Delivery.Protocol if the server has capture v1",
	WarnHeatmap:        "the service adds heatmap rows at every send; set Gate.NoHeatmaps to send the events without",
	WarnHeatmapStrip:   "sent without heatmap data, as Gate.NoHeatmaps says",
	WarnAIEvent:        "the service may drop AI events after accepting them, and stores their long texts elsewhere; counts may miss them",
	WarnException:      "exceptions go to error tracking, which has a quota of its own and can alert people; counts may miss them",
	WarnFlagCalled:     "the service removes most properties of these events, and repeats; counts miss them",
	WarnSelfMerge:      "a merge of an id with itself has no effect",
	WarnGroupKeyNumber: "send group keys as text, so that all events name the same group",
	WarnGroupTypes:     "a project has room for five group types; the service ignores others",
	WarnGroupUnchanged: "the group stays as it is; remove $process_person_profile",
	WarnIDBlanks:       "/batch/ keeps blanks around a distinct id and capture v1 removes them: one user can become two persons",
	WarnLongName:       "/batch/ stores names over 200 bytes and does not list them, capture v1 drops the event; shorten the name",
	WarnUUIDTime:       "the uuid is of version 7 and was made at another time: looking the event up by its uuid misses it; use another version",
	WarnUUIDConflict:   "the service never merges two events that differ in name, person or day; capture v1 refuses them in one batch",
	WarnSessionType:    "/batch/ keeps $session_id and $window_id as they are, capture v1 takes texts only",
	WarnSessionID:      "the service makes no sessions of ids that are not UUIDs",
	WarnOwnJobID:       "the event keeps its own $import_job_id: queries for this import do not find it",
	WarnUnset:          "an old removal acts on the persons of today",
	WarnSetIgnored:     "the service ignores person properties of AI events and exceptions",
	WarnLongID:         "the distinct id has over 200 bytes: /batch/ takes 200 characters, capture v1 drops the event",
	WarnLib:            "capture v1 overwrites $lib; it is kept as $import_lib there",
}

// inBrackets is the advice for the line of a report that has the warning's count.
func (w Warning) inBrackets() string {
	if w.Advice() == "" {
		return ""
	}
	return " (" + w.Advice() + ")"
}
