package ga4

import "github.com/hogapi/hogapi/formats/internal/record"

// table maps the columns of a row. Params and columns that are not in it keep their names.
var table = record.Table{
	{From: "event_name", To: "event", Kind: record.Code, Note: "see below"},
	{From: "event_timestamp", To: "timestamp", Kind: record.Code, Note: "microseconds, UTC"},
	{From: "user_id", To: "distinct_id", Kind: record.Code},
	{From: "user_pseudo_id", To: "distinct_id", Kind: record.Code, Note: "or the anonymous id"},
	{From: "event_params", To: "…", Kind: record.Code, Note: "their own names"},
	{From: "event_params.page_location", To: "$current_url", Note: "a text"},
	{From: "event_params.page_location", To: "$host, $pathname", Kind: record.Code, Note: "of the URL"},
	{From: "event_params.page_location", To: "utm_…, gclid, …", Kind: record.Code, Note: "of the URL"},
	{From: "event_params.page_referrer", To: "$referrer", Note: "see below"},
	{From: "event_params.page_referrer", To: "$referring_domain", Kind: record.Code},
	{From: "event_params.page_title", To: "title", Note: "a text"},
	{From: "event_params.firebase_screen", To: "$screen_name", Note: "a text"},
	{From: "event_params.firebase_screen_class", To: "$screen_name", Kind: record.Code, Note: "without the other"},
	{From: "event_params.source", To: "utm_source", Note: "but not (direct)"},
	{From: "event_params.medium", To: "utm_medium", Note: "the same"},
	{From: "event_params.campaign", To: "utm_campaign", Note: "the same"},
	{From: "event_params.term", To: "utm_term", Note: "the same"},
	{From: "event_params.content", To: "utm_content", Note: "the same"},
	{From: "event_params.ga_session_id", To: "$session_id", Kind: record.Code, Note: "see Sessions"},
	{From: "device.category", To: "$device_type", Kind: record.Code, Note: "Desktop, Mobile, Tablet"},
	{From: "device.operating_system", To: "$os", Kind: record.Code, Note: "Macintosh: Mac OS X"},
	{From: "device.operating_system_version", To: "$os_version", Kind: record.Code, Note: "iOS 17.2: 17.2"},
	{From: "device.mobile_brand_name", To: "$device_manufacturer", Kind: record.Code, Note: "but not of desktops"},
	{From: "device.mobile_model_name", To: "$device_model", Kind: record.Code, Note: "but not of desktops"},
	{From: "device.mobile_marketing_name", To: "$device_name", Kind: record.Code, Note: "but not of desktops"},
	{From: "device.language", To: "$browser_language", Kind: record.Code, Note: "en-gb: en-GB"},
	{From: "device.browser", To: "$browser", Kind: record.Code, Note: "Edge: Microsoft Edge"},
	{From: "device.browser_version", To: "$browser_version", Kind: record.Code, Note: "a number"},
	{From: "device.web_info.browser", To: "$browser", Kind: record.Code, Note: "the same"},
	{From: "device.web_info.browser_version", To: "$browser_version", Kind: record.Code, Note: "a number"},
	{From: "device.web_info.hostname", To: "$host"},
	{From: "event_dimensions.hostname", To: "$host"},
	{From: "geo.city", To: "$geoip_city_name"},
	{From: "geo.country", To: "$geoip_country_name"},
	{From: "geo.country", To: "$geoip_country_code", Kind: record.Code, Note: "of a known name"},
	{From: "geo.continent", To: "$geoip_continent_name"},
	{From: "geo.region", To: "$geoip_subdivision_1_name"},
	{From: "app_info.id", To: "$app_namespace"},
	{From: "app_info.version", To: "$app_version"},
	{From: "collected_traffic_source.manual_source", To: "utm_source", Note: "but not (direct)"},
	{From: "collected_traffic_source.manual_medium", To: "utm_medium", Note: "the same"},
	{From: "collected_traffic_source.manual_campaign_name", To: "utm_campaign", Note: "the same"},
	{From: "collected_traffic_source.manual_term", To: "utm_term", Note: "the same"},
	{From: "collected_traffic_source.manual_content", To: "utm_content", Note: "the same"},
	{From: "collected_traffic_source.gclid", To: "gclid"},
	{From: "collected_traffic_source.dclid", To: "dclid"},
	{From: "traffic_source.source", To: "$initial_utm_source", Kind: record.Once, Note: "the same"},
	{From: "traffic_source.medium", To: "$initial_utm_medium", Kind: record.Once, Note: "the same"},
	{From: "traffic_source.name", To: "$initial_utm_campaign", Kind: record.Once, Note: "the same"},
	{From: "user_properties", To: "…", Kind: record.Code, Note: "person; their own names"},
	{From: "user_properties.ga_session_id", Kind: record.Dropped},
	{From: "user_properties.ga_session_number", Kind: record.Dropped},
	{From: "items", To: "items", Kind: record.Code, Note: "item_params as an object"},
	{From: "event_bundle_sequence_id", Kind: record.Dropped},
	{From: "event_previous_timestamp", Kind: record.Dropped},
	{From: "event_server_timestamp_offset", Kind: record.Dropped},
	{From: "batch_page_id", Kind: record.Dropped},
	{From: "batch_ordering_id", Kind: record.Dropped},
	{From: "batch_event_index", Kind: record.Dropped},
}

// targets are the properties of the members of an object, by their names. Members that code reads have no target.
type targets map[string]record.Row

// within are the targets of the members of an object.
func within(path string) targets {
	t := targets{}
	for _, row := range table.Within(path) {
		if _, hasOne := t[row.From]; !hasOne || row.Kind != record.Code {
			t[row.From] = row
		}
	}
	return t
}

var (
	paramTargets  = within("event_params")
	webTargets    = within("device.web_info")
	sourceTargets = within("traffic_source")
	userTargets   = within("user_properties")
	columnTargets = map[string]targets{
		"device": within("device"), "geo": within("geo"), "app_info": within("app_info"), "event_dimensions": within("event_dimensions"),
		"collected_traffic_source": within("collected_traffic_source"),
	}
)
