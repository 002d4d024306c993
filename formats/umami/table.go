package umami

import "github.com/hogapi/hogapi/formats/internal/record"

// table maps the columns of an event. The other columns keep their names.
var table = record.Table{
	{From: "event_type", To: "event", Kind: record.Code, Note: "1: $pageview; 5 is skipped; see below"},
	{From: "event_name", To: "event", Kind: record.Code, Note: "but not of page views"},
	{From: "created_at", To: "timestamp", Kind: record.Code, Note: "in UTC where it has no zone"},
	{From: "event_id", To: "uuid", Kind: record.Code, Note: "version 5 of it where it is not a UUID"},
	{From: "distinct_id", To: "distinct_id", Kind: record.Code, Note: "else session_id"},
	{From: "session_id", To: "$device_id", Note: "also the anonymous id where there is a distinct_id"},
	{From: "visit_id", To: "umami_visit_id", Note: "see Sessions"},
	{From: "website_id", To: "website_id"},

	{From: "hostname", To: "$host"},
	{From: "url_path", To: "$pathname"},
	{From: "url_path", To: "$current_url", Kind: record.Code, Note: "https:// with hostname, url_path and url_query"},
	{From: "url_query", To: "$current_url", Kind: record.Code, Note: "also the ids of clicks on ads"},
	{From: "page_title", To: "title"},
	{From: "referrer_domain", To: "$referring_domain", Note: "$direct in a page view without one"},
	{From: "referrer_path", To: "$referrer", Kind: record.Code, Note: "https:// with referrer_domain, this and referrer_query"},
	{From: "referrer_query", To: "$referrer", Kind: record.Code},
	{From: "utm_source", To: "utm_source"},
	{From: "utm_medium", To: "utm_medium"},
	{From: "utm_campaign", To: "utm_campaign"},
	{From: "utm_content", To: "utm_content"},
	{From: "utm_term", To: "utm_term"},
	{From: "gclid", To: "gclid"},
	{From: "fbclid", To: "fbclid"},
	{From: "msclkid", To: "msclkid"},
	{From: "ttclid", To: "ttclid"},
	{From: "li_fat_id", To: "li_fat_id"},
	{From: "twclid", To: "twclid"},

	{From: "browser", To: "$browser", Kind: record.Code, Note: "chrome: Chrome; ios: Mobile Safari"},
	{From: "os", To: "$os", Kind: record.Code, Note: "Mac OS: Mac OS X; Windows 10: Windows and $os_version 10"},
	{From: "device", To: "$device_type", Kind: record.Code, Note: "laptop: Desktop"},
	{From: "screen", To: "$screen_width", Kind: record.Code, Note: "1920x1080; also $screen_height"},
	{From: "language", To: "$browser_language"},
	{From: "country", To: "$geoip_country_code", Note: "also $geoip_country_name"},
	{From: "region", To: "$geoip_subdivision_1_code", Kind: record.Code, Note: "DE-RP: RP"},
	{From: "city", To: "$geoip_city_name"},
	{From: "ip", To: "$ip", Note: "of own queries; see Options.LookUpIP"},
	{From: "event_data", To: "…", Kind: record.Code, Note: "of own queries: the members of an object, under their own names"},
	{From: "job_id", Kind: record.Dropped},
}
