// Package warnings has the warnings of package hogapi about events that are sent nevertheless.
package warnings

import "github.com/hogapi/hogapi/internal/wire"

// Warning names a fact to look at, although the event is sent. [Warning.Advice] explains it.
type Warning string

// Warnings.
const (
	SuspectID      Warning = "suspect_distinct_id"  // such as "null": many persons become one
	GroupIdentify  Warning = "group_identify_name"  // $group_identify: the service acts on $groupidentify only
	WideBatch      Warning = "batch_spans_days"     // a batch spans more than a day: slow for the service
	Backwards      Warning = "time_runs_backwards"  // an event is over a day older than one before it in its batch
	SameContent    Warning = "same_content"         // two files begin with the same 64 KiB: is one a copy?
	NoRecords      Warning = "no_records"           // the source has no records: is it the right file?
	AllSkipped     Warning = "all_skipped"          // every record of the source was left out: is it the right format?
	KeyUnchecked   Warning = "key_not_checked"      // it could not be found out whether the service knows the project key
	Protocol       Warning = "protocol_unknown"     // the server's answer does not say which protocol it takes
	Heatmap        Warning = "heatmap_data"         // the service adds heatmap rows at every send
	HeatmapStrip   Warning = "heatmap_stripped"     // the event is sent without its heatmap data
	AIEvent        Warning = "ai_event"             // $ai_…: a lane and a budget of its own
	Exception      Warning = "exception_event"      // $exception: goes to error tracking
	FlagCalled     Warning = "flag_called_event"    // $feature_flag_called: most properties and repeats are removed
	SelfMerge      Warning = "self_merge"           // a merge of an id with itself
	GroupKeyNumber Warning = "group_key_number"     // a group's key is a number, which the service turns into text
	GroupTypes     Warning = "group_types"          // a sixth group type, or a later one, of this run
	GroupUnchanged Warning = "group_unchanged"      // $groupidentify with $process_person_profile false
	IDBlanks       Warning = "distinct_id_blanks"   // blanks around a distinct id
	LongName       Warning = "name_over_200_bytes"  // stored by /batch/ and not listed, dropped by capture v1
	UUIDTime       Warning = "uuid_time"            // a version 7 uuid with another time than the event's
	UUIDConflict   Warning = "uuid_conflict"        // an earlier event with this uuid has another name, person or time: both stay
	UUIDReuse      Warning = "uuid_reuse"           // an earlier event with this uuid has another content: one of the two is lost
	SessionType    Warning = "session_id_type"      // $session_id or $window_id is not a text
	SessionID      Warning = "session_id_not_uuid"  // no sessions are made of it
	SessionVersion Warning = "session_id_not_v7"    // a UUID of another version than 7: no sessions are made of it
	SessionTime    Warning = "session_id_time"      // the time in $session_id is over 24 h from the event's
	GroupsDropped  Warning = "groups_dropped"       // $groups with $process_person_profile false: the service drops the link
	AlmostSpecial  Warning = "almost_special_name"  // such as $Identify for $identify: an ordinary event
	OwnJobID       Warning = "own_import_job_id"    // the event keeps its $import_job_id: counts of this import miss it
	Unset          Warning = "unset"                // $unset removes properties of today's persons
	SetIgnored     Warning = "set_ignored"          // $set on events for which the service ignores it
	LongID         Warning = "v1_distinct_id_bytes" // Check only: over 200 bytes, which capture v1 drops
	Before1980     Warning = "before_1980"          // the time is before 1980, such as seconds read as milliseconds
	Lib            Warning = "v1_lib"               // Check only: capture v1 would overwrite $lib
)

// Advice explains the warning and says how to react. It is empty for a warning that this release does not
// know.
func (w Warning) Advice() string { return wire.Advice(string(w)) }
