package amplitude

import "github.com/hogapi/hogapi/formats/internal/record"

// table maps the fields of a row. Fields that are not in it are kept: see extra.
var table = record.Table{
	{From: "event_type", To: "event", Kind: record.Code, Note: "names are below"},
	{From: "event_time", To: "timestamp", Kind: record.Code, Note: "UTC; else see below"},
	{From: "client_event_time", To: "$amplitude_client_event_time", Kind: record.Code, Note: "if not event_time"},
	{From: "uuid", To: "uuid", Kind: record.Code, Note: "see Identity"},
	{From: "$insert_id", To: "$amplitude_insert_id"},
	{From: "user_id", To: "distinct_id", Kind: record.Code, Note: "unless blank"},
	{From: "user_id", To: "$amplitude_user_id"},
	{From: "device_id", To: "distinct_id", Kind: record.Code, Note: "or the anonymous id"},
	{From: "device_id", To: "$amplitude_device_id"},
	{From: "device_id", To: "$device_id", Kind: record.Code, Note: "unless blank"},
	{From: "event_id", To: "$amplitude_event_id", Kind: record.Code, Note: "unless 0"},
	{From: "session_id", To: "$session_id", Kind: record.Code, Note: "see Sessions"},
	{From: "session_id", To: "$amplitude_session_id", Kind: record.Code, Note: "unless 0"},
	{From: "event_properties", To: "…", Kind: record.Code, Note: "see below"},
	{From: "event_properties.alias", To: "alias", Kind: record.Code, Note: "but in $identify"},
	{From: "event_properties.[Amplitude] Page Location", To: "$current_url", Kind: record.Both},
	{From: "event_properties.[Amplitude] Page URL", To: "$current_url", Kind: record.Both, Note: "else"},
	{From: "event_properties.[Amplitude] Page Domain", To: "$host", Note: "else of the URL"},
	{From: "event_properties.[Amplitude] Page Path", To: "$pathname", Kind: record.Both, Note: "else of the URL"},
	{From: "event_properties.[Amplitude] Page Title", To: "title"},
	{From: "event_properties.[Amplitude] Screen Name", To: "$screen_name"},
	{From: "event_properties.[Amplitude] Viewport Height", To: "$viewport_height"},
	{From: "event_properties.[Amplitude] Viewport Width", To: "$viewport_width"},
	{From: "event_properties.[Amplitude] Element Text", To: "$el_text"},
	{From: "event_properties.referrer", To: "$referrer", Kind: record.Both, Note: "see Pages"},
	{From: "event_properties.referring_domain", To: "$referring_domain", Kind: record.Both, Note: "else of $referrer"},
	{From: "user_properties", To: "…", Kind: record.Code, Note: "person; without null"},
	{From: "user_properties.initial_…", To: "$initial_…", Kind: record.Code, Note: "person, once"},
	{From: "user_properties.utm_…, gclid, …", To: "utm_…, gclid, …", Kind: record.Code, Note: "see Pages"},
	{From: "user_properties.referrer", To: "$referrer", Kind: record.Code, Note: "see Pages"},
	{From: "groups", To: "$groups", Kind: record.Code, Note: "the first of a type"},
	{From: "groups", To: "$amplitude_groups", Kind: record.Code, Note: "all, of several"},
	{From: "group_properties", To: "$amplitude_group_properties", Kind: record.Code, Note: "see Groups"},
	{From: "country", To: "$geoip_country_name", Kind: record.Both},
	{From: "country", To: "$geoip_country_code", Kind: record.Code, Note: "of a known name"},
	{From: "city", To: "$geoip_city_name", Kind: record.Both},
	{From: "region", To: "$geoip_subdivision_1_name", Kind: record.Both},
	{From: "location_lat", To: "$geoip_latitude"},
	{From: "location_lng", To: "$geoip_longitude"},
	{From: "ip_address", To: "$ip", Note: "see LookUpIP"},
	{From: "language", To: "$amplitude_language"},
	{From: "language", To: "$browser_language", Kind: record.Code, Note: "or $locale: see below"},
	{From: "os_name", To: "$browser", Kind: record.Code, Note: "on the web"},
	{From: "os_name", To: "$os", Kind: record.Code, Note: "elsewhere"},
	{From: "os_version", To: "$browser_version", Kind: record.Code, Note: "on the web"},
	{From: "os_version", To: "$os_version", Kind: record.Code, Note: "elsewhere"},
	{From: "device_type", To: "$os, $device_type", Kind: record.Code, Note: "on the web"},
	{From: "device_type", To: "$amplitude_device_type"},
	{From: "platform", To: "$amplitude_platform"},
	{From: "device_manufacturer", To: "$device_manufacturer"},
	{From: "device_model", To: "$device_model", Kind: record.Code, Note: "not \"Mac OS\""},
	{From: "device_family", To: "$amplitude_device_family", Note: "also for $os"},
	{From: "library", To: "$amplitude_library"},
	{From: "version_name", To: "$app_version"},
	{From: "merged_amplitude_id", To: "$amplitude_merged_amplitude_id"},
	{From: "$schema", Kind: record.Dropped},
	{From: "$insert_key", Kind: record.Dropped},
	{From: "client_upload_time", Kind: record.Dropped},
	{From: "data", Kind: record.Dropped},
	{From: "data_type", Kind: record.Dropped},
	{From: "processed_time", Kind: record.Dropped},
	{From: "server_received_time", Kind: record.Dropped},
	{From: "server_upload_time", Kind: record.Dropped},
	{From: "user_properties", Kind: record.Dropped},
	{From: "uuid", Kind: record.Dropped},
}

// isDropped has the fields that Options.KeepAll keeps.
var isDropped = func() map[string]bool {
	dropped := map[string]bool{}
	for _, row := range table {
		dropped[row.From] = dropped[row.From] || row.Kind == record.Dropped
	}
	return dropped
}()
