package wire

// Advice explains a warning and says how to react. It is empty for an unknown warning.
func Advice(warning string) string { return advice[warning] }

// advice covers the warnings of this package and the warnings about whole batches, files and
// imports.
var advice = map[string]string{
	"suspect_distinct_id":  "a placeholder and not an id: all such users count as one person; map it to a real id, or leave the events out",
	"group_identify_name":  "the service stores $group_identify as an ordinary event; only $groupidentify changes a group",
	"batch_spans_days":     "slow for the service; set Delivery.MaxBatchSpan, or sort the source by time",
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
	"uuid_conflict":        "the service never merges two events that differ in name, person or day; capture v1 refuses them in one batch",
	"uuid_reuse":           "the service merges events of one uuid, name, person and day, so one of the two contents is lost: give each event a uuid of its own",
	"session_id_type":      "/batch/ keeps $session_id and $window_id as they are, capture v1 takes texts only",
	"session_id_not_uuid":  "the service makes no sessions of ids that are not UUIDs",
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
