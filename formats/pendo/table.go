package pendo

import "github.com/hogapi/hogapi/formats/internal/record"

// table maps the members of an event; a column of a loader has the same name in small letters, with
// "_" between the words. The others keep their names.
var table = record.Table{
	{From: "type", To: "event", Kind: record.Code, Note: "without the prefix ui:web:; pollResponse: survey sent"},
	{From: "eventType", To: "event", Kind: record.Code, Note: "load: $pageview; click, change, focus: $autocapture with $event_type"},
	{From: "browserTimestamp", To: "timestamp", Kind: record.Code, Note: "milliseconds, or a text in UTC; by the clock of the browser"},
	{From: "timestamp", To: "timestamp", Kind: record.Code, Note: "the same, without browserTimestamp"},
	{From: "eventId", To: "uuid", Kind: record.Code, Note: "version 5 of it where it is not a UUID"},
	{From: "visitorId", To: "distinct_id", Kind: record.Code},
	{From: "oldVisitorId", To: "$device_id", Note: "the anonymous id"},
	{From: "accountId", To: "$groups", Kind: record.Code, Note: "of the type in Options.GroupType: account"},
	{From: "url", To: "$current_url", Note: "also $host, $pathname, utm_… and the ids of clicks on ads"},
	{From: "userAgent", To: "$raw_user_agent", Note: "also $browser, $os and others: see Options.UserAgent"},
	{From: "remoteIp", To: "$ip", Note: "see Options.LookUpIP"},
	{From: "country", To: "$geoip_country_code", Note: "also $geoip_country_name"},
	{From: "region", To: "$geoip_subdivision_1_code", Kind: record.Code, Note: "in capital letters"},
	{From: "latitude", To: "$geoip_latitude", Note: "a number; but not 0 with longitude 0"},
	{From: "longitude", To: "$geoip_longitude", Note: "the same"},
	{From: "language", To: "$browser_language"},
	{From: "guideId", To: "guide_id"},
	{From: "guideStepId", To: "guide_step_id"},
	{From: "elementPath", To: "element_path"},
	{From: "loadTime", To: "load_time", Kind: record.Code, Note: "a number"},
	{From: "propertiesJson", To: "…", Kind: record.Code, Note: "the members of the object in the text, under their own names"},
	{From: "properties", To: "…", Kind: record.Code, Note: "the members, under their own names"},
	{From: "numEvents", Kind: record.Code, Note: "of totals, which are rejected"},
	{From: "numMinutes", Kind: record.Code, Note: "the same"},
	{From: "serverName", Kind: record.Dropped, Note: "the host of url"},
	{From: "periodId", Kind: record.Dropped},
	{From: "matchableId", Kind: record.Dropped},
}
