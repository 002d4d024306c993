package event

// Reason says why an event was refused before it was sent, or rejected by the service.
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
	ReasonNoIdentity     Reason = "no_identity"      // neither uuid nor Position with a Key: a second sending would be a second event
	ReasonTooLarge       Reason = "too_large"        // over 900,000 bytes as the service counts
	ReasonBadUTF8        Reason = "bad_utf8"         // text that is not UTF-8, or half a surrogate pair
	ReasonBadNumber      Reason = "bad_number"       // NaN, infinite, or beyond the range that the service can read
	ReasonBadProperties  Reason = "bad_properties"   // not a JSON object, nested too deep, or a value that JSON cannot hold
	ReasonBadSpecial     Reason = "bad_special"      // a $property with a value that the service would drop the event for, or ignore
	ReasonBadMerge       Reason = "bad_merge"        // a merge with an id such as "null", which the service refuses
	ReasonDangerousMerge Reason = "dangerous_merge"  // $merge_dangerously without hogapi.GateOptions.AllowMergeDangerously
	ReasonCookieless     Reason = "cookieless"       // the distinct id of cookieless events, which cannot be imported
	ReasonAnswer400      Reason = "answer_400"       // the service refused the event, sent alone
	ReasonAnswer413      Reason = "answer_413"       // too large for the service, sent alone
	ReasonUnconfirmed    Reason = "unconfirmed"      // sent, but its fate is unknown: it may have arrived
)

// ReasonDropPrefix begins the reason of an event that capture v1 has dropped; the service's word comes
// after it, as in "drop_distinct_id_too_large".
const ReasonDropPrefix = "drop_"
