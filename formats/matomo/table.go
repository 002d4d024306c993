package matomo

import "github.com/hogapi/hogapi/formats/internal/record"

// table says what becomes of the members of a visit. The others become properties of all its events.
var table = record.Table{
	{From: "userId", To: "distinct_id", Kind: record.Code, Note: "else visitorId"},
	{From: "visitorId", To: "$device_id", Note: "also the anonymous id where there is a userId"},
	{From: "idVisit", To: "matomo_visit_id"},
	{From: "idVisit", To: "$session_id", Kind: record.Code, Note: "see Sessions"},
	{From: "firstActionTimestamp", To: "$session_id", Kind: record.Code, Note: "the start of the session"},
	{From: "lastActionTimestamp", Kind: record.Code, Note: "tells how far the times of actions are from UTC"},
	{From: "idSite", To: "matomo_site_id"},
	{From: "visitIp", To: "$ip", Note: "see Options.LookUpIP"},
	{From: "referrerUrl", To: "$referrer", Kind: record.Code, Note: "of the first action; $direct without one"},
	{From: "referrerType", To: "matomo_referrer_type"},
	{From: "referrerName", To: "matomo_referrer_name", Note: "of a campaign also utm_campaign of the first action"},
	{From: "referrerKeyword", To: "matomo_referrer_keyword", Note: "of a campaign also utm_term of the first action"},
	{From: "browserName", To: "$browser", Kind: record.Code, Note: "Safari on iOS: Mobile Safari"},
	{From: "browserVersion", To: "$browser_version", Kind: record.Code, Note: "a number"},
	{From: "operatingSystemName", To: "$os", Kind: record.Code, Note: "Mac: Mac OS X"},
	{From: "operatingSystemVersion", To: "$os_version", Kind: record.Code},
	{From: "deviceType", To: "$device_type", Kind: record.Code, Note: "Smartphone: Mobile; in another language: by the system"},
	{From: "deviceBrand", To: "$device_manufacturer", Kind: record.Code, Note: "but not Unknown"},
	{From: "deviceModel", To: "$device_model"},
	{From: "resolution", To: "$screen_width", Kind: record.Code, Note: "1920x1080; also $screen_height"},
	{From: "languageCode", To: "$browser_language"},
	{From: "countryCode", To: "$geoip_country_code", Kind: record.Code, Note: "also $geoip_country_name"},
	{From: "country", To: "$geoip_country_name", Note: "without a known countryCode"},
	{From: "region", To: "$geoip_subdivision_1_name"},
	{From: "regionCode", To: "$geoip_subdivision_1_code"},
	{From: "city", To: "$geoip_city_name"},
	{From: "latitude", To: "$geoip_latitude", Note: "a number"},
	{From: "longitude", To: "$geoip_longitude", Note: "a number"},
	{From: "continent", To: "$geoip_continent_name", Note: "a number of other members in its language: ask for language=en"},

	{From: "actionDetails.type", To: "event", Kind: record.Code, Note: "see below"},
	{From: "actionDetails.timestamp", To: "timestamp", Kind: record.Code, Note: "a clock of the site: see Times"},
	{From: "actionDetails.pageId", To: "uuid", Kind: record.Code, Note: "version 5, with idSite and idVisit"},
	{From: "actionDetails.url", To: "$current_url", Kind: record.Code, Note: "also $host, $pathname, utm_… and the ids of clicks on ads"},
	{From: "actionDetails.url", To: "url", Kind: record.Code, Note: "of an outlink or a download"},
	{From: "actionDetails.pageTitle", To: "title"},
	{From: "actionDetails.eventAction", To: "event", Kind: record.Code, Note: "of an event"},
	{From: "actionDetails.eventCategory", To: "category"},
	{From: "actionDetails.eventName", To: "label"},
	{From: "actionDetails.eventValue", To: "value", Kind: record.Code, Note: "a number"},
	{From: "actionDetails.timeSpent", To: "time_spent", Kind: record.Code, Note: "a number of seconds"},
	{From: "actionDetails.revenue", To: "revenue", Kind: record.Code, Note: "a number"},
	{From: "actionDetails.itemDetails", To: "items", Note: "of an order"},
	{From: "actionDetails.…", To: "…", Note: "the others, under their own names"},

	{From: "actions, events, searches, goalConversions, interactions", Kind: record.Dropped, Note: "totals of the visit"},
	{From: "visitDuration, visitConverted, visitEcommerceStatus, visitServerHour, visitLocalTime, visitLocalHour", Kind: record.Dropped},
	{From: "serverTimestamp, serverDate, lastActionDateTime, daysSince…, secondsSince…, totalEcommerce…, totalAbandoned…", Kind: record.Dropped},
	{From: "…Pretty…, …Icon, …Icons, …Flag, icon, iconSVG", Kind: record.Dropped, Note: "for people"},
	{From: "browser, browserCode, browserFamily, browserFamilyDescription, operatingSystem, operatingSystemCode", Kind: record.Dropped},
	{From: "language, location, continentCode, siteCurrencySymbol, referrerTypeName, pluginsIcons", Kind: record.Dropped},
}

// dropped are the members of visits and actions that say nothing about an event.
var dropped = map[string]bool{
	"actions": true, "events": true, "searches": true, "goalConversions": true, "interactions": true, "visitDuration": true,
	"visitConverted": true, "visitEcommerceStatus": true, "visitServerHour": true, "visitLocalTime": true, "visitLocalHour": true,
	"serverTimestamp": true, "serverDate": true, "lastActionDateTime": true, "icon": true, "iconSVG": true, "browser": true,
	"browserCode": true, "browserFamily": true, "browserFamilyDescription": true, "operatingSystem": true, "operatingSystemCode": true,
	"language": true, "location": true, "continentCode": true, "siteCurrencySymbol": true, "referrerTypeName": true, "pluginsIcons": true,
}

// droppedParts are the parts of names of such members: at the beginning with true, else anywhere.
var droppedParts = map[string]bool{
	"daysSince": true, "secondsSince": true, "totalEcommerce": true, "totalAbandoned": true, "Pretty": false, "Icon": false, "Flag": false,
}
