package record

// IsReserved reports whether PostHog acts on a property of this name, which means something else in
// the record of another vendor. It would change persons, groups or sessions, or drop the event.
func IsReserved[T string | []byte](name T) bool {
	if len(name) == 0 || name[0] != '$' && name[0] != 'd' { // most names
		return false
	}
	switch string(name) {
	case "distinct_id", "$set", "$set_once", "$unset", "$groups", "$group_type", "$group_key", "$group_set",
		"$anon_distinct_id", "$process_person_profile", "$cookieless_mode", "$geoip_disable", "$import_job_id",
		"$session_id", "$window_id", "$heatmap_data", "$prev_pageview_pathname", "$product_tour_id", "$ignore_sent_at":
		return true
	}
	return false
}
